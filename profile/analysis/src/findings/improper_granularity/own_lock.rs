//! Locks that a program built from a mutex, a condition and a flag, such as the lock of an
//! interpreter (CPython) or of a pool.
//!
//! ```text
//! take   lock the mutex; while the flag is set, wait for the condition; set the flag; unlock
//! give   lock the mutex; clear the flag; signal the condition; unlock
//! ```
//!
//! Threads hardly ever wait for the mutex itself, and threads that wait for the condition look as
//! if they had no work. Such a lock differs from a queue in that each thread gives back what it
//! took: it locks the mutex as often in the function that takes the lock as in the functions that
//! release it. At a queue, some threads put and others take; at a barrier everything happens in one
//! function, at one call site. A compiler may have inlined both functions into one, and no debug
//! information may separate them. Then each of the two call sites has to be used as often as the
//! condition is signalled.
//!
//! Threads may wait in line at a second mutex for their turn at the condition, as PyPy's do: one
//! thread at a time waits for the condition, and holds the second mutex meanwhile. The line is part
//! of the lock.
//!
//! A thread may also hand such a lock over and wait in line for it again, in one function that
//! locks the mutex once, as OCaml's `yield` does. It signals the condition and waits for it as
//! often as it locks the mutex. (At a barrier a thread does only one of these.)

pub mod baton;
mod callers;
pub mod semaphore;

use std::collections::{BTreeMap, BTreeSet};

use syncline_recording::{Class, Primitive};

use crate::findings::evidence::{count, rate, seconds, share};
use crate::findings::family::FEWEST_TAKEN;
use crate::model::{Finding, Lock, Process, Remedy, Rule, SiteUse};

/// Threads must wait for such a lock for at least this share of all threads' time.
const FLOOR: f64 = 0.05;
/// At least two threads must take the lock this many times.
const OFTEN: u64 = 4;
/// At most this share of all acquisitions may lack a release, in addition to the last acquisition
/// of each thread: a thread may have given up its wait.
const UNEVEN: f64 = 0.01;
/// Like `UNEVEN`, if different functions take and release the lock: if no thread waits, an atomic
/// instruction may release the lock without the mutex, and that release is not recorded.
const GIVEN_IN_SILENCE: f64 = 0.1;
/// A mutex that is held during this share of the acquisitions is the line in front of such a lock.
const NEARLY_ALL: f64 = 0.9;

/// The findings about locks of the program's own for which threads wait.
pub fn find(process: &Process) -> Vec<Finding> {
    let conditions = process.locks.iter().enumerate().filter(|(_, lock)| {
        let figures = &lock.figures;
        lock.primitive == Primitive::Condvar
            && figures.waits >= FEWEST_TAKEN
            && figures.waited >= FLOOR * process.thread_seconds
    });
    let mut findings: Vec<Finding> = Vec::new();
    for found in conditions.filter_map(|(number, condition)| finding(process, number, condition)) {
        // A lock may have one condition for each waiting thread.
        match findings.iter_mut().find(|finding| finding.sites[0] == found.sites[0]) {
            Some(finding) => finding.locks.extend(found.locks),
            None => findings.push(found),
        }
    }
    findings
}

