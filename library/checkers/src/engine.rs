//! What a case needs of a checker: threads, plain data, and a scene to begin with.

use std::time::Duration;

use syncline::memory::Memory;

/// A memory with a checker behind it.
pub trait Engine: Memory {
    /// Runs threads that are numbered from 0, the first on the caller's, and waits for their end.
    fn run(threads: usize, body: impl Fn(usize) + Send + Sync + 'static);

    /// This thread's number.
    fn number() -> usize;

    /// Notes that this thread waits, where a memory over this one is asked to.
    fn waits() {}

    /// Waits until a thread waits for something. For use between [`arrange`](Self::arrange) and
    /// [`explore`](Self::explore).
    fn wait_for_waiter(thread: usize);

    /// From here on a scene is set up, which is to be the same in each execution.
    fn arrange();

    /// From here on executions differ.
    fn explore();

    /// A deadline that may pass while a case runs, or not.
    fn soon() -> Duration;

    /// Reads data that nobody changes meanwhile.
    fn read<T: Copy>(data: &Self::Data<T>) -> T;
}
