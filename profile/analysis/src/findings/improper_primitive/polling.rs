//! Locks that threads try to take again and again.
//!
//! A try is meant for a thread that has something else to do if the try fails. If the try is
//! repeated until it succeeds, it uses up a processor that the holder may need (SyncPerf, Table 1,
//! row 4). If many locks are tried at one call site, a refused thread continues with the next lock,
//! which is the purpose of a try.
//!
//! A home-made barrier is a counter under a lock: threads add to it, then look at it under the same
//! lock until it is complete. There are many more looks than arrivals, and most looks even get the
//! lock. The rule recognises this because arrivals and looks are in one function. In another kind
//! of barrier (PARSEC's), threads poll for the lock itself, to see whether all have arrived, and to
//! sleep if they have not. The rule recognises it because threads meet at the lock (see `Meeting`).

use std::cmp::Reverse;
use std::collections::HashSet;

use syncline_recording::Class;

use crate::findings::evidence::{count, rate, seconds, share, times};
use crate::findings::family::{FEWEST_TAKEN, Family};
use crate::findings::meeting::Meeting;
use crate::findings::touches::Touches;
use crate::model::{Finding, Process, Remedy, Rule, Site};
use crate::options::Thresholds;

/// If at least this share of tries is refused, threads try again rather than do something else:
/// streamcluster's barrier has 69 %, fluidanimate's 77 % (SyncPerf, Table 2).
const MOSTLY_REFUSED: f64 = 0.5;
/// If threads meet at a lock, at least this many tries for each acquisition show that the tries
/// only check whether all have arrived. Whether a try then finds the lock taken, or the thread goes
/// to sleep, is random.
const TRIES_PER_ARRIVAL: f64 = 0.1;
/// If at least this share of the tries for one of many locks is refused, threads poll that lock.
const NEARLY_ALL: f64 = 0.9;
/// If all threads meet, the arrivals of one may be fewer than those of another by this share, or by
/// two: a thread may skip some meetings.
const UNEQUAL: f64 = 0.05;
/// With at least this many looks for each arrival, threads poll. A thread that works on pieces
/// which others prepare also looks at each piece several times (x265's rows of a picture: 4.5).
const LOOKS_PER_ARRIVAL: f64 = 8.0;

const POLLING_BARRIER: &str = "Threads poll a lock until all of them have arrived";
const USE_A_BARRIER: &str = "Use a barrier: pthread_barrier_wait, or std::barrier. Where the wait \
     is shorter than a microsecond and each thread has a processor, an atomic counter that waiters \
     watch is quicker still.";

/// The findings about call sites that poll.
pub fn find(process: &Process, thresholds: &Thresholds) -> Vec<Finding> {
    let families = Family::all(process);
    let polling = |family: &Family| {
        barrier(process, family, thresholds).or_else(|| tries(process, family, thresholds))
    };
    // A function that tries on behalf of many call sites gets one finding, whatever the locks.
    let mut said = HashSet::new();
    let new = |finding: &Finding| {
        !said.contains(&finding.sites[0]) && {
            said.extend(finding.sites.iter().copied());
            true
        }
    };
    families.iter().filter_map(polling).filter(new).collect()
}

/// The number of calls that got the lock or were refused.
fn looks(site: &Site) -> u64 {
    site.figures.calls + site.figures.refused
}

fn refused(site: &Site) -> f64 {
    site.figures.refused as f64 / looks(site).max(1) as f64
}

fn barrier(process: &Process, family: &Family, thresholds: &Thresholds) -> Option<Finding> {
    let function = |site: &Site| process.function_of(site);
    let sites = || family.sites.iter().map(|&site| (site, &process.sites[site]));
    let (number, site) = sites()
        .filter(|(_, site)| is_look(site))
        .filter(|&(number, site)| is_at_few_locks(process, number, site))
        .filter(|(_, site)| {
            looks(site) as f64 / process.seconds > thresholds.acquisitions_per_second
        })
        .max_by_key(|(_, site)| looks(site))?;
    let arrivals = sites().filter(|(other, arrival)| {
        *other != number
            && arrival.op.class() == Class::Acquire
            && arrival.threads > 1
            && arrive_equally(arrival)
            && function(arrival).is_some()
            && function(arrival) == function(site)
    });
    let (arrival, at) = arrivals.max_by_key(|(_, arrival)| arrival.figures.calls)?;
    let each = looks(site) as f64 / at.figures.calls.max(1) as f64;
    (each >= LOOKS_PER_ARRIVAL).then(|| Finding {
        rule: Rule::PollingBarrier,
        title: POLLING_BARRIER.to_owned(),
        place: site.place.clone(),
        sites: vec![number, arrival],
        locks: family.few_locks(),
        evidence: vec![
            rate("polls of the lock", looks(site) as f64 / process.seconds),
            times("polls for each arrival of a thread", each),
            share("tries that were refused", refused(site)),
            count("threads", site.threads as u64),
        ],
        advice: USE_A_BARRIER.to_owned(),
        open_question: None,
        remedy: Remedy::Unknown,
        gain: None,
    })
}

