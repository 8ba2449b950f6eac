//! Tests that use the interface as C does, with a few threads. They are small enough for Miri,
//! which detects data races, uses after free, leaks and uninitialized memory. They cover every lock
//! that is chosen by name, a delegation lock, a channel, and transactions. The remaining functions
//! of the types are tested in C.

use std::ffi::{c_char, c_int, c_void};
use std::mem::MaybeUninit;
use std::ptr;
use std::sync::atomic::AtomicU64;
use std::thread;

use libc::timespec;

use crate::form::{LOCKS, RWLOCKS};

const THREADS: usize = 3;
const ROUNDS: u64 = if cfg!(miri) { 2 } else { 20 };

/// Memory with the size of a C type that is initially zero and does not move.
#[repr(C, align(128))]
struct Zeros<const WORDS: usize>([AtomicU64; WORDS]);

impl<const WORDS: usize> Zeros<WORDS> {
    fn new() -> Box<Self> {
        Box::new(Self([const { AtomicU64::new(0) }; WORDS]))
    }

    /// The address, as C passes it.
    fn address(&self) -> *mut c_void {
        ptr::from_ref(self).cast_mut().cast()
    }
}

unsafe extern "C" {
    fn syncline_lock_init(lock: *mut c_void, name: *const c_char) -> c_int;
    fn syncline_lock_lock(lock: *mut c_void) -> c_int;
    fn syncline_lock_trylock(lock: *mut c_void) -> c_int;
    fn syncline_lock_timedlock(lock: *mut c_void, deadline: *const timespec) -> c_int;
    fn syncline_lock_unlock(lock: *mut c_void) -> c_int;
    fn syncline_lock_destroy(lock: *mut c_void) -> c_int;

    fn syncline_rwlock_init(lock: *mut c_void, name: *const c_char) -> c_int;
    fn syncline_rwlock_rdlock(lock: *mut c_void) -> c_int;
    fn syncline_rwlock_tryrdlock(lock: *mut c_void) -> c_int;
    fn syncline_rwlock_wrlock(lock: *mut c_void) -> c_int;
    fn syncline_rwlock_unlock(lock: *mut c_void) -> c_int;
    fn syncline_rwlock_destroy(lock: *mut c_void) -> c_int;

    fn syncline_qd_run(lock: *mut c_void, section: Section, argument: *mut c_void) -> c_int;
    fn syncline_qd_delegate(
        lock: *mut c_void,
        section: Section,
        argument: *mut c_void,
        pending: *mut c_void,
    ) -> c_int;
    fn syncline_pending_wait(pending: *mut c_void) -> c_int;
    fn syncline_qd_destroy(lock: *mut c_void) -> c_int;

    fn syncline_channel_create(
        size: usize,
        capacity: usize,
        sender: *mut *mut c_void,
        receiver: *mut *mut c_void,
    ) -> c_int;
    fn syncline_sender_send(sender: *mut c_void, message: *const c_void) -> c_int;
    fn syncline_sender_destroy(sender: *mut c_void) -> c_int;
    fn syncline_receiver_recv(receiver: *mut c_void, message: *mut c_void) -> c_int;
    fn syncline_receiver_destroy(receiver: *mut c_void) -> c_int;

    fn syncline_atomically(
        function: extern "C" fn(*mut c_void, *mut c_void) -> c_int,
        argument: *mut c_void,
    ) -> c_int;
    fn syncline_tx_get(tx: *mut c_void, cell: *const c_void, value: *mut u64) -> c_int;
    fn syncline_tx_set(tx: *mut c_void, cell: *mut c_void, value: u64) -> c_int;
}

type Section = extern "C" fn(*mut c_void);

/// An object and a number, at the addresses that C uses.
struct Shared<const WORDS: usize> {
    object: Box<Zeros<WORDS>>,
    number: Box<u64>,
}

impl<const WORDS: usize> Shared<WORDS> {
    fn new() -> Self {
        Self { object: Zeros::new(), number: Box::new(0) }
    }

    /// Runs threads, each with the addresses of the object and the number.
    fn together(&mut self, body: impl Fn(*mut c_void, *mut u64) + Sync) -> u64 {
        let addresses = Addresses(self.object.address(), &raw mut *self.number);
        thread::scope(|scope| {
            for _ in 0..THREADS {
                let (addresses, body) = (&addresses, &body);
                scope.spawn(move || body(addresses.0, addresses.1));
            }
        });
        *self.number
    }
}

struct Addresses(*mut c_void, *mut u64);
// SAFETY: the number is protected by the lock, which is what is tested.
unsafe impl Sync for Addresses {}

#[test]
fn every_lock_by_name() {
    for form in LOCKS {
        let name = form.name;
        let mut shared = Shared::<8>::new();
        let long_ago = timespec { tv_sec: 0, tv_nsec: 0 };
        let lock = shared.object.address();
        // SAFETY: the object is large enough and does not move; the number is accessed under the
        // lock.
        unsafe {
            assert_eq!(syncline_lock_init(lock, name.as_ptr()), 0, "{name:?}");
            let counted = shared.together(|lock, number| {
                for _ in 0..ROUNDS {
                    if syncline_lock_trylock(lock) == 0 {
                        assert_eq!(syncline_lock_unlock(lock), 0);
                    }
                    if syncline_lock_timedlock(lock, &raw const long_ago) == 0 {
                        assert_eq!(syncline_lock_unlock(lock), 0);
                    }
                    assert_eq!(syncline_lock_lock(lock), 0);
                    *number += 1;
                    assert_eq!(syncline_lock_unlock(lock), 0);
                }
            });
            assert_eq!(counted, THREADS as u64 * ROUNDS, "{name:?}");
            assert_eq!(syncline_lock_destroy(lock), 0, "{name:?}");
        }
    }
}

