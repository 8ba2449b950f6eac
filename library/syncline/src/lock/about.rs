//! What the catalogue says about a lock beyond the facts that follow from its traits and size.

/// A lock as the documentation describes it.
#[derive(Clone, Copy, Debug)]
pub struct About {
    /// What the lock is, in one line.
    pub idea: &'static str,
    /// The algorithm that it is a variant of.
    pub algorithm: Algorithm,
    /// Which waiter is served next.
    pub order: Order,
    /// Whether the lock prefers waiters on processors near the holder's.
    pub numa: bool,
    /// When to use the lock, in one line.
    pub advice: &'static str,
    /// Where the algorithm comes from.
    pub source: &'static str,
}

/// The algorithms that locks of the catalogue are variants of.
#[derive(Clone, Copy, Debug, PartialEq, Eq)]
pub enum Algorithm {
    /// One word. Any thread that finds it free may set it.
    Flag,
    /// Waiters draw numbers, and all watch the word that says whose turn it is.
    Ticket,
    /// Each waiter draws a slot of an array, and watches this slot.
    Array,
    /// A queue in which each waiter watches its own node (Mellor-Crummey and Scott).
    Mcs,
    /// A queue in which each waiter watches the node before its own (Craig; Landin and Hagersten).
    Clh,
    /// A flag before a queue: any running thread may take the flag, and the other waiters queue.
    Gate,
    /// A CLH queue for each group of near processors. The queues are spliced into one.
    Hclh,
    /// A lock for each group of near processors, and one among the groups, at one or more levels.
    Cohort,
    /// Readers share the lock.
    ReaderWriter,
    /// A thread hands its critical section to the lock's holder, which runs it.
    Delegation,
}

/// Which waiter gets a contended lock next.
#[derive(Clone, Copy, Debug, PartialEq, Eq)]
pub enum Order {
    /// The thread that tries at the right moment. A waiter may starve.
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
    /// The thread that tries at the right moment. But a writer that waits for readers to leave goes
    /// before all readers that come later. A waiter may starve because of writers.
    NewReadersLast,
}

/// A lock with an entry in the catalogue.
pub trait Described {
    /// What the catalogue says about the lock.
    const ABOUT: About;
}
