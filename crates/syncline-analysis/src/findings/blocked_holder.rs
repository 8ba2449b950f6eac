//! Holders that do not run while others wait for them. What a section does then matters
//! less than what happens to the thread inside it, or on the way into it:
//!
//! - it sleeps or waits for a device with the lock held ([`Rule::SleepingHolder`]);
//! - its processor is taken from it ([`Rule::PreemptedHolder`]). Who waits asleep leaves its
//!   own processor to the holder, so that this is mostly harmless; who spins keeps the holder
//!   from running;
//! - the lock goes from hand to hand through sleeping threads, and is held by none that runs
//!   until the next one is awake ([`Rule::Convoy`]).

use std::collections::BTreeMap;

use syncline_recording::{Class, Primitive};

use crate::findings::evidence::{count, seconds, share, times};
use crate::findings::family::{FEWEST_TAKEN, WAITED_FLOOR, few, mean_held, share_of_run};
use crate::model::{
    Category, Evidence, Finding, Kind, Lock, OpenQuestion, Process, Remedy, Rule, Site,
};
use crate::options::Thresholds;

/// From this share on of the time held that the holder was off its processor, that is what
/// makes the section long.
const OFF_CPU: f64 = 0.3;
/// Fewer sleeps or preemptions may be chance: a page that is read from disk the first time.
const FEWEST_SWITCHES: u64 = 3;
/// The least share of a mutex's acquisitions that wait when its holder's being preempted is
/// worth a word: who waits for it sleeps, and takes nothing from anybody.
const CONTENDED: f64 = 0.3;
/// Functions that sleep or wait for a device.
const BLOCKING: [&str; 24] = [
    "nanosleep",
    "clock_nanosleep",
    "usleep",
    "sleep",
    "read",
    "write",
    "pread",
    "pwrite",
    "pread64",
    "pwrite64",
    "readv",
    "writev",
    "fsync",
    "fdatasync",
    "sync_file_range",
    "fflush",
    "poll",
    "ppoll",
    "select",
    "epoll_wait",
    "send",
    "sendto",
    "recv",
    "recvfrom",
];
/// How many times as long as a hold a spin must be for the holder not to have run meanwhile.
const SPIN_TIMES: f64 = 20.0;
/// The shortest time for which a processor is taken from a thread, about: the time slice of
/// a busy Linux is 0.75 to 3 ms.
const TIME_SLICE: f64 = 500e-6;
/// The least share of the acquisitions that wait in a convoy.
const CONVOY_CONTENTION: f64 = 0.5;
/// The least share of the run time in which threads wait for a lock that nobody holds.
const HAND_OVER_FLOOR: f64 = 0.05;

/// Holders that do not run.
pub fn find(process: &Process, _: &Thresholds) -> Vec<Finding> {
    let sites = (0..process.sites.len()).filter(|&site| {
        let Site { op, kind, .. } = process.sites[site];
        kind == Kind::Lock && matches!(op.class(), Class::Acquire | Class::Try)
    });
    let rules = [sleeping, preempted, spun_on, convoy];
    sites.flat_map(|site| rules.iter().filter_map(move |rule| rule(process, site))).collect()
}

/// Seconds that others waited, and how often, for a lock that had been taken at a site.
fn behind(process: &Process, holder: usize) -> (f64, u64) {
    let blockers = process.locks.iter().flat_map(|lock| &lock.blockers);
    let here = blockers.filter(|blocker| blocker.holder == Some(holder));
    here.fold((0.0, 0), |(waited, waits), b| (waited + b.waited, waits + b.waits))
}

/// Seconds that holders at a site waited for other locks meanwhile.
fn waited_inside(process: &Process, holder: usize) -> f64 {
    let mut under: BTreeMap<usize, (u64, u64)> = BTreeMap::new();
    for nesting in &process.nesting {
        let (here, all) = under.entry(nesting.site).or_default();
        *all += nesting.seen;
        *here +=
            if nesting.outer.is_some_and(|o| o.site == Some(holder)) { nesting.seen } else { 0 };
    }
    let part = |(site, (here, all)): (usize, (u64, u64))| {
        process.sites[site].figures.waited * here as f64 / all.max(1) as f64
    };
    under.into_iter().map(part).sum()
}

