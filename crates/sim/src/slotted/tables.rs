//! An outcome as columns: their only definition.

use super::{NO_DEADLINE, Outcome, Record, Segment};
use crate::records::{Column, Definition, Table, Values, define};

define! {
    /// A row per flow: in order of their end, then those that were there at the end of the run.
    slotted_flows {
        set "u32" "" "Number of the independent set; 0 unless generation is sets."
        flow "u32" "" "Number of the flow, in order of arrival over all sets."
        server "u32" "" "Where it comes from."
        arrival_slot "u64" "slots" "Slot in which it arrived; the slots of each set count from 0."
        size "u32" "packets" "Packets that it was to send; one goes in a slot."
        deadline "u64" "slots" "Slots from its arrival in which it was to be done. Null without a deadline."
        end_slot "u64" "slots" "When it left: after that many slots of its set. Null if it was there at the end of the run."
        done "bool" "" "Whether all of it was sent, which is always in time: a flow leaves when its deadline comes."
        sent "f64" "packets" "Packets that it sent."
    }

    /// A row for each time that a flow was served without a change.
    slotted_schedule {
        set "u32" "" "Number of the independent set."
        flow "u32" "" "Number of the flow."
        start_slot "u64" "slots" "First slot."
        end_slot "u64" "slots" "The slot after the last one."
        share "f64" "packets" "Packets a slot."
    }
}

impl Outcome {
    /// The flows as a table.
    pub fn flows_table(&self) -> Table {
        use slotted_flows as named;
        let rows = &self.flows;
        let u32s = |value: fn(&Record) -> u32| Values::U32(rows.iter().map(value).collect());
        let u64s = |value: fn(&Record) -> Option<u64>| {
            (
                Values::U64(rows.iter().map(|row| value(row).unwrap_or_default()).collect()),
                rows.iter().map(|row| value(row).is_some()).collect(),
            )
        };
        let deadline = u64s(|row| Some(row.flow.deadline).filter(|&deadline| deadline < NO_DEADLINE));
        let end = u64s(|row| row.ended);
        let sent = rows.iter().map(|row| f64::from(row.flow.size) - row.flow.left).collect();
        let columns = vec![
            column(&named::set, u32s(|row| row.set)),
            column(&named::flow, u32s(|row| row.flow.id)),
            column(&named::server, u32s(|row| row.flow.server)),
            column(&named::arrival_slot, Values::U64(rows.iter().map(|row| row.flow.arrival).collect())),
            column(&named::size, u32s(|row| row.flow.size)),
            optional(&named::deadline, deadline),
            optional(&named::end_slot, end),
            column(&named::done, Values::Bool(rows.iter().map(|row| row.done).collect())),
            column(&named::sent, Values::F64(sent)),
        ];
        Table { name: "flows", columns }
    }

    /// The schedule as a table.
    pub fn schedule_table(&self) -> Table {
        use slotted_schedule as named;
        let rows = &self.schedule;
        let u32s = |value: fn(&Segment) -> u32| Values::U32(rows.iter().map(value).collect());
        let u64s = |value: fn(&Segment) -> u64| Values::U64(rows.iter().map(value).collect());
        let columns = vec![
            column(&named::set, u32s(|row| row.set)),
            column(&named::flow, u32s(|row| row.flow)),
            column(&named::start_slot, u64s(|row| row.start)),
            column(&named::end_slot, u64s(|row| row.end)),
            column(&named::share, Values::F64(rows.iter().map(|row| row.share).collect())),
        ];
        Table { name: "schedule", columns }
    }
}

fn column(definition: &'static Definition, values: Values) -> Column {
    Column { definition, values, valid: None }
}

fn optional(definition: &'static Definition, (values, valid): (Values, Vec<bool>)) -> Column {
    let valid = (!valid.iter().all(|&valid| valid)).then_some(valid);
    Column { definition, values, valid }
}
