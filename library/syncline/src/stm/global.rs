//! The default engine: one for the whole program.

#[cfg(feature = "std")]
use super::session::Session;
use super::shared::Shared;
#[cfg(feature = "std")]
use super::stop::Result;
#[cfg(feature = "std")]
use super::tx::Tx;

/// The default engine's type.
pub type Global = Shared;

/// The default engine, which [`atomically`] uses. Without `std`, make a [`Session`](super::Session)
/// on it for each thread.
pub static GLOBAL: Global = Shared::first();

/// Runs a transaction: the closure's reads and writes of cells happen at one moment, as if all
/// other transactions ran before or after.
///
/// The closure runs again if another transaction was in the way. It should therefore have no other
/// effects, such as output or messages. Returns what the closure returns with `Ok` in the attempt
/// that succeeds. The closure can't make an `Err` of its own: it gets one from a cell,
/// [`retry`](Tx::retry) or [`or_else`](Tx::or_else), and passes it on with `?`.
///
/// Each attempt sees the cells as they were at one moment, even if it fails later: a closure never
/// sees an inconsistent state (*opacity*). Transactions that commit have an order that agrees with
/// real time (*strict serializability*). If a transaction reads a value that another one wrote, the
/// reader also sees everything that the writing thread did before that other transaction.
///
/// Every transaction succeeds eventually, whatever the others do: after some failures it gets a
/// turn in which it runs alone.
///
/// ```
/// use syncline::stm::{TCell, atomically};
///
/// let (ours, theirs) = (TCell::new(100_u32), TCell::new(0_u32));
/// atomically(|tx| {
///     let funds = ours.get(tx)?;
///     if funds < 30 {
///         return tx.retry();
///     }
///     ours.set(tx, funds - 30);
///     let before = theirs.get(tx)?;
///     theirs.set(tx, before + 30);
///     Ok(())
/// });
/// assert_eq!(theirs.into_inner(), 30);
/// ```
///
/// A [`Tx`] can't leave its closure, so cells are only used in a transaction:
///
/// ```compile_fail
/// let cell = syncline::stm::TCell::new(1_u32);
/// let mut leaked = None;
/// syncline::stm::atomically(|tx| {
///     leaked = Some(tx);
///     Ok(())
/// });
/// ```
///
/// # Panics
///
/// Panics if the closure panics; then nothing was written. Also panics if the thread is in a
/// transaction already (pass its `tx` on instead), if the transaction calls [`retry`](Tx::retry)
/// and has read nothing, and if the engine has run out of versions: after more than a year of 100
/// million commits a second.
#[cfg(feature = "std")]
#[inline]
#[track_caller]
pub fn atomically<'env, R>(body: impl for<'tx> FnMut(&mut Tx<'tx, 'env>) -> Result<R>) -> R {
    kept::Kept::take().session().atomically(body)
}

#[cfg(feature = "std")]
mod kept {
    use core::cell::Cell;
    use core::ptr::{NonNull, null_mut};
    use std::boxed::Box;

    use super::{GLOBAL, Global, Session};

    type Kind = Session<'static, Global>;

    std::thread_local! {
        /// This thread's session, from a box. It is null at first, while the session is in use, and
        /// when the thread has ended. The variable has no destructor, so that reading it takes one
        /// instruction.
        static SESSION: Cell<*mut Kind> = const { Cell::new(null_mut()) };
        /// Drops the session when the thread ends.
        static END: End = const { End };
    }

    struct End;

    impl Drop for End {
        fn drop(&mut self) {
            let session = SESSION.replace(null_mut());
            if !session.is_null() {
                free(session);
            }
        }
    }

    #[cold]
    fn free(session: *mut Kind) {
        // SAFETY: it comes from a box, and no other thread has it.
        drop(unsafe { Box::from_raw(session) });
    }

    /// This thread's session, given back when dropped.
    pub(super) struct Kept {
        session: NonNull<Kind>,
        /// Whether the thread is ending, so that `END` would not drop the session later.
        ending: bool,
    }

    impl Kept {
        #[inline]
        pub(super) fn take() -> Self {
            match NonNull::new(SESSION.replace(null_mut())) {
                Some(session) => Self { session, ending: false },
                None => Self::first(),
            }
        }

        #[inline]
        pub(super) fn session(&mut self) -> &mut Kind {
            // SAFETY: it is ours until it is given back.
            unsafe { self.session.as_mut() }
        }

        #[cold]
        fn first() -> Self {
            let session = NonNull::from(Box::leak(Box::new(Session::new(&GLOBAL))));
            Self { session, ending: END.try_with(|_| ()).is_err() }
        }
    }

    impl Drop for Kept {
        #[inline]
        fn drop(&mut self) {
            let session = self.session.as_ptr();
            // There is another session if values that were dropped after the transaction have used
            // transactions.
            let other = if self.ending { session } else { SESSION.replace(session) };
            if !other.is_null() {
                free(other);
            }
        }
    }
}