fn sleeping(process: &Process, site: usize) -> Option<Finding> {
    let figures = &process.sites[site].figures;
    let holder = figures.holder;
    let off_cpu = holder.off_cpu / holder.seconds.max(1e-12);
    let (waited, waits) = behind(process, site);
    // A holder that waits for an inner lock sleeps as well; that is the inner lock's fault.
    let inside = waited_inside(process, site) / figures.held.max(1e-12);
    let seen = holder.slept >= FEWEST_SWITCHES
        && holder.slept >= holder.preempted
        && off_cpu - inside >= OFF_CPU
        && share_of_run(process, waited * off_cpu) >= WAITED_FLOOR;
    // A hold that sleeps may be too rare to be among those that were looked at. Its waiters
    // know of it.
    let calls = process.sites[site].section.as_ref().map_or(&[][..], |s| &s.calls[..]);
    let told = calls.iter().any(|call| BLOCKING.contains(&call.as_str()))
        && waited >= TIME_SLICE * waits as f64
        && share_of_run(process, waited) >= WAITED_FLOOR;
    let applies = (seen || told) && waits >= FEWEST_TAKEN;
    applies.then(|| Finding {
        title: "A lock is held by a thread that sleeps or waits for a device".to_owned(),
        evidence: vec![
            share("of the time held off the processor, where it was looked at", off_cpu),
            count("times that the holder slept there", holder.slept),
            count("holds that were looked at", holder.looked_at),
            seconds("longest hold", figures.held_max),
            seconds("time that others waited meanwhile", waited),
            seconds("mean wait", waited / waits as f64),
        ]
        .into_iter()
        .skip(if seen { 0 } else { 3 })
        .collect(),
        advice: match calls {
            [] => "Move what blocks out of the section: take what it needs with the lock held, \
                   let go of it, and then write, read or sleep."
                .to_owned(),
            calls => format!(
                "Move what blocks out of the section: take what it needs with the lock held, \
                 let go of it, and then write, read or sleep. The section calls {}.",
                calls.join(", ")
            ),
        },
        open_question: calls.is_empty().then(|| OpenQuestion {
            question: "Which call in the section blocks?".to_owned(),
            command: "strace -f -T -e trace='!futex'".to_owned(),
        }),
        remedy: if seen {
            Remedy::ShortenSections { sites: vec![site], to: (1.0 - off_cpu).clamp(0.0, 1.0) }
        } else {
            Remedy::NoWaits { sites: vec![site] }
        },
        ..draft(process, site, Rule::SleepingHolder)
    })
}

fn preempted(process: &Process, site: usize) -> Option<Finding> {
    let figures = &process.sites[site].figures;
    let holder = figures.holder;
    let off_cpu = holder.off_cpu / holder.seconds.max(1e-12);
    let (waited, waits) = behind(process, site);
    let applies = process.sites[site].op.primitive() != Primitive::Spinlock
        && holder.preempted >= FEWEST_SWITCHES
        && holder.preempted > holder.slept
        && off_cpu >= OFF_CPU
        && figures.contention >= CONTENDED
        && waits >= FEWEST_TAKEN
        && share_of_run(process, waited * off_cpu) >= WAITED_FLOOR;
    applies.then(|| Finding {
        title: "Threads wait for a holder that lost its processor".to_owned(),
        evidence: vec![
            share("of the time held off the processor, where it was looked at", off_cpu),
            count("times that the holder was preempted there", holder.preempted),
            count("holds that were looked at", holder.looked_at),
            seconds("time that others waited meanwhile", waited),
        ]
        .into_iter()
        .chain(crowd(process))
        .collect(),
        advice: "Run no more threads than there are processors, or hold the lock for less of \
                 their time, so that it is seldom held when a time slice ends."
            .to_owned(),
        remedy: Remedy::ShortenSections { sites: vec![site], to: (1.0 - off_cpu).clamp(0.0, 1.0) },
        ..draft(process, site, Rule::PreemptedHolder)
    })
}

