//! Counts of what a node has done.

/// Counts since the node was made.
#[derive(Clone, Copy, Debug, Default, PartialEq, Eq)]
pub struct Counts {
    /// Lines that an access found absent.
    pub misses: u64,
    /// Bytes that were fetched for missing lines.
    pub fetched: u64,
    /// First writes to clean pages that the fault side's handler has seen; fault sides on which the
    /// kernel records first writes count none.
    pub first_writes: u64,
    /// Pages whose changes went home.
    pub downgrades: u64,
    /// How many of the downgraded pages went home because the write buffer was full.
    pub drained: u64,
    /// Bytes that were put to the lines' homes.
    pub put: u64,
    /// Lines that left the cache because another one came.
    pub evicted: u64,
    /// Lines that fences have dropped, except those that a reset drops.
    pub invalidated: u64,
    /// Lines that an invalidating fence has found in the cache and kept.
    pub kept: u64,
    /// Times that this node entered itself into the directory.
    pub deposits: u64,
    /// Notices that the node has taken in. Notices that the node itself put into a log count as
    /// well. A log that has lost entries counts as one notice.
    pub notices: u64,
}

impl Counts {
    /// Each count with its name, in the order in which they are printed and C programs get them.
    pub fn named(&self) -> [(&'static str, u64); 11] {
        [
            ("misses", self.misses),
            ("bytes fetched", self.fetched),
            ("first writes", self.first_writes),
            ("pages downgraded", self.downgrades),
            ("pages downgraded by the write buffer", self.drained),
            ("bytes put", self.put),
            ("lines evicted", self.evicted),
            ("lines invalidated", self.invalidated),
            ("lines kept", self.kept),
            ("deposits", self.deposits),
            ("notices", self.notices),
        ]
    }
}
