//! Threads hand one another pieces of work that are small compared with the cost of waking the
//! thread that gets them. Several pieces handed over at a time would cost one wake-up, and threads
//! that watch an atomic flag or counter for a moment would see a piece at once.
//!
//! Threads that are only occasionally woken for a little work are right to sleep. The waits delay
//! the run in three cases:
//!
//! - the waits are short as well: a thread sleeps only until the next piece comes;
//! - the threads that wake the waiters also wait: for an answer, for room, or for their turn. So
//!   each piece costs several threads a sleep, one after the other;
//! - waking others takes a large part of the processor time of the threads that wake.
//!
//! Whether a futex is a lock or an event is not known. It counts as an event if each waiting thread
//! has a futex of its own, or if none of the waiting threads wakes others there. Locks whose
//! threads sleep in a futex of their own look the same, and the advice is the same: take the lock
//! less often, for more work at a time.

use std::collections::{BTreeMap, BTreeSet};

use syncline_recording::{Op, Primitive};

use super::finding::{FLOOR, Said, finding};
use crate::findings::evidence::{count, rate, seconds, share};
use crate::findings::family::{Family, Sets};
use crate::findings::waking::{called_by, is_clock, is_wait, wakes};
use crate::findings::wasted_wake_ups::mostly_futile;
use crate::gain::{WAKE_UP, WAKING};
use crate::model::{Finding, Process, Site, Thread};
use crate::options::Thresholds;

/// Waits whose mean is below this, in seconds, are short. Longer ones would include threads that
/// are woken late because they wait for a processor.
const SHORT_WAIT: f64 = 200e-6;
/// A piece of work is small up to this many seconds. Putting a thread to sleep and waking it takes
/// a tenth of this.
const SMALL_PIECE: f64 = 50e-6;
/// If the threads that wake others wait at least this often for each wait at the site, both sides
/// delay each other.
const IN_RETURN: f64 = 0.2;
/// Waking others is expensive if it takes at least this share of the processor time of the threads
/// that wake.
const MUCH: f64 = 0.1;
/// Fewer waits than this are not noticeable.
const FEWEST: u64 = 5_000;

/// The findings about hand-overs of small pieces of work. Sites in `said` are left out, since other
/// findings cover them.
pub fn find(
    process: &Process,
    families: &[Family],
    thresholds: &Thresholds,
    said: &BTreeSet<usize>,
) -> Vec<Finding> {
    let waits = Waits::of(process);
    let sites = (0..process.sites.len()).filter(|site| !said.contains(site));
    let tiny: Vec<HandOver> =
        sites.filter_map(|site| HandOver::at(process, families, &waits, site)).collect();
    let mut groups: Vec<Vec<&HandOver>> = together(&tiny).into_values().collect();
    groups.retain(|group| {
        let waits: u64 = group.iter().map(|at| process.sites[at.site].figures.waits).sum();
        let rate = waits as f64 / process.seconds;
        waits >= FEWEST && rate > thresholds.acquisitions_per_second && rate * WAKE_UP >= FLOOR
    });
    groups.iter().map(|group| of_group(process, families, group)).collect()
}

/// How often each thread waits for events and in futexes.
struct Waits(BTreeMap<usize, f64>);

impl Waits {
    fn of(process: &Process) -> Waits {
        let mut waits = BTreeMap::new();
        for site in process.sites.iter().filter(|site| is_wait(site.op)) {
            let calls: u64 = site.by_thread.iter().map(|&(_, calls)| calls).sum();
            let each = site.figures.waits as f64 / calls.max(1) as f64;
            for &(thread, calls) in &site.by_thread {
                *waits.entry(thread).or_default() += calls as f64 * each;
            }
        }
        Waits(waits)
    }

    fn by(&self, thread: usize) -> f64 {
        self.0.get(&thread).copied().unwrap_or(0.0)
    }
}

