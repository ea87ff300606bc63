//! The scenario: the only definition of what can be run, with defaults, documentation and bounds.
