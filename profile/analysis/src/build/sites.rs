//! Call sites, summed over locks, threads and stacks.

use std::cmp::Reverse;
use std::collections::{BTreeMap, HashMap, HashSet};

use syncline_recording::Op;

use super::clock::Clock;
use super::ops::takes_lock;
use super::stacks::Stacks;
use super::tally::Tally;
use crate::model::{Kind, Quadrant, Site, Way};
use crate::options::Thresholds;

/// The sites that were added so far. A site is identified by its operation and its frame.
#[derive(Default)]
pub struct Sites {
    numbers: HashMap<(Op, Option<usize>), usize>,
    sites: Vec<Sum>,
}

struct Sum {
    op: Op,
    tally: Tally,
    locks: HashSet<u64>,
    /// The calls of each thread.
    threads: BTreeMap<usize, u64>,
    /// The sums of each stack.
    stacks: HashMap<usize, WaySum>,
}

/// The sums of one stack at a site: calls, waits, and ticks waited.
#[derive(Default)]
struct WaySum {
    calls: u64,
    waits: u64,
    waited: u64,
}

impl Sites {
    /// Adds what one thread did to one lock at one call site, and returns the site's number.
    pub fn add(
        &mut self,
        op: Op,
        stacks: &Stacks,
        stack: usize,
        lock: u64,
        thread: usize,
        tally: &Tally,
    ) -> usize {
        let number = *self.numbers.entry((op, stacks.place(stack))).or_insert_with(|| {
            self.sites.push(Sum {
                op,
                tally: Tally::default(),
                locks: HashSet::new(),
                threads: BTreeMap::new(),
                stacks: HashMap::new(),
            });
            self.sites.len() - 1
        });
        let site = &mut self.sites[number];
        site.tally.add(tally);
        site.locks.insert(lock);
        let calls = site.threads.entry(thread).or_default();
        *calls = calls.saturating_add(tally.calls);
        let way = site.stacks.entry(stack).or_default();
        way.waited = way.waited.saturating_add(tally.waited);
        way.calls = way.calls.saturating_add(tally.calls);
        way.waits = way.waits.saturating_add(tally.waits).saturating_add(tally.unfinished);
        number
    }

    /// The number given to the site of an operation at a frame.
    pub fn number(&self, op: Op, place: Option<usize>) -> Option<usize> {
        self.numbers.get(&(op, place)).copied()
    }

    /// The sites, ordered by kind, and within a kind by time waited, the longest first. The second
    /// list has, for each number that `add` returned, the site's index in the first list.
    pub fn finish(
        self,
        stacks: &Stacks,
        clock: &Clock,
        thresholds: &Thresholds,
    ) -> (Vec<Site>, Vec<usize>) {
        let site = |sum: Sum| sum.finish(stacks, clock, thresholds);
        let mut sites: Vec<(usize, Site)> = self.sites.into_iter().map(site).enumerate().collect();
        sites.sort_by(|(_, a), (_, b)| {
            let order = |s: &Site| (s.figures.waited, s.figures.calls);
            a.kind
                .cmp(&b.kind)
                .then(order(b).partial_cmp(&order(a)).expect("times are numbers"))
                .then_with(|| (&a.place, a.op).cmp(&(&b.place, b.op)))
        });
        let mut numbers = vec![0; sites.len()];
        for (place, (number, _)) in sites.iter().enumerate() {
            numbers[*number] = place;
        }
        (sites.into_iter().map(|(_, site)| site).collect(), numbers)
    }
}

impl Sum {
    fn finish(self, stacks: &Stacks, clock: &Clock, thresholds: &Thresholds) -> Site {
        let figures = self.tally.figures(clock);
        let mut ways: Vec<_> = self.stacks.into_iter().collect();
        ways.sort_by_key(|(stack, way)| (Reverse(way.waited), Reverse(way.calls), *stack));
        let way = |(_, way): &(usize, WaySum)| Way {
            calls: way.calls,
            waits: way.waits,
            waited: clock.seconds(way.waited),
        };
        Site {
            op: self.op,
            kind: Kind::of(self.op.primitive()),
            place: stacks.place_name(ways[0].0),
            frame: stacks.place(ways[0].0),
            ways: ways.iter().map(way).collect(),
            stacks: ways.into_iter().map(|(stack, _)| stack).collect(),
            locks: self.locks.len(),
            sampled: self.tally.sampled,
            threads: self.threads.len(),
            by_thread: self.threads.into_iter().collect(),
            quadrant: takes_lock(self.op)
                .then(|| Quadrant::of(figures.contention, figures.calls_per_second, thresholds)),
            figures,
            section: None,
            repeats: None,
            inspected: None,
        }
    }
}