/// A call site where threads wait for small pieces of work.
struct HandOver {
    site: usize,
    /// The index of the family whose locks are taken in the function of the site.
    family: Option<usize>,
    waiting: BTreeSet<usize>,
    waking: BTreeSet<usize>,
    /// Seconds that a thread works between two waits.
    piece: f64,
}

impl HandOver {
    fn at(
        process: &Process,
        families: &[Family],
        waits: &Waits,
        number: usize,
    ) -> Option<HandOver> {
        let site = &process.sites[number];
        let figures = &site.figures;
        if !is_wait(site.op) || figures.waits == 0 || is_clock(site) {
            return None;
        }
        let objects: Vec<usize> = process.used_at(number).collect();
        if is_herd(process, site, &objects) {
            return None;
        }
        let wakes = wakes(process, &objects);
        let waiting: BTreeSet<usize> = called_by(site).map(|(thread, _)| thread).collect();
        let own = objects.len() >= waiting.len();
        let is_event = own || !waiting.iter().any(|thread| wakes.contains_key(thread));
        if site.op.primitive() == Primitive::Futex && !is_event {
            return None;
        }
        let mean = figures.waited / figures.waits as f64;
        let short = work(process, site);
        let piece = if mean <= SHORT_WAIT && short <= SMALL_PIECE {
            short
        } else {
            let piece = piece(process, waits, &waiting);
            let held_up = in_return(waits, &wakes, figures.waits)
                || waking_is_expensive(process, &wakes, figures.waits);
            (piece <= SMALL_PIECE && held_up).then_some(piece)?
        };
        let family =
            families.iter().position(|family| takes_lock_in_function_of(process, family, site));
        Some(HandOver { site: number, family, waiting, waking: wakes.into_keys().collect(), piece })
    }
}

/// Whether broadcasts wake threads that mostly find nothing to do. Fewer should be woken, which is
/// another rule's advice.
fn is_herd(process: &Process, site: &Site, objects: &[usize]) -> bool {
    let mut uses = objects.iter().flat_map(|&object| &process.locks[object].sites);
    mostly_futile(site) && uses.any(|used| used.op == Op::CondBroadcast)
}

/// The mean seconds that a thread works between two of its waits at the site. Time in which it
/// waits for locks or for a processor in between is not work.
fn work(process: &Process, site: &Site) -> f64 {
    let threads = || site.by_thread.iter().map(|&(thread, _)| &process.threads[thread]);
    let alive: f64 = threads().map(|thread| thread.seconds).sum();
    let worked: f64 = threads().map(Thread::worked).sum();
    (worked.min(alive - site.figures.waited) / site.figures.waits.max(1) as f64).max(0.0)
}

/// The mean seconds that these threads run between two waits, at whatever sites they wait.
fn piece(process: &Process, waits: &Waits, threads: &BTreeSet<usize>) -> f64 {
    let ran: f64 = threads.iter().map(|&thread| process.threads[thread].ran()).sum();
    ran / threads.iter().map(|&thread| waits.by(thread)).sum::<f64>().max(1.0)
}

/// Whether the threads that wake others also wait themselves, at least `IN_RETURN` times for each
/// of the `waited` waits at the site.
fn in_return(waits: &Waits, wakes: &BTreeMap<usize, u64>, waited: u64) -> bool {
    let returned = wakes.iter().map(|(&thread, &woken)| waits.by(thread).min(woken as f64));
    returned.sum::<f64>() >= IN_RETURN * waited as f64
}

/// Whether waking others `waited` times takes much of the processor time of the threads that wake.
fn waking_is_expensive(process: &Process, wakes: &BTreeMap<usize, u64>, waited: u64) -> bool {
    let ran: f64 = wakes.keys().map(|&thread| process.threads[thread].ran()).sum();
    !wakes.is_empty() && waited as f64 * WAKING >= MUCH * ran
}

