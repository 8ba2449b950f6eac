//! Delegation locks, as C sees them: a section is a function and its argument.
//!
//! A section runs in any thread that is inside a call, so no thread owns such a lock. Instead
//! each thread knows the locks whose sections it is [`running`]: to call one of them from there
//! would be to wait for oneself. And each lock counts the calls that are inside, so that none is
//! destroyed while it is in use: by several counters, since one would be as contended as what the
//! lock is for.

use std::ffi::{c_int, c_void};
use std::mem::MaybeUninit;
use std::ptr;
use std::sync::atomic::{AtomicU32, AtomicUsize, Ordering::Relaxed};

use syncline::delegation::{Delegated, Pending, RawDelegation};
use syncline::memory::Padded;

use crate::boundary::{Outcome, Refusal, at, boundary};
use crate::calls::{Unused, destroy};
use crate::owner::this_thread;
use crate::running;

/// A delegation lock of C.
#[repr(C)]
pub(crate) struct Delegation<D: RawDelegation> {
    lock: Delegated<(), D>,
    /// How many calls are inside, each counted where its thread counts.
    calls: [Padded<AtomicU32>; COUNTERS],
}

const COUNTERS: usize = 8;

/// What is to run under a lock.
struct Section {
    lock: *const (),
    function: unsafe extern "C" fn(*mut c_void),
    argument: *mut c_void,
}

// SAFETY: that the function may run in another thread is in the interface's contract.
unsafe impl Send for Section {}

impl Section {
    fn run(self) {
        // SAFETY: C's caller gives a function that takes this argument.
        running::inside(self.lock, || unsafe { (self.function)(self.argument) });
    }
}

impl<D: RawDelegation> Delegation<D> {
    fn section(
        &self,
        function: Option<unsafe extern "C" fn(*mut c_void)>,
        argument: *mut c_void,
    ) -> Result<Section, Refusal> {
        let lock = ptr::from_ref(self).cast();
        if running::is_inside(lock) {
            return Err(Refusal::Deadlock);
        }
        Ok(Section { lock, function: function.ok_or(Refusal::Invalid)?, argument })
    }

    /// Makes a call that counts as inside.
    fn count<R>(&self, call: impl FnOnce() -> R) -> R {
        let calls = &self.calls[this_thread() % COUNTERS];
        // Relaxed: only the thread that destroys the lock reads it, and must know from elsewhere
        // that nobody uses it, or it would be a mistake.
        calls.fetch_add(1, Relaxed);
        let result = call();
        calls.fetch_sub(1, Relaxed);
        result
    }

    fn run(&self, section: Section) {
        self.count(|| self.lock.with(|()| section.run()));
    }

    fn delegate(&self, section: Section) -> Pending<(), D> {
        self.count(|| self.lock.delegate(|()| section.run()))
    }
}

impl<D: RawDelegation> Unused for Delegation<D> {
    fn expect_unused(&self) -> Outcome {
        let inside = self.calls.iter().any(|calls| calls.load(Relaxed) != 0);
        if inside { Err(Refusal::Busy) } else { Ok(()) }
    }
}

/// A section that is waited for later, or `syncline_pending_t`.
#[repr(C)]
pub(crate) struct Waiting {
    /// Says that the rest is valid, and this no copy.
    tag: AtomicUsize,
    lock: *const (),
    /// Waits for what is in `pending`. Any bits until the tag is valid.
    wait: MaybeUninit<unsafe fn(*const Room)>,
    pending: MaybeUninit<Room>,
}

/// Room for a `Pending` of any lock.
type Room = [usize; 2];

const TAG: usize = 0x5345_4354;

impl Waiting {
    fn valid_tag(&self) -> usize {
        ptr::from_ref(self).addr() ^ TAG
    }

    /// What is to be at this address.
    fn new<D: RawDelegation>(
        address: *const Self,
        lock: &Delegation<D>,
        pending: Pending<(), D>,
    ) -> Self {
        const {
            assert!(size_of::<Pending<(), D>>() <= size_of::<Room>());
            assert!(align_of::<Pending<(), D>>() <= align_of::<Room>());
        }
        let mut room = MaybeUninit::<Room>::uninit();
        // SAFETY: it is large and aligned enough.
        unsafe { room.as_mut_ptr().cast::<Pending<(), D>>().write(pending) };
        Self {
            tag: AtomicUsize::new(address.addr() ^ TAG),
            lock: ptr::from_ref(lock).cast(),
            // SAFETY: it was written above, and is taken once.
            wait: MaybeUninit::new(|room| unsafe { room.cast::<Pending<(), D>>().read() }.wait()),
            pending: room,
        }
    }

    fn wait(&self) -> Outcome {
        // Relaxed: the same thread has put it there, or handed it on with order of its own.
        if self.tag.load(Relaxed) != self.valid_tag() {
            return Err(Refusal::Invalid);
        }
        if running::is_inside(self.lock) {
            return Err(Refusal::Deadlock);
        }
        // One of several that wait by mistake gets it.
        self.tag
            .compare_exchange(self.valid_tag(), 0, Relaxed, Relaxed)
            .map_err(|_| Refusal::Invalid)?;
        // SAFETY: the tag said that it is there, and no longer does.
        unsafe { self.wait.assume_init()(self.pending.as_ptr()) };
        Ok(())
    }
}

/// Waits until the section has run.
#[unsafe(no_mangle)]
unsafe extern "C" fn syncline_pending_wait(pending: *const Waiting) -> c_int {
    // SAFETY: any bits are a `Waiting`, and C's caller keeps it in place.
    boundary(|| unsafe { at(pending) }?.wait())
}

macro_rules! export {
    ($name:ident, $type:ident, $($feature:ident)*) => {
        mod $name {
            use super::*;

            type Type = Delegation<syncline::delegation::$type>;

            #[unsafe(export_name = concat!("syncline_", stringify!($name), "_run"))]
            unsafe extern "C" fn run(
                lock: *const Type,
                function: Option<unsafe extern "C" fn(*mut c_void)>,
                argument: *mut c_void,
            ) -> c_int {
                boundary(|| {
                    // SAFETY: a lock may be zero, and C's caller keeps it in place.
                    let lock = unsafe { at(lock) }?;
                    lock.run(lock.section(function, argument)?);
                    Ok(())
                })
            }

            #[unsafe(export_name = concat!("syncline_", stringify!($name), "_delegate"))]
            unsafe extern "C" fn delegate(
                lock: *const Type,
                function: Option<unsafe extern "C" fn(*mut c_void)>,
                argument: *mut c_void,
                pending: *mut Waiting,
            ) -> c_int {
                boundary(|| {
                    // SAFETY: as above.
                    let lock = unsafe { at(lock) }?;
                    let section = lock.section(function, argument)?;
                    if !pending.is_null() && !pending.is_aligned() {
                        return Err(Refusal::Invalid);
                    }
                    let section = lock.delegate(section);
                    if pending.is_null() {
                        drop(section);
                    } else {
                        // SAFETY: it is C's caller's.
                        unsafe { pending.write(Waiting::new(pending, lock, section)) };
                    }
                    Ok(())
                })
            }

            #[unsafe(export_name = concat!("syncline_", stringify!($name), "_destroy"))]
            unsafe extern "C" fn end(lock: *mut Type) -> c_int {
                boundary(|| {
                    // SAFETY: as above.
                    unsafe {
                        at::<Type>(lock)?;
                        destroy(lock)
                    }
                })
            }
        }
    };
}

syncline::for_each_delegation!(export);