fn spun_on(process: &Process, site: usize) -> Option<Finding> {
    let figures = &process.sites[site].figures;
    let held = mean_held(figures.held, figures.calls);
    let wait = figures.waited / figures.waits.max(1) as f64;
    let applies = process.sites[site].op.primitive() == Primitive::Spinlock
        && figures.waits >= FEWEST_TAKEN
        && wait >= TIME_SLICE
        && wait >= SPIN_TIMES * held
        && share_of_run(process, figures.waited) >= WAITED_FLOOR;
    applies.then(|| Finding {
        title: "Threads spin for a holder that lost its processor".to_owned(),
        evidence: vec![
            seconds("mean spin", wait),
            seconds("mean time held", held),
            times("spin against hold", wait / held.max(1e-9)),
            count("spins", figures.waits),
            seconds("time spun, all threads", figures.waited),
        ]
        .into_iter()
        .chain(crowd(process))
        .collect(),
        advice: "Take a lock that sleeps after it has spun for a while: a mutex, or one of \
                 Syncline's parking locks (ttas_park, gate). Or run no more threads than there \
                 are processors."
            .to_owned(),
        remedy: Remedy::NoWaits { sites: vec![site] },
        ..draft(process, site, Rule::PreemptedHolder)
    })
}

/// Threads against processors.
fn crowd(process: &Process) -> Vec<Evidence> {
    let threads = count("threads", process.threads.len() as u64);
    let processors = process.processors.map(|n| count("processors", n as u64));
    [Some(threads), processors].into_iter().flatten().collect()
}

fn convoy(process: &Process, site: usize) -> Option<Finding> {
    let Site { ref figures, op, threads, .. } = process.sites[site];
    let spins = op.primitive() == Primitive::Spinlock;
    // All threads but one may wait at a time; while they do, the lock is held, or it is on
    // its way.
    let wanted = figures.waited / threads.saturating_sub(1).max(1) as f64;
    let on_its_way = (wanted - figures.held).max(0.0);
    let applies = !spins
        && process.sites[site].locks == 1
        && figures.contention >= CONVOY_CONTENTION
        && figures.waits >= FEWEST_TAKEN
        && on_its_way >= figures.held
        && share_of_run(process, on_its_way) >= HAND_OVER_FLOOR;
    applies.then(|| Finding {
        title: "A lock is handed from one sleeping thread to the next".to_owned(),
        evidence: vec![
            share("acquisitions that waited", figures.contention),
            seconds("mean time held", mean_held(figures.held, figures.calls)),
            seconds("mean wait", figures.waited / figures.waits.max(1) as f64),
            seconds("time that it was wanted and not held, at least", on_its_way),
            seconds("of that for each wait", on_its_way / figures.waits.max(1) as f64),
            count("threads", threads as u64),
        ],
        advice: "Let threads that run take the lock before those that have to be woken: a \
                 plain mutex without priority inheritance, PTHREAD_MUTEX_ADAPTIVE_NP, or one of \
                 Syncline's parking locks that spin first (ttas_park, gate). Or take it less \
                 often, for several steps at once."
            .to_owned(),
        remedy: Remedy::CheaperCalls {
            sites: vec![site],
            seconds_per_call: 0.0,
            waits_left: (figures.held / wanted.max(1e-12)).clamp(0.0, 1.0),
        },
        ..draft(process, site, Rule::Convoy)
    })
}

fn draft(process: &Process, site: usize, rule: Rule) -> Finding {
    let used_here = |lock: &Lock| lock.sites.iter().any(|used| used.site == site);
    let locks = (0..process.locks.len()).filter(|&lock| used_here(&process.locks[lock]));
    Finding {
        rule,
        category: Category::BlockedHolder,
        title: String::new(),
        place: process.sites[site].place.clone(),
        sites: vec![site],
        locks: few(&locks.collect::<Vec<_>>()),
        evidence: Vec::new(),
        advice: String::new(),
        open_question: None,
        remedy: Remedy::Unknown,
        gain: None,
    }
}

#[cfg(test)]
mod tests {
    use syncline_recording::Op;

    use super::*;
    use crate::findings::testing::{Drawn, Use, process};
    use crate::model::{HolderTime, Section};

    /// Four threads that took a lock 10,000 times in ten seconds.
    fn taken(op: Op, waits: u64, waited: f64, held: f64) -> Drawn {
        let mut drawn = process(10.0, 2);
        drawn.threads("append", 4, 10.0);
        let lock = drawn.lock(op.primitive(), "journal");
        let site = drawn.site(op, "append at journal.c:29");
        drawn.sites[site].threads = 4;
        drawn.uses(lock, site, Use { calls: 10_000, waits, waited, held, ..Use::default() });
        drawn.blocked(lock, site, site, waits, waited);
        drawn
    }

