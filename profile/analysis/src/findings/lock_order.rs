//! Locks that are taken in both orders: one thread holds A and wants B while another holds B and
//! wants A, and both wait for ever. It is a fault even if no deadlock happened in the recorded run.
//! Cycles of three or more locks count as well.
//!
//! Locks are the nodes of a graph, with an edge from each lock to those that were taken while it
//! was held. Locks that can all be reached from each other are one finding. The following are not a
//! danger:
//!
//! - a try: a thread that is refused releases the locks that it holds;
//! - a lock that is only ever held or requested for reading;
//! - two orders that always occur under the same third lock, which admits one thread at a time;
//! - locks that one thread alone uses;
//! - an order that was seen only once, when the function that had just created the lock took it: no
//!   other thread can know the lock yet;
//! - an order that was seen only once, at a call site that takes each of many locks about once: it
//!   probably creates objects, whose locks are initialised by an assignment, so their creation was
//!   not recorded;
//! - an order that was seen no more often than locks were created at the address of one of its two
//!   locks: the orders may be those of different locks at that address;
//! - a cycle of three or more locks, if no two locks were seen in both orders, and if either all
//!   are taken at one pair of call sites or there are many locks. If any lock could be taken first,
//!   pairs in both orders would be as frequent as cycles. So these are probably locks of objects
//!   whose memory was freed and used again, or of a cache's slots.

use std::collections::{BTreeMap, BTreeSet, HashMap, HashSet, VecDeque};

use syncline_recording::{Class, Op};

use crate::findings::evidence::count;
use crate::findings::family::few;
use crate::model::{Finding, Nesting, Outer, Process, Remedy, Rule};
use crate::options::Thresholds;

/// A function may create a lock and then take it through functions that it calls. Each of the two
/// paths of calls has at most this many frames.
const MOST_BETWEEN: usize = 3;
/// If at least this many locks can be reached from each other, two of them should have been seen in
/// both orders. If a call site takes at least this many locks, about once each, it creates them.
const MANY: usize = 8;

/// The findings about locks taken in both orders, however seldom that was seen.
pub fn find(process: &Process, _: &Thresholds) -> Vec<Finding> {
    let graph = Graph::of(process);
    graph.knots().into_iter().filter_map(|knot| graph.finding(&knot)).collect()
}

/// Which locks were taken with which other locks held.
struct Graph<'a> {
    process: &'a Process,
    /// The nestings of each order. The key is the lock that was held, then the one that was taken.
    edges: BTreeMap<(usize, usize), Vec<&'a Nesting>>,
}

/// Whether a nesting was seen only once, in the function that had created the lock, or in functions
/// that it calls.
fn is_by_creator(process: &Process, nesting: &Nesting) -> bool {
    let Some(created_at) = process.locks[nesting.lock].created_at else { return false };
    let (made, taken) = (process.calls_of(created_at), process.calls_of(nesting.stack));
    // From that function, creation and acquisition may go through different functions.
    let from = |calls: &[usize]| (1..=MOST_BETWEEN.min(calls.len())).collect::<Vec<usize>>();
    let same = |of_made: usize, of_taken: usize| {
        let (made, taken) = (&made[of_made..], &taken[of_taken..]);
        !made.is_empty() && made == taken
    };
    nesting.seen <= 1 && from(made).iter().any(|&m| from(taken).iter().any(|&t| same(m, t)))
}

/// Whether the call site takes each of many locks about once, and the nesting was seen at most
/// once.
fn is_where_many_begin(process: &Process, nesting: &Nesting) -> bool {
    let locks = process.used_at(nesting.site).count();
    let calls = process.sites[nesting.site].figures.calls;
    nesting.seen <= 1 && locks >= MANY && calls < 2 * locks as u64
}

/// Whether an order was seen no more often than locks were created at the address of one of its two
/// locks.
fn may_be_of_several(process: &Process, nesting: &Nesting, held: usize) -> bool {
    let made = process.locks[held].created.max(process.locks[nesting.lock].created);
    made > 1 && nesting.seen <= made
}