#[test]
fn every_shared_lock_by_name() {
    for form in RWLOCKS {
        let name = form.name;
        let mut shared = Shared::<8>::new();
        let lock = shared.object.address();
        // SAFETY: as above; a thread with a share only reads.
        unsafe {
            assert_eq!(syncline_rwlock_init(lock, name.as_ptr()), 0, "{name:?}");
            let counted = shared.together(|lock, number| {
                for _ in 0..ROUNDS {
                    if syncline_rwlock_tryrdlock(lock) == 0 {
                        assert!(*number < u64::MAX);
                        assert_eq!(syncline_rwlock_unlock(lock), 0);
                    }
                    assert_eq!(syncline_rwlock_wrlock(lock), 0);
                    *number += 1;
                    assert_eq!(syncline_rwlock_unlock(lock), 0);
                    assert_eq!(syncline_rwlock_rdlock(lock), 0);
                    assert!(*number > 0);
                    assert_eq!(syncline_rwlock_unlock(lock), 0);
                }
            });
            assert_eq!(counted, THREADS as u64 * ROUNDS, "{name:?}");
            assert_eq!(syncline_rwlock_destroy(lock), 0, "{name:?}");
        }
    }
}

extern "C" fn add(number: *mut c_void) {
    // SAFETY: sections run one after the other.
    unsafe { *number.cast::<u64>() += 1 };
}

/// Zeros are a delegation lock.
#[test]
fn sections_that_are_waited_for() {
    let mut shared = Shared::<224>::new();
    // SAFETY: the lock and the number do not move; sections run one after the other.
    unsafe {
        let counted = shared.together(|lock, number| {
            for _ in 0..ROUNDS {
                assert_eq!(syncline_qd_run(lock, add, number.cast()), 0);
            }
        });
        assert_eq!(counted, THREADS as u64 * ROUNDS);
        assert_eq!(syncline_qd_destroy(shared.object.address()), 0);
    }
}

#[test]
fn detached_sections() {
    let mut shared = Shared::<224>::new();
    // SAFETY: as above, and each `pending` is valid until it has been waited for.
    unsafe {
        let counted = shared.together(|lock, number| {
            for _ in 0..ROUNDS {
                let mut pending = MaybeUninit::<[u64; 8]>::uninit();
                let place = pending.as_mut_ptr().cast();
                assert_eq!(syncline_qd_delegate(lock, add, number.cast(), place), 0);
                assert_eq!(syncline_qd_delegate(lock, add, number.cast(), ptr::null_mut()), 0);
                assert_eq!(syncline_pending_wait(place), 0);
            }
        });
        assert_eq!(counted, 2 * THREADS as u64 * ROUNDS);
        assert_eq!(syncline_qd_destroy(shared.object.address()), 0);
    }
}

/// A message whose size is not a multiple of a word's.
type Message = [u8; 13];

#[test]
fn a_channel() {
    struct End(*mut c_void);
    // SAFETY: an end belongs to one thread at a time.
    unsafe impl Send for End {}

    let (mut sender, mut receiver) = (ptr::null_mut(), ptr::null_mut());
    // SAFETY: messages have this size, and each end is used by one thread.
    unsafe {
        let outcome = syncline_channel_create(13, 2, &raw mut sender, &raw mut receiver);
        assert_eq!(outcome, 0);
        let sender = End(sender);
        thread::scope(|scope| {
            scope.spawn(move || {
                let End(sender) = { sender };
                for round in 0..3 * ROUNDS {
                    let message: Message = [round as u8; 13];
                    assert_eq!(syncline_sender_send(sender, message.as_ptr().cast()), 0);
                }
                assert_eq!(syncline_sender_destroy(sender), 0);
            });
            for round in 0..3 * ROUNDS {
                let mut message: Message = [0; 13];
                assert_eq!(syncline_receiver_recv(receiver, message.as_mut_ptr().cast()), 0);
                assert_eq!(message, [round as u8; 13]);
            }
            let mut message: Message = [0; 13];
            let gone = syncline_receiver_recv(receiver, message.as_mut_ptr().cast());
            assert_eq!(gone, libc::EPIPE);
        });
        assert_eq!(syncline_receiver_destroy(receiver), 0);
    }
}

/// Adds one to a cell.
extern "C" fn add_to_cell(tx: *mut c_void, cell: *mut c_void) -> c_int {
    let mut value = 0;
    // SAFETY: the transaction is in progress, and the cell does not move.
    unsafe {
        match syncline_tx_get(tx, cell, &raw mut value) {
            0 => syncline_tx_set(tx, cell, value + 1),
            error => error,
        }
    }
}

#[test]
fn transactions() {
    let mut shared = Shared::<2>::new();
    shared.together(|cell, _| {
        for _ in 0..ROUNDS {
            // SAFETY: zeros are a cell, which does not move.
            assert_eq!(unsafe { syncline_atomically(add_to_cell, cell) }, 0);
        }
    });
    extern "C" fn is_all(tx: *mut c_void, cell: *mut c_void) -> c_int {
        let mut value = 0;
        // SAFETY: as above.
        let error = unsafe { syncline_tx_get(tx, cell, &raw mut value) };
        if error == 0 { (value != THREADS as u64 * ROUNDS).into() } else { error }
    }
    // SAFETY: as above.
    assert_eq!(unsafe { syncline_atomically(is_all, shared.object.address()) }, 0);
}
