//! Locks, added up over threads and call sites.

use std::collections::{BTreeMap, HashMap};

use syncline_recording::{Class, Op, Primitive};

use super::blocking::Pair;
use super::clock::Clock;
use super::stacks::Stacks;
use super::tally::Tally;
use crate::model::{Blocker, Kind, Lock, Quadrant, SiteUse};
use crate::name::{INTERPRETER, INTERPRETER_LOCK, primitive as primitive_name};
use crate::options::Thresholds;
use crate::written::written;

/// The locks that were added so far. A lock is identified by its address and its primitive, since
/// freed memory may be used again for an object of another kind.
#[derive(Default)]
pub struct Locks {
    locks: HashMap<(Primitive, u64), Sum>,
}

#[derive(Default)]
struct Sum {
    tally: Tally,
    wake_ups: u64,
    /// Number of creations, by stack.
    created: HashMap<usize, u64>,
    /// How often an object was created at this address.
    creations: u64,
    /// The largest initial value of a semaphore; `None` if no `sem_init` of it was recorded.
    begins_with: Option<u64>,
    sites: HashMap<(usize, Op), Used>,
    /// Number of calls, by thread.
    threads: BTreeMap<usize, u64>,
}

/// What was done to a lock at one call site.
#[derive(Default)]
struct Used {
    tally: Tally,
    by_thread: Vec<(usize, u64)>,
}

impl Used {
    /// Adds what a thread did. All rows of a thread are added before those of the next thread.
    fn add(&mut self, thread: usize, tally: &Tally) {
        self.tally.add(tally);
        match self.by_thread.last_mut() {
            Some((last, calls)) if *last == thread => *calls = calls.saturating_add(tally.calls),
            _ => self.by_thread.push((thread, tally.calls)),
        }
    }
}

impl Locks {
    /// Adds what one thread did to one lock at one call site with one stack.
    pub fn add(
        &mut self,
        op: Op,
        address: u64,
        (site, stack, thread): (usize, usize, usize),
        tally: &Tally,
    ) {
        if op.primitive() == Primitive::Thread {
            return;
        }
        let lock = self.locks.entry((op.primitive(), address)).or_default();
        match op.class() {
            Class::Create => {
                let created: &mut u64 = lock.created.entry(stack).or_default();
                *created = created.saturating_add(tally.calls);
                lock.creations = lock.creations.saturating_add(tally.calls);
                let most = lock.begins_with.unwrap_or(0).max(tally.begins_with);
                lock.begins_with = (op == Op::SemInit).then_some(most);
            }
            Class::Notify => {
                lock.wake_ups = lock.wake_ups.saturating_add(tally.calls);
                lock.sites.entry((site, op)).or_default().add(thread, tally);
            }
            Class::Acquire | Class::Try | Class::Wait | Class::Poll => {
                lock.tally.add(tally);
                lock.sites.entry((site, op)).or_default().add(thread, tally);
            }
        }
        if op.class() != Class::Create {
            let calls: &mut u64 = lock.threads.entry(thread).or_default();
            *calls = calls.saturating_add(tally.calls);
        }
    }

    /// The locks that were used, with their names and blockers. They are ordered by kind, and
    /// within a kind by time waited, the longest first.
    pub fn finish(
        self,
        site_numbers: &[usize],
        pairs: &[Pair],
        stacks: &mut Stacks,
        clock: &Clock,
        thresholds: &Thresholds,
    ) -> Vec<Lock> {
        let mut blockers: HashMap<(Primitive, u64), Vec<Blocker>> = HashMap::new();
        for pair in pairs {
            blockers.entry((pair.primitive, pair.lock)).or_default().push(pair.blocker.clone());
        }
        let used = |lock: &Sum| !lock.sites.is_empty() || lock.wake_ups > 0;
        let mut locks = Vec::new();
        for (key, sum) in self.locks {
            if used(&sum) {
                let blockers = blockers.remove(&key).unwrap_or_default();
                locks.push(sum.finish(key, blockers, site_numbers, stacks, clock, thresholds));
            }
        }
        locks.sort_by(|a, b| {
            let order = |l: &Lock| (l.figures.waited, l.figures.calls);
            a.kind
                .cmp(&b.kind)
                .then(order(b).partial_cmp(&order(a)).expect("times are numbers"))
                .then(a.address.cmp(&b.address))
        });
        locks
    }
}

impl Sum {
    fn finish(
        self,
        (primitive, address): (Primitive, u64),
        blockers: Vec<Blocker>,
        site_numbers: &[usize],
        stacks: &mut Stacks,
        clock: &Clock,
        thresholds: &Thresholds,
    ) -> Lock {
        let figures = self.tally.figures(clock);
        let kind = Kind::of(primitive);
        let created = self.created.iter().max_by_key(|&(&stack, &calls)| (calls, stack));
        let created_at = created.map(|(&stack, _)| stack).filter(|&stack| stack != 0);
        let mut sites: Vec<SiteUse> = self
            .sites
            .into_iter()
            .map(|((site, op), Used { tally, by_thread })| SiteUse {
                site: site_numbers[site],
                op,
                calls: tally.calls,
                waits: tally.waits,
                refused: tally.refused,
                waited: clock.seconds(tally.waited),
                held: tally.held_seconds(clock),
                by_thread,
            })
            .collect();
        sites.sort_by_key(|site| site.site);
        Lock {
            address,
            primitive,
            kind,
            name: name(primitive, address, created_at, stacks),
            beside: stacks.symbols().beside(address, written(primitive)),
            created_at,
            created: self.creations,
            begins_with: self.begins_with,
            quadrant: (kind == Kind::Lock)
                .then(|| Quadrant::of(figures.contention, figures.calls_per_second, thresholds)),
            figures,
            sampled: self.tally.sampled,
            wake_ups: self.wake_ups,
            sites,
            blockers,
            threads: self.threads.into_iter().collect(),
        }
    }
}

fn name(primitive: Primitive, address: u64, created: Option<usize>, stacks: &mut Stacks) -> String {
    if primitive.has_one_object_for_all() {
        return primitive_name(primitive).to_owned();
    }
    if let Some(variable) = stacks.symbols().variable(address) {
        let is_pythons = primitive == Primitive::Condvar && variable.starts_with(INTERPRETER);
        return if is_pythons { INTERPRETER_LOCK.to_owned() } else { variable };
    }
    let what = primitive_name(primitive);
    match created.and_then(|stack| stacks.short_place(stack)) {
        Some(place) => format!("{what} created at {place}"),
        None => format!("{what} {address:#x}"),
    }
}
