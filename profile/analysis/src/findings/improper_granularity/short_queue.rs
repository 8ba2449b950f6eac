//! Queues that are alternately full and empty.
//!
//! While the queue is full, producers wait for a condition that consumers signal; while it is
//! empty, consumers wait for a condition that producers signal. If one side is faster, that side
//! waits, as it must. If both wait again and again, the queue is too short to absorb the moments in
//! which one side is ahead, and each element costs a sleep and a wake-up instead of a few
//! nanoseconds.
//!
//! Putting and taking are one function each. Each may leave the signal to a function that it calls,
//! as GStreamer's queue does. A signal at the end of a function is a jump and returns to the
//! function's caller, so it is recorded with the caller's frame. Several queues of the same code
//! are one finding.
//!
//! A request and its reply also use two conditions in this way, but there each side waits every
//! time. At a queue of one element, one side may also wait nearly every time, but not both sides.
//!
//! Conditions that a program or a library builds from futexes, as GLib does, look the same, with
//! one futex for each condition. These are mostly signalled only if a thread waits, so the number
//! of elements is not known, and a queue of one element can't be distinguished from a request and
//! its reply. But in both cases each element costs a sleep and a wake-up, and several elements
//! passed at a time would cost only one.

use std::ops::Range;

use syncline_recording::{Class, Primitive};

use crate::findings::evidence::{count, rate, share};
use crate::findings::family::{SEVERAL_AT_A_TIME, descending, few};
use crate::gain::WAKE_UP;
use crate::model::{Finding, Lock, Process, Remedy, Rule, SiteUse};
use crate::options::Thresholds;

/// The sleeps and wake-ups must take at least this share of the run time.
const FLOOR: f64 = 0.02;
/// The side that sleeps less often must sleep for a share of the elements that lies in this range.
/// Below it, a short queue does not matter; above it, the two sides wait for each other's answers.
/// (For futexes the range ends at `MOST_SLEEPS`.)
const SLEEPS: Range<f64> = 0.02..0.9;
/// If the side that sleeps less often sleeps for at least this share of the elements, nearly each
/// element costs both sides a sleep.
const NEARLY_EACH: f64 = 0.8;

/// No side of one queue sleeps more often than this for each element; a site that does so serves
/// other queues as well.
const MOST_SLEEPS: f64 = 1.5;

/// A side of a queue: it waits for one condition, and signals the other.
struct Side {
    /// The index of the condition that it waits for.
    condition: usize,
    /// The call site that waits for it.
    site: usize,
    /// Waits whose wake-up found something to do.
    sleeps: f64,
    /// Signals to the other side, one for each element.
    elements: f64,
    threads: usize,
}

/// The findings about queues whose two sides both sleep.
pub fn find(process: &Process, thresholds: &Thresholds) -> Vec<Finding> {
    let conditions = process.locks.iter().enumerate();
    // Conditions with fewer waits can't be part of a finding. They are skipped at once, since there
    // may be thousands.
    let fewest = SLEEPS.start * thresholds.acquisitions_per_second * process.seconds;
    let conditions = conditions.filter(|(_, lock)| {
        matches!(lock.primitive, Primitive::Condvar | Primitive::Futex)
            && lock.figures.waits as f64 >= fewest
    });
    let conditions: Vec<(usize, &Lock)> = conditions.collect();
    let mut queues = Vec::new();
    for (place, &full) in conditions.iter().enumerate() {
        let same = conditions[place + 1..].iter();
        for &empty in same.filter(|(_, lock)| lock.primitive == full.1.primitive) {
            let sides = side(process, full, empty).zip(side(process, empty, full));
            queues.extend(sides.and_then(|(a, b)| queue(process, thresholds, a, b)));
        }
    }
    queues.sort_by(|a, b| descending(a.sleeps(), b.sleeps()));
    let mut of_one_code: Vec<Vec<Queue>> = Vec::new();
    for queue in queues {
        match of_one_code.iter_mut().find(|queues| queues[0].sites() == queue.sites()) {
            Some(queues) => queues.push(queue),
            None => of_one_code.push(vec![queue]),
        }
    }
    of_one_code.iter().map(|queues| finding(process, queues)).collect()
}