/// Whether the threads at a site use the same locks: there are fewer locks than threads, or the
/// refused tries are mostly for one lock. Pieces of work have more locks, one for each piece.
fn is_at_few_locks(process: &Process, number: usize, site: &Site) -> bool {
    site.locks < site.threads || is_at_one_lock(process, number)
}

/// Whether all threads come to a site equally often, as they do at a barrier; a thread that steals
/// work comes whenever there is work.
fn arrive_equally(site: &Site) -> bool {
    let calls = || site.by_thread.iter().map(|&(_, calls)| calls);
    let (Some(least), Some(most)) = (calls().min(), calls().max()) else { return true };
    // Few calls may be equally many at random, such as waits for a lock that follow an occasionally
    // refused try.
    least >= FEWEST_TAKEN && (most - least) as f64 <= f64::max(2.0, UNEQUAL * most as f64)
}

/// Whether a site may be one that only checks whether all have arrived: its section searches
/// nothing and changes nothing, or, if the section's instructions were not read, it is a try.
fn is_look(site: &Site) -> bool {
    match site.section.as_ref().and_then(|section| Some((section, Touches::of(section)?))) {
        Some((section, touches)) => {
            let reads = matches!(touches, Touches::OneWord | Touches::ReadsOnly);
            site.op.class() != Class::Wait && reads && section.writes == 0 && !section.loops
        }
        None => site.op.class() == Class::Try,
    }
}

fn tries(process: &Process, family: &Family, thresholds: &Thresholds) -> Option<Finding> {
    let is_try = |&&site: &&usize| process.sites[site].op.class() == Class::Try;
    family.sites.iter().find(is_try)?;
    let meeting = Meeting::at(process, family);
    let meets = |site: &Site| meeting.as_ref().is_some_and(|meeting| meeting.is_in(site));
    let sites = family.sites.iter().map(|&site| (site, &process.sites[site]));
    let (number, site) = sites
        .filter(|(_, site)| site.op.class() == Class::Try)
        .filter(|&(number, site)| {
            meets(site) && looks(site) as f64 >= TRIES_PER_ARRIVAL * family.calls() as f64
                // If no try got the lock, and no time was spent polling, the threads went on
                // without the lock.
                || site.figures.refused >= FEWEST_TAKEN
                    && (site.figures.calls > 0 || site.figures.spun > 0.0)
                    && refused(site) >= MOSTLY_REFUSED
                    && is_at_few_locks(process, number, site)
        })
        .max_by_key(|(_, site)| looks(site))?;
    let tries = Tries::of(process, number);
    let per_second = tries.looks() as f64 / process.seconds;
    let polls = Finding {
        rule: Rule::PollingTry,
        title: "A try is repeated until it succeeds".to_owned(),
        place: tries.place(),
        locks: family.few_locks(),
        evidence: vec![
            rate("tries", per_second),
            share("tries that were refused", tries.refused as f64 / tries.looks().max(1) as f64),
            rate("acquisitions", tries.calls as f64 / process.seconds),
            count("threads", site.threads as u64),
            seconds("time in refused tries", tries.spun),
            count("call sites with such tries", tries.sites.len() as u64),
        ],
        advice: "Wait for the lock (pthread_mutex_lock), or use a condition variable for what \
                 the threads poll for: a thread that sleeps leaves its processor to the holder."
            .to_owned(),
        open_question: None,
        remedy: tries.remedy(site.threads),
        sites: tries.sites,
        gain: None,
    };
    (per_second > thresholds.acquisitions_per_second).then(|| match meets(site) {
        true => Finding {
            rule: Rule::PollingBarrier,
            title: POLLING_BARRIER.to_owned(),
            advice: USE_A_BARRIER.to_owned(),
            sites: polls.sites.iter().chain(&family.sites).copied().collect(),
            remedy: Remedy::Unknown,
            ..polls
        },
        false => polls,
    })
}

/// Whether the refused tries of a site are mostly for one lock, which is hardly ever free at the
/// first try: a thread that continues with another lock when it finds one taken does not return to
/// that one so often.
fn is_at_one_lock(process: &Process, site: usize) -> bool {
    let uses = process.locks.iter().flat_map(|lock| &lock.sites).filter(|used| used.site == site);
    let Some(most) = uses.max_by_key(|used| used.refused) else { return false };
    let tries = (most.calls + most.refused).max(1) as f64;
    most.refused as f64 >= NEARLY_ALL * tries
        && most.refused as f64 >= MOSTLY_REFUSED * process.sites[site].figures.refused as f64
}

