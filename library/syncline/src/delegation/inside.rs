//! The locks whose sections this thread is running. Debug builds with `std` note them, so that a
//! section that calls its own lock panics instead of waiting for itself forever.

#[cfg(all(debug_assertions, feature = "std"))]
pub(super) use noted::{expect_outside, inside};
#[cfg(not(all(debug_assertions, feature = "std")))]
pub(super) use unnoted::{expect_outside, inside};

#[cfg(all(debug_assertions, feature = "std"))]
mod noted {
    use core::cell::Cell;
    use core::iter::successors;
    use core::ptr;

    std::thread_local! {
        static INNERMOST: Cell<*const Running> = const { Cell::new(ptr::null()) };
    }

    /// A section that is running, on a value at this address, in a frame of this thread's stack.
    struct Running {
        value: *const (),
        outer: *const Running,
    }

    /// Runs a section on a value. The section must not panic.
    pub(crate) fn inside<V, R>(value: *const V, section: impl FnOnce() -> R) -> R {
        let running = Running { value: value.cast(), outer: INNERMOST.get() };
        INNERMOST.set(&raw const running);
        let result = section();
        INNERMOST.set(running.outer);
        result
    }

    /// Panics if this thread runs a section on this value.
    #[track_caller]
    pub(crate) fn expect_outside<V>(value: *const V) {
        // SAFETY: what is noted is in a frame further out, and is there as long as it is noted.
        let running = unsafe { INNERMOST.get().as_ref() };
        // SAFETY: as above.
        let mut all = successors(running, |running| unsafe { running.outer.as_ref() });
        assert!(
            !all.any(|running| running.value == value.cast()),
            "this section's own lock is called, and it would wait for itself forever"
        );
    }
}

#[cfg(not(all(debug_assertions, feature = "std")))]
mod unnoted {
    #[inline(always)]
    pub(crate) fn inside<V, R>(_: *const V, section: impl FnOnce() -> R) -> R {
        section()
    }

    #[inline(always)]
    pub(crate) fn expect_outside<V>(_: *const V) {}
}
