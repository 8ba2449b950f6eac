//! Delegation locks for C: a section is a function and its argument.
//!
//! A section runs in any thread that is inside a call, so no thread owns such a lock. Instead each
//! thread knows the locks whose sections it is [`running`]: a call to one of these locks from
//! within a section of that lock would wait for itself. And each lock counts the calls that are in
//! progress, so that none is destroyed while it is in use. A lock has several counters, since a
//! single one would be as contended as the data under the lock.

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

/// A delegation lock for C.
#[repr(C)]
pub(crate) struct Delegation<D: RawDelegation> {
    lock: Delegated<(), D>,
    /// Calls in progress, each counted in its thread's counter.
    calls: [Padded<AtomicU32>; COUNTERS],
}

const COUNTERS: usize = 8;

/// A section that runs under a lock.
struct Section {
    lock: *const (),
    function: unsafe extern "C" fn(*mut c_void),
    argument: *mut c_void,
}

// SAFETY: the interface's contract says that the function may run in another thread.
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

    /// Makes a call that is counted as in progress.
    fn count<R>(&self, call: impl FnOnce() -> R) -> R {
        let calls = &self.calls[this_thread() % COUNTERS];
        // Relaxed: only the thread that destroys the lock reads the counter, and must know by other
        // means that no thread uses the lock; otherwise destroying it would be a mistake.
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

/// `syncline_pending_t`: a delegated section that a later call waits for.
#[repr(C)]
pub(crate) struct Waiting {
    /// Shows that the rest is valid, and that this is not a copy.
    tag: AtomicUsize,
    lock: *const (),
    /// Waits for the section in `pending`. Arbitrary bits until the tag is valid.
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

    /// The value that will be stored at this address.
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
        // SAFETY: the room is large and aligned enough.
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
        // Relaxed: this thread has stored the tag, or has synchronized with the thread that handed
        // the object on.
        if self.tag.load(Relaxed) != self.valid_tag() {
            return Err(Refusal::Invalid);
        }
        if running::is_inside(self.lock) {
            return Err(Refusal::Deadlock);
        }
        // If several threads wait by mistake, only one of them gets the section.
        self.tag
            .compare_exchange(self.valid_tag(), 0, Relaxed, Relaxed)
            .map_err(|_| Refusal::Invalid)?;
        // SAFETY: the tag was valid, so `wait` and `pending` are initialized. This call has cleared
        // the tag, so no other call takes the section.
        unsafe { self.wait.assume_init()(self.pending.as_ptr()) };
        Ok(())
    }
}

/// Waits until the section has run.
#[unsafe(no_mangle)]
unsafe extern "C" fn syncline_pending_wait(pending: *const Waiting) -> c_int {
    // SAFETY: any bits are a `Waiting`, and C's caller does not move it.
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
                    // SAFETY: a lock may be zero, and C's caller does not move it.
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
                        // SAFETY: `pending` belongs to C's caller.
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
