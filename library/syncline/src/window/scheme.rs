//! The lock schemes of windows, and their names.

/// A lock scheme of a window: the lock that each part has.
#[derive(Clone, Copy, Debug, PartialEq, Eq)]
pub enum Scheme {
    /// [`BestEffort`](super::BestEffort) with back-off.
    FullSupport,
    /// [`BestEffort`](super::BestEffort) without back-off.
    BestEffort,
    /// [`WritersFirst`](crate::lock::WritersFirst).
    WriterPrecedence,
    /// [`ReadersFirst`](crate::lock::ReadersFirst).
    ReaderPrecedence,
    /// [`FairRw`](crate::lock::FairRw).
    Fair,
    /// A queue in each host, and one between the hosts: [`Hierarchical`](super::Hierarchical).
    Hierarchical,
    /// Ranks send requests for the lock to the rank that owns the part, at their first operation
    /// under the lock.
    MessageDeferred,
    /// Ranks send requests for the lock to the rank that owns the part, as soon as they lock.
    MessageImmediate,
}

impl Scheme {
    /// All schemes.
    pub const ALL: [Scheme; 8] = [
        Scheme::FullSupport,
        Scheme::BestEffort,
        Scheme::WriterPrecedence,
        Scheme::ReaderPrecedence,
        Scheme::Fair,
        Scheme::Hierarchical,
        Scheme::MessageDeferred,
        Scheme::MessageImmediate,
    ];

    /// The scheme's name, which is the value of the Info key `passive_sync_mode`.
    pub fn name(self) -> &'static str {
        match self {
            Scheme::FullSupport => "full-support",
            Scheme::BestEffort => "best-effort",
            Scheme::WriterPrecedence => "writer-precedence",
            Scheme::ReaderPrecedence => "reader-precedence",
            Scheme::Fair => "fair",
            Scheme::Hierarchical => "hierarchical",
            Scheme::MessageDeferred => "message-deferred",
            Scheme::MessageImmediate => "message-immediate",
        }
    }

    /// A short description of the scheme.
    pub fn idea(self) -> &'static str {
        match self {
            Scheme::FullSupport => "counters, and pauses that double after each failed try",
            Scheme::BestEffort => "counters without pauses, for comparison",
            Scheme::WriterPrecedence => "queues; writers go before readers that come later",
            Scheme::ReaderPrecedence => "queues; readers go before writers that wait",
            Scheme::Fair => "one queue, in the order of arrival",
            Scheme::Hierarchical => "a queue in each host, and one between hosts",
            Scheme::MessageDeferred => "messages to the target, which wait for the first operation",
            Scheme::MessageImmediate => "messages to the target, for comparison",
        }
    }

    /// The scheme of this name, or `None` if no scheme has it.
    pub fn named(name: &str) -> Option<Scheme> {
        Scheme::ALL.into_iter().find(|scheme| scheme.name() == name)
    }
}
