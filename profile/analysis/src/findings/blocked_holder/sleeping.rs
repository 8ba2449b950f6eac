//! [`Rule::SleepingHolder`]: a lock is held by a thread that sleeps or waits for a device.

use std::collections::BTreeMap;

use syncline_recording::Primitive;

use crate::findings::blocked_holder::holder::{
    FEWEST_SWITCHES, OFF_CPU, TIME_SLICE, behind, draft, holds_waited_for,
};
use crate::findings::evidence::{count, seconds, share};
use crate::findings::family::{FEWEST_TAKEN, WAITED_FLOOR, share_of_run};
use crate::model::{Answer, Finding, OpenQuestion, Process, Remedy, Rule};

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

/// If holders waited for inner locks during more than this share of their time without a processor,
/// inner locks are the main cause. (The time without a processor is that of sampled holds, which
/// include many that began after a wait; these are longer than average.)
const MOSTLY_INSIDE: f64 = 0.5;

/// The advice names at most this many of the functions that a section calls.
const MOST_NAMED: usize = 6;

/// Checks one call site of acquisitions.
pub fn find(process: &Process, site: usize) -> Option<Finding> {
    let figures = &process.sites[site].figures;
    let holder = figures.holder;
    let off_cpu = holder.off_cpu_share();
    let (waited, waits) = behind(process, site);
    // A holder that waits for an inner lock, or for a condition of one, sleeps as well; that is the
    // inner lock's fault.
    let inside = waited_inside(process, site) + waited_for_conditions(process, site);
    let inside = inside / figures.held.max(1e-12);
    let seen = holder.slept >= FEWEST_SWITCHES
        && holder.slept >= holder.preempted
        && off_cpu - inside >= OFF_CPU
        && inside <= MOSTLY_INSIDE * off_cpu
        && share_of_run(process, waited * off_cpu) >= WAITED_FLOOR;
    // A hold that sleeps may be too rare to be in the sample. The waits for it still show it.
    let calls = process.sites[site].section.as_ref().map_or(&[][..], |s| &s.calls[..]);
    let told = calls.iter().any(|call| BLOCKING.contains(&call.as_str()))
        && waited >= TIME_SLICE * waits as f64
        && share_of_run(process, waited) >= WAITED_FLOOR;
    let applies = (seen || told) && holds_waited_for(figures, (waited, waits)) >= FEWEST_TAKEN;
    applies.then(|| Finding {
        title: "A lock is held by a thread that sleeps or waits for a device".to_owned(),
        evidence: vec![
            share("time held without a processor, in the sampled holds", off_cpu),
            count("sleeps in the sampled holds", holder.slept),
            count("sampled holds", holder.looked_at),
            seconds("longest hold", figures.held_max),
            seconds("time that other threads waited meanwhile", waited),
            seconds("mean wait", waited / waits as f64),
        ]
        .into_iter()
        .skip(if seen { 0 } else { 3 })
        .collect(),
        advice: format!(
            "Move what blocks out of the section: take what it needs with the lock held, release \
             the lock, and then write, read or sleep.{} Where each section has to wait for an answer, \
             as over a connection that threads share, have several of what the lock protects: one for \
             each thread, or a pool.",
            named(calls)
        ),
        open_question: calls.is_empty().then(|| OpenQuestion {
            question: "Which call in the section blocks?".to_owned(),
            command: Answer::SystemCalls,
        }),
        remedy: if seen {
            // Waiters mostly meet long holds, so the mean of all holds would predict too little.
            Remedy::CheaperCalls {
                sites: vec![site],
                seconds_per_call: 0.0,
                waits_left: (1.0 - off_cpu).clamp(0.0, 1.0),
            }
        } else {
            Remedy::NoWaits { sites: vec![site] }
        },
        ..draft(process, site, Rule::SleepingHolder)
    })
}

/// A sentence with the functions that a section calls: those that block, or if there are none, some
/// that do work. Error handling, constructors, destructors and functions without a name are not
/// worth naming.
fn named(calls: &[String]) -> String {
    let names = || calls.iter().map(|call| call.split('(').next().unwrap_or(call));
    let blocking: Vec<&str> = names().filter(|name| BLOCKING.contains(name)).collect();
    let mut named = match blocking[..] {
        [] => names().filter(|name| does_work(name)).collect(),
        _ => blocking,
    };
    let more = named.len().saturating_sub(MOST_NAMED);
    named.truncate(MOST_NAMED);
    match (named.is_empty(), more) {
        (true, _) => String::new(),
        (_, 0) => format!(" The section calls {}.", named.join(", ")),
        _ => format!(" The section calls {}, and {more} more.", named.join(", ")),
    }
}