fn finding(process: &Process, number: usize, condition: &Lock) -> Option<Finding> {
    let wait = condition.uses(Class::Wait).max_by(|a, b| a.waited.total_cmp(&b.waited))?;
    let take = process.function_of(&process.sites[wait.site])?;
    let wakes: Vec<&SiteUse> = condition.uses(Class::Notify).collect();
    let wakers = process.functions_of(wakes.iter().map(|used| &process.sites[used.site]));
    let woken_at: BTreeSet<u64> =
        wakes.iter().flat_map(|used| addresses(process, used.site, 0)).collect();
    let mutexes = process.locks.iter().enumerate();
    let (mutex, [takes, gives]) = mutexes
        .filter(|(_, lock)| lock.primitive == Primitive::Mutex && !lock.sampled)
        .find_map(|(number, mutex)| {
            let wakers = wakers.iter().copied().chain(jumped_from(process, mutex, &woken_at));
            let give: Vec<&str> = wakers.filter(|&function| function != take).collect();
            let functions =
                || [&[take][..], &give].map(|functions| Side::at(process, mutex, functions));
            let functions = (!give.is_empty()).then(functions);
            let functions = functions.filter(|sides| balanced(sides, GIVEN_IN_SILENCE));
            let sides = || {
                let sides = [
                    Side::of_one_function(process, mutex, take, &wakes),
                    Side::of_one_place(process, mutex, take, condition),
                ];
                sides.into_iter().flatten().find(|sides| balanced(sides, UNEVEN))
            };
            functions.or_else(sides).map(|sides| (number, sides))
        })?;
    let line = line(process, &takes);
    let in_line: f64 = line.iter().map(|&site| process.sites[site].figures.waited).sum();
    let threads = takes.by_thread.keys().map(|&thread| &process.threads[thread]);
    let alive: f64 = threads.map(|thread| thread.seconds).sum();
    let all = takes.by_thread.values().sum::<u64>();
    let given = process.sites[*gives.sites.first()?].place.clone();
    let waits = &process.sites[wait.site].figures;
    Some(Finding {
        rule: Rule::OwnLock,
        title: "Threads wait for a lock that the program made of a condition".to_owned(),
        place: process.sites[wait.site].place.clone(),
        locks: vec![number, mutex],
        evidence: vec![
            share(
                "share of its threads' time spent waiting for it",
                (waits.waited + in_line) / alive.max(1e-9),
            ),
            rate("times taken", all as f64 / process.seconds),
            count("waits", waits.waits),
            seconds("mean wait", waits.waited / waits.waits.max(1) as f64),
            count("threads that take it and give it back", takes.by_thread.len() as u64),
        ],
        advice: format!(
            "While one thread holds this lock, the others do not work; it is released at {given}.{} \
             Take it less often (for several things at a time), hold it for less work, release it \
             before long calls, or use several. Threads do not wait for the mutex inside this lock.",
            callers::sentence(process, wait.site, take)
        ),
        open_question: None,
        remedy: Remedy::Unknown,
        sites: [wait.site]
            .into_iter()
            .chain(takes.sites)
            .chain(gives.sites)
            .chain(wakes.iter().map(|used| used.site))
            .chain(line)
            .collect(),
        gain: None,
    })
}

/// One side of such a lock, taking or releasing: the call sites that lock the mutex for it, and how
/// often each thread does so.
struct Side {
    sites: Vec<usize>,
    by_thread: BTreeMap<usize, u64>,
}

impl Side {
    fn of<'a>(uses: impl IntoIterator<Item = &'a SiteUse>) -> Side {
        let mut side = Side { sites: Vec::new(), by_thread: BTreeMap::new() };
        for used in uses {
            side.sites.push(used.site);
            for &(thread, calls) in &used.by_thread {
                *side.by_thread.entry(thread).or_default() += calls;
            }
        }
        side
    }

    /// The call sites in these functions that lock a mutex.
    fn at(process: &Process, mutex: &Lock, functions: &[&str]) -> Side {
        Side::of(locked_in(process, mutex, functions))
    }

    /// The operations of a class on the condition, in this function.
    fn of_condition(process: &Process, condition: &Lock, class: Class, function: &str) -> Side {
        let here =
            |used: &&SiteUse| process.function_of(&process.sites[used.site]) == Some(function);
        Side::of(condition.uses(class).filter(here))
    }

    /// The two sides of a lock with one call site: the call site in `function` that locks the mutex
    /// as often as `condition` is waited for and as often as it is signalled there, and the
    /// signals. `None` if there is no such call site.
    fn of_one_place(
        process: &Process,
        mutex: &Lock,
        function: &str,
        condition: &Lock,
    ) -> Option<[Side; 2]> {
        let [waits, signals] = [Class::Wait, Class::Notify]
            .map(|class| Side::of_condition(process, condition, class, function));
        let here = [function];
        let mut sides = locked_in(process, mutex, &here).map(|used| Side::of([used]));
        let takes = sides.find(|side| gives_back(side, &signals) && gives_back(side, &waits))?;
        Some([takes, signals])
    }

    /// The two sides of a lock that is taken and released in one function: two call sites there,
    /// each of which locks the mutex as often as the condition is signalled. `None` if there are no
    /// such call sites.
    fn of_one_function(
        process: &Process,
        mutex: &Lock,
        function: &str,
        wakes: &[&SiteUse],
    ) -> Option<[Side; 2]> {
        let signals = Side::of(wakes.iter().copied());
        let here = [function];
        let mut sides = locked_in(process, mutex, &here).map(|used| Side::of([used]));
        let mut as_often = || sides.find(|side| gives_back(side, &signals));
        Some([as_often()?, as_often()?])
    }
}

