// One-time initialization, with parking_lot's names.

use peer::Once;

static START: Once = Once::new();

#[test]
fn a_set_up_runs_once() {
    let mut runs = 0;
    for _ in 0..2 {
        START.call_once(|| runs += 1);
        START.call_once_force(|_| runs += 1);
    }
    assert_eq!(runs, 1);
}