fn does_work(name: &str) -> bool {
    let mut parts = name.rsplit("::");
    let (last, class) = (parts.next().unwrap_or(name), parts.next());
    let is_error = ["__cxa_", "_Unwind_"].iter().any(|start| name.starts_with(start))
        || ["Exception", "Throw", "throw"].iter().any(|part| name.contains(part));
    !is_error && !last.starts_with('~') && class != Some(last) && !last.contains(' ')
}

/// Seconds that threads waited for inner locks while they held the lock of the site `holder`, an
/// estimate.
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

/// Seconds that threads waited for conditions in the functions that take an inner lock while they
/// hold the lock of a site: a wait for a condition releases the inner lock, and not the outer one.
fn waited_for_conditions(process: &Process, holder: usize) -> f64 {
    let inner = process.nesting.iter().filter(|n| n.outer.is_some_and(|o| o.site == Some(holder)));
    let functions = process.functions_of(inner.map(|n| &process.sites[n.site]));
    let waits = process.sites.iter().filter(|site| {
        site.op.primitive() == Primitive::Condvar && process.is_in(site, &functions)
    });
    waits.map(|site| site.figures.waited).sum()
}

#[cfg(test)]
mod tests {
    use syncline_recording::{Op, Primitive};

    use crate::findings::blocked_holder::testing::{found, looked_at, taken};
    use crate::findings::testing::Use;
    use crate::model::{Rule, Section};

    #[test]
    fn blocking_calls_are_named_before_other_calls() {
        let named = |calls: &[&str]| {
            super::named(&calls.iter().map(|&call| call.to_owned()).collect::<Vec<_>>())
        };
        assert_eq!(named(&["commit(Log&)", "fsync"]), " The section calls fsync.");
        let of_no_use =
            ["__cxa_throw", "Log::Log(int)", "Log::~Log()", "a function without a name"];
        assert_eq!(named(&of_no_use), "");
        assert_eq!(
            named(&[&of_no_use[..], &["Log::write(int)"]].concat()),
            " The section calls Log::write."
        );
        let many: Vec<String> = (0..8).map(|n| format!("step{n}")).collect();
        assert!(super::named(&many).ends_with("step5, and 2 more."));
    }

    #[test]
    fn a_holder_that_sleeps_while_others_wait_is_found() {
        let journal = |waited| taken(Op::MutexLock, 300, waited, 1.0);
        assert_eq!(found(&looked_at(journal(1.0), 0.9, 30, 2)), [Rule::SleepingHolder]);
        assert!(found(&looked_at(journal(1.0), 0.29, 30, 2)).is_empty(), "it mostly runs");
        assert!(found(&looked_at(journal(1.0), 0.9, 2, 2)).is_empty(), "twice");
        assert!(found(&looked_at(journal(0.05), 0.9, 30, 2)).is_empty(), "who waits 0.45 %?");
    }

    #[test]
    fn few_waits_that_each_span_many_holds_are_found() {
        let starved = |held| looked_at(taken(Op::MutexLock, 5, 1.0, held), 0.9, 5, 0);
        // Each wait lasts for 20 of the 10,000 holds.
        assert_eq!(found(&starved(100.0)), [Rule::SleepingHolder]);
        assert!(found(&starved(2000.0)).is_empty(), "for one");
    }

    #[test]
    fn a_section_with_a_blocking_call_and_long_waits_is_found() {
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
    fn a_holder_that_waits_for_another_locks_condition_is_not_at_fault() {
        let waits_for = |seconds| {
            let mut drawn = looked_at(taken(Op::MutexLock, 300, 1.0, 1.0), 0.9, 30, 2);
            let inner = drawn.lock(Primitive::Mutex, "turn");
            let inside = drawn.site(Op::MutexLock, "append at journal.c:31");
            drawn.uses(inner, inside, Use { calls: 10_000, ..Use::default() });
            drawn.nested(inner, inside, Some((0, 0)), 100);
            let condition = drawn.lock(Primitive::Condvar, "my_turn");
            let wait = drawn.site(Op::CondWait, "append at journal.c:33");
            let waits = Use { calls: 900, waits: 900, waited: seconds, ..Use::default() };
            drawn.uses(condition, wait, waits);
            found(&drawn)
        };
        assert!(waits_for(0.85).is_empty());
        assert_eq!(waits_for(0.1), [Rule::SleepingHolder], "it mostly sleeps for something else");
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
}
