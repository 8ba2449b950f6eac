//! Locks for readers and writers that are only ever taken to write. Such a lock has to keep a count
//! of readers although there are none, which makes each acquisition more expensive than that of a
//! mutex.

use syncline_recording::Primitive;

use crate::findings::evidence::{count, rate, share};
use crate::findings::family::{COST_FLOOR, FEWEST_TAKEN, Family, WAITED_FLOOR};
use crate::model::{Finding, Process, Remedy, Rule};
use crate::options::Thresholds;

/// Up to this share of acquisitions for reading, a lock counts as never read.
const HARDLY_ANY: f64 = 0.01;
/// Seconds that a mutex saves for each acquisition and its release.
const SAVED: f64 = 8e-9;

/// The findings about families of locks that only writers take.
pub fn find(process: &Process, thresholds: &Thresholds) -> Vec<Finding> {
    Family::all(process)
        .iter()
        .filter(|family| {
            family.locks.iter().all(|&lock| process.locks[lock].primitive == Primitive::Rwlock)
        })
        .filter(|family| family.calls_per_second() > thresholds.acquisitions_per_second)
        .filter(|family| {
            let waits = family.found_taken() >= FEWEST_TAKEN;
            family.cost() >= COST_FLOOR || waits && family.waited_share() >= WAITED_FLOOR
        })
        .filter_map(|family| {
            let reads = family.reads();
            (reads <= HARDLY_ANY).then(|| finding(family, reads))
        })
        .collect()
}

fn finding(family: &Family, reads: f64) -> Finding {
    Finding {
        rule: Rule::OnlyWriters,
        title: "A lock for readers and writers that only writers take".to_owned(),
        place: family.main_site().place.clone(),
        sites: family.sites.clone(),
        locks: family.few_locks(),
        evidence: vec![
            rate("acquisitions", family.calls_per_second()),
            share("acquisitions to read", reads),
            share("contention", family.contention()),
            count("locks", family.locks.len() as u64),
            share("time in the calls themselves (estimate)", family.cost()),
        ],
        advice: "Use a mutex (Syncline's `gate`), which does the same at a lower cost. If some of \
                 these sections only read, acquire the lock for reading there instead."
            .to_owned(),
        open_question: None,
        remedy: Remedy::CheaperCalls {
            sites: family.sites.clone(),
            seconds_per_call: SAVED,
            waits_left: 1.0,
        },
        gain: None,
    }
}

#[cfg(test)]
mod tests {
    use syncline_recording::Op;

    use super::*;
    use crate::findings::testing::{Drawn, Use, process};

    /// A lock over accounts that is taken `bookings` times a second to write, and `looks` times to
    /// read.
    fn accounts(bookings: u64, looks: u64) -> Drawn {
        let mut drawn = process(10.0, 4);
        drawn.threads("keep_books", 4, 10.0);
        let lock = drawn.lock(Primitive::Rwlock, "account");
        let book = drawn.site(Op::RwlockWrite, "book at accounts.c:24");
        let look = drawn.site(Op::RwlockRead, "look at accounts.c:40");
        drawn.uses(lock, book, Use { calls: 10 * bookings, ..Use::default() });
        drawn.uses(lock, look, Use { calls: 10 * looks, ..Use::default() });
        drawn
    }

    #[test]
    fn writers_alone_are_found_and_one_reader_in_a_hundred_refutes() {
        let found = |bookings, looks| find(&accounts(bookings, looks), &Thresholds::default());
        assert_eq!(found(100_000, 0)[0].place, "book at accounts.c:24");
        assert_eq!(found(99_000, 990).len(), 1);
        assert!(found(99_000, 1_010).is_empty());
        assert!(found(9_900, 0).is_empty(), "below the floor");
    }

    #[test]
    fn mutexes_have_no_finding() {
        let mut drawn = accounts(100_000, 0);
        drawn.locks[0].primitive = Primitive::Mutex;
        assert!(find(&drawn, &Thresholds::default()).is_empty());
    }
}
