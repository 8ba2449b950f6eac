//! The ways to hold a lock.

/// How a thread holds a lock, or waits to hold it.
#[derive(Clone, Copy, Debug, PartialEq, Eq)]
pub(crate) enum Mode {
    /// By one thread alone.
    Alone,
    /// Together with other readers.
    Shared,
    /// By the one reader that may become the writer.
    Upgradable,
    /// By one thread alone, which has the upgradable share already. Threads only wait for this
    /// mode; the thread that gets it holds the lock as `Alone`.
    Upgraded,
}
