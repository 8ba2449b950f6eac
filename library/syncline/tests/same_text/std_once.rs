// One-time initialization, with the standard library's names.

use peer::{LazyLock, Once, OnceLock};
use std::sync::atomic::{AtomicU32, Ordering::SeqCst};
use std::thread;

#[test]
fn a_set_up_runs_once() {
    static READY: Once = Once::new();
    static RUNS: AtomicU32 = AtomicU32::new(0);
    thread::scope(|scope| {
        for _ in 0..4 {
            scope.spawn(|| READY.call_once(|| _ = RUNS.fetch_add(1, SeqCst)));
        }
        scope.spawn(|| {
            READY.wait();
            assert!(READY.is_completed());
        });
    });
    assert_eq!(RUNS.load(SeqCst), 1);
}

#[test]
fn a_set_up_that_failed_is_forced() {
    let once = Once::new();
    let failed = thread::scope(|scope| {
        scope.spawn(|| once.call_once(|| std::panic::resume_unwind(Box::new("no")))).join()
    });
    assert!(failed.is_err() && !once.is_completed());
    once.call_once_force(|state| assert!(state.is_poisoned()));
    once.call_once_force(|_| unreachable!());
}

fn options() -> &'static Vec<String> {
    static OPTIONS: OnceLock<Vec<String>> = OnceLock::new();
    OPTIONS.get_or_init(|| vec!["--fast".to_owned()])
}

#[test]
fn a_cell_is_filled_once() {
    assert!(std::ptr::eq(options(), options()));
    let mut cell = OnceLock::new();
    assert!(cell.get().is_none() && cell.get_mut().is_none());
    thread::scope(|scope| {
        scope.spawn(|| assert_eq!(cell.wait(), &"set"));
        assert_eq!(cell.set("set"), Ok(()));
    });
    assert_eq!(cell.set("again"), Err("again"));
    assert_eq!(format!("{cell:?} {:?}", OnceLock::<u8>::default()), "OnceLock(\"set\") OnceLock(<uninit>)");
    assert_eq!((cell.clone() == OnceLock::from("set"), cell.take(), cell.into_inner()), (true, Some("set"), None));
}

#[test]
fn a_value_is_made_when_it_is_needed() {
    static WORDS: LazyLock<Vec<&str>> = LazyLock::new(|| "one two".split(' ').collect());
    assert_eq!(WORDS.len(), 2);
    let base = 40;
    let answer = LazyLock::new(|| base + 2);
    assert_eq!(format!("{answer:?}"), "LazyLock(<uninit>)");
    assert_eq!((*LazyLock::force(&answer), *answer), (42, 42));
}
