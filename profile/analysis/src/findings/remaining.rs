//! Time that no finding explains: each kind of lock, each loop of tries and each event that takes 2
//! % of the threads' time or more gets a sentence. The sentence says which threads wait for which,
//! and which numbers rule the findings out, so that an expert can continue from there. Locks that
//! no thread waits for get a sentence too if their calls take 5 %.

use syncline_recording::{Class, Primitive};

use super::asleep;
use super::evidence::ask_inspect;
use super::family::{Family, PAIR, mean_held, share_of_work};
use super::meeting::Meeting;
use super::waking::{self, are_peers, called_by};
use super::working::{IDLE, share, worked};
use crate::model::{Figures, Finding, HolderTime, Kind, Lost, Process, Remaining, Site};
use crate::name;
use crate::name::primitive;
use syncline_present::number::{counted, duration, grouped, percent};

/// The least share of the threads' time that is reported.
const LEAST: f64 = 0.02;
/// For calls, whose time is an estimate, the share of the time in which threads could run.
const LEAST_IN_CALLS: f64 = 0.05;
/// A finding explains the waiting of a family if its call sites have this share of it.
const EXPLAINED: f64 = 0.5;

/// Waits with less than this share of the critical path do not delay the run.
const ON_PATH: f64 = 0.02;

/// Threads poll if a call site has this many sleeps, no longer than this on average, in seconds.
/// Others keep a clock, or sleep once.
const MANY_SLEEPS: u64 = 100;
const SHORT_SLEEP: f64 = 20e-3;

/// What no finding explains, most time first.
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
        locks.chain(calls).chain(events).chain(asleep::find(process)).collect();
    remaining.sort_by(|a, b| b.seconds.total_cmp(&a.seconds).then_with(|| a.place.cmp(&b.place)));
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
        "{} of {} on the average{}",
        counted(waits as usize, "wait"),
        duration(family.waited() / waits.max(1) as f64),
        blockers(process, family)
    )];
    if spun > 0.0 {
        why.push(format!("{} went into refused tries", duration(spun)));
    }
    why.push(format!(
        "{} found it taken, and threads are in its sections for {} of their working time, {} each",
        percent(family.contention()),
        percent(of_work.min(1.0)),
        duration(mean_held(held, family.calls()))
    ));
    if let Some(calls) = cost_of_calls(process, family) {
        why.push(format!(
            "the calls alone take about {}, {} a second: take it less often",
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
        why: sentences(&why),
        open_question: ask_inspect("What do its sections touch?"),
        sites,
    })
}

/// Seconds that the calls of a family take, if that is a large part of the time in which threads
/// could run.
fn cost_of_calls(process: &Process, family: &Family) -> Option<f64> {
    let seconds = family.calls() as f64 * PAIR;
    // Calls take processor time: where other programs had the processors, threads could make fewer.
    let had_processor = (process.thread_seconds - process.ready()).max(f64::MIN_POSITIVE);
    (seconds >= LEAST_IN_CALLS * had_processor).then_some(seconds)
}

