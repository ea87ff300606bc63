//! Dense numbers that index tables: which node, which link, which flow.

use std::fmt;

macro_rules! id {
    ($($(#[$doc:meta])* $name:ident),* $(,)?) => {$(
        $(#[$doc])*
        #[derive(Clone, Copy, Debug, PartialEq, Eq, PartialOrd, Ord, Hash)]
        pub struct $name(pub u32);

        impl $name {
            /// Stands for "none" where an `Option` would cost space in a hot structure.
            pub const NONE: $name = $name(u32::MAX);

            /// As an index into a table.
            #[inline]
            pub fn index(self) -> usize {
                self.0 as usize
            }
        }

        impl fmt::Display for $name {
            fn fmt(&self, f: &mut fmt::Formatter<'_>) -> fmt::Result {
                write!(f, "{}", self.0)
            }
        }
    )*};
}

id!(
    /// A host or a switch. Hosts come first: node `i` is host `i` for `i` below the number of hosts.
    NodeId,
    /// A directed link and the port that feeds it; `i` and `i ^ 1` are the two directions of one cable.
    LinkId,
    /// A flow, in the order of the flows table.
    FlowId,
    /// A live connection: a slot that is used again once the connection has closed.
    ConnId,
    /// A live packet: a slot of the arena.
    PacketId,
    /// A whole path among those that sources have chosen.
    PathId,
    /// A queue of one host's packets to another, under central control.
    QueueId,
);

impl LinkId {
    /// The other direction of the same cable.
    #[inline]
    pub fn reverse(self) -> LinkId {
        LinkId(self.0 ^ 1)
    }
}
