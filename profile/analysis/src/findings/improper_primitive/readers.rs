//! Sections that only read, under an exclusive lock: readers wait for readers (SyncPerf, Table 1,
//! row 3).
//!
//! A reader-writer lock costs more than a mutex, and its readers still write to its count of
//! readers. So the rule requires waits, and sections that are longer than an acquisition.

use syncline_recording::{Class, Op};

use crate::findings::evidence::{count, rate, seconds, share};
use crate::findings::family::{FEWEST_TAKEN, Family, WAITED_FLOOR, descending, share_of_run};
use crate::findings::touches::Touches;
use crate::held::mean_held;
use crate::model::{Finding, Process, Remedy, Rule};
use crate::options::Thresholds;

/// If at least this share of its acquisitions only read, a lock is read-mostly.
const READ_MOSTLY: f64 = 0.9;
/// Below this mean time held, an acquisition to read takes as long as the section
/// (`docs/locks.md`: "A read lock is not free").
const LONG_ENOUGH: f64 = 100e-9;
/// For at least this share of the readers' waiting, the holder must be a reader too.
const BEHIND_READERS: f64 = 0.5;

/// The findings about families whose sections mostly read.
pub fn find(process: &Process, thresholds: &Thresholds) -> Vec<Finding> {
    let busy = |family: &&Family| family.calls_per_second() > thresholds.acquisitions_per_second;
    Family::all(process)
        .iter()
        .filter(busy)
        .filter_map(|family| Readers::of(process, family))
        .map(|readers| readers.finding())
        .collect()
}

struct Readers<'a> {
    process: &'a Process,
    family: &'a Family<'a>,
    /// Sites that only read, those with most waiting first.
    sites: Vec<usize>,
    /// The share of all acquisitions that is made at these sites.
    of_calls: f64,
    /// The share of the waiting at these sites that was for a thread in a section of these sites.
    behind_readers: f64,
}

impl<'a> Readers<'a> {
    fn of(process: &'a Process, family: &'a Family) -> Option<Readers<'a>> {
        let figures = |site: &usize| &process.sites[*site].figures;
        let mut sites: Vec<usize> =
            family.sites.iter().copied().filter(|&site| only_reads(process, site)).collect();
        sites.sort_by(|a, b| descending(figures(a).waited, figures(b).waited));
        let sum = |value: fn(&crate::model::Figures) -> f64| {
            sites.iter().map(|site| value(figures(site))).sum::<f64>()
        };
        let calls = sum(|f| f.calls as f64);
        let of_calls = calls / family.calls().max(1) as f64;
        let behind_readers = behind(process, family, &sites);
        let applies = of_calls >= READ_MOSTLY
            && mean_held(sum(|f| f.held), calls as u64) >= LONG_ENOUGH
            && sum(|f| (f.waits + f.refused) as f64) >= FEWEST_TAKEN as f64
            && share_of_run(process, sum(|f| f.waited)) >= WAITED_FLOOR
            && behind_readers >= BEHIND_READERS;
        applies.then_some(Readers { process, family, sites, of_calls, behind_readers })
    }

    fn finding(self) -> Finding {
        let Readers { process, family, sites, .. } = self;
        let main = &process.sites[sites[0]];
        Finding {
            rule: Rule::ReadersExcludeEachOther,
            title: "Sections that only read exclude each other".to_owned(),
            place: main.place.clone(),
            evidence: vec![
                rate("acquisitions", family.calls_per_second()),
                share("acquisitions that only read", self.of_calls),
                share("contention", family.contention()),
                seconds("time waited", family.waited()),
                share("share of the waiting that was for another reader", self.behind_readers),
                seconds("mean time held (estimate)", family.mean_held()),
                count("locks", family.locks.len() as u64),
            ],
            advice: "Let readers share the lock: use a reader-writer lock (pthread_rwlock_t, \
                     Syncline's `rw_compact`), and take it for reading here. If changes are \
                     rare, a pointer to a table that is replaced as a whole \
                     needs no lock to read."
                .to_owned(),
            open_question: None,
            remedy: Remedy::CheaperCalls {
                sites: sites.clone(),
                seconds_per_call: 0.0,
                waits_left: 1.0 - self.behind_readers,
            },
            locks: family.few_locks(),
            sites,
            gain: None,
        }
    }
}

