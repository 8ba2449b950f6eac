// A condition variable of parking_lot's.

use peer::{Condvar, Mutex, WaitTimeoutResult};
use std::collections::VecDeque;
use std::thread;
use std::time::{Duration, Instant};

#[derive(Default)]
struct Queue {
    jobs: Mutex<VecDeque<u32>>,
    filled: Condvar,
}

impl Queue {
    fn put(&self, job: u32) {
        self.jobs.lock().push_back(job);
        self.filled.notify_one();
    }

    fn take(&self) -> u32 {
        let mut jobs = self.jobs.lock();
        while jobs.is_empty() {
            self.filled.wait(&mut jobs);
        }
        jobs.pop_front().unwrap()
    }

    fn wait_for_end(&self) {
        self.filled.wait_while(&mut self.jobs.lock(), |jobs| !jobs.contains(&0));
    }
}

#[test]
fn jobs_go_from_thread_to_thread() {
    let queue = Queue::default();
    thread::scope(|scope| {
        let takers: Vec<_> = (0..2).map(|_| scope.spawn(|| queue.take())).collect();
        queue.put(3);
        queue.put(4);
        let sum: u32 = takers.into_iter().map(|taker| taker.join().unwrap()).sum();
        assert_eq!(sum, 7);
        scope.spawn(|| queue.wait_for_end());
        queue.jobs.lock().push_back(0);
        queue.filled.notify_all();
    });
}

#[test]
fn waiting_ends() {
    let (mutex, never) = (Mutex::new(false), Condvar::new());
    let soon = Duration::from_millis(5);
    let mut guard = mutex.lock();
    let outcomes: [WaitTimeoutResult; 3] = [
        never.wait_while_for(&mut guard, |over| !*over, soon),
        never.wait_while_until(&mut guard, |over| !*over, Instant::now() + soon),
        never.wait_until(&mut guard, Instant::now()),
    ];
    assert!(outcomes.iter().all(|outcome| outcome.timed_out()));
    let begin = Instant::now();
    while !never.wait_for(&mut guard, soon).timed_out() {}
    assert!(begin.elapsed() >= soon);
}
