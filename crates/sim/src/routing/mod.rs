//! Which links lead from a node to a host: all shortest paths, in a table that scales.
