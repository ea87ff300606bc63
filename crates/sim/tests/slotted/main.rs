//! The slotted link.

mod link;
mod schedules;
