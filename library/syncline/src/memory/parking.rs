//! Sleeping on a word on systems other than Linux: the process keeps lists of the sleepers.
//!
//! A word's address determines its list. A thread checks the word and puts itself on the list while
//! it has the list locked. A thread that wakes others writes the word before it locks the list. So
//! either the sleeper finds the new value, or the waker finds the sleeper. Each sleeper waits on
//! its own condition variable, so the address and the key decide exactly which threads may be
//! woken. A futex may wake others as well.
//!
//! This uses the standard library's mutexes, which sleep in their own way on each system. The lists
//! allocate memory. So on these systems an allocator must not use a lock that parks.
//!
//! Source: the parking lot of WebKit (Pizlo, "Locking in WebKit", 2016), but with a fixed number of
//! lists.

use core::sync::atomic::{AtomicU32, Ordering::Relaxed};
use core::time::Duration;
use std::sync::{Condvar, Mutex, MutexGuard, PoisonError};
use std::vec::Vec;

use crate::memory::interface::Address;

/// The sleepers on all words whose addresses have the same hash.
struct List(Mutex<Vec<Sleeper>>);

#[derive(Clone, Copy)]
struct Sleeper {
    address: Address,
    key: u32,
    /// Identifies a sleeper, and wakes it. It is on the sleeper's stack until the sleeper is off
    /// the list.
    bell: *const Condvar,
}

// SAFETY: a bell is shared by all threads, and is there while the list refers to it.
unsafe impl Send for Sleeper {}

const LISTS: usize = 64;
static ALL: [List; LISTS] = [const { List(Mutex::new(Vec::new())) }; LISTS];

/// The list of a word's sleepers; words lie four bytes apart at least.
fn list(address: Address) -> &'static List {
    // 2^64 divided by the golden ratio (Knuth, volume 3, section 6.4).
    let hash = (address.0 as u64 / 4).wrapping_mul(0x9E37_79B9_7F4A_7C15);
    &ALL[(hash >> 32) as usize % LISTS]
}

impl List {
    fn lock(&self) -> MutexGuard<'_, Vec<Sleeper>> {
        // Nothing panics while it is locked.
        self.0.lock().unwrap_or_else(PoisonError::into_inner)
    }
}

/// See [`Memory::park`](crate::memory::Memory::park); `now` is the clock of the deadline.
pub fn park(
    word: &AtomicU32,
    expected: u32,
    key: u32,
    deadline: Option<Duration>,
    now: impl Fn() -> Duration,
) {
    let address = Address(word.as_ptr().addr());
    let list = list(address);
    let mut sleepers = list.lock();
    // Relaxed: the list's mutex orders the load with the thread that wakes, and the caller looks
    // again.
    if word.load(Relaxed) != expected {
        return;
    }
    let bell = Condvar::new();
    let me = &raw const bell;
    sleepers.push(Sleeper { address, key, bell: me });
    while sleepers.iter().any(|sleeper| sleeper.bell == me) {
        sleepers = match deadline.map(|deadline| deadline.saturating_sub(now())) {
            None => bell.wait(sleepers).unwrap_or_else(PoisonError::into_inner),
            Some(Duration::ZERO) => return sleepers.retain(|sleeper| sleeper.bell != me),
            Some(left) => {
                bell.wait_timeout(sleepers, left).unwrap_or_else(PoisonError::into_inner).0
            }
        };
    }
}

/// See [`Memory::unpark`](crate::memory::Memory::unpark).
pub fn unpark(address: Address, key: Option<u32>, count: u32) {
    let mut left = count;
    list(address).lock().retain(|sleeper| {
        let woken =
            left > 0 && sleeper.address == address && key.is_none_or(|key| sleeper.key == key);
        if woken {
            left -= 1;
            // SAFETY: the sleeper is on the list, which is locked, so its bell is still there.
            unsafe { (*sleeper.bell).notify_one() };
        }
        !woken
    });
}

#[cfg(test)]
mod tests {
    use std::sync::atomic::Ordering::SeqCst;
    use std::thread;
    use std::time::Instant;

    use super::*;

    fn sleepers_of(word: &AtomicU32) -> usize {
        let address = Address(word.as_ptr().addr());
        list(address).lock().iter().filter(|sleeper| sleeper.address == address).count()
    }

    fn sleep(word: &AtomicU32, key: u32, deadline: Option<Duration>) {
        let start = Instant::now();
        park(word, 0, key, deadline, || start.elapsed());
    }

    #[test]
    fn nobody_sleeps_on_a_word_that_holds_something_else() {
        park(&AtomicU32::new(7), 0, 0, None, || Duration::ZERO);
    }

    #[test]
    fn a_sleep_ends_at_its_deadline() {
        let (word, start) = (AtomicU32::new(0), Instant::now());
        let patience = Duration::from_millis(20);
        sleep(&word, 0, Some(patience));
        assert!(start.elapsed() >= patience);
        assert_eq!(sleepers_of(&word), 0);
    }

    #[test]
    fn so_many_are_woken_of_whom_the_key_is() {
        let (words, woken) = ([AtomicU32::new(0), AtomicU32::new(0)], AtomicU32::new(0));
        thread::scope(|scope| {
            for key in [1, 1, 1, 2] {
                let (words, woken) = (&words, &woken);
                scope.spawn(move || {
                    sleep(&words[0], key, None);
                    woken.fetch_add(key, SeqCst);
                });
            }
            scope.spawn(|| sleep(&words[1], 1, None));
            let until = |left: [usize; 2], sum| {
                while words.each_ref().map(sleepers_of) != left || woken.load(SeqCst) != sum {
                    thread::yield_now();
                }
            };
            let [first, second] = words.each_ref().map(|word| Address(word.as_ptr().addr()));
            until([4, 1], 0);
            unpark(first, Some(1), 2);
            until([2, 1], 2);
            unpark(first, Some(3), u32::MAX);
            until([2, 1], 2);
            unpark(first, None, u32::MAX);
            until([0, 1], 5);
            unpark(second, Some(1), 1);
        });
    }
}
