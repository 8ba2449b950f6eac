//! The functions that a case needs from a checker: threads, plain data, and the setup of a scene.

use std::time::Duration;

use syncline::memory::Memory;

/// A memory whose accesses a checker controls.
pub trait Engine: Memory {
    /// Runs `body` in `threads` threads, numbered from 0, and waits until all have ended. Thread 0
    /// is the calling thread.
    fn run(threads: usize, body: impl Fn(usize) + Send + Sync + 'static);

    /// This thread's number.
    fn number() -> usize;

    /// Records that this thread waits. Called by a memory that is built over this one.
    fn waits() {}

    /// Waits until the given thread has waited for something. Mostly used between
    /// [`arrange`](Self::arrange) and [`explore`](Self::explore).
    fn wait_for_waiter(thread: usize);

    /// Begins the setup of a scene. The setup is the same in each execution.
    fn arrange();

    /// Ends the setup: from here on executions differ.
    fn explore();

    /// A deadline that may or may not pass while a case runs.
    fn soon() -> Duration;

    /// Reads data that no thread changes meanwhile.
    fn read<T: Copy>(data: &Self::Data<T>) -> T;
}
