// Threads that meet, with the standard library's names.

use peer::Barrier;
use std::sync::Arc;
use std::sync::atomic::{AtomicUsize, Ordering::SeqCst};
use std::thread;

#[test]
fn nobody_goes_on_before_all_have_come() {
    let (gate, came) = (Arc::new(Barrier::new(4)), Arc::new(AtomicUsize::new(0)));
    let threads: Vec<_> = (0..4)
        .map(|_| {
            let (gate, came) = (Arc::clone(&gate), Arc::clone(&came));
            thread::spawn(move || {
                came.fetch_add(1, SeqCst);
                let led = gate.wait().is_leader();
                assert_eq!(came.load(SeqCst), 4);
                led
            })
        })
        .collect();
    let led = threads.into_iter().map(|thread| thread.join().unwrap());
    assert_eq!(led.filter(|led| *led).count(), 1);
}