/// Whether a lock of this family is taken in the function of a site.
fn takes_lock_in_function_of(process: &Process, family: &Family, site: &Site) -> bool {
    let function = |site: &Site| process.function_of(site);
    function(site).is_some()
        && family.sites.iter().any(|&taken| function(&process.sites[taken]) == function(site))
}

/// Groups the sites by purpose: two sites are in one group if their threads wake each other, or if
/// their functions take the same locks.
fn together(sites: &[HandOver]) -> BTreeMap<usize, Vec<&HandOver>> {
    let wakes = |a: &HandOver, b: &HandOver| !a.waking.is_disjoint(&b.waiting);
    let mut sets = Sets::new(sites.len());
    for (number, a) in sites.iter().enumerate() {
        for (other, b) in sites.iter().enumerate().skip(number + 1) {
            let same_locks = a.family.is_some() && a.family == b.family;
            if same_locks || wakes(a, b) && wakes(b, a) {
                sets.unite(number, other);
            }
        }
    }
    let mut groups: BTreeMap<usize, Vec<&HandOver>> = BTreeMap::new();
    for (number, site) in sites.iter().enumerate() {
        groups.entry(sets.root(number)).or_default().push(site);
    }
    groups
}

fn of_group(process: &Process, families: &[Family], group: &[&HandOver]) -> Finding {
    let figures = || group.iter().map(|at| &process.sites[at.site].figures);
    let waits: u64 = figures().map(|figures| figures.waits).sum();
    let waited: f64 = figures().map(|figures| figures.waited).sum();
    let work: f64 =
        group.iter().map(|at| at.piece * process.sites[at.site].figures.waits as f64).sum();
    let threads: BTreeSet<usize> = group.iter().flat_map(|at| &at.waiting).copied().collect();
    let per_second = waits as f64 / process.seconds;
    let said = Said {
        title: "Threads hand over pieces of work that take less time than a wake-up",
        evidence: vec![
            rate("waits", per_second),
            seconds("mean wait", waited / waits as f64),
            seconds("work of a thread between two waits, at most", work / waits as f64),
            share("time to put threads to sleep and wake them (estimate)", per_second * WAKE_UP),
            count("threads", threads.len() as u64),
        ],
        advice: "Hand over more at a time (batches, a longer queue, fewer threads for so little \
                 work); or signal with an atomic counter or flag that threads poll for some \
                 microseconds before they sleep (std::atomic::wait does that)."
            .to_owned(),
    };
    let of_group: BTreeSet<usize> = group.iter().filter_map(|at| at.family).collect();
    let families: Vec<&Family> = of_group.into_iter().map(|family| &families[family]).collect();
    finding(process, group.iter().map(|at| at.site).collect(), &families, said)
}

#[cfg(test)]
mod tests {
    use super::*;
    use crate::findings::testing::{Drawn, Use, process};

    /// Two threads that each wait for tasks `per_second` times a second, and work for `work`
    /// seconds in between.
    fn tasks(per_second: u64, work: f64) -> Drawn {
        let mut drawn = process(10.0, 4);
        let first = drawn.threads("solve_pieces", 2, 10.0);
        let lock = drawn.lock(Primitive::Mutex, "sync.lock");
        let condition = drawn.lock(Primitive::Condvar, "sync.taskAvail");
        let take = drawn.site(Op::MutexLock, "waitForTasks at taskQ.cpp:100");
        let wait = drawn.site(Op::CondWait, "waitForTasks at taskQ.cpp:105");
        drawn.sites[wait].threads = 2;
        drawn.by_thread(wait, (first..first + 2).map(|t| (t, 10 * per_second)));
        let waits = 2 * 10 * per_second;
        let waited = 2.0 * 10.0 - work * waits as f64;
        drawn.uses(lock, take, Use { calls: waits, ..Use::default() });
        drawn.uses(condition, wait, Use { calls: waits, waits, waited, ..Use::default() });
        drawn
    }

    fn found(drawn: &Drawn) -> Vec<Finding> {
        find(drawn, &Family::all(drawn), &Thresholds::default(), &BTreeSet::new())
    }

