//! A cache that threads share: answers that are expensive to find are kept, up to a number.
//!
//! A hit writes one flag in the entry itself, and nothing that other entries' users read. When
//! there are too many entries, those that were not used since the last removal are dropped.

use std::hash::Hash;
use std::sync::atomic::{AtomicBool, AtomicUsize, Ordering::Relaxed};
use std::thread;

use syncline::table::Table;

/// What was found, and whether a thread requested it recently.
struct Answer<V> {
    value: V,
    used: AtomicBool,
}

struct Cache<K, V> {
    answers: Table<K, Answer<V>>,
    /// How many answers there are; the table would have to count them each time.
    count: AtomicUsize,
    capacity: usize,
    misses: AtomicUsize,
}

impl<K: Hash + Eq + Clone, V: Clone> Cache<K, V> {
    fn new(capacity: usize) -> Self {
        let count = AtomicUsize::new(0);
        let answers = Table::with_capacity(capacity);
        Self { answers, count, capacity, misses: AtomicUsize::new(0) }
    }

    /// The answer to a question, from the cache or by finding it. No lock is held meanwhile, so two
    /// threads may find the same answer at the same time; both get the one that is kept.
    fn get(&self, question: &K, find: impl FnOnce(&K) -> V) -> V {
        if let Some(answer) = self.answers.get(question) {
            if !answer.used.load(Relaxed) {
                answer.used.store(true, Relaxed);
            }
            return answer.value.clone();
        }
        self.misses.fetch_add(1, Relaxed);
        let value = find(question);
        // From here on the question's entry is locked, so only one thread inserts an answer.
        let place = self.answers.entry(question.clone());
        // Counted before it can be dropped.
        let too_many = place.get().is_none() && self.count.fetch_add(1, Relaxed) >= self.capacity;
        let answer = place.or_insert(Answer { value, used: AtomicBool::new(true) });
        // The lock was released by `or_insert`.
        if too_many {
            self.make_room();
        }
        answer.value.clone()
    }

    /// Drops the answers that were not used since the last removal.
    fn make_room(&self) {
        let mut dropped = 0;
        self.answers.retain(|_, answer| {
            let keep = answer.used.swap(false, Relaxed);
            dropped += usize::from(!keep);
            keep
        });
        self.count.fetch_sub(dropped, Relaxed);
    }
}

/// Takes a while: how many steps the Collatz sequence needs to come to 1.
fn steps_to_one(number: &u64) -> u32 {
    let next = |&n: &u64| (n > 1).then(|| if n % 2 == 0 { n / 2 } else { 3 * n + 1 });
    std::iter::successors(Some(*number), next).skip(1).map(|_| 1).sum()
}

/// Runs the cache under four threads, most of whose questions were asked before.
pub fn main() {
    const QUESTIONS: u64 = 50_000;
    const CAPACITY: usize = 1_000;
    let cache = Cache::new(CAPACITY);
    thread::scope(|scope| {
        for thread in 0..4 {
            let cache = &cache;
            scope.spawn(move || {
                for question in 0..QUESTIONS {
                    // One in eight is new; the others come again and again.
                    let spread = question.wrapping_mul(0x9E37_79B9_7F4A_7C15) >> 32;
                    let number = if question % 8 == 0 {
                        10_000 + question + thread
                    } else {
                        1 + spread % 500
                    };
                    assert_eq!(cache.get(&number, steps_to_one), steps_to_one(&number));
                }
            });
        }
    });
    let (kept, misses) = (cache.answers.len(), cache.misses.load(Relaxed));
    println!("{} questions, {misses} misses, {kept} answers kept", 4 * QUESTIONS);
    assert_eq!(kept, cache.count.load(Relaxed));
    assert!(kept <= 2 * CAPACITY, "the cache keeps to its size");
    // One question in eight is new; how many of the others were dropped too soon depends on the
    // order in which threads ask.
    assert!(misses < 2 * QUESTIONS as usize, "it answers half of the questions");
}
