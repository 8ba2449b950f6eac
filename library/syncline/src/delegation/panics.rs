//! Panics of sections. A section's panic must not unwind through the helper, since the helper's
//! other requests would then never be completed.

#[cfg(feature = "std")]
pub use caught::{Panic, catch};
#[cfg(not(feature = "std"))]
pub use fatal::{Panic, catch};

/// A section's result, or its panic.
pub type Outcome<R> = Result<R, Panic>;

#[cfg(feature = "std")]
mod caught {
    use alloc::boxed::Box;
    use core::any::Any;
    use std::panic::{AssertUnwindSafe, catch_unwind, resume_unwind};

    /// A panic on its way to the thread that waits for the section.
    pub struct Panic(Box<dyn Any + Send>);

    impl Panic {
        /// Resumes the panic in this thread.
        pub fn resume(self) -> ! {
            resume_unwind(self.0)
        }
    }

    /// Runs a function. If the function panics, returns the panic as the error.
    #[inline]
    pub fn catch<R>(function: impl FnOnce() -> R) -> Result<R, Panic> {
        // Later sections may see what a panic has left broken, since the lock is not poisoned; the
        // documentation says so.
        catch_unwind(AssertUnwindSafe(function)).map_err(Panic)
    }
}

#[cfg(not(feature = "std"))]
mod fatal {
    use core::mem;

    /// A panic that was caught. There is none without `std`.
    pub enum Panic {}

    impl Panic {
        /// Can't be called.
        pub fn resume(self) -> ! {
            match self {}
        }
    }

    /// Panics when dropped. During a panic, that aborts the program.
    struct Abort;

    impl Drop for Abort {
        fn drop(&mut self) {
            panic!("a delegated section panicked, which can't be caught without the feature `std`");
        }
    }

    /// Runs a function, and aborts if it panics.
    #[inline]
    pub fn catch<R>(function: impl FnOnce() -> R) -> Result<R, Panic> {
        let abort = Abort;
        let result = function();
        mem::forget(abort);
        Ok(result)
    }
}
