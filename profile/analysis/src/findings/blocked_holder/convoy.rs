//! [`Rule::Convoy`]: a lock is handed from one sleeping thread to the next. After each release no
//! running thread holds it until the next thread is awake.

use syncline_recording::Primitive;

use crate::findings::blocked_holder::holder::draft;
use crate::findings::evidence::{count, seconds, share};
use crate::findings::family::{FEWEST_TAKEN, share_of_run};
use crate::held::mean_held;
use crate::model::{Finding, Lock, Process, Remedy, Rule, Site};

/// In a convoy, at least this share of the acquisitions wait.
const CONVOY_CONTENTION: f64 = 0.5;
/// For at least this share of the run time, threads must wait for a lock that no thread holds.
const HAND_OVER_FLOOR: f64 = 0.05;

/// Checks one call site of acquisitions.
pub fn find(process: &Process, site: usize) -> Option<Finding> {
    let Site { ref figures, op, threads, .. } = process.sites[site];
    let spins = op.primitive() == Primitive::Spinlock;
    // All threads but one may wait at a time; while they do, the lock is held, here or at other
    // call sites, or it is being handed over.
    let wanted = figures.waited / threads.saturating_sub(1).max(1) as f64;
    let used = |lock: &&Lock| lock.sites.iter().any(|use_| use_.site == site);
    let held: f64 = process.locks.iter().filter(used).map(|lock| lock.figures.held).sum();
    let on_its_way = (wanted - held).max(0.0);
    // If a trace shows that sections are too long, that is the cause, and such hand-overs are its
    // consequence.
    let traced = process.sites[site].inspected.as_ref();
    let applies = !spins
        && !traced.is_some_and(|inspected| inspected.too_long)
        && process.sites[site].locks == 1
        && figures.contention >= CONVOY_CONTENTION
        && figures.waits >= FEWEST_TAKEN
        && on_its_way >= held
        && share_of_run(process, on_its_way) >= HAND_OVER_FLOOR;
    applies.then(|| Finding {
        title: "A lock is handed from one sleeping thread to the next".to_owned(),
        evidence: vec![
            share("acquisitions that waited", figures.contention),
            seconds("mean time held", mean_held(figures.held, figures.calls)),
            seconds("mean wait", figures.waited / figures.waits.max(1) as f64),
            seconds("time waited while no thread held the lock, at least", on_its_way),
            seconds(
                "time waited while no thread held the lock, per wait",
                on_its_way / figures.waits.max(1) as f64,
            ),
            count("threads", threads as u64),
        ],
        advice: "Let threads that run take the lock before those that have to be woken: a \
                 plain mutex without priority inheritance, PTHREAD_MUTEX_ADAPTIVE_NP, or one of \
                 Syncline's parking locks that spin first (`ttas-park`, `gate`). Or take it less \
                 often, for several steps at once."
            .to_owned(),
        remedy: Remedy::CheaperCalls {
            sites: vec![site],
            seconds_per_call: 0.0,
            waits_left: (held / wanted.max(1e-12)).clamp(0.0, 1.0),
        },
        ..draft(process, site, Rule::Convoy)
    })
}

#[cfg(test)]
mod tests {
    use syncline_recording::Op;

    use crate::findings::blocked_holder::testing::{found, taken};
    use crate::findings::testing::Use;
    use crate::model::{Inspected, Rule};

    #[test]
    fn a_convoy_waits_for_a_lock_that_nobody_holds() {
        let chain = |waits, waited, held| found(&taken(Op::MutexLock, waits, waited, held));
        assert_eq!(chain(8_000, 20.0, 1.0), [Rule::Convoy]);
        assert!(chain(4_900, 20.0, 1.0).is_empty(), "others get it at once");
        assert!(chain(8_000, 20.0, 3.4).is_empty(), "it is held for half of the time");
        assert!(chain(8_000, 1.4, 0.01).is_empty(), "4.6 % of the run");
    }

    #[test]
    fn a_section_that_a_trace_calls_too_long_is_the_cause_and_no_convoy() {
        let mut drawn = taken(Op::MutexLock, 8_000, 20.0, 1.0);
        let site = drawn.sites.len() - 1;
        let traced = |too_long| Inspected { too_long, ..Inspected::default() };
        drawn.inspected(site, traced(false));
        assert_eq!(found(&drawn), [Rule::Convoy]);
        drawn.inspected(site, traced(true));
        assert!(found(&drawn).is_empty());
    }

    #[test]
    fn waiting_for_another_call_sites_holders_is_no_convoy() {
        let mut drawn = taken(Op::RwlockWrite, 8_000, 20.0, 0.1);
        assert_eq!(found(&drawn), [Rule::Convoy]);
        let readers = drawn.site(Op::RwlockRead, "find at routes.c:46");
        drawn.uses(0, readers, Use { calls: 900_000, held: 6.0, ..Use::default() });
        assert!(!found(&drawn).contains(&Rule::Convoy), "readers hold it");
    }
}
