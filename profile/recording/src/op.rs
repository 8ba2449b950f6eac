//! The operations that a recording counts.
//!
//! An operation is a call that the program makes. Calls with the same effect are one operation:
//! `pthread_mutex_lock` and C11's `mtx_lock` are both [`Op::MutexLock`].

use serde::Serialize;

/// The kind of object that an operation works on.
#[derive(Clone, Copy, Debug, PartialEq, Eq, Hash, PartialOrd, Ord, Serialize)]
#[serde(rename_all = "snake_case")]
pub enum Primitive {
    /// `pthread_mutex_t`, `mtx_t`
    Mutex,
    /// `pthread_rwlock_t`
    Rwlock,
    /// `pthread_spinlock_t`
    Spinlock,
    /// `pthread_cond_t`, `cnd_t`
    Condvar,
    /// `pthread_barrier_t`
    Barrier,
    /// `sem_t`
    Semaphore,
    /// A thread: its creation, and waits for its end
    Thread,
    /// A word passed to the `futex` system call through libc's `syscall`
    Futex,
    /// OpenMP's critical sections and atomics
    OmpCritical,
    /// `omp_lock_t`, `omp_nest_lock_t`
    OmpLock,
    /// OpenMP's barriers
    OmpBarrier,
    /// The processor, which a thread yields before it polls again: `sched_yield`, `thrd_yield`
    Yield,
    /// A length of time: `nanosleep`, `usleep` and others
    Sleep,
    /// A word that a thread polls in a loop of its own instructions. The recorder does not see such
    /// loops, but samples do.
    Spin,
}

impl Primitive {
    /// Whether it is a kind of barrier, at which threads wait for each other.
    pub fn is_barrier(self) -> bool {
        matches!(self, Primitive::Barrier | Primitive::OmpBarrier)
    }

    /// Whether there is only one object of this kind in a recording, which stands for all yields,
    /// all sleeps or all spins. So threads that use it may have nothing else in common.
    pub fn has_one_object_for_all(self) -> bool {
        matches!(self, Primitive::Yield | Primitive::Sleep | Primitive::Spin)
    }
}

/// What the counters of an operation mean.
#[derive(Clone, Copy, Debug, PartialEq, Eq, Hash, Serialize)]
#[serde(rename_all = "snake_case")]
pub enum Class {
    /// Acquires a lock: `calls` are acquisitions, and `waits` are the calls that had to wait.
    Acquire,
    /// Acquires a lock or gives up at once: `calls` are acquisitions, and `refused` are the calls
    /// that gave up.
    Try,
    /// Waits for an event and not for a lock: `calls` are waits, and each one counts in `waits`
    /// too.
    Wait,
    /// Lets other threads run before the thread checks again whether it can go on: `calls` are
    /// these calls. If calls follow each other closely, the thread only polls, and the time between
    /// them counts as time spent spinning. A call that took long counts as a wait.
    Poll,
    /// Wakes other threads: only `calls` counts.
    Notify,
    /// Creates an object: only `calls` counts and, for semaphores, `held_max`. A row whose lock is
    /// 0 stands for all further objects that its call site created.
    Create,
}

macro_rules! ops {
    ($($name:ident = $code:literal, $primitive:ident, $class:ident, $label:literal;)*) => {
        /// An operation, as stored in the low byte of a row's key.
        #[derive(Clone, Copy, Debug, PartialEq, Eq, Hash, PartialOrd, Ord, Serialize)]
        #[serde(rename_all = "snake_case")]
        #[repr(u8)]
        pub enum Op {
            $(#[doc = $label] $name = $code,)*
        }

        impl Op {
            /// Every operation, in the order of their codes.
            pub const ALL: &[Op] = &[$(Op::$name),*];

            /// The operation with this code; `None` if there is none.
            pub fn from_code(code: u8) -> Option<Op> {
                match code {
                    $($code => Some(Op::$name),)*
                    _ => None,
                }
            }

            /// The kind of object that the operation works on.
            pub fn primitive(self) -> Primitive {
                match self { $(Op::$name => Primitive::$primitive,)* }
            }

            /// What the operation's counters mean.
            pub fn class(self) -> Class {
                match self { $(Op::$name => Class::$class,)* }
            }

            /// The operation's name for people, such as `rwlock write (timed)`.
            pub fn label(self) -> &'static str {
                match self { $(Op::$name => $label,)* }
            }
        }
    };
}

ops! {
    MutexLock = 1, Mutex, Acquire, "mutex lock";
    MutexTrylock = 2, Mutex, Try, "mutex trylock";
    MutexTimedlock = 3, Mutex, Acquire, "mutex lock (timed)";
    MutexInit = 4, Mutex, Create, "mutex init";
    RwlockRead = 8, Rwlock, Acquire, "rwlock read";
    RwlockTryRead = 9, Rwlock, Try, "rwlock tryread";
    RwlockTimedRead = 10, Rwlock, Acquire, "rwlock read (timed)";
    RwlockWrite = 11, Rwlock, Acquire, "rwlock write";
    RwlockTryWrite = 12, Rwlock, Try, "rwlock trywrite";
    RwlockTimedWrite = 13, Rwlock, Acquire, "rwlock write (timed)";
    RwlockInit = 14, Rwlock, Create, "rwlock init";
    SpinLock = 16, Spinlock, Acquire, "spinlock lock";
    SpinTrylock = 17, Spinlock, Try, "spinlock trylock";
    SpinInit = 18, Spinlock, Create, "spinlock init";
    CondWait = 24, Condvar, Wait, "condvar wait";
    CondTimedwait = 25, Condvar, Wait, "condvar wait (timed)";
    CondSignal = 26, Condvar, Notify, "condvar signal";
    CondBroadcast = 27, Condvar, Notify, "condvar broadcast";
    CondInit = 28, Condvar, Create, "condvar init";
    BarrierWait = 32, Barrier, Wait, "barrier wait";
    BarrierInit = 33, Barrier, Create, "barrier init";
    SemWait = 40, Semaphore, Acquire, "semaphore wait";
    SemTrywait = 41, Semaphore, Try, "semaphore trywait";
    SemTimedwait = 42, Semaphore, Acquire, "semaphore wait (timed)";
    SemPost = 43, Semaphore, Notify, "semaphore post";
    SemInit = 44, Semaphore, Create, "semaphore init";
    ThreadCreate = 48, Thread, Create, "thread create";
    ThreadJoin = 49, Thread, Wait, "thread join";
    FutexWait = 56, Futex, Wait, "futex wait";
    FutexWake = 57, Futex, Notify, "futex wake";
    OmpCritical = 64, OmpCritical, Acquire, "omp critical";
    OmpAtomic = 65, OmpCritical, Acquire, "omp atomic";
    OmpLock = 66, OmpLock, Acquire, "omp lock";
    OmpTestLock = 67, OmpLock, Try, "omp test lock";
    OmpBarrier = 68, OmpBarrier, Wait, "omp barrier";
    Yield = 72, Yield, Poll, "yield";
    Sleep = 73, Sleep, Wait, "sleep";
    Spin = 74, Spin, Poll, "spin";
}

#[cfg(test)]
mod tests {
    use super::*;

    #[test]
    fn codes_and_operations_map_onto_each_other() {
        for &op in Op::ALL {
            assert_eq!(Op::from_code(op as u8), Some(op));
        }
        let known = (0..=255).filter(|&c| Op::from_code(c).is_some()).count();
        assert_eq!(known, Op::ALL.len());
        assert_eq!(Op::from_code(0), None, "0 marks an empty row");
    }
}
