//! Sentences about events, and about loops that only wait.

use syncline_recording::{Class, Primitive};

use super::sentence::{LEAST, joined};
use crate::findings::waking::wake_each_other;
use crate::findings::working::{IDLE, share, worked};
use crate::model::{Kind, Process, Remaining, Site};
use crate::name;
use crate::name::primitive;
use syncline_present::number::{counted, duration, percent};

/// Threads poll if a call site has at least `MANY_SLEEPS` sleeps of at most `SHORT_SLEEP` seconds
/// on average. Other sleeps are those of a timer, or happen only once.
const MANY_SLEEPS: u64 = 100;
const SHORT_SLEEP: f64 = 20e-3;

/// The sentence about a loop that only waits. The loop's thread uses a processor, so it is not
/// idle.
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
        why: joined(&[why]),
        open_question: None,
    }
}

/// The sentence about events at a call site; `None` if the site's objects are locks, or if the
/// waits take too little time. `meets` says whether threads meet in the function of the call site.
pub fn event(process: &Process, number: usize, meets: impl Fn() -> bool) -> Option<Remaining> {
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
    // Threads that wait for one another delay each other, however little they run.
    let each_other = wake_each_other(process, site, &objects);
    let (one, waits) = match kind {
        Primitive::Yield => ("yield", site.figures.calls),
        Primitive::Sleep => ("sleep", site.figures.waits + site.figures.unfinished),
        _ => ("wait", site.figures.waits + site.figures.unfinished),
    };
    let mean = seconds / waits.max(1) as f64;
    let looks_again = kind == Primitive::Sleep && waits >= MANY_SLEEPS && mean <= SHORT_SLEEP;
    let on_path = process.critical_path.through(number);
    let never_ended = site.figures.unfinished > 0 && !process.stuck.is_empty();
    let idle = !never_ended
        && kind != Primitive::Yield
        && (kind == Primitive::Thread
            || match process.critical_path.is_delayed_at(number) {
                Some(delayed) => !delayed,
                None => !each_other && !looks_again && worked.is_some_and(|worked| worked < IDLE),
            });
    let mut why = vec![format!(
        "{} of {}, by {}{}",
        counted(waits as usize, one),
        duration(mean),
        counted(site.threads, "thread"),
        wakers(process, &objects)
    )];
    if kind == Primitive::Yield {
        why.push(
            "a thread that yields again and again is never asleep: it looks for what others do; let \
             it have to wait less often (more at a time), or let it sleep"
                .to_owned(),
        );
    }
    let said = process.held_up_by_sleep().is_some_and(|part| part.site == Some(number));
    if looks_again && !said {
        why.push(site.instead_of_sleeping().to_owned());
    }
    if objects.iter().any(|&object| process.locks[object].name == name::INTERPRETER_LOCK) {
        why.push(
            "only the thread that has it executes Python functions: compute in several processes \
             (multiprocessing), or in functions that release it, as those of NumPy do"
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
        why: joined(&why),
        open_question: None,
    })
}

/// A text with the call site that wakes the waiters most often; empty if none does.
fn wakers(process: &Process, objects: &[usize]) -> String {
    let wakes = objects.iter().flat_map(|&object| process.locks[object].uses(Class::Notify));
    match wakes.max_by_key(|used| used.calls) {
        Some(waker) => {
            format!(", woken from {}", name::site(process, &process.sites[waker.site]))
        }
        None => String::new(),
    }
}