/// Tries that one function makes, for itself or on behalf of its callers.
struct Tries<'a> {
    process: &'a Process,
    /// The call sites that try, those with most refused tries first.
    sites: Vec<usize>,
    calls: u64,
    refused: u64,
    /// Seconds spent on refused tries.
    spun: f64,
}

impl<'a> Tries<'a> {
    /// All tries of the function that makes the tries of `site`, whatever their locks.
    fn of(process: &'a Process, site: usize) -> Tries<'a> {
        let call = process.call_of(&process.sites[site]);
        let figures = |site: &usize| &process.sites[*site].figures;
        let made_there = |other: &usize| {
            let tries = process.sites[*other].op.class() == Class::Try;
            tries && process.call_of(&process.sites[*other]) == call
        };
        let mut sites: Vec<usize> = match call {
            Some(_) => (0..process.sites.len()).filter(made_there).collect(),
            None => vec![site],
        };
        sites.sort_by_key(|site| Reverse(figures(site).refused));
        Tries {
            process,
            calls: sites.iter().map(|site| figures(site).calls).sum(),
            refused: sites.iter().map(|site| figures(site).refused).sum(),
            spun: sites.iter().map(|site| figures(site).spun).sum(),
            sites,
        }
    }

    fn looks(&self) -> u64 {
        self.calls + self.refused
    }

    /// The position that repeats the tries: in the function that tries for several call sites, or
    /// else the only call site.
    fn place(&self) -> String {
        let site = &self.process.sites[self.sites[0]];
        let shared = self.process.call_of(site).filter(|_| self.sites.len() > 1);
        shared.map_or_else(|| site.place.clone(), |frame| self.process.frames[frame].place())
    }

    /// If processors are scarce, the processor time of refused tries can be saved; otherwise the
    /// threads would wait for as long without them.
    fn remedy(&self, threads: usize) -> Remedy {
        let short = self.process.processors.is_some_and(|processors| processors < threads);
        if short && self.calls > 0 {
            let seconds_per_call = self.spun / self.calls as f64;
            let sites = self.sites.clone();
            Remedy::CheaperCalls { sites, seconds_per_call, waits_left: 1.0 }
        } else {
            Remedy::Unknown
        }
    }
}

#[cfg(test)]
mod tests {
    use syncline_recording::{Op, Primitive};

    use super::*;
    use crate::findings::testing::{Drawn, Use, one_word, process};
    use crate::model::Section;

    /// Threads that try a lock `per_second` times a second; the share `refused` of the tries is
    /// refused.
    fn tried(per_second: f64, refused: f64) -> Drawn {
        let mut drawn = process(10.0, 4);
        drawn.threads("render", 4, 10.0);
        let lock = drawn.lock(Primitive::Mutex, "picture_lock");
        let site = drawn.site(Op::MutexTrylock, "paste at picture.c:25");
        let refused = (10.0 * per_second * refused).round();
        let calls = (10.0 * per_second - refused).round() as u64;
        drawn.uses(lock, site, Use { calls, refused: refused as u64, ..Use::default() });
        drawn
    }

    fn rules(drawn: &Drawn) -> Vec<(Rule, String)> {
        let findings = find(drawn, &Thresholds::default());
        findings.into_iter().map(|finding| (finding.rule, finding.place)).collect()
    }

    #[test]
    fn the_papers_tries_are_found() {
        let polling = vec![(Rule::PollingTry, "paste at picture.c:25".to_owned())];
        assert_eq!(rules(&tried(1_199.0, 0.69)), polling, "streamcluster");
        assert_eq!(rules(&tried(16_204.0, 0.766)), polling, "fluidanimate-II");
    }

    #[test]
    fn rare_or_mostly_successful_tries_have_no_finding() {
        assert!(rules(&tried(16_204.0, 0.49)).is_empty());
        assert!(rules(&tried(990.0, 0.69)).is_empty());
    }

    /// Modelled on jemalloc, whose threads occasionally check whether they may clean up.
    #[test]
    fn refused_tries_without_spinning_are_not_polling() {
        let mut drawn = tried(1_500.0, 1.0);
        assert!(rules(&drawn).is_empty());
        drawn.sites[0].figures.spun = 0.1;
        assert_eq!(rules(&drawn).len(), 1);
    }

    #[test]
    fn trying_one_lock_after_another_is_not_polling() {
        let mut drawn = tried(16_204.0, 0.766);
        drawn.sites[0].locks = 16;
        assert!(rules(&drawn).is_empty());
    }