/// Whether a site takes its lock exclusively, and then only reads.
fn only_reads(process: &Process, site: usize) -> bool {
    use Op::{RwlockRead, RwlockTimedRead, RwlockTryRead};
    let site = &process.sites[site];
    let alone = site.op.class() != Class::Wait
        && ![RwlockRead, RwlockTimedRead, RwlockTryRead].contains(&site.op);
    let section = site.section.as_ref().filter(|section| section.complete);
    let reads = section.map(|section| match Touches::of(section) {
        Some(Touches::ReadsOnly) => true,
        Some(Touches::OneWord) => section.writes == 0,
        _ => false,
    });
    // Instructions show even a rare write, so they count first, and a trace second.
    let traced = || site.inspected.as_ref().and_then(Touches::of_inspected);
    alone && reads.unwrap_or_else(|| traced() == Some(Touches::ReadsOnly))
}

/// The share of the waiting at these sites that was for a holder from one of these sites, as far as
/// holders are known; 1 if no holder is known.
fn behind(process: &Process, family: &Family, sites: &[usize]) -> f64 {
    let (mut here, mut all) = (0.0, 0.0);
    for blocker in family.locks.iter().flat_map(|&lock| &process.locks[lock].blockers) {
        if let (true, Some(holder)) = (sites.contains(&blocker.waiter), blocker.holder) {
            all += blocker.waited;
            here += if sites.contains(&holder) { blocker.waited } else { 0.0 };
        }
    }
    if all > 0.0 { here / all } else { 1.0 }
}

#[cfg(test)]
mod tests {
    use syncline_recording::Primitive;

    use super::*;
    use crate::findings::testing::{Drawn, Use, one_word, process, sections};

    /// A table with `reads` and `changes` in a second, whose readers wait for `waited` seconds in
    /// all. Also returns the call site of the reads.
    fn table(reads: u64, changes: u64, waited: f64) -> (Drawn, usize) {
        let mut drawn = process(10.0, 4);
        drawn.threads("forward", 4, 10.0);
        let lock = drawn.lock(Primitive::Mutex, "table_lock");
        let look = drawn.site(Op::MutexLock, "gateway_for at router.c:28");
        let change = drawn.site(Op::MutexLock, "change_route at router.c:44");
        let calls = 10 * reads;
        let held = calls as f64 * 400e-9;
        drawn.uses(lock, look, Use { calls, waits: calls / 8, waited, held, ..Use::default() });
        drawn.uses(lock, change, Use { calls: 10 * changes, ..Use::default() });
        drawn.section(look, sections::reads_only());
        drawn.section(change, one_word());
        (drawn, look)
    }

    fn found(drawn: &Drawn) -> Vec<Finding> {
        find(drawn, &Thresholds::default())
    }

    #[test]
    fn a_read_mostly_table_is_found_where_it_is_read() {
        let (drawn, look) = table(100_000, 100, 1.0);
        let findings = found(&drawn);
        assert_eq!((findings[0].sites.clone(), findings.len()), (vec![look], 1));
    }

    #[test]
    fn many_writes_little_waiting_or_few_readers_have_no_finding() {
        assert_eq!(found(&table(90_000, 10_000, 1.0).0).len(), 1, "90 %");
        assert!(found(&table(90_000, 10_100, 1.0).0).is_empty());
        assert!(found(&table(100_000, 100, 0.049).0).is_empty());
        assert!(found(&table(900, 10, 1.0).0).is_empty());
    }

    #[test]
    fn short_and_writing_sections_have_no_finding() {
        let (mut drawn, look) = table(100_000, 100, 1.0);
        drawn.sites[look].figures.held = 1e6 * 105e-9;
        assert!(found(&drawn).is_empty(), "95 ns without the clock's own time");
        let (mut drawn, look) = table(100_000, 100, 1.0);
        drawn.section(look, sections::with_a_loop());
        assert!(found(&drawn).is_empty());
    }

    #[test]
    fn waits_for_writers_remain() {
        let (mut drawn, look) = table(100_000, 100, 1.0);
        drawn.blocked(0, look, look, 1000, 0.5);
        drawn.blocked(0, look, look + 1, 1000, 0.4);
        let Remedy::CheaperCalls { waits_left, .. } = found(&drawn)[0].remedy else { panic!() };
        assert!((waits_left - 0.4 / 0.9).abs() < 1e-9);
        drawn.blocked(0, look, look + 1, 1000, 0.2);
        assert!(found(&drawn).is_empty(), "mostly for the writer");
    }

    #[test]
    fn readers_of_reader_writer_locks_have_no_finding() {
        let (mut drawn, look) = table(100_000, 100, 1.0);
        drawn.sites[look].op = Op::RwlockRead;
        assert!(found(&drawn).is_empty());
    }
}