/// The side that waits for the condition `mine`, and in the same function signals `other`. `None`
/// if the function also waits for `other`, or if it is unknown.
fn side(process: &Process, mine: (usize, &Lock), other: (usize, &Lock)) -> Option<Side> {
    let waits = mine.1.uses(Class::Wait).max_by_key(|used| used.calls)?;
    let here = process.function_of(&process.sites[waits.site])?;
    let is_here = |used: &&SiteUse| process.function_of(&process.sites[used.site]) == Some(here);
    if other.1.uses(Class::Wait).any(|used| is_here(&used)) {
        return None;
    }
    let returns_to_caller = |used: &SiteUse| {
        let at = process.sites[used.site].frame;
        at.is_some() && callers(process, waits.site).any(|caller| Some(caller) == at)
    };
    let from_here = |used: &&SiteUse| {
        is_here(used) || is_called_in(process, used.site, here) || returns_to_caller(used)
    };
    let signals: u64 = other.1.uses(Class::Notify).filter(from_here).map(|used| used.calls).sum();
    let site = &process.sites[waits.site];
    Some(Side {
        condition: mine.0,
        site: waits.site,
        sleeps: waits.waits.saturating_sub(site.figures.futile) as f64,
        elements: signals as f64,
        threads: site.threads,
    })
}

/// Whether `function` calls the function that contains a site.
fn is_called_in(process: &Process, site: usize, function: &str) -> bool {
    callers(process, site).any(|frame| process.frames[frame].whole_function() == function)
}

/// The frames that call the function that contains a site.
fn callers(process: &Process, site: usize) -> impl Iterator<Item = usize> {
    let site = &process.sites[site];
    site.stacks.iter().filter_map(|&stack| {
        let mut frames = process.calls_of(stack).iter().skip_while(|&&f| Some(f) != site.frame);
        frames.nth(1).copied()
    })
}

/// Two sides that both sleep, the one that sleeps more often first.
struct Queue {
    more: Side,
    less: Side,
    elements: f64,
}

impl Queue {
    fn sites(&self) -> [usize; 2] {
        [self.more.site.min(self.less.site), self.more.site.max(self.less.site)]
    }

    fn sleeps(&self) -> f64 {
        self.more.sleeps + self.less.sleeps
    }
}

/// Whether elements pass one by one: nearly each element costs both sides a sleep, or it is not
/// known whether it does, because the condition is a futex.
fn one_by_one(process: &Process, queue: &Queue) -> bool {
    is_signalled_only_while_waiting(process, &queue.more)
        || queue.less.sleeps >= NEARLY_EACH * queue.elements
}

/// Whether a side is mostly signalled only while it waits, because the condition is a futex.
fn is_signalled_only_while_waiting(process: &Process, side: &Side) -> bool {
    process.locks[side.condition].primitive == Primitive::Futex
}

/// The queue of two sides; `None` unless it is too short.
fn queue(process: &Process, thresholds: &Thresholds, a: Side, b: Side) -> Option<Queue> {
    let elements = a.elements.min(b.elements);
    let (more, less) = if a.sleeps >= b.sleeps { (a, b) } else { (b, a) };
    let of_elements = |side: &Side| side.sleeps / elements.max(1.0);
    let most =
        if is_signalled_only_while_waiting(process, &less) { MOST_SLEEPS } else { SLEEPS.end };
    let sleep_enough =
        (SLEEPS.start..most).contains(&of_elements(&less)) && of_elements(&more) < MOST_SLEEPS;
    let queue = Queue { more, less, elements };
    let applies = elements / process.seconds >= thresholds.acquisitions_per_second
        && sleep_enough
        && queue.sleeps() * WAKE_UP >= FLOOR * process.seconds;
    applies.then_some(queue)
}

