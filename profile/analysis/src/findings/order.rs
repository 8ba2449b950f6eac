//! The order of findings: those with most gain come first. Predictions are off by a few percentage
//! points. So findings with about the same gain are ordered by the time that their calls and waits
//! take, the most time first: that time would be the gain if threads had more processors.

use std::cmp::{Ordering, Reverse};

use syncline_recording::Op;

use super::family::{PAIR, descending};
use super::improper_granularity::thread_each::A_THREAD;
use crate::model::{Category, Finding, Kind, Lost, Process, Site};

/// Gains within one step of this size are about the same, since many predictions are off by as much
/// (`docs/accuracy.md`).
const ERROR: f64 = 0.1;

/// Compares two findings for an order with most gain first. Lock orders come last: they may hang a
/// program, but take no time.
pub fn compare(process: &Process, a: &Finding, b: &Finding) -> Ordering {
    let step = |finding: &Finding| finding.gain.map_or(0, |gain| (gain.share / ERROR) as i64);
    let seconds = |finding: &Finding| finding.gain.map_or(0.0, |gain| gain.seconds);
    let takes_no_time = |finding: &Finding| finding.rule.about().category == Category::LockOrder;
    takes_no_time(a)
        .cmp(&takes_no_time(b))
        .then_with(|| Reverse(step(a)).cmp(&Reverse(step(b))))
        .then_with(|| descending(time_at_sites(process, a), time_at_sites(process, b)))
        .then_with(|| descending(seconds(a), seconds(b)))
        .then_with(|| (a.rule, &a.place).cmp(&(b.rule, &b.place)))
}

/// Seconds that all threads spent at a finding's call sites: waits, refused tries, and the cost of
/// calls that take locks or create threads. For waits for events and in futexes, only their part of
/// the critical path counts, if that is known: other waits may be those of threads without work. If
/// the rule is not about all kinds of waiting, its waits for events don't count.
fn time_at_sites(process: &Process, finding: &Finding) -> f64 {
    // No recorded call takes a lock inside a library: samples show how long threads sleep there.
    if finding.sites.is_empty() {
        return slept_at(process, &finding.place);
    }
    let of_events = finding.rule.about().waiting == Lost::All;
    let sites = finding.sites.iter().map(|&site| (site, &process.sites[site]));
    let counted = sites.filter(|(_, site)| site.kind != Kind::Event || of_events);
    let calls = |site: &Site| match (site.kind, site.op) {
        (Kind::Lock, _) => site.figures.calls as f64 * PAIR,
        (_, Op::ThreadCreate) => site.figures.calls as f64 * A_THREAD,
        _ => 0.0,
    };
    let lost = |number: usize, site: &Site| {
        let on_path = process.critical_path.through(number).filter(|_| site.kind != Kind::Lock);
        on_path.map_or(site.figures.lost(), |share| {
            share * process.critical_path.seconds + site.figures.spun
        })
    };
    counted.map(|(number, site)| lost(number, site) + calls(site)).sum()
}

/// Seconds that threads slept at a call site, not counting recorded waits.
fn slept_at(process: &Process, place: &str) -> f64 {
    let here = process.asleep.iter().filter(|asleep| asleep.place == place);
    here.map(|asleep| asleep.seconds).sum()
}

#[cfg(test)]
mod tests {
    use syncline_recording::Primitive;

    use super::*;
    use crate::findings::testing::{Use, finding, process};
    use crate::model::Rule;

    /// Modelled on a queue with one side that polls with a sleep. Both sides wait about equally
    /// long, and the run waits for the side that sleeps.
    #[test]
    fn event_waits_count_only_on_the_critical_path() {
        let mut drawn = process(10.0, 2);
        drawn.threads("side", 2, 10.0);
        for (primitive, op, place, waited) in [
            (Primitive::Sleep, Op::Sleep, "look at queue.c:10", 9.0),
            (Primitive::Futex, Op::FutexWait, "pop at queue.c:20", 9.5),
        ] {
            let lock = drawn.lock(primitive, place);
            let site = drawn.site(op, place);
            drawn.uses(lock, site, Use { calls: 900, waits: 900, waited, ..Use::default() });
        }
        let findings = [finding(Rule::PollingSleep, &[0]), finding(Rule::BusyFutex, &[1])];
        let order = |process: &Process| compare(process, &findings[0], &findings[1]);
        drawn.critical_path.seconds = 10.0;
        drawn.critical_path.through = [(0, 9.0), (1, 0.1)].into();
        assert_eq!(order(&drawn), Ordering::Less);
        drawn.critical_path.through = [(0, 0.1), (1, 9.0)].into();
        assert_eq!(order(&drawn), Ordering::Greater);
    }
}
