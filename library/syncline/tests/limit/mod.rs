//! A limit on the time of tests whose threads may wait forever.

use std::panic::resume_unwind;
use std::sync::mpsc;
use std::thread;
use std::time::Duration;

/// Runs a test in a thread of its own. Panics if the test does, or if it takes longer than `limit`.
pub fn within(limit: Duration, test: impl FnOnce() + Send + 'static) {
    let (done, wait) = mpsc::channel();
    let runner = thread::spawn(move || {
        test();
        done.send(()).expect("the test is waited for");
    });
    match wait.recv_timeout(limit) {
        Err(mpsc::RecvTimeoutError::Timeout) => panic!("still not done after {limit:?}"),
        _ => runner.join().unwrap_or_else(|panic| resume_unwind(panic)),
    }
}
