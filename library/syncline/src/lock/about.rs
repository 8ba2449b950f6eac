//! What the catalogue says about a lock, apart from what its traits and size say themselves.

/// A lock as the documentation describes it.
#[derive(Clone, Copy, Debug)]
pub struct About {
    /// What it is, in one line.
    pub idea: &'static str,
    /// Who is served next.
    pub order: Order,
    /// Whether it keeps the lock among near processors.
    pub numa: bool,
    /// When to use it, in one line.
    pub advice: &'static str,
    /// Where the algorithm comes from.
    pub source: &'static str,
}

/// Who gets a contended lock next.
#[derive(Clone, Copy, Debug, PartialEq, Eq)]
pub enum Order {
    /// Whoever comes at the right moment; a waiter may starve.
    Any,
    /// First come, first served.
    Fifo,
    /// First come, first served within a group of near processors; the groups take turns after
    /// a bounded number of acquisitions.
    FifoInGroup,
    /// Waiters are served in order, but newcomers may overtake them for a bounded time.
    Bounded,
    /// Readers before writers; a writer may starve.
    ReadersFirst,
    /// Writers before readers; a reader may starve.
    WritersFirst,
    /// Whoever comes at the right moment; but a writer that waits for readers to leave goes
    /// before all readers that come later. A waiter may starve because of writers.
    NewReadersLast,
}

/// A lock with an entry in the catalogue.
pub trait Described {
    /// The entry.
    const ABOUT: About;
}