    #[test]
    fn tiny_tasks_are_found_with_the_mutex_of_their_condition() {
        let findings = found(&tasks(20_000, 10e-6));
        assert_eq!(findings[0].place, "waitForTasks at taskQ.cpp:105");
        assert_eq!((findings[0].sites.clone(), findings.len()), (vec![1, 0], 1));
    }

    #[test]
    fn larger_tasks_and_long_waits_have_no_finding() {
        assert_eq!(found(&tasks(15_000, 49e-6)).len(), 1);
        assert!(found(&tasks(15_000, 51e-6)).is_empty());
        assert_eq!(found(&tasks(5_000, 10e-6)).len(), 1, "waits of 190 µs");
        assert!(found(&tasks(4_700, 10e-6)).is_empty(), "waits of 203 µs: nothing to do");
    }

    #[test]
    fn waiting_for_a_lock_or_a_processor_is_no_work() {
        let mut drawn = tasks(15_000, 51e-6);
        let first = drawn.sites[1].by_thread[0].0;
        for thread in first..first + 2 {
            drawn.waited(thread, Primitive::Condvar, 2.3);
            drawn.ready(thread, 0.5);
            drawn.waited(thread, Primitive::Mutex, 0.5);
        }
        assert_eq!(found(&drawn).len(), 1, "6.7 seconds of ten");
    }

    #[test]
    fn short_lived_threads_worked_at_most_for_their_lifetime() {
        let mut drawn = tasks(15_000, 51e-6);
        let first = drawn.sites[1].by_thread[0].0;
        for thread in first..first + 2 {
            drawn.threads[thread].seconds = 9.0;
        }
        assert_eq!(found(&drawn).len(), 1, "44 µs between two waits, and not 51");
    }

    #[test]
    fn few_events_have_no_finding() {
        let mut drawn = tasks(20_000, 10e-6);
        drawn.seconds = 410.0;
        drawn.sites[1].figures.waited = 815.0;
        drawn.sites[1].figures.waits = 400_000;
        drawn.sites[1].figures.calls_per_second = 970.0;
        assert!(found(&drawn).is_empty());
    }

    /// A thread that hands pieces of work to three workers in ten seconds, and waits for them in
    /// return.
    struct Handed {
        /// The operations with which threads wait and are woken.
        op: (Op, Op),
        own: bool,
        /// How often the workers wait, for 300 µs each.
        waits: u64,
        /// How often the thread that wakes them waits.
        in_return: u64,
        /// Processor time of a worker, and of the thread that wakes them.
        ran: [f64; 2],
        /// Whether the workers wake each other; otherwise the first thread wakes them.
        by_workers: bool,
    }

    impl Default for Handed {
        fn default() -> Handed {
            Handed {
                op: (Op::SemWait, Op::SemPost),
                own: true,
                waits: 90_000,
                in_return: 90_000,
                ran: [1.0, 8.0],
                by_workers: false,
            }
        }
    }

    impl Handed {
        fn drawn(self) -> Drawn {
            const WORKERS: usize = 3;
            let mut drawn = process(10.0, 4);
            let first = drawn.threads("work", WORKERS, 10.0);
            let workers: Vec<usize> = (first..first + WORKERS).collect();
            let wait = drawn.site(self.op.0, "take at pool.c:10");
            let wake = drawn.site(self.op.1, "give at pool.c:20");
            let answer = drawn.site(Op::SemWait, "collect at pool.c:30");
            let done = drawn.site(Op::SemPost, "done at pool.c:40");
            let objects = if self.own { WORKERS as u64 } else { 1 };
            for number in 0..objects {
                let object = drawn.lock(self.op.0.primitive(), &format!("work {number}"));
                let (waits, waited) =
                    (self.waits / objects, 300e-6 * (self.waits / objects) as f64);
                drawn.uses(object, wait, Use { calls: waits, waits, waited, ..Use::default() });
                drawn.uses(object, wake, Use { calls: waits, ..Use::default() });
            }
            let ended = drawn.lock(Primitive::Semaphore, "ended");
            let waits = self.in_return;
            let waited = 300e-6 * waits as f64;
            drawn.uses(ended, answer, Use { calls: waits, waits, waited, ..Use::default() });
            drawn.uses(ended, done, Use { calls: waits, ..Use::default() });
            let of_workers = |calls: u64| workers.iter().map(|&t| (t, calls / 3)).collect();
            drawn.by_thread(wait, of_workers(self.waits));
            drawn.by_thread(
                wake,
                if self.by_workers { of_workers(self.waits) } else { vec![(0, self.waits)] },
            );
            drawn.by_thread(answer, vec![(0, waits)]);
            drawn.by_thread(done, of_workers(waits));
            for &worker in &workers {
                drawn.threads[worker].cpu = Some(self.ran[0]);
            }
            drawn.threads[0].cpu = Some(self.ran[1]);
            drawn
        }

