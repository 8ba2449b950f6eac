//! A number for each thread.

/// A number of this thread, never 0: the address of something that only it has. A later thread
/// may have the same number, once this one has ended.
#[inline]
pub(crate) fn this_thread() -> usize {
    std::thread_local!(static HERE: u8 = const { 0 });
    HERE.with(|here| core::ptr::from_ref(here).addr())
}
