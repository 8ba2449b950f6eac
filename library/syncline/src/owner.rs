//! Which thread holds a lock: noted in debug builds only, so that a thread that locks again what
//! it holds is told so instead of waiting for itself forever; and a number for each thread.

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
mod noted {
    use core::sync::atomic::{AtomicUsize, Ordering::Relaxed};

    use super::this_thread;

    /// The thread that holds a lock, if any.
    #[derive(Debug, Default)]
    #[repr(transparent)]
    pub(crate) struct Owner(AtomicUsize);

    // Relaxed throughout: a thread compares with its own number only, which nobody else writes.
    impl Owner {
        /// Nobody.
        pub(crate) const fn nobody() -> Self {
            Self(AtomicUsize::new(0))
        }

        /// Panics if this thread holds the lock.
        #[track_caller]
        pub(crate) fn expect_another(&self) {
            assert!(
                self.0.load(Relaxed) != this_thread(),
                "this thread holds the lock already, and would wait for itself forever"
            );
        }

        /// This thread holds the lock.
        pub(crate) fn set(&self) {
            self.0.store(this_thread(), Relaxed);
        }

        /// Nobody holds the lock.
        pub(crate) fn clear(&self) {
            self.0.store(0, Relaxed);
        }
    }
}

#[cfg(not(all(debug_assertions, feature = "std")))]
mod unnoted {
    /// Nothing, in release builds.
    #[derive(Debug, Default)]
    pub(crate) struct Owner;

    #[allow(clippy::unused_self)]
    impl Owner {
        pub(crate) const fn nobody() -> Self {
            Self
        }
        #[inline(always)]
        pub(crate) fn expect_another(&self) {}
        #[inline(always)]
        pub(crate) fn set(&self) {}
        #[inline(always)]
        pub(crate) fn clear(&self) {}
    }
}
