//! Time that no finding explains. A family of locks, with its refused tries, gets a sentence if it
//! takes 2 % of the threads' time or more; so does an event. The sentence says which threads wait
//! for which, and which numbers rule the findings out, so that an expert can continue from there.
//! Locks whose waits take less time than their calls get a sentence if the calls take 5 % of the
//! time in which threads could run. System calls get one if threads sleep in them for 5 % of their
//! time.

mod events;
mod sentence;
#[cfg(test)]
mod tests;

use super::asleep;
use super::evidence::ask_inspect;
use super::family::{Family, PAIR};
use super::meeting::Meeting;
use super::working::share;
use crate::held::{mean_held, share_of_work};
use crate::model::{Figures, Finding, HolderTime, Kind, Lost, Process, Remaining};
use crate::name;
use events::event;
use sentence::{LEAST, joined};
use syncline_present::number::{counted, duration, grouped, percent};

/// Calls, whose time is an estimate, must take at least this share of the threads' time. Time in
/// which threads are ready and have no processor does not count.
const LEAST_IN_CALLS: f64 = 0.05;
/// Findings explain the waiting of a family if at least this share of it is at their call sites.
const EXPLAINED: f64 = 0.5;

/// The locks and events that no finding explains. Those with most of the critical path come first,
/// if enough of the path is known; otherwise those with most time.
pub fn find(process: &Process, findings: &[Finding]) -> Vec<Remaining> {
    let said = |site: usize| {
        let speaks =
            |f: &&Finding| f.rule.about().waiting != Lost::Nothing && f.sites.contains(&site);
        findings.iter().any(|finding| speaks(&finding))
    };
    let families = Family::all(process);
    let locks = families.iter().filter_map(|family| locks(process, family, &said));
    let spoken_of = |site: usize| findings.iter().any(|finding| finding.sites.contains(&site));
    let calls = families.iter().filter_map(|family| calls(process, family, &spoken_of));
    let others = (0..process.sites.len()).filter(|&site| !said(site));
    let events = others.filter_map(|site| {
        let meets = || families.iter().filter_map(|family| Meeting::at(process, family));
        event(process, site, || meets().any(|meeting| meeting.is_in(&process.sites[site])))
    });
    let mut remaining: Vec<Remaining> =
        locks.chain(calls).chain(events).chain(asleep::find(process, findings)).collect();
    let on_path = |one: &Remaining| -> f64 {
        one.sites.iter().filter_map(|&site| process.critical_path.through(site)).sum()
    };
    remaining.sort_by(|a, b| {
        let by_path = on_path(b).total_cmp(&on_path(a));
        by_path.then_with(|| b.seconds.total_cmp(&a.seconds)).then_with(|| a.place.cmp(&b.place))
    });
    remaining
}

fn locks(process: &Process, family: &Family, said: &impl Fn(usize) -> bool) -> Option<Remaining> {
    let lost = |site: usize| process.sites[site].figures.lost();
    let seconds: f64 = family.sites.iter().map(|&site| lost(site)).sum();
    let share = share(process, seconds, LEAST)?;
    let explained: f64 = family.sites.iter().filter(|site| said(**site)).map(|&s| lost(s)).sum();
    if explained >= EXPLAINED * seconds {
        return None;
    }
    let mut sites = family.sites.clone();
    sites.sort_by(|&a, &b| lost(b).total_cmp(&lost(a)));
    let what = locks_in_words(process, family);
    let waits = |figures: &Figures| figures.waits + figures.unfinished;
    let waits: u64 = sites.iter().map(|&site| waits(&process.sites[site].figures)).sum();
    let spun: f64 = sites.iter().map(|&site| process.sites[site].figures.spun).sum();
    let held: f64 = sites.iter().map(|&site| process.sites[site].figures.held).sum();
    let of_work: f64 =
        family.locks.iter().map(|&n| share_of_work(process, &process.locks[n])).sum();
    let mut why = vec![format!(
        "{} of {} on average{}",
        counted(waits as usize, "wait"),
        duration(family.waited() / waits.max(1) as f64),
        blockers(process, family)
    )];
    if spun > 0.0 {
        why.push(format!("{} went into refused tries", duration(spun)));
    }
    why.push(format!(
        "{} of attempts found it taken, and threads are in its sections for {} of their working \
         time, {} for each section",
        percent(family.contention()),
        percent(of_work.min(1.0)),
        duration(mean_held(held, family.calls()))
    ));
    if let Some(calls) = cost_of_calls(process, family) {
        why.push(format!(
            "the calls alone take about {}, at {} acquisitions a second: take the lock less often",
            duration(calls),
            grouped(family.calls_per_second() as u64)
        ));
    }
    why.extend(holders(sites.iter().map(|&site| process.sites[site].figures.holder)));
    Some(Remaining {
        what,
        kind: Kind::Lock,
        place: process.sites[sites[0]].place.clone(),
        seconds,
        share,
        idle: false,
        why: joined(&why),
        open_question: ask_inspect("What do its sections touch?"),
        sites,
    })
}