/// The operations that lock a mutex in one of these functions.
fn locked_in<'a>(
    process: &'a Process,
    mutex: &'a Lock,
    functions: &'a [&str],
) -> impl Iterator<Item = &'a SiteUse> {
    mutex.uses(Class::Acquire).filter(|used| {
        let function = process.function_of(&process.sites[used.site]);
        function.is_some_and(|here| functions.contains(&here))
    })
}

/// The functions that lock the mutex and return to one of the addresses at which wake-ups were
/// called: a function whose last act is the wake-up jumps there, so the call seems to come from the
/// function's caller.
fn jumped_from<'a>(
    process: &'a Process,
    mutex: &'a Lock,
    woken_at: &BTreeSet<u64>,
) -> impl Iterator<Item = &'a str> {
    let locked = mutex.uses(Class::Acquire).map(|used| used.site);
    locked
        .filter(|&site| addresses(process, site, 1).any(|caller| woken_at.contains(&caller)))
        .filter_map(|site| process.function_of(&process.sites[site]))
}

/// The return addresses at this position in the stacks that lead to a call site, from the innermost
/// on.
fn addresses(process: &Process, site: usize, at: usize) -> impl Iterator<Item = u64> {
    let stacks = process.sites[site].stacks.iter();
    stacks.filter_map(move |&stack| process.stacks.get(stack)?.addresses.get(at).copied())
}

/// The call sites that lock the mutexes under which nearly all of these acquisitions are made.
fn line(process: &Process, takes: &Side) -> Vec<usize> {
    let mut under: BTreeMap<usize, u64> = BTreeMap::new();
    let mut all = 0;
    for nesting in process.nesting.iter().filter(|nesting| takes.sites.contains(&nesting.site)) {
        all += nesting.seen;
        if let Some(site) = nesting.outer.and_then(|outer| outer.site) {
            *under.entry(site).or_default() += nesting.seen;
        }
    }
    let nearly_all = |seen: u64| seen as f64 >= NEARLY_ALL * all as f64;
    under.into_iter().filter(|&(_, seen)| nearly_all(seen)).map(|(site, _)| site).collect()
}

/// Whether at least two threads take often, and each thread gives back what it takes, except for at
/// most the share `silent` of all.
fn balanced([takes, gives]: &[Side; 2], silent: f64) -> bool {
    let often = takes.by_thread.values().filter(|&&calls| calls >= OFTEN).count();
    often >= 2 && gives_back_all_but(takes, gives, silent)
}

/// Whether each thread gives back as often as it takes, except for its last acquisition and for the
/// share `UNEVEN` of all acquisitions.
fn gives_back(takes: &Side, gives: &Side) -> bool {
    gives_back_all_but(takes, gives, UNEVEN)
}

/// Whether each thread gives back what it takes. In addition to one for each thread, at most the
/// share `silent` of all acquisitions may lack a release, and at most the share `UNEVEN` may be
/// released by another thread.
fn gives_back_all_but(takes: &Side, gives: &Side, silent: f64) -> bool {
    let of = |side: &Side, thread: &usize| side.by_thread.get(thread).copied().unwrap_or(0);
    let threads: BTreeSet<usize> =
        takes.by_thread.keys().chain(gives.by_thread.keys()).copied().collect();
    let all: u64 = takes.by_thread.values().sum();
    let few = |uneven: u64, share: f64| uneven as f64 <= threads.len() as f64 + share * all as f64;
    let more = |a: &Side, b: &Side| threads.iter().map(|t| of(a, t).saturating_sub(of(b, t))).sum();
    let (kept, given) = (more(takes, gives), more(gives, takes));
    few(kept, silent) && few(given, UNEVEN) && few(kept + given, silent)
}

#[cfg(test)]
mod tests {
    use syncline_recording::Op;

    use super::*;
    use crate::findings::testing::{Drawn, Use, process};

    /// The number of findings if threads wait for a condition in one function, and signal it in
    /// `give`. `calls` has, for each thread, how often it locks the mutex in the first and in the
    /// second.
    fn found(calls: &[(u64, u64)], give: &str) -> usize {
        find(&drawn(calls, give)).len()
    }

    /// Like `found`, with another object's mutex locked `others` times at each call site.
    fn beside(others: u64, sampled: bool) -> usize {
        let mut drawn = drawn(&[(600, 600), (400, 400)], "give at gil.c:30");
        let other = drawn.lock(Primitive::Mutex, "other.mutex");
        for site in 0..drawn.sites.len() {
            if drawn.sites[site].op == Op::MutexLock {
                drawn.uses(other, site, Use { calls: others, ..Use::default() });
            }
        }
        drawn.locks.iter_mut().for_each(|lock| lock.sampled = sampled);
        find(&drawn).len()
    }

