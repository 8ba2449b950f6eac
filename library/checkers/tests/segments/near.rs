//! Waiters of pure queue locks poll only words of their own segment while they spin. Waiters of
//! ticket locks, and of a cohort lock whose global lock is test-and-test-and-set, also poll words
//! of other segments. When a lock's waiter pauses, it passes the word that it polls, so the memory
//! can count.

use syncline::lock::{
    CohortMcs, CohortTtasMcs, FairRw, HierarchicalTicket, Hmcs, Mcs, RawLock, Ticket,
};
use syncline::wait::Spin;
use syncline_checkers::cases::exclusion;
use syncline_checkers::{Engine, looks, randomly};

use crate::Drawn;

/// Whether waiters have polled words of other segments, in any execution.
fn look_far<L: RawLock<Memory: Engine> + 'static>() -> bool {
    looks();
    randomly(100, || exclusion::<L>(4, 3));
    let looks = looks();
    assert!(looks.near > 0, "nobody has waited");
    looks.remote > 0
}

#[test]
fn waiters_of_queue_locks_look_at_their_own_segment() {
    assert!(!look_far::<Mcs<Spin, Drawn>>());
    assert!(!look_far::<FairRw<Spin, Drawn>>());
    assert!(!look_far::<CohortMcs<Spin, Drawn>>());
    assert!(!look_far::<Hmcs<Spin, Drawn>>());
}

#[test]
fn waiters_of_others_look_at_the_lock_wherever_it_is() {
    assert!(look_far::<Ticket<Spin, Drawn>>());
    assert!(look_far::<HierarchicalTicket<Spin, Drawn>>());
    assert!(look_far::<CohortTtasMcs<Spin, Drawn>>());
}