/// Seconds that the calls of a family take, if that is a large part of the time in which threads
/// could run.
fn cost_of_calls(process: &Process, family: &Family) -> Option<f64> {
    let seconds = family.calls() as f64 * PAIR;
    // Calls take processor time: if other programs had the processors, threads could make fewer
    // calls.
    let had_processor = (process.thread_seconds - process.ready()).max(f64::MIN_POSITIVE);
    (seconds >= LEAST_IN_CALLS * had_processor).then_some(seconds)
}

/// The sentence about a family that is taken so often that its calls take much time, and more than
/// its waits; `None` for other families, and for one that a finding is about.
fn calls(
    process: &Process,
    family: &Family,
    spoken_of: &impl Fn(usize) -> bool,
) -> Option<Remaining> {
    let seconds = cost_of_calls(process, family)?;
    let share = share(process, seconds, 0.0)?;
    if family.sites.iter().any(|&site| spoken_of(site)) || family.waited() > seconds {
        return None;
    }
    let reads = family.reads();
    let mut why = vec![format!(
        "The calls alone take this time: about {} for an acquisition and its release, {} times a \
         second, by {}; {} of attempts found the lock taken",
        duration(PAIR),
        grouped(family.calls_per_second() as u64),
        counted(family.threads(), "thread"),
        percent(family.contention())
    )];
    if reads > 0.0 {
        why.push(format!(
            "{} of acquisitions only read, but each of these writes the lock's count, so threads \
             take the count's cache line from each other",
            percent(reads)
        ));
    }
    why.push("take it less often: look up once, and keep the result".to_owned());
    Some(Remaining {
        what: locks_in_words(process, family),
        kind: Kind::Lock,
        place: family.main_site().place.clone(),
        seconds,
        share,
        idle: false,
        why: joined(&why),
        open_question: None,
        sites: family.sites.clone(),
    })
}

fn locks_in_words(process: &Process, family: &Family) -> String {
    match family.locks[..] {
        [lock] => name::lock(&process.locks[lock]),
        _ => counted(family.locks.len(), "lock"),
    }
}

/// A text with the call site whose holders caused most of the waiting; empty if it is not known.
fn blockers(process: &Process, family: &Family) -> String {
    let all = || family.locks.iter().flat_map(|&lock| &process.locks[lock].blockers);
    let Some(holder) = all().max_by(|a, b| a.waited.total_cmp(&b.waited)).and_then(|b| b.holder)
    else {
        return String::new();
    };
    let behind = all().filter(|blocker| blocker.holder == Some(holder));
    let share = behind.map(|b| b.waited).sum::<f64>() / family.waited().max(1e-12);
    let holder = name::site(process, &process.sites[holder]);
    format!(", {} of this time while it was held from {holder}", percent(share.min(1.0)))
}

/// A text that says how often holders slept or lost their processor; `None` if no hold was sampled.
fn holders(times: impl Iterator<Item = HolderTime>) -> Option<String> {
    let (mut looked_at, mut slept, mut preempted) = (0, 0, 0);
    for time in times {
        looked_at += time.looked_at;
        slept += time.slept;
        preempted += time.preempted;
    }
    (looked_at > 0).then(|| {
        format!(
            "in {} that were sampled, holders lost their processor {} and slept {}",
            counted(looked_at as usize, "hold"),
            counted(preempted as usize, "time"),
            counted(slept as usize, "time")
        )
    })
}