    fn drawn(calls: &[(u64, u64)], give: &str) -> Drawn {
        let mut drawn = process(10.0, 4);
        let first = drawn.threads("interpret", calls.len(), 10.0);
        let mutex = drawn.lock(Primitive::Mutex, "gil.mutex");
        let condition = drawn.lock(Primitive::Condvar, "gil.cond");
        let [taken, given] = [|c: &(u64, u64)| c.0, |c: &(u64, u64)| c.1]
            .map(|of| (first..).zip(calls.iter().map(of)).collect::<Vec<_>>());
        let sum = |calls: &[(usize, u64)]| calls.iter().map(|&(_, calls)| calls).sum();
        for (place, by_thread) in [("take at gil.c:10", &taken), (give, &given)] {
            let site = drawn.site(Op::MutexLock, place);
            drawn.uses(mutex, site, Use { calls: sum(by_thread), ..Use::default() });
            drawn.by_thread(site, by_thread.iter().copied());
        }
        let wait = drawn.site(Op::CondWait, "take at gil.c:14");
        let used = Use { calls: 500, waits: 500, waited: 15.0, ..Use::default() };
        drawn.uses(condition, wait, used);
        let signal = drawn.site(Op::CondSignal, give);
        drawn.uses(condition, signal, Use { calls: sum(&given), ..Use::default() });
        drawn.by_thread(signal, given);
        drawn
    }

    #[test]
    fn a_condition_that_each_thread_takes_and_gives_back_is_a_lock() {
        assert_eq!(found(&[(600, 600), (400, 400)], "give at gil.c:30"), 1);
        assert_eq!(found(&[(600, 599), (400, 403)], "give at gil.c:30"), 1, "it ended with it");
        assert_eq!(found(&[(600, 600), (400, 400)], "take at gil.c:30"), 1, "in one function");
        assert_eq!(
            found(&[(600, 600), (400, 400), (0, 6)], "give at gil.c:30"),
            1,
            "another's start"
        );
    }

    #[test]
    fn conditions_of_each_waiting_thread_are_one_lock() {
        let mut drawn = drawn(&[(600, 600), (400, 400)], "give at gil.c:30");
        let another = drawn.lock(Primitive::Condvar, "gil.another");
        let find_site = |op| drawn.sites.iter().position(|site| site.op == op).expect("a site");
        let [wait, signal] = [Op::CondWait, Op::CondSignal].map(find_site);
        let used = Use { calls: 300, waits: 300, waited: 5.0, ..Use::default() };
        drawn.uses(another, wait, used);
        drawn.uses(another, signal, Use { calls: 300, ..Use::default() });
        let findings = find(&drawn);
        assert_eq!(findings.len(), 1);
        assert!(findings[0].locks.contains(&another), "{:?}", findings[0].locks);
        let waits = findings[0].evidence.iter().find(|of| of.what == "waits");
        assert_eq!(waits.map(|waits| waits.value), Some(800.0));
    }

    /// Makes the signal a jump from the function that last locks the mutex: it seems to be made at
    /// another place, to which that function returns. If not `returns_there`, the function returns
    /// to a place beside it.
    fn jumps(drawn: &mut Drawn, returns_there: bool) {
        let caller = drawn.stack("leave at session.c:50");
        let (frame, address) = (drawn.stacks[caller].frames[0], drawn.stacks[caller].addresses[0]);
        let signal = drawn.sites.iter().position(|site| site.op == Op::CondSignal);
        let signal = signal.expect("a signal");
        drawn.sites[signal].stacks = vec![caller];
        drawn.sites[signal].frame = Some(frame);
        let locked = drawn.sites.iter().rposition(|site| site.op == Op::MutexLock);
        let stack = drawn.sites[locked.expect("a mutex")].stacks[0];
        drawn.stacks[stack].addresses.push(address + u64::from(!returns_there));
    }

    /// Modelled on SOCI, whose pool jumps to the signal when it takes a connection back.
    #[test]
    fn a_signal_that_the_compiler_made_a_jump_to_belongs_to_the_function_that_locked() {
        let found = |returns_there| {
            let mut drawn = drawn(&[(600, 600), (400, 400)], "give at gil.c:30");
            jumps(&mut drawn, returns_there);
            find(&drawn).len()
        };
        assert_eq!((found(true), found(false)), (1, 0));
    }