/// The lock that was held and the one that was taken, with the nestings in which this was seen.
type Edge<'g, 'a> = (&'g (usize, usize), &'g Vec<&'a Nesting>);

impl<'a> Graph<'a> {
    fn of(process: &'a Process) -> Graph<'a> {
        let mut edges: BTreeMap<_, Vec<&Nesting>> = BTreeMap::new();
        for nesting in &process.nesting {
            let held = nesting.outer.and_then(|outer| outer.lock);
            let is_try = process.sites[nesting.site].op.class() == Class::Try;
            match held {
                Some(held)
                    if held != nesting.lock
                        && !is_try
                        && !is_by_creator(process, nesting)
                        && !is_where_many_begin(process, nesting)
                        && !may_be_of_several(process, nesting, held) =>
                {
                    edges.entry((held, nesting.lock)).or_default().push(nesting);
                }
                _ => {}
            }
        }
        Graph { process, edges }
    }

    /// The sets of at least two locks in which each lock can be reached from each other lock.
    fn knots(&self) -> Vec<Vec<usize>> {
        let mut next: HashMap<usize, Vec<usize>> = HashMap::new();
        let mut previous: HashMap<usize, Vec<usize>> = HashMap::new();
        for &(held, taken) in self.edges.keys() {
            next.entry(held).or_default().push(taken);
            previous.entry(taken).or_default().push(held);
        }
        let locks: BTreeSet<usize> = self.edges.keys().flat_map(|&(a, b)| [a, b]).collect();
        let mut done = HashSet::new();
        let mut knots = Vec::new();
        for &lock in &locks {
            if done.contains(&lock) {
                continue;
            }
            let (after, before) = (reached(lock, &next), reached(lock, &previous));
            let knot: Vec<usize> =
                locks.iter().copied().filter(|l| after.contains(l) && before.contains(l)).collect();
            done.extend(knot.iter().copied());
            if knot.len() > 1 {
                knots.push(knot);
            }
        }
        knots
    }

    fn finding(&self, knot: &[usize]) -> Option<Finding> {
        let within = |&(&(a, b), _): &Edge| knot.contains(&a) && knot.contains(&b);
        let edges: Vec<Edge> = self.edges.iter().filter(within).collect();
        let cycle =
            edges.iter().filter_map(|&(&edge, _)| self.shortest(edge)).min_by_key(Vec::len)?;
        let nestings: Vec<&Nesting> =
            edges.iter().flat_map(|(_, all)| all.iter().copied()).collect();
        if self.reads_only(&nestings)
            || self.is_gated(&nestings)
            || self.is_of_one_thread(knot)
            || self.is_of_used_memory(knot, &cycle, &edges)
        {
            return None;
        }
        let process = self.process;
        let mut evidence = vec![count("locks that are part of such a cycle", knot.len() as u64)];
        let pairs = edges.iter().filter(|(edge, _)| self.has(edge.1, edge.0));
        evidence.push(count("pairs seen in both orders", pairs.count() as u64 / 2));
        for &(held, taken) in &cycle {
            let Some(most) = self.edges[&(held, taken)].iter().max_by_key(|n| n.seen) else {
                continue;
            };
            let what = format!(
                "times that {} was taken at {} while {}, taken at {}, was held",
                process.locks[taken].name,
                place(process, most.stack),
                process.locks[held].name,
                most.outer
                    .map_or_else(|| "an unknown place".to_owned(), |o| place(process, o.stack)),
            );
            evidence.push(count(&what, most.seen));
        }
        // The call sites where the second of two locks is taken. In a deadlock, threads wait there.
        let mut seen_at: BTreeMap<usize, u64> = BTreeMap::new();
        for nesting in &nestings {
            *seen_at.entry(nesting.site).or_default() += nesting.seen;
        }
        let mut sites: Vec<usize> = seen_at.keys().copied().collect();
        sites.sort_by_key(|site| (u64::MAX - seen_at[site], *site));
        let outer: BTreeSet<usize> = nestings
            .iter()
            .filter_map(|n| n.outer?.site)
            .filter(|s| !seen_at.contains_key(s))
            .collect();
        let place = process.sites[sites[0]].place.clone();
        sites.extend(outer);
        let locks: Vec<usize> = cycle.iter().map(|&(held, _)| held).collect();
        Some(Finding {
            rule: Rule::BothOrders,
            title: match cycle.len() {
                2 => "Two locks, each taken with the other held: threads may wait for each other \
                      for ever"
                    .to_owned(),
                n => {
                    format!("{n} locks taken in a cycle: threads may wait for each other for ever")
                }
            },
            place,
            locks: few(&locks),
            evidence,
            advice: "Take the locks in one order everywhere, by rank or by address. If you can't \
                     choose the order, use a try for the second lock, and release the first one \
                     if the try is refused."
                .to_owned(),
            open_question: None,
            remedy: Remedy::Unknown,
            sites,
            gain: None,
        })
    }

    /// The shortest cycle that begins with the given edge; `None` if the edge is in no cycle.
    fn shortest(&self, (held, taken): (usize, usize)) -> Option<Vec<(usize, usize)>> {
        let mut came_from = HashMap::from([(taken, held)]);
        let mut queue = VecDeque::from([taken]);
        while let Some(lock) = queue.pop_front() {
            if lock == held {
                let mut way = vec![(came_from[&lock], lock)];
                while way.last().is_some_and(|edge| edge.0 != held) {
                    let at = way.last().map_or(held, |edge| edge.0);
                    way.push((came_from[&at], at));
                }
                way.reverse();
                return Some(way);
            }
            for (&(_, next), _) in self.edges.range((lock, 0)..=(lock, usize::MAX)) {
                came_from.entry(next).or_insert_with(|| {
                    queue.push_back(next);
                    lock
                });
            }
        }
        None
    }

    /// Whether one of the locks is only ever held or requested for reading.
    fn reads_only(&self, nestings: &[&Nesting]) -> bool {
        let mut exclusive: HashMap<usize, bool> = HashMap::new();
        for nesting in nestings {
            let op = |site: usize| self.process.sites[site].op;
            *exclusive.entry(nesting.lock).or_default() |= !reads(op(nesting.site));
            if let Some(Outer { lock: Some(held), site, .. }) = nesting.outer {
                *exclusive.entry(held).or_default() |= !site.is_some_and(|site| reads(op(site)));
            }
        }
        exclusive.values().any(|&exclusive| !exclusive)
    }

    /// Whether a cycle probably arose because several locks had the same address in turn.
    fn is_of_used_memory(
        &self,
        knot: &[usize],
        cycle: &[(usize, usize)],
        edges: &[Edge<'_, 'a>],
    ) -> bool {
        let in_both_orders = edges.iter().any(|(edge, _)| self.has(edge.1, edge.0));
        let sites = |edge: &(usize, usize)| {
            let nestings = self.edges[edge].iter();
            nestings.map(|n| (n.outer.and_then(|outer| outer.site), n.site)).collect::<Vec<_>>()
        };
        let pairs: HashSet<_> = cycle.iter().flat_map(sites).collect();
        !in_both_orders && (pairs.len() == 1 || knot.len() >= MANY)
    }

    fn has(&self, held: usize, taken: usize) -> bool {
        self.edges.contains_key(&(held, taken))
    }

    /// Whether one thread alone used all of the locks.
    fn is_of_one_thread(&self, knot: &[usize]) -> bool {
        let users = knot.iter().flat_map(|&lock| &self.process.locks[lock].threads);
        users.map(|&(thread, _)| thread).collect::<BTreeSet<_>>().len() == 1
    }

    /// Whether the first lock of every order was always taken under one and the same third lock,
    /// held exclusively.
    fn is_gated(&self, nestings: &[&Nesting]) -> bool {
        let firsts: HashSet<(usize, usize)> = nestings
            .iter()
            .filter_map(|n| n.outer.and_then(|o| Some((o.lock?, o.stack))))
            .collect();
        let mut gate = None;
        for (lock, stack) in firsts {
            let mut seen = false;
            for taken in self.process.nesting.iter().filter(|n| (n.lock, n.stack) == (lock, stack))
            {
                let above = taken.outer.and_then(|outer| outer.lock);
                let is_read = taken
                    .outer
                    .and_then(|o| o.site)
                    .is_some_and(|s| reads(self.process.sites[s].op));
                if above.is_none() || is_read || gate.is_some_and(|gate| Some(gate) != above) {
                    return false;
                }
                (gate, seen) = (above, true);
            }
            if !seen {
                return false;
            }
        }
        gate.is_some()
    }
}

fn reads(op: Op) -> bool {
    matches!(op, Op::RwlockRead | Op::RwlockTryRead | Op::RwlockTimedRead)
}

fn place(process: &Process, stack: usize) -> String {
    let frame = process.stacks.get(stack).and_then(|stack| stack.place);
    frame.map_or_else(|| "an unknown place".to_owned(), |frame| process.frames[frame].place())
}

/// The locks that can be reached from `lock`, including `lock` itself.
fn reached(lock: usize, next: &HashMap<usize, Vec<usize>>) -> HashSet<usize> {
    let mut reached = HashSet::from([lock]);
    let mut left = vec![lock];
    while let Some(lock) = left.pop() {
        let more = next.get(&lock).into_iter().flatten().copied();
        left.extend(more.filter(|&lock| reached.insert(lock)));
    }
    reached
}

#[cfg(test)]
mod tests {
    use syncline_recording::Primitive;

    use super::*;
    use crate::findings::testing::{Drawn, Use, process};

    /// The findings for locks taken in these orders: `a b` stands for b taken with a held, and `a b
    /// c` for c taken with b held as well. A lock has one call site for each text that it appears
    /// in; `?` after a lock is a try, `r` a read.
    fn orders(drawn: &[&str]) -> Vec<Finding> {
        found(&nested(drawn))
    }

    fn nested(drawn: &[&str]) -> Drawn {
        let mut process = process(1.0, 4);
        let mut locks: BTreeMap<char, usize> = BTreeMap::new();
        for (number, order) in drawn.iter().enumerate() {
            let mut held = None;
            for word in order.split(' ') {
                let name = word.chars().next().unwrap();
                let lock = *locks
                    .entry(name)
                    .or_insert_with(|| process.lock(Primitive::Rwlock, &name.to_string()));
                let op = match &word[1..] {
                    "?" => Op::RwlockTryWrite,
                    "r" => Op::RwlockRead,
                    _ => Op::RwlockWrite,
                };
                let site = process.site(op, &format!("{name} at order{number}.c:1"));
                process.nested(lock, site, held, 3);
                held = Some((lock, site));
            }
        }
        process
    }

    fn found(drawn: &Drawn) -> Vec<Finding> {
        find(drawn, &Thresholds::default())
    }

    /// The number of findings for locks that are all taken at one pair of call sites. Each order is
    /// a lock that is held and one that is taken.
    fn at_one_pair_of_sites(orders: &[(usize, usize)]) -> usize {
        let mut drawn = process(1.0, 4);
        let locks: Vec<usize> = (0..9).map(|_| drawn.lock(Primitive::Mutex, "lock")).collect();
        let first = drawn.site(Op::MutexLock, "merge at stats.c:1");
        let second = drawn.site(Op::MutexLock, "merge at stats.c:2");
        for &(held, taken) in orders {
            drawn.nested(locks[held], first, None, 1);
            drawn.nested(locks[taken], second, Some((locks[held], first)), 1);
        }
        found(&drawn).len()
    }

    #[test]
    fn cycles_at_one_pair_of_sites_and_long_cycles_have_no_finding() {
        let cycle = [(0, 1), (1, 2), (2, 0)];
        assert_eq!(at_one_pair_of_sites(&cycle), 0);
        assert_eq!(at_one_pair_of_sites(&[&cycle[..], &[(1, 0)]].concat()), 1, "0 and 1");
        assert_eq!(at_one_pair_of_sites(&[(0, 1), (1, 0)]), 1);
        assert_eq!(orders(&["a b", "b c", "c a"]).len(), 1, "at three pairs of sites");
        let seven = ["a b", "b c", "c d", "d e", "e f", "f g", "g a"];
        assert_eq!(orders(&seven).len(), 1);
        assert!(orders(&[&seven[..6], &["g h", "h a"]].concat()).is_empty(), "of eight locks");
    }

    /// Modelled on libgfortran: each unit's lock is taken with the lock of the list held where the
    /// unit is opened, and before that lock where it is closed.
    #[test]
    fn locks_that_begin_where_they_are_taken_have_no_order() {
        let opened = |units: usize, times: u64| {
            let mut drawn = process(1.0, 2);
            let list = drawn.lock(Primitive::Mutex, "list");
            let listed = drawn.site(Op::MutexLock, "open at unit.c:1");
            let (open, close) = ("open at unit.c:5", "close at unit.c:20");
            let (open, close) = (drawn.site(Op::MutexLock, open), drawn.site(Op::MutexLock, close));
            let used = drawn.site(Op::MutexLock, "write at unit.c:30");
            for _ in 0..units {
                let unit = drawn.lock(Primitive::Mutex, "unit");
                drawn.uses(unit, open, Use { calls: times, ..Use::default() });
                drawn.nested(unit, open, Some((list, listed)), 1);
                drawn.nested(list, close, Some((unit, used)), 1);
            }
            found(&drawn).len()
        };
        assert_eq!(opened(8, 1), 0);
        assert_eq!(opened(7, 1), 1, "few: they may be known to others");
        assert_eq!(opened(8, 2), 1, "each is taken twice there");
    }

    #[test]
    fn orders_of_reused_locks_may_be_of_different_locks() {
        let found_if_made = |times| {
            let mut drawn = nested(&["a b", "b a"]);
            drawn.locks[1].created = times;
            found(&drawn).len()
        };
        assert_eq!(
            (found_if_made(1), found_if_made(2), found_if_made(3)),
            (1, 1, 0),
            "seen 3 times"
        );
    }

    #[test]
    fn both_orders_are_found_with_their_call_sites() {
        let findings = orders(&["a b", "b a"]);
        assert_eq!(findings.len(), 1);
        assert_eq!(findings[0].place, "b at order0.c:1");
        let whats: Vec<&str> = findings[0].evidence.iter().map(|e| &*e.what).collect();
        assert!(
            whats.contains(
                &"times that b was taken at b at order0.c:1 while a, taken at a at order0.c:1, was held"
            ),
            "{whats:?}"
        );
        assert!(
            whats.contains(
                &"times that a was taken at a at order1.c:1 while b, taken at b at order1.c:1, was held"
            ),
            "{whats:?}"
        );
    }

    /// Modelled on GDAL, where each mutex is created, and taken for the first time, under one
    /// global mutex.
    #[test]
    fn a_lock_that_was_just_created_has_no_waiters() {
        let order = |seen: u64, maker: &str| {
            let mut drawn = process(1.0, 4);
            let [all, own] = ["all", "own"].map(|name| drawn.lock(Primitive::Mutex, name));
            let create = drawn.site(Op::MutexInit, "create at mutex.c:10");
            drawn.called_by(create, maker);
            drawn.locks[own].created_at = Some(drawn.sites[create].stacks[0]);
            let first = drawn.site(Op::MutexLock, "lock_new at mutex.c:20");
            let caller = drawn.stacks[drawn.sites[create].stacks[0]].frames[1];
            let stack = drawn.sites[first].stacks[0];
            drawn.stacks[stack].frames.push(caller);
            if maker == "other" {
                drawn.called_by(create, "main");
            }
            let around = drawn.site(Op::MutexLock, "acquire at mutex.c:30");
            drawn.nested(own, first, Some((all, around)), seen);
            drawn.nested(all, around, Some((own, first)), 3);
            found(&drawn).len()
        };
        assert_eq!(order(1, "acquire at mutex.c:31"), 0);
        assert_eq!(order(2, "acquire at mutex.c:31"), 1, "taken again");
        assert_eq!(order(1, "other"), 1, "made by another call");
    }

    #[test]
    fn cycles_are_found_but_not_consistent_orders() {
        assert_eq!(orders(&["a b", "b c", "c a"])[0].locks.len(), 3);
        assert!(orders(&["a b", "b c", "a c", "a b c d"]).is_empty());
        assert_eq!(orders(&["a b", "b a", "c d", "d c", "b c"]).len(), 2, "two knots");
    }

    #[test]
    fn tries_and_readers_do_not_deadlock() {
        assert!(orders(&["a b", "b a?"]).is_empty());
        assert!(orders(&["ar b", "b ar"]).is_empty());
        assert_eq!(orders(&["ar b", "b a"]).len(), 1, "a writer waits for the reader");
    }

    #[test]
    fn a_thread_does_not_wait_for_itself() {
        let mut drawn = nested(&["a b", "b a"]);
        drawn.locks.iter_mut().for_each(|lock| lock.threads = vec![(0, 3)]);
        assert!(found(&drawn).is_empty());
        drawn.locks[1].threads.push((1, 3));
        assert_eq!(found(&drawn).len(), 1);
    }

    #[test]
    fn a_common_outer_lock_prevents_the_deadlock() {
        assert!(orders(&["g a b", "g b a"]).is_empty());
        assert_eq!(orders(&["gr a b", "gr b a"]).len(), 1, "readers of it are let in together");
        assert_eq!(orders(&["g a b", "h b a"]).len(), 1);
        assert_eq!(orders(&["g a b", "b a"]).len(), 1);
    }
}
