//! What becomes of a section's panic: it must not unwind through the helper, whose other requests
//! would never be completed.

#[cfg(feature = "std")]
pub(super) use caught::{Panic, catch};
#[cfg(not(feature = "std"))]
pub(super) use fatal::{Panic, catch};

#[cfg(feature = "std")]
mod caught {
    use alloc::boxed::Box;
    use core::any::Any;
    use std::panic::{AssertUnwindSafe, catch_unwind, resume_unwind};

    /// A panic on its way to the thread that waits for the section.
    pub(in super::super) struct Panic(Box<dyn Any + Send>);

    impl Panic {
        /// Goes on with the panic in this thread.
        pub(in super::super) fn resume(self) -> ! {
            resume_unwind(self.0)
        }
    }

    /// Runs a function; the error is its panic.
    #[inline]
    pub(in super::super) fn catch<R>(function: impl FnOnce() -> R) -> Result<R, Panic> {
        // What the function leaves broken is seen by whoever shares it, as without a panic's
        // poison; the documentation says so.
        catch_unwind(AssertUnwindSafe(function)).map_err(Panic)
    }
}

#[cfg(not(feature = "std"))]
mod fatal {
    use core::mem;

    /// There is none.
    pub(in super::super) enum Panic {}

    impl Panic {
        pub(in super::super) fn resume(self) -> ! {
            match self {}
        }
    }

    /// Panics when dropped, which during a panic aborts.
    struct Abort;

    impl Drop for Abort {
        fn drop(&mut self) {
            panic!("a delegated section panicked, which can't be caught without the feature `std`");
        }
    }

    /// Runs a function, and aborts if it panics.
    #[inline]
    pub(in super::super) fn catch<R>(function: impl FnOnce() -> R) -> Result<R, Panic> {
        let abort = Abort;
        let result = function();
        mem::forget(abort);
        Ok(result)
    }
}
