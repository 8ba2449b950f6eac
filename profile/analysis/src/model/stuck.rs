//! Threads that can't continue.

use serde::Serialize;

/// Why threads can't continue.
#[derive(Clone, Copy, Debug, PartialEq, Eq, Serialize)]
#[serde(rename_all = "snake_case")]
pub enum Trap {
    /// Each thread waits for a lock that the next one holds, or for the end of the next one.
    Deadlock,
    /// A thread waits for a lock whose holder waits for an event, and no thread is known that
    /// could bring the event about.
    LikelyDeadlock,
    /// A thread waits for a lock that no living thread holds, and a thread that had acquired it has
    /// ended.
    AbandonedLock,
    /// A thread waits for a condition, and no thread that could signal it is running.
    LostWakeUp,
    /// All threads wait, and have waited for long.
    Standstill,
}

impl Trap {
    /// The trap's name, and a description.
    pub fn in_words(self) -> (&'static str, &'static str) {
        match self {
            Trap::Deadlock => {
                ("DEADLOCK", "each thread waits for a lock that the next one holds, or for its end")
            }
            Trap::LikelyDeadlock => {
                ("LIKELY DEADLOCK", "the holder of a lock waits for an event, with the lock held")
            }
            Trap::AbandonedLock => {
                ("ABANDONED LOCK", "a thread seems to have ended with a lock that others wait for")
            }
            Trap::LostWakeUp => {
                ("LOST WAKE-UP", "threads wait for a condition that no thread can signal")
            }
            Trap::Standstill => {
                ("STANDSTILL", "all threads wait, and none is left to end the wait of another")
            }
        }
    }
}

/// Threads that could not continue when the recording ended, or was read.
#[derive(Clone, Debug, PartialEq, Serialize)]
pub struct Stuck {
    /// Why the threads can't continue.
    pub trap: Trap,
    /// Indices in [`super::Process::threads`]; in a deadlock each thread waits for the next one,
    /// and the last for the first. In a likely deadlock each thread waits for the next one, and the
    /// last for an event.
    pub threads: Vec<usize>,
    /// For how many seconds all these threads have waited: the time since the last of them began to
    /// wait.
    pub seconds: f64,
    /// Which thread waits where, for what, and for which thread.
    pub why: String,
}