    fn looked_at(mut drawn: Drawn, off_cpu: f64, slept: u64, preempted: u64) -> Drawn {
        drawn.sites[0].figures.holder =
            HolderTime { looked_at: 300, seconds: 1.0, off_cpu, slept, preempted };
        drawn
    }

    fn found(drawn: &Drawn) -> Vec<Rule> {
        find(drawn, &Thresholds::default()).into_iter().map(|finding| finding.rule).collect()
    }

    #[test]
    fn a_holder_that_sleeps_while_others_wait() {
        let journal = |waited| taken(Op::MutexLock, 300, waited, 1.0);
        assert_eq!(found(&looked_at(journal(1.0), 0.9, 30, 2)), [Rule::SleepingHolder]);
        assert!(found(&looked_at(journal(1.0), 0.29, 30, 2)).is_empty(), "it mostly runs");
        assert!(found(&looked_at(journal(1.0), 0.9, 2, 2)).is_empty(), "twice");
        assert!(found(&looked_at(journal(0.05), 0.9, 30, 2)).is_empty(), "who waits 0.45 %?");
    }

    #[test]
    fn a_section_that_calls_sleep_and_is_waited_for_as_long_as_one_sleeps() {
        let flush = |calls: &str, waited| {
            let mut drawn = taken(Op::MutexLock, 300, waited, 0.1);
            drawn.section(0, Section { calls: vec![calls.to_owned()], ..Section::default() });
            found(&drawn)
        };
        assert_eq!(flush("fsync", 1.0), [Rule::SleepingHolder], "3 ms a wait");
        assert!(flush("fsync", 0.14).is_empty(), "not half a millisecond a wait");
        assert!(flush("memcpy", 1.0).is_empty());
    }

    #[test]
    fn a_holder_that_waits_for_an_inner_lock_is_not_at_fault() {
        let mut drawn = looked_at(taken(Op::MutexLock, 300, 1.0, 1.0), 0.9, 30, 2);
        let inner = drawn.lock(Primitive::Mutex, "inner");
        let inside = drawn.site(Op::MutexLock, "write at device.c:7");
        drawn.uses(
            inner,
            inside,
            Use { calls: 10_000, waits: 900, waited: 0.85, ..Use::default() },
        );
        drawn.nested(inner, inside, Some((0, 0)), 100);
        assert!(found(&drawn).is_empty());
    }

    #[test]
    fn a_preempted_holder_of_a_mutex_matters_where_it_is_contended() {
        let mutex = |waits| looked_at(taken(Op::MutexLock, waits, 1.0, 1.0), 0.8, 2, 60);
        assert_eq!(found(&mutex(3_000)), [Rule::PreemptedHolder]);
        assert!(found(&mutex(2_900)).is_empty());
    }

    #[test]
    fn spins_that_last_a_time_slice_are_for_one_who_does_not_run() {
        let spinlock = |waited, held| found(&taken(Op::SpinLock, 40, waited, held));
        assert_eq!(spinlock(2.0, 0.1), [Rule::PreemptedHolder]);
        assert!(spinlock(0.04, 0.1).is_empty(), "0.4 % of the run");
        assert!(spinlock(2.0, 26.0).is_empty(), "holds are long themselves");
        let short = found(&taken(Op::SpinLock, 4_000, 1.9, 0.1));
        assert!(short.is_empty(), "475 µs each");
    }

    #[test]
    fn a_convoy_waits_for_a_lock_that_nobody_holds() {
        let chain = |waits, waited, held| found(&taken(Op::MutexLock, waits, waited, held));
        assert_eq!(chain(8_000, 20.0, 1.0), [Rule::Convoy]);
        assert!(chain(4_900, 20.0, 1.0).is_empty(), "others get it at once");
        assert!(chain(8_000, 20.0, 3.4).is_empty(), "it is held for half of the time");
        assert!(chain(8_000, 1.4, 0.01).is_empty(), "4.6 % of the run");
    }
}
