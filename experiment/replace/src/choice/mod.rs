//! Chooses the locks that replace the program's: by name, once, at the first use of any lock, or
//! for each object by a [`policy`].

mod first;

use core::sync::atomic::{AtomicU32, Ordering::AcqRel, Ordering::Acquire, Ordering::Release};

use syncline::memory::Memory;

use crate::catalogue::{self, LIBC};
use crate::memory::{self, Own};
use crate::numbered::mutex::IfFirst;
use crate::policy::{MUTEX, RWLOCK, SPINLOCK};
use crate::table::Table;
use crate::{generation, mutex, numbered, options, policy, rwlock, spin};

/// The lock in place of mutexes.
pub static MUTEXES: Table<mutex::Ops> = Table::new(&mutex::Ops::FIRST);
/// The lock in place of spinlocks.
pub static SPINLOCKS: Table<spin::Ops> = Table::new(&spin::Ops::FIRST);
/// The lock in place of reader-writer locks.
pub static RWLOCKS: Table<rwlock::Ops> = Table::new(&rwlock::Ops::FIRST);

/// Chooses the locks, unless a thread has done so, and makes the preparations that the chosen locks
/// need and that are possible only in a started program.
pub fn start() {
    choose();
    memory::learn_groups_if_needed();
}

/// Chooses the locks, or waits until another thread has.
#[cold]
pub fn choose() {
    const UNDONE: u32 = 0;
    const DOING: u32 = 1;
    const DONE: u32 = 2;
    static STAGE: AtomicU32 = AtomicU32::new(UNDONE);
    // Acquire: pairs with the Release below.
    match STAGE.compare_exchange(UNDONE, DOING, AcqRel, Acquire) {
        Ok(_) => {
            choose_once();
            STAGE.store(DONE, Release);
        }
        Err(_) => {
            while STAGE.load(Acquire) != DONE {
                Own::yield_now();
            }
        }
    }
}

fn choose_once() {
    let (names, policy) = (options::locks(), options::policy());
    if !names.is_empty() || !policy.is_empty() {
        memory::prepare();
        generation::prepare();
    }
    if !policy.is_empty() {
        MUTEXES.set(by_policy(policy));
        SPINLOCKS.set(&spin::Ops::NUMBERED);
        RWLOCKS.set(&rwlock::Ops::NUMBERED);
        return;
    }
    let set = catalogue::set(names);
    MUTEXES.set(set.mutexes.map_or(&mutex::Ops::LEFT, |mutexes| mutexes.ops));
    SPINLOCKS.set(set.spinlocks.unwrap_or(&spin::Ops::LEFT));
    RWLOCKS.set(set.rwlocks.unwrap_or(&rwlock::Ops::LEFT));
}

/// Gives each number of a policy its locks, and returns the functions for mutexes under the policy.
fn by_policy(text: &'static [u8]) -> &'static mutex::Ops {
    let mut first = IfFirst::LEFT;
    policy::start(text, |lock| {
        let number = usize::from(lock.number);
        let set = catalogue::set(lock.names);
        let mut kinds = 0;
        if let Some(mutexes) = set.mutexes {
            numbered::mutex::MUTEXES[number].set(mutexes.ops);
            kinds |= MUTEX;
            if numbered::mutex::first() == 0 && lock.names != LIBC {
                numbered::mutex::be_first(lock.number);
                first = mutexes.if_first;
            }
        }
        if let Some(ops) = set.spinlocks {
            numbered::spin::SPINLOCKS[number].set(ops);
            kinds |= SPINLOCK;
        }
        if let Some(ops) = set.rwlocks {
            numbered::rwlock::RWLOCKS[number].set(ops);
            kinds |= RWLOCK;
        }
        kinds
    });
    // SAFETY: `keep` never frees it.
    unsafe { &*policy::keep(mutex::Ops::numbered(first)) }
}
