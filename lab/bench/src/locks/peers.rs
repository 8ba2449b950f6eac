//! Locks of other libraries, each used as its documentation recommends.

use std::cell::UnsafeCell;
use std::sync::{Mutex, PoisonError, RwLock};

use mcslock::raw;
use syncline::lock::Waiting;

use super::arena::Lock;
use super::contender::{Contender, Kind, Side};

pub fn contenders() -> Vec<Contender> {
    use Kind::{Blocking, BlockingShared, Mcs, Spin, SpinningShared, Ticket};
    use Waiting::{Parks, Spins, Yields};
    fn peer<L: Lock + 'static>(name: &str, kind: Kind, waiting: Waiting) -> Contender {
        Contender::new::<L>(name, Side::Peer, kind, waiting)
    }
    let mcs_node = size_of::<raw::MutexNode>();
    vec![
        peer::<PthreadMutex>("pthread mutex", Blocking, Parks).timed(),
        peer::<Mutex<()>>("std mutex", Blocking, Parks),
        peer::<parking_lot::Mutex<()>>("parking_lot mutex", Blocking, Parks).timed(),
        peer::<PthreadSpin>("pthread spinlock", Spin, Spins),
        peer::<spin::mutex::SpinMutex<()>>("spin mutex", Spin, Spins),
        peer::<spin::mutex::TicketMutex<()>>("spin ticket", Ticket, Spins).fifo(),
        peer::<raw::spins::Mutex<()>>("mcslock spins", Mcs, Spins).fifo().node_bytes(mcs_node),
        peer::<raw::yields::Mutex<()>>("mcslock yields", Mcs, Yields).fifo().node_bytes(mcs_node),
        peer::<PthreadRwLock>("pthread rwlock", BlockingShared, Parks),
        peer::<RwLock<()>>("std rwlock", BlockingShared, Parks),
        peer::<parking_lot::RwLock<()>>("parking_lot rwlock", BlockingShared, Parks),
        peer::<spin::RwLock<()>>("spin rwlock", SpinningShared, Spins),
    ]
}

/// The locks with which contended locks are compared: the mutexes that programs use today, or their
/// reader-writer locks.
pub fn references(shared: bool) -> &'static [&'static str] {
    if shared {
        &["parking_lot rwlock", "pthread rwlock"]
    } else {
        &["parking_lot mutex", "pthread mutex"]
    }
}

macro_rules! guarded {
    ($type:ty, $guard:ident = $lock:expr) => {
        impl Lock for $type {
            type Thread = ();

            #[inline(always)]
            fn with<R: Send>(&self, _: &mut (), section: impl FnOnce() -> R + Send) -> R {
                let $guard = self;
                let _guard = $lock;
                section()
            }
        }
    };
    ($type:ty, $guard:ident = $lock:expr, $share:expr) => {
        impl Lock for $type {
            type Thread = ();

            const SHARED: bool = true;

            #[inline(always)]
            fn with<R: Send>(&self, _: &mut (), section: impl FnOnce() -> R + Send) -> R {
                let $guard = self;
                let _guard = $lock;
                section()
            }

            #[inline(always)]
            fn share<R: Send>(&self, _: &mut (), section: impl FnOnce() -> R + Send) -> R {
                let $guard = self;
                let _guard = $share;
                section()
            }
        }
    };
}

guarded!(Mutex<()>, lock = lock.lock().unwrap_or_else(PoisonError::into_inner));
guarded!(parking_lot::Mutex<()>, lock = lock.lock());
guarded!(spin::mutex::SpinMutex<()>, lock = lock.lock());
guarded!(spin::mutex::TicketMutex<()>, lock = lock.lock());
guarded!(
    RwLock<()>,
    lock = lock.write().unwrap_or_else(PoisonError::into_inner),
    lock.read().unwrap_or_else(PoisonError::into_inner)
);
guarded!(parking_lot::RwLock<()>, lock = lock.write(), lock.read());
guarded!(spin::RwLock<()>, lock = lock.write(), lock.read());

macro_rules! mcs {
    ($type:ty) => {
        impl Lock for $type {
            type Thread = McsNode;

            #[inline(always)]
            fn with<R: Send>(&self, node: &mut McsNode, section: impl FnOnce() -> R + Send) -> R {
                self.lock_with_then(&mut node.0, |_| section())
            }
        }
    };
}

/// A thread's node in the queue.
pub struct McsNode(raw::MutexNode);

impl Default for McsNode {
    fn default() -> Self {
        Self(raw::MutexNode::new())
    }
}

mcs!(raw::spins::Mutex<()>);
mcs!(raw::yields::Mutex<()>);

macro_rules! pthread {
    ($name:ident, $type:ty, $initial:expr) => {
        struct $name(UnsafeCell<$type>);

        // SAFETY: pthread's locks are made for use by several threads.
        unsafe impl Send for $name {}
        // SAFETY: as above.
        unsafe impl Sync for $name {}

        impl Default for $name {
            fn default() -> Self {
                Self(UnsafeCell::new($initial))
            }
        }
    };
}

pthread!(PthreadMutex, libc::pthread_mutex_t, libc::PTHREAD_MUTEX_INITIALIZER);
pthread!(PthreadRwLock, libc::pthread_rwlock_t, libc::PTHREAD_RWLOCK_INITIALIZER);
pthread!(PthreadSpin, libc::pthread_spinlock_t, {
    let mut lock = 0;
    // SAFETY: the pointer is to a live spinlock. Initialization stores a plain number, so the lock
    // can still be moved.
    assert_eq!(unsafe { libc::pthread_spin_init(&mut lock, libc::PTHREAD_PROCESS_PRIVATE) }, 0);
    lock
});

/// Runs a section between a pair of calls whose results are checked, as in a careful program.
macro_rules! between {
    ($section:ident, $lock:expr, $acquire:path, $release:path) => {{
        // SAFETY: the lock is initialised, and not moved while it is used.
        assert_eq!(unsafe { $acquire($lock) }, 0);
        let result = $section();
        // SAFETY: acquired above.
        assert_eq!(unsafe { $release($lock) }, 0);
        result
    }};
}

impl Lock for PthreadMutex {
    type Thread = ();

    #[inline(always)]
    fn with<R: Send>(&self, _: &mut (), section: impl FnOnce() -> R + Send) -> R {
        between!(section, self.0.get(), libc::pthread_mutex_lock, libc::pthread_mutex_unlock)
    }
}

impl Lock for PthreadSpin {
    type Thread = ();

    #[inline(always)]
    fn with<R: Send>(&self, _: &mut (), section: impl FnOnce() -> R + Send) -> R {
        between!(section, self.0.get(), libc::pthread_spin_lock, libc::pthread_spin_unlock)
    }
}

impl Lock for PthreadRwLock {
    type Thread = ();

    const SHARED: bool = true;

    #[inline(always)]
    fn with<R: Send>(&self, _: &mut (), section: impl FnOnce() -> R + Send) -> R {
        between!(section, self.0.get(), libc::pthread_rwlock_wrlock, libc::pthread_rwlock_unlock)
    }

    #[inline(always)]
    fn share<R: Send>(&self, _: &mut (), section: impl FnOnce() -> R + Send) -> R {
        between!(section, self.0.get(), libc::pthread_rwlock_rdlock, libc::pthread_rwlock_unlock)
    }
}