/// The finding about queues that are used by the same code. The queue whose sides sleep most is the
/// first of `queues`.
fn finding(process: &Process, queues: &[Queue]) -> Finding {
    let Queue { more, less, .. } = &queues[0];
    let elements: f64 = queues.iter().map(|queue| queue.elements).sum();
    let of_elements = |sleeps: fn(&Queue) -> f64| {
        (queues.iter().map(sleeps).sum::<f64>() / elements.max(1.0)).min(1.0)
    };
    let one_by_one = one_by_one(process, &queues[0]);
    let locks: Vec<usize> =
        queues.iter().flat_map(|queue| [queue.more.condition, queue.less.condition]).collect();
    let wakers = locks.iter().flat_map(|&lock| process.locks[lock].uses(Class::Notify));
    let mut sites = vec![more.site, less.site];
    for used in wakers {
        if !sites.contains(&used.site) {
            sites.push(used.site);
        }
    }
    Finding {
        rule: Rule::ShortQueue,
        title: match one_by_one {
            true => "Threads pass on one element at a time, and sleep for each".to_owned(),
            false => "A queue is full and empty in turn".to_owned(),
        },
        place: process.sites[more.site].place.clone(),
        locks: few(&locks),
        evidence: vec![
            rate("elements that were signalled", elements / process.seconds),
            share(
                "share of elements for which one side slept",
                of_elements(|queue| queue.more.sleeps),
            ),
            share(
                "share of elements for which the other side slept",
                of_elements(|queue| queue.less.sleeps),
            ),
            count("threads on one side", more.threads as u64),
            count("threads on the other side", less.threads as u64),
        ],
        advice: format!(
            "Make the queue longer, or pass several elements at a time: then a side that is \
             ahead for a moment continues without sleeping. The other side waits at {}.",
            process.sites[less.site].place
        ),
        open_question: None,
        remedy: Remedy::FewerHandOvers {
            sites: vec![more.site, less.site],
            left: SEVERAL_AT_A_TIME,
        },
        sites,
        gain: None,
    }
}

#[cfg(test)]
mod tests {
    use syncline_recording::Op;

    use super::*;
    use crate::findings::testing::{Use, process};

    /// The number of findings for a queue that passed a million elements in ten seconds. One side
    /// slept for `puts` of the elements, the other for `takes`.
    fn queue(puts: u64, takes: u64, taken_in: &str) -> usize {
        made_of(CONDITIONS, puts, takes, taken_in)
    }

    const CONDITIONS: (Primitive, Op, Op) = (Primitive::Condvar, Op::CondWait, Op::CondSignal);

    fn made_of(
        (primitive, waits_in, wakes_in): (Primitive, Op, Op),
        puts: u64,
        takes: u64,
        taken_in: &str,
    ) -> usize {
        let mut drawn = process(10.0, 2);
        drawn.threads("work", 4, 10.0);
        let full = drawn.lock(primitive, "not_full");
        let empty = drawn.lock(primitive, "not_empty");
        for (waits, signals, sleeps, name) in
            [(full, empty, puts, "put"), (empty, full, takes, taken_in)]
        {
            let wait = drawn.site(waits_in, &format!("{name} at queue.c:{}", 10 + waits));
            drawn.uses(waits, wait, Use { calls: sleeps, waits: sleeps, ..Use::default() });
            let signal = drawn.site(wakes_in, &format!("{name} at queue.c:{}", 20 + waits));
            drawn.uses(signals, signal, Use { calls: 1_000_000, ..Use::default() });
        }
        find(&drawn, &Thresholds::default()).len()
    }

    #[test]
    fn a_queue_both_of_whose_sides_sleep_is_too_short() {
        assert_eq!(queue(200_000, 130_000, "take"), 1);
        assert_eq!(queue(130_000, 200_000, "take"), 1);
    }

    #[test]
    fn futexes_as_conditions_are_recognised() {
        let futex = (Primitive::Futex, Op::FutexWait, Op::FutexWake);
        assert_eq!(made_of(futex, 200_000, 130_000, "take"), 1);
        assert_eq!(made_of(futex, 990_000, 990_000, "take"), 1);
        assert_eq!(made_of(futex, 200_000, 100, "take"), 0, "those who take are slower");
        assert_eq!(made_of(futex, 990_000, 990_000, "put"), 0, "a lock: one function");
    }