        fn places(self) -> Vec<String> {
            let drawn = self.drawn();
            let waits = |finding: &Finding| {
                finding.sites.iter().map(|&site| drawn.sites[site].place.clone()).collect()
            };
            found(&drawn).iter().map(waits).collect::<Vec<Vec<String>>>().concat()
        }
    }

    #[test]
    fn pieces_and_their_answers_are_one_finding_however_long_threads_wait() {
        let places = Handed::default().places();
        assert_eq!(places, ["take at pool.c:10"], "the one that hands out does 89 µs each time");
        let busy = |ran| Handed { ran: [1.0, ran], ..Handed::default() }.places();
        assert_eq!(busy(4.0), ["take at pool.c:10", "collect at pool.c:30"], "44 µs");
        let larger = Handed { ran: [1.6, 8.0], ..Handed::default() };
        assert!(larger.places().is_empty(), "53 µs");
    }

    #[test]
    fn threads_woken_without_an_answer_have_no_finding() {
        let without = |in_return| Handed { in_return, ..Handed::default() }.places().len();
        assert_eq!((without(17_000), without(19_000)), (0, 1), "a fifth of 90,000");
    }

    #[test]
    fn costly_wake_ups_are_found_without_answers() {
        let ran = |ran| Handed { in_return: 0, ran: [1.0, ran], ..Handed::default() };
        assert_eq!(ran(1.7).places(), ["take at pool.c:10"], "0.18 of 1.7 seconds");
        assert!(ran(1.9).places().is_empty());
    }

    #[test]
    fn a_few_thousand_hand_overs_have_no_finding() {
        let few = |waits| {
            let mut drawn = Handed { waits, in_return: waits, ..Handed::default() }.drawn();
            drawn.seconds = 0.05;
            drawn.threads.iter_mut().for_each(|thread| thread.cpu = Some(0.01));
            found(&drawn).len()
        };
        assert_eq!((few(2_400), few(2_550)), (0, 1), "with their answers");
    }

    #[test]
    fn a_futex_woken_by_its_own_waiters_may_be_a_lock() {
        let futex = |own, by_workers| {
            let op = (Op::FutexWait, Op::FutexWake);
            Handed { op, own, by_workers, ..Handed::default() }.places().len()
        };
        assert_eq!((futex(false, false), futex(true, true)), (1, 1));
        assert_eq!(futex(false, true), 0);
    }

    #[test]
    fn mostly_futile_broadcasts_have_no_finding() {
        let herd = |waking, futile| {
            let op = (Op::CondWait, waking);
            let mut drawn = Handed { op, ..Handed::default() }.drawn();
            drawn.sites[0].figures.futile = futile;
            found(&drawn).len()
        };
        assert_eq!(herd(Op::CondBroadcast, 45_000), 0);
        assert_eq!(herd(Op::CondBroadcast, 44_000), 1);
        assert_eq!(herd(Op::CondSignal, 45_000), 1, "another thread was faster");
    }
}
