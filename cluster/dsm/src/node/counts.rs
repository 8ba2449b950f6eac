//! Counts of what a node has done.

/// Counts since the node was made.
#[derive(Clone, Copy, Debug, Default, PartialEq, Eq)]
pub struct Counts {
    /// Lines that an access found absent.
    pub misses: u64,
    /// Bytes that were fetched for missing lines.
    pub fetched: u64,
    /// Clean pages that were written, on fault sides whose handler sees first writes.
    pub first_writes: u64,
    /// Pages whose changes went home.
    pub downgrades: u64,
    /// How many of the downgraded pages left a full write buffer.
    pub drained: u64,
    /// Bytes that were put to homes.
    pub put: u64,
    /// Lines that were evicted for another one.
    pub evicted: u64,
    /// Lines that fences have dropped, except those that a reset forgets.
    pub invalidated: u64,
    /// Lines that fences have examined and kept.
    pub kept: u64,
    /// Times that this node entered itself into the directory.
    pub deposits: u64,
    /// Notices that the node has taken in. A log also has the node's own; a log that has lost
    /// entries counts as one notice.
    pub notices: u64,
}

impl Counts {
    /// Each count with its name, in the order of a table.
    pub fn named(&self) -> [(&'static str, u64); 11] {
        [
            ("misses", self.misses),
            ("bytes fetched", self.fetched),
            ("first writes", self.first_writes),
            ("pages downgraded", self.downgrades),
            ("by the write buffer", self.drained),
            ("bytes put", self.put),
            ("lines evicted", self.evicted),
            ("lines invalidated", self.invalidated),
            ("lines kept", self.kept),
            ("deposits", self.deposits),
            ("notices", self.notices),
        ]
    }
}