    /// The function that waits does not release anything by locking the mutex.
    #[test]
    fn a_barrier_that_jumps_to_its_signal_is_no_lock() {
        let mut barrier = drawn(&[(600, 300), (400, 200)], "take at barrier.c:30");
        jumps(&mut barrier, true);
        assert!(find(&barrier).is_empty());
    }

    /// The number of findings if threads lock a mutex, signal a condition and wait for it, all in
    /// one function. `calls` has the number of each for each thread. The condition is also
    /// signalled three times in another function.
    fn handed_over(calls: &[[u64; 3]]) -> usize {
        let mut drawn = process(10.0, 4);
        let first = drawn.threads("interpret", calls.len(), 10.0);
        let mutex = drawn.lock(Primitive::Mutex, "master.lock");
        let condition = drawn.lock(Primitive::Condvar, "master.is_free");
        let ops = [(Op::MutexLock, mutex), (Op::CondSignal, condition), (Op::CondWait, condition)];
        for (number, (op, object)) in ops.into_iter().enumerate() {
            let site = drawn.site(op, &format!("yield at st.c:{}", 10 + number));
            let sum = calls.iter().map(|calls| calls[number]).sum();
            let is_wait = op == Op::CondWait;
            let (waits, waited) = if is_wait { (sum, 15.0) } else { (0, 0.0) };
            drawn.uses(object, site, Use { calls: sum, waits, waited, ..Use::default() });
            drawn.by_thread(site, (first..).zip(calls.iter().map(|calls| calls[number])));
        }
        let blocking = drawn.site(Op::CondSignal, "enter_blocking at st.c:40");
        drawn.uses(condition, blocking, Use { calls: 3, ..Use::default() });
        drawn.by_thread(blocking, vec![(first, 3)]);
        find(&drawn).len()
    }

    #[test]
    fn a_lock_handed_over_in_one_call_is_found() {
        assert_eq!(handed_over(&[[8, 8, 8], [7, 7, 6]]), 1);
        assert_eq!(handed_over(&[[8, 4, 4], [8, 4, 4]]), 0, "a barrier of two");
        assert_eq!(handed_over(&[[8, 8, 0], [8, 0, 8]]), 0, "one wakes the other");
        assert_eq!(handed_over(&[[80, 80, 80], [2, 2, 2]]), 0, "hardly shared");
    }

    #[test]
    fn other_locks_at_the_same_call_sites_make_no_difference() {
        assert_eq!(beside(300, false), 1);
        assert_eq!(beside(300, true), 0, "so many that they are counted by samples");
    }

    /// Modelled on PyPy: threads queue at a mutex for their turn at the condition.
    #[test]
    fn a_mutex_that_waiters_queue_at_is_part_of_the_lock() {
        let sites = |seen_in_line: u64| {
            let mut drawn = drawn(&[(600, 580), (400, 390)], "give at gil.c:30");
            let line = drawn.lock(Primitive::Mutex, "gil.line");
            let wait = drawn.site(Op::MutexLock, "take at gil.c:8");
            drawn.uses(line, wait, Use { calls: 900, waits: 900, waited: 20.0, ..Use::default() });
            drawn.nested(0, 0, Some((line, wait)), seen_in_line);
            drawn.nested(0, 0, None, 10);
            find(&drawn).remove(0).sites.contains(&wait)
        };
        assert!(sites(90));
        assert!(!sites(80), "others come to the condition without it");
    }

    #[test]
    fn a_release_may_lack_a_signal_but_not_come_from_another_thread() {
        assert_eq!(found(&[(600, 550), (400, 360)], "give at gil.c:30"), 1);
        assert_eq!(found(&[(600, 500), (400, 360)], "give at gil.c:30"), 0, "13 %");
        assert_eq!(found(&[(600, 620), (400, 400)], "give at gil.c:30"), 0, "2 % came from others");
    }

    #[test]
    fn queues_barriers_and_unshared_conditions_are_no_lock() {
        assert_eq!(found(&[(0, 600), (600, 0)], "put at queue.c:30"), 0, "two sides");
        assert_eq!(found(&[(600, 400), (400, 600)], "put at queue.c:30"), 0, "tasks make tasks");
        assert_eq!(found(&[(600, 600), (2, 2)], "give at gil.c:30"), 0, "hardly shared");
        assert_eq!(found(&[(600, 300), (400, 200)], "take at barrier.c:30"), 0, "all wait for all");
    }
}