/// Locks that are taken so often that the calls take time, although no thread waits.
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
        "the calls alone, at about {} each with its release: {} a second, by {}, and {} found it \
         taken",
        duration(PAIR),
        grouped(family.calls_per_second() as u64),
        counted(family.threads(), "thread"),
        percent(family.contention())
    )];
    if reads > 0.0 {
        why.push(format!(
            "{} only read, but each writes the lock's count, so threads take its cache line from \
             each other",
            percent(reads)
        ));
    }
    why.push(
        "what helps is to take it less often: look up once, and keep what was found".to_owned(),
    );
    Some(Remaining {
        what: locks_in_words(process, family),
        kind: Kind::Lock,
        place: family.main_site().place.clone(),
        seconds,
        share,
        idle: false,
        why: sentences(&why),
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

/// The call site whose holders caused most of the waits.
fn blockers(process: &Process, family: &Family) -> String {
    let all = || family.locks.iter().flat_map(|&lock| &process.locks[lock].blockers);
    let Some(holder) = all().max_by(|a, b| a.waited.total_cmp(&b.waited)).and_then(|b| b.holder)
    else {
        return String::new();
    };
    let behind = all().filter(|blocker| blocker.holder == Some(holder));
    let share = behind.map(|b| b.waited).sum::<f64>() / family.waited().max(1e-12);
    let holder = name::site(process, &process.sites[holder]);
    format!(", {} of it while held from {holder}", percent(share.min(1.0)))
}

/// What holders did meanwhile, if that was sampled.
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

/// A loop that only waits. Its thread has the processor, so it is not idle for others.
fn spinning(site: &Site, number: usize, seconds: f64, share: f64) -> Remaining {
    let why = format!(
        "{} of processor time, by {}: a loop looks at a word until another thread has changed it",
        duration(seconds),
        counted(site.threads, "thread")
    );
    Remaining {
        what: primitive(Primitive::Spin).to_owned(),
        kind: site.kind,
        place: site.place.clone(),
        sites: vec![number],
        seconds,
        share,
        idle: false,
        why: sentences(&[why]),
        open_question: None,
    }
}

/// `meets` says whether threads meet in the function of that call site.
fn event(process: &Process, number: usize, meets: impl Fn() -> bool) -> Option<Remaining> {
    let site = &process.sites[number];
    if site.kind == Kind::Lock {
        return None;
    }
    let seconds = site.figures.lost();
    let share = share(process, seconds, LEAST)?;
    let objects: Vec<usize> = process.used_at(number).collect();
    let kind = site.op.primitive();
    let what = match objects[..] {
        [object] if kind != Primitive::Thread => name::lock(&process.locks[object]),
        _ => primitive(kind).to_owned(),
    };
    if kind == Primitive::Spin {
        return Some(spinning(site, number, seconds, share));
    }
    let worked = worked(process, site.by_thread.iter().map(|&(thread, _)| thread));
    // Threads that wait for one another hold each other up, however little they run.
    let each_other = wake_each_other(process, site, &objects);
    let (one, waits) = match kind {
        Primitive::Yield => ("yield", site.figures.calls),
        Primitive::Sleep => ("sleep", site.figures.waits + site.figures.unfinished),
        _ => ("wait", site.figures.waits + site.figures.unfinished),
    };
    let mean = seconds / waits.max(1) as f64;
    let looks_again = kind == Primitive::Sleep && waits >= MANY_SLEEPS && mean <= SHORT_SLEEP;
    let on_path = process.critical_path.through(number);
    let idle = kind == Primitive::Thread
        || match on_path {
            Some(share) => share < ON_PATH,
            None => !each_other && !looks_again && worked.is_some_and(|worked| worked < IDLE),
        };
    let mut why = vec![format!(
        "{} of {}, by {}{}",
        counted(waits as usize, one),
        duration(mean),
        counted(site.threads, "thread"),
        wakers(process, &objects)
    )];
    let said = process.held_up_by_sleep().is_some_and(|part| part.site == Some(number));
    if looks_again && !said {
        why.push(
            "if it looks for something after each sleep, it sees it half a sleep too late: wait for \
             the event itself (a condition, a semaphore, poll); if each sleep belongs to a piece of \
             work, more threads can sleep at a time"
                .to_owned(),
        );
    }
    if kind == Primitive::Condvar && meets() {
        why.push(
            "it is a barrier of the program's own: the last thread to arrive releases the others"
                .to_owned(),
        );
    }
    if each_other {
        why.push(format!(
            "each waits for {} of its own, and the waiting threads wake each other: it may be a \
             lock of the program's own (hold it for less time, or use several), or a pool of \
             threads (hand it more work at a time)",
            match kind {
                Primitive::Condvar => "a condition",
                Primitive::Semaphore => "a semaphore",
                _ => "an object",
            }
        ));
    }
    match (on_path, worked) {
        (Some(share), _) => {
            let share = percent(share.min(1.0));
            why.push(format!(
                "such waits, and what the threads do right after them, are {share} of the critical path"
            ));
        }
        (None, Some(worked)) => why.push(format!(
            "the waiting threads work for {} of their time: {}",
            percent(worked),
            if idle { "they have nothing to do" } else { "their waits may delay the run" }
        )),
        (None, None) => {}
    }
    Some(Remaining {
        what,
        kind: site.kind,
        place: site.place.clone(),
        sites: vec![number],
        seconds,
        share,
        idle,
        why: sentences(&why),
        open_question: None,
    })
}

/// Whether each thread that waits at a site has an object of its own, and nearly all of these threads
/// wake others.
fn wake_each_other(process: &Process, site: &Site, objects: &[usize]) -> bool {
    let waiting = called_by(site).map(|(thread, _)| thread);
    objects.len() >= 2
        && objects.len() >= waiting.clone().count()
        && are_peers(waiting, &waking::wakes(process, objects))
}

/// Where the waiters are mostly woken.
fn wakers(process: &Process, objects: &[usize]) -> String {
    let wakes = objects.iter().flat_map(|&object| process.locks[object].uses(Class::Notify));
    match wakes.max_by_key(|used| used.calls) {
        Some(waker) => {
            format!(", woken from {}", name::site(process, &process.sites[waker.site]))
        }
        None => String::new(),
    }
}

fn sentences(parts: &[String]) -> String {
    let mut text = parts.join("; ");
    text.push('.');
    text
}

#[cfg(test)]
mod tests {
    use syncline_recording::Op;

    use super::*;
    use crate::findings::testing::{Drawn, Use, finding, process};
    use crate::model::Rule;

    /// Four threads that wait this long for a lock, of 50 seconds.
    fn waits(waited: f64) -> (Drawn, usize) {
        let mut drawn = process(10.0, 4);
        drawn.threads("worker", 4, 10.0);
        let lock = drawn.lock(Primitive::Mutex, "cache_lock");
        let quiet = drawn.site(Op::MutexLock, "get at cache.c:10");
        let site = drawn.site(Op::MutexLock, "put at cache.c:20");
        drawn.uses(lock, quiet, Use { calls: 1_000_000, ..Use::default() });
        drawn.uses(lock, site, Use { calls: 1_000, waits: 100, waited, ..Use::default() });
        drawn.blocked(lock, site, quiet, 100, waited);
        (drawn, site)
    }

    #[test]
    fn a_lock_with_much_waiting_gets_a_sentence_unless_a_finding_has_one() {
        let (drawn, site) = waits(1.1);
        let found = find(&drawn, &[]);
        assert_eq!(found.len(), 1);
        let only = &found[0];
        assert_eq!((&only.what[..], &only.place[..]), ("mutex cache_lock", "put at cache.c:20"));
        assert!((only.share - 0.022).abs() < 1e-9);
        assert!(only.why.contains("100 waits of 11.0 ms"), "{}", only.why);
        assert!(only.why.contains("100 % of it while held from get  cache.c:10"), "{}", only.why);
        assert!(find(&drawn, &[finding(Rule::TooMuchData, &[site])]).is_empty());
        let cheaper = [finding(Rule::SpinlockInstead, &[site])];
        assert_eq!(find(&drawn, &cheaper).len(), 1, "it says nothing of waiting");
        assert!(find(&waits(0.9).0, &[]).is_empty(), "1.8 %");
    }

    #[test]
    fn calls_that_nobody_is_in_the_way_of_are_time_as_well() {
        let taken = |times: u64| {
            let mut drawn = process(10.0, 4);
            drawn.threads("worker", 4, 10.0);
            let lock = drawn.lock(Primitive::Rwlock, "names");
            let site = drawn.site(Op::RwlockRead, "look up at names.c:10");
            drawn.uses(lock, site, Use { calls: times, ..Use::default() });
            drawn
        };
        let found = find(&taken(150_000_000), &[]);
        assert_eq!((&found[0].what[..], found[0].idle), ("rwlock names", false));
        assert!((found[0].share - 0.06).abs() < 1e-9, "3 of 50 seconds");
        assert!(found[0].why.contains("15,000,000 a second"), "{}", found[0].why);
        assert!(found[0].why.contains("100 % are to read"), "{}", found[0].why);
        assert!(find(&taken(100_000_000), &[]).is_empty(), "4 %");
        let cheaper = [finding(Rule::SpinlockInstead, &[0])];
        assert!(find(&taken(150_000_000), &cheaper).is_empty(), "it speaks of the calls");
    }

    #[test]
    fn sleeps_in_a_loop_are_said_to_come_late() {
        let slept = |waits: u64, waited: f64| {
            let mut drawn = process(10.0, 4);
            drawn.threads("worker", 4, 10.0);
            let time = drawn.lock(Primitive::Sleep, "sleep");
            let site = drawn.site(Op::Sleep, "look at poll.c:10");
            drawn.uses(time, site, Use { calls: waits, waits, waited, ..Use::default() });
            let found = find(&drawn, &[]);
            (found[0].what.clone(), found[0].why.clone())
        };
        let (what, why) = slept(1_000, 2.0);
        assert_eq!(what, "sleep");
        assert!(why.contains("1,000 sleeps of 2.00 ms"), "{why}");
        assert!(why.contains("half a sleep too late"), "{why}");
        assert!(!slept(50, 2.0).1.contains("late"), "seldom");
        assert!(!slept(200, 10.0).1.contains("late"), "50 ms each: a clock");
    }

    #[test]
    fn refused_tries_are_time_as_well() {
        let (mut drawn, site) = waits(0.6);
        drawn.uses(0, site, Use { refused: 1_000, spun: 0.6, ..Use::default() });
        let found = find(&drawn, &[]);
        assert!(found[0].why.contains("600 ms went into refused tries"), "{}", found[0].why);
    }

    #[test]
    fn who_waits_for_an_event_has_nothing_to_do_or_is_held_up() {
        let waiting = |seconds: f64| {
            let mut drawn = process(10.0, 4);
            let worker = drawn.threads("worker", 1, 10.0);
            let condition = drawn.lock(Primitive::Condvar, "not_empty");
            let site = drawn.site(Op::CondWait, "take at queue.c:10");
            let used = Use { calls: 50, waits: 50, waited: seconds, ..Use::default() };
            drawn.uses(condition, site, used);
            drawn.sites[site].by_thread = vec![(worker, 50)];
            drawn.waited(worker, Primitive::Condvar, seconds);
            let waker = drawn.site(Op::CondSignal, "put at queue.c:30");
            drawn.uses(condition, waker, Use { calls: 50, ..Use::default() });
            find(&drawn, &[]).remove(0)
        };
        let idle = waiting(9.5);
        assert!(idle.idle && idle.why.contains("nothing to do"), "{}", idle.why);
        assert!(idle.why.contains("woken from put  queue.c:30"), "{}", idle.why);
        let held_up = waiting(5.0);
        assert!(!held_up.idle && held_up.why.contains("delay the run"), "{}", held_up.why);
    }

    #[test]
    fn threads_with_a_condition_each_that_wake_each_other_may_be_at_a_lock() {
        let drawn = |wakers: usize, conditions: usize| {
            let mut drawn = process(10.0, 4);
            let first = drawn.threads("interpret", 3, 10.0);
            let wait = drawn.site(Op::CondWait, "park at monitor.c:10");
            let wake = drawn.site(Op::CondSignal, "exit at monitor.c:30");
            for number in 0..conditions {
                let condition = drawn.lock(Primitive::Condvar, &format!("condition {number}"));
                let waits = Use { calls: 500, waits: 500, waited: 2.0, ..Use::default() };
                drawn.uses(condition, wait, waits);
                drawn.uses(condition, wake, Use { calls: 500, ..Use::default() });
            }
            drawn.sites[wait].by_thread = (first..first + 3).map(|thread| (thread, 500)).collect();
            drawn.sites[wake].by_thread =
                (first..first + wakers).map(|thread| (thread, 500)).collect();
            drawn
        };
        let why =
            |wakers: usize, conditions: usize| find(&drawn(wakers, conditions), &[]).remove(0).why;
        let mut sleepy = drawn(3, 3);
        for thread in &mut sleepy.threads {
            (thread.cpu, thread.ready) = (Some(0.1), Some(0.0));
            thread.waiting.events = 9.9;
        }
        assert!(!find(&sleepy, &[])[0].idle, "they hold each other up");
        assert!(why(3, 3).contains("wake each other"), "{}", why(3, 3));
        assert!(!why(2, 3).contains("wake each other"), "one is only woken");
        assert!(!why(3, 2).contains("wake each other"), "they share conditions");
    }
}
