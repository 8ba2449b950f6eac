//! Which threads wait for an object, and which threads wake them.

use std::collections::BTreeMap;

use syncline_recording::{Class, Op, Primitive};

use crate::model::{Process, Site};

/// At least this share of the waiting threads counts as nearly all.
const NEARLY_ALL: f64 = 0.8;

/// Whether an operation waits for a condition or a semaphore, or in a futex.
pub fn is_wait(op: Op) -> bool {
    match op.primitive() {
        Primitive::Condvar | Primitive::Futex => op.class() == Class::Wait,
        Primitive::Semaphore => op.class() == Class::Acquire,
        _ => false,
    }
}

/// Whether at least half of the waits at a site time out, like those of a thread that acts as a
/// timer. False if no wait at the site has ended.
pub fn is_clock(site: &Site) -> bool {
    site.figures.waits > 0 && 2 * site.figures.timeouts >= site.figures.waits
}

/// The threads that made calls at a site, each with its number of calls.
pub fn called_by(site: &Site) -> impl Iterator<Item = (usize, u64)> + Clone {
    site.by_thread.iter().copied().filter(|&(_, calls)| calls > 0)
}

/// The threads that wake others through these objects, each with its number of calls.
pub fn wakes(process: &Process, objects: &[usize]) -> BTreeMap<usize, u64> {
    let uses = objects.iter().flat_map(|&object| process.locks[object].uses(Class::Notify));
    let mut wakes = BTreeMap::new();
    for &(thread, calls) in uses.flat_map(|used| &used.by_thread) {
        *wakes.entry(thread).or_default() += calls;
    }
    wakes.retain(|_, calls| *calls > 0);
    wakes
}

/// Whether each thread that waits at a site has an object of its own, and nearly all of these
/// threads wake others.
pub fn wake_each_other(process: &Process, site: &Site, objects: &[usize]) -> bool {
    let waiting = called_by(site).map(|(thread, _)| thread);
    objects.len() >= 2
        && objects.len() >= waiting.clone().count()
        && are_peers(waiting, &wakes(process, objects))
}

/// Whether nearly all of the waiting threads, and at least two, wake others.
pub fn are_peers(
    waiting: impl Iterator<Item = usize> + Clone,
    wakes: &BTreeMap<usize, u64>,
) -> bool {
    let waking = waiting.clone().filter(|thread| wakes.contains_key(thread)).count();
    waking >= 2 && waking as f64 >= NEARLY_ALL * waiting.count() as f64
}