    /// The number of locks in each finding, for two queues of the same code in ten seconds. One
    /// side signals in another function, which `called_in` calls. `elements` has the number of
    /// elements of each queue; both sides slept for each.
    fn queues(elements: [u64; 2], called_in: &str) -> Vec<usize> {
        let mut drawn = process(10.0, 2);
        drawn.threads("work", 4, 10.0);
        let wait_to_put = drawn.site(Op::FutexWait, "put at queue.c:10");
        let told = drawn.site(Op::FutexWake, "put at queue.c:12");
        let wait_to_take = drawn.site(Op::FutexWait, "take at queue.c:20");
        let took = drawn.site(Op::FutexWake, "remove at queue.c:30");
        drawn.called_by(took, called_in);
        for calls in elements {
            let full = drawn.lock(Primitive::Futex, "not_full");
            let empty = drawn.lock(Primitive::Futex, "not_empty");
            let waits = Use { calls, waits: calls, ..Use::default() };
            drawn.uses(full, wait_to_put, waits);
            drawn.uses(full, took, Use { calls, ..Use::default() });
            drawn.uses(empty, wait_to_take, waits);
            drawn.uses(empty, told, Use { calls, ..Use::default() });
        }
        find(&drawn, &Thresholds::default()).iter().map(|found| found.locks.len()).collect()
    }

    #[test]
    fn a_side_may_leave_its_signal_to_a_function_that_it_calls() {
        assert_eq!(queues([500_000, 0], "take"), [2]);
        assert!(queues([500_000, 0], "other").is_empty());
    }

    /// A signal at the end of a function is a jump, so it returns to the function's caller.
    #[test]
    fn a_signal_may_be_a_tail_call() {
        let called_from = |caller: &str| {
            let mut drawn = process(10.0, 2);
            drawn.threads("work", 4, 10.0);
            let (full, empty) =
                (drawn.lock(Primitive::Condvar, "full"), drawn.lock(Primitive::Condvar, "empty"));
            let waits = Use { calls: 500_000, waits: 500_000, ..Use::default() };
            let told = drawn.site(Op::CondSignal, "send at message.c:70");
            drawn.uses(empty, told, Use { calls: 1_000_000, ..Use::default() });
            let wait_to_put = drawn.site(Op::CondWait, "put at queue.c:10");
            drawn.called_by(wait_to_put, caller);
            if caller == "send at message.c:70" {
                // One position in the code is one frame.
                let (stack, frame) = (drawn.sites[wait_to_put].stacks[0], drawn.sites[told].frame);
                drawn.stacks[stack].frames[1] = frame.unwrap();
            }
            drawn.uses(full, wait_to_put, waits);
            let wait_to_take = drawn.site(Op::CondWait, "take at queue.c:20");
            drawn.uses(empty, wait_to_take, waits);
            let took = drawn.site(Op::CondSignal, "take at queue.c:24");
            drawn.uses(full, took, Use { calls: 1_000_000, ..Use::default() });
            find(&drawn, &Thresholds::default()).len()
        };
        assert_eq!(called_from("send at message.c:70"), 1);
        assert_eq!(called_from("send at message.c:60"), 0, "another line: the caller's own signal");
    }

    #[test]
    fn queues_of_the_same_code_are_one_finding() {
        assert_eq!(queues([500_000, 200_000], "take"), [4]);
    }

    #[test]
    fn slow_sides_answers_and_single_functions_have_no_finding() {
        assert_eq!(queue(200_000, 100, "take"), 0, "those who take are slower");
        assert_eq!(queue(990_000, 990_000, "take"), 0, "question and answer");
        assert_eq!(queue(990_000, 890_000, "take"), 1, "a queue of one element");
        assert_eq!(queue(990_000, 910_000, "take"), 0, "an answer that was there already at times");
        assert_eq!(queue(200_000, 130_000, "put"), 0, "no two sides");
    }
}
