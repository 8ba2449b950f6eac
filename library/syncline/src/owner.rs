//! Which thread holds a lock, and since which line: noted in debug builds only, so that a thread that
//! locks again what it holds panics instead of waiting for itself forever. And a number for each
//! thread.

/// A number of this thread, never 0: the address of something that only it has. A later thread
/// may have the same number, once this one has ended.
#[cfg(feature = "std")]
#[inline]
pub(crate) fn this_thread() -> usize {
    std::thread_local!(static HERE: u8 = const { 0 });
    HERE.with(|here| core::ptr::from_ref(here).addr())
}

#[cfg(all(debug_assertions, feature = "std"))]
pub(crate) use noted::Owner;
#[cfg(not(all(debug_assertions, feature = "std")))]
pub(crate) use unnoted::Owner;

#[cfg(all(debug_assertions, feature = "std"))]
mod noted;
#[cfg(not(all(debug_assertions, feature = "std")))]
mod unnoted;
