//! A number for each thread.

use core::sync::atomic::AtomicUsize;
use core::sync::atomic::Ordering::Relaxed;

/// A number of this thread, never 0: the address of a variable that only this thread has. A later
/// thread may have the same number, once this thread has ended.
#[inline]
pub(crate) fn this_thread() -> usize {
    std::thread_local!(static HERE: u8 = const { 0 });
    HERE.with(|here| core::ptr::from_ref(here).addr())
}

/// Whether a word holds this thread's number. In this word, threads note their numbers while they
/// hold a lock, and 0 afterwards.
///
/// Relaxed: only this thread writes this number, apart from earlier threads that had the number and
/// have ended. Such a thread wrote 0 last, and this thread got the number after the end of that
/// thread. So the caller must get its own number before it reads the word. (A thread that has
/// forgotten a guard leaves its number: a later thread with the same number then counts as the
/// holder.)
#[inline]
pub(crate) fn is_this_thread(noted: &AtomicUsize) -> bool {
    let number = this_thread();
    noted.load(Relaxed) == number
}