    /// In memcached 1.4.15, one function takes all locks; it is inlined everywhere.
    #[test]
    fn one_of_many_locks_may_be_polled() {
        let tries = |of_one: u64, of_others: u64| {
            let mut drawn = process(10.0, 4);
            drawn.threads("worker", 4, 10.0);
            let site = drawn.site(Op::MutexTrylock, "mutex_lock at memcached.h:493");
            let mut all = |name: &str, refused| {
                let lock = drawn.lock(Primitive::Mutex, name);
                drawn.uses(lock, site, Use { calls: 10_000, refused, ..Use::default() });
            };
            all("cache_lock", of_one);
            (0..99).for_each(|_| all("item_lock", of_others));
            rules(&drawn).len()
        };
        assert_eq!(tries(2_000_000, 10_000), 1);
        assert_eq!(tries(80_000, 10_000), 0, "the others have more");
        assert_eq!(tries(20_000, 100), 0, "two tries for each time");
    }

    /// The rules and call sites found if threads meet at a lock; `tries` of their tries succeed,
    /// and `refused` are refused.
    fn meet(tries: u64, refused: u64) -> Vec<(Rule, String)> {
        let mut drawn = process(10.0, 4);
        drawn.threads("cluster", 3, 10.0);
        let lock = drawn.lock(Primitive::Mutex, "barrier");
        let condition = drawn.lock(Primitive::Condvar, "all_came");
        let mut uses = |lock, op, line, calls, refused| {
            let site = drawn.site(op, &format!("meet at barrier.cpp:{line}"));
            drawn.uses(lock, site, Use { calls, refused, ..Use::default() });
            drawn.sites[site].threads = 3;
        };
        uses(lock, Op::MutexLock, 133, 26_000, 0);
        uses(lock, Op::MutexTrylock, 185, tries, refused);
        uses(condition, Op::CondWait, 190, 9_000, 0);
        uses(condition, Op::CondBroadcast, 203, 13_000, 0);
        rules(&drawn)
    }

    #[test]
    fn tries_of_threads_that_meet_are_a_polling_barrier() {
        let polling = vec![(Rule::PollingBarrier, "meet at barrier.cpp:185".to_owned())];
        assert_eq!(meet(13_000, 32_000), polling);
        assert_eq!(meet(13_000, 1), polling, "all but one went to sleep");
        assert!(meet(2_000, 100).is_empty(), "hardly any try");
    }

    /// Arrivals at a barrier, and the looks that follow, most of which get the lock.
    fn barrier(arrivals: u64, looks: u64) -> Drawn {
        let mut drawn = process(10.0, 4);
        drawn.threads("cluster", 4, 10.0);
        let lock = drawn.lock(Primitive::Mutex, "barrier");
        let arrive = drawn.site(Op::MutexLock, "meet at barrier.c:22");
        let look = drawn.site(Op::MutexTrylock, "meet at barrier.c:31");
        drawn.uses(lock, arrive, Use { calls: arrivals, ..Use::default() });
        drawn.uses(lock, look, Use { calls: looks, refused: looks / 20, ..Use::default() });
        drawn
    }

    #[test]
    fn a_home_made_barrier_is_found_though_its_tries_succeed() {
        let polling = vec![(Rule::PollingBarrier, "meet at barrier.c:31".to_owned())];
        assert_eq!(rules(&barrier(6_000, 600_000)), polling);
        assert!(rules(&barrier(6_000, 40_000)).is_empty(), "seven looks each");
        assert!(rules(&barrier(600, 9_000)).is_empty(), "900 looks a second");
        let mut drawn = barrier(6_000, 600_000);
        drawn.sites[1].locks = 6;
        assert!(rules(&drawn).is_empty(), "six pieces of work for four threads");
        let arrive = |each: u64| {
            let mut drawn = barrier(4 * each, 600_000);
            drawn.by_thread(0, (1..5).map(|thread| (thread, each)));
            rules(&drawn).len()
        };
        assert_eq!(arrive(1_500), 1);
        assert_eq!(arrive(3), 0, "a try is refused now and then, and the lock is waited for");
    }

    #[test]
    fn a_barrier_may_poll_with_plain_locks() {
        let mut drawn = barrier(6_000, 600_000);
        drawn.sites[1].op = Op::MutexLock;
        assert!(rules(&drawn).is_empty(), "it might do anything");
        drawn.section(1, Section { writes: 0, ..one_word() });
        assert_eq!(rules(&drawn).len(), 1);
        drawn.section(1, one_word());
        assert!(rules(&drawn).is_empty(), "it counts something");
    }
}
