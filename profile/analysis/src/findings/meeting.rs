//! Barriers that a program made of a lock and a condition.
//!
//! All threads that arrive count themselves under the lock; all but the last wait for the
//! condition, and the last one wakes them. So, unlike at a queue, threads wait and wake in one
//! function, and there are as many arrivals for each broadcast as there are threads that meet.

use syncline_recording::{Class, Op, Primitive};

use super::family::Family;
use crate::model::Process;

/// How far the arrivals for a broadcast may be from a whole number: the run may end within a round.
const WHOLE: f64 = 0.02;

/// The function in which threads meet at the locks of a family, if they do.
pub fn function<'a>(process: &'a Process, family: &Family) -> Option<&'a str> {
    let arrivals = family.sites.iter().map(|&site| &process.sites[site]);
    let arrivals = arrivals.filter(|site| site.op.class() == Class::Acquire && site.threads > 1);
    let main = arrivals.max_by_key(|site| site.figures.calls)?;
    let here = process.function_of(main)?;
    let conditions = process.locks.iter().filter(|lock| lock.primitive == Primitive::Condvar);
    let meets = |condition: &crate::model::Lock| {
        let at = |op: Op| {
            let used = condition.sites.iter().filter(move |used| used.op == op);
            let sites = used.map(|used| (&process.sites[used.site], used.calls));
            sites.filter(|(site, _)| site.threads > 1 && process.function_of(site) == Some(here))
        };
        let waits = at(Op::CondWait).next().is_some();
        let mut broadcasts = at(Op::CondBroadcast).map(|(_, calls)| calls);
        waits && broadcasts.any(|calls| is_whole(main.figures.calls, calls, main.threads))
    };
    conditions.into_iter().any(meets).then_some(here)
}

/// Whether this many arrivals are a whole number for each round, of two threads or more, and of no
/// more threads than come there.
fn is_whole(arrivals: u64, rounds: u64, threads: usize) -> bool {
    let each = arrivals as f64 / rounds.max(1) as f64;
    let most = threads as f64 + WHOLE;
    each >= 2.0 - WHOLE && each <= most && (each - each.round()).abs() <= WHOLE
}

#[cfg(test)]
mod tests {
    use super::*;
    use crate::findings::testing::{Use, process};

    /// Whether three threads that arrive and broadcast so often, the latter in this function, meet.
    fn meet(arrivals: u64, broadcasts: u64, waker: &str) -> bool {
        let mut drawn = process(10.0, 4);
        drawn.threads("work", 3, 10.0);
        let lock = drawn.lock(Primitive::Mutex, "mutex");
        let condition = drawn.lock(Primitive::Condvar, "all_came");
        let arrive = drawn.site(Op::MutexLock, "meet at barrier.c:10");
        drawn.uses(lock, arrive, Use { calls: arrivals, ..Use::default() });
        let wait = drawn.site(Op::CondWait, "meet at barrier.c:14");
        drawn.uses(condition, wait, Use { calls: 100, waits: 100, ..Use::default() });
        let wake = drawn.site(Op::CondBroadcast, &format!("{waker} at barrier.c:20"));
        drawn.uses(condition, wake, Use { calls: broadcasts, ..Use::default() });
        for site in [arrive, wait, wake] {
            drawn.sites[site].threads = 3;
        }
        function(&drawn, &Family::all(&drawn)[0]) == Some("meet")
    }

    #[test]
    fn who_waits_and_wakes_all_in_one_function_meets() {
        assert!(meet(30_000, 10_000, "meet"));
        assert!(meet(30_001, 10_000, "meet"), "the last round is not over");
        assert!(meet(20_000, 10_000, "meet"), "two of three threads");
    }

    #[test]
    fn queues_and_pools_do_not() {
        assert!(!meet(30_000, 10_000, "put"), "others wake");
        assert!(!meet(27_000, 10_000, "meet"), "2.7 for each");
        assert!(!meet(10_000, 10_000, "meet"), "one for each");
        assert!(!meet(40_000, 10_000, "meet"), "more than threads");
    }
}
