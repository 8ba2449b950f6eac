//! Tests of locks taken under other locks, in each of the three shapes.

use syncline_recording::Primitive;

use super::*;
use crate::findings::testing::{Drawn, Use, process};

/// Inner locks that are taken a million times each, and outer locks.
struct Nested {
    drawn: Drawn,
    inner: Vec<usize>,
    outer: Vec<usize>,
    random: usize,
    serve: usize,
}

fn nested(inners: usize, outers: usize) -> Nested {
    let mut drawn = process(10.0, 4);
    drawn.threads("serve_all", 4, 10.0);
    let outer = drawn.locks_created(Primitive::Mutex, outers, "main at server.c:1");
    let inner = drawn.locks_created(Primitive::Mutex, inners, "main at server.c:2");
    let serve = drawn.site(Op::MutexLock, "serve at server.c:30");
    let random = drawn.site(Op::MutexLock, "random_delay at server.c:20");
    for &lock in &outer {
        drawn.uses(lock, serve, Use { calls: 10_000, ..Use::default() });
    }
    for &lock in &inner {
        drawn.uses(lock, random, Use { calls: 1_000_000, ..Use::default() });
    }
    Nested { drawn, inner, outer, random, serve }
}

impl Nested {
    fn seen(&mut self, inner: usize, outer: Option<usize>, seen: u64) {
        let outer = outer.map(|outer| (self.outer[outer], self.serve));
        self.drawn.nested(self.inner[inner], self.random, outer, seen);
    }

    fn found(&self) -> Vec<Finding> {
        find(&self.drawn, &Thresholds::default())
    }

    fn contend(&mut self, lock: usize, site: usize) {
        let (waits, waited) = (300_000, 1.0);
        self.drawn.uses(lock, site, Use { waits, waited, ..Use::default() });
    }
}

#[test]
fn an_inner_lock_for_each_outer_one_is_not_needed() {
    let mut nested = nested(4, 4);
    (0..4).for_each(|n| nested.seen(n, Some(n), 7_800));
    let findings = nested.found();
    assert_eq!((findings[0].sites.clone(), findings.len()), (vec![nested.random], 1));
    assert!(matches!(findings[0].remedy, Remedy::RemoveLock { .. }));
}

#[test]
fn paths_without_the_outer_lock_need_the_inner_lock() {
    let mut nested = nested(1, 1);
    nested.seen(0, Some(0), 9_900);
    nested.seen(0, None, 100);
    assert_eq!(nested.found().len(), 1, "99 %");
    nested.seen(0, None, 10);
    assert!(nested.found().is_empty());
}

#[test]
fn a_reader_of_the_outer_lock_does_not_exclude_others() {
    let mut nested = nested(1, 1);
    nested.seen(0, Some(0), 9_900);
    nested.drawn.sites[nested.serve].op = Op::RwlockRead;
    assert!(nested.found().is_empty());
}

#[test]
fn a_contended_outer_lock_makes_many_inner_ones_useless() {
    let mut nested = nested(4, 1);
    (0..4).for_each(|n| nested.seen(n, Some(0), 7_800));
    assert!(matches!(nested.found()[0].remedy, Remedy::RemoveLock { .. }));
    nested.contend(nested.outer[0], nested.serve);
    let findings = nested.found();
    assert_eq!(findings[0].remedy, Remedy::SplitLock { sites: vec![nested.serve], parts: 4.0 });
}

#[test]
fn a_contended_inner_lock_brings_together_what_the_outer_ones_keep_apart() {
    let mut nested = nested(1, 4);
    (0..4).for_each(|n| nested.seen(0, Some(n), 7_800));
    assert!(nested.found().is_empty(), "not contended, and needed");
    nested.contend(nested.inner[0], nested.random);
    assert_eq!(nested.found()[0].sites, [nested.random]);
}

/// Modelled on Fuego, whose threads hold a lock of their own during a whole search.
#[test]
fn outer_locks_that_are_held_for_long_phases_say_nothing() {
    let mut nested = nested(1, 4);
    (0..4).for_each(|n| nested.seen(0, Some(n), 7_800));
    nested.contend(nested.inner[0], nested.random);
    for &lock in &nested.outer {
        nested.drawn.locks[lock].figures.calls = 250;
    }
    assert_eq!(nested.found().len(), 1);
    nested.drawn.locks[nested.outer[0]].figures.calls = 249;
    assert!(nested.found().is_empty());
}

#[test]
fn few_samples_and_few_acquisitions_have_no_finding() {
    let mut nested = nested(1, 1);
    nested.seen(0, Some(0), 9);
    assert!(nested.found().is_empty());
    nested.seen(0, Some(0), 1);
    assert_eq!(nested.found().len(), 1);
    nested.drawn.sites[nested.random].figures.calls_per_second = 9_000.0;
    assert!(nested.found().is_empty());
}

#[test]
fn several_families_under_one_outer_lock_are_one_finding() {
    let mut nested = nested(1, 1);
    nested.seen(0, Some(0), 7_800);
    let other = nested.drawn.lock(Primitive::Mutex, "events");
    let notify = nested.drawn.site(Op::MutexLock, "notify at events.c:40");
    nested.drawn.uses(other, notify, Use { calls: 500_000, ..Use::default() });
    nested.drawn.nested(other, notify, Some((nested.outer[0], nested.serve)), 3_900);
    let findings = nested.found();
    assert_eq!((findings.len(), findings[0].sites.clone()), (1, vec![nested.random, notify]));
    let Remedy::RemoveLock { sites, .. } = &findings[0].remedy else { panic!("removed") };
    assert_eq!(sites, &findings[0].sites);
    let last = findings[0].evidence.last().map(|e| (&e.what[..], e.value));
    assert_eq!(last, Some(("acquisitions in notify at events.c:40", 50_000.0)));
}

/// Modelled on Boost: its conditions have a mutex of their own, whose acquisition is inlined into
/// the line that also takes the user's mutex.
#[test]
fn locks_taken_at_the_outer_locks_line_have_no_finding() {
    let mut nested = nested(2, 1);
    (0..2).for_each(|n| nested.seen(n, Some(0), 7_800));
    let outer = nested.outer[0];
    let use_ = Use { calls: 50_000_000, ..Use::default() };
    nested.drawn.uses(outer, nested.random, use_);
    assert!(nested.found().is_empty());
}

/// Modelled on SQLite, which allocates many times for each step of a statement, under the mutex of
/// its connection.
#[test]
fn an_inner_lock_changes_its_processor_no_more_often_than_the_outer_one() {
    let per_call = |outer_calls: u64| {
        let mut nested = nested(1, 1);
        nested.seen(0, Some(0), 7_800);
        let outer = &mut nested.drawn.locks[nested.outer[0]];
        outer.figures.calls = outer_calls;
        let used = vec![(1, 500_000), (2, 500_000)];
        let inner = &mut nested.drawn.locks[nested.inner[0]];
        inner.threads = used;
        nested.drawn.sites[nested.random].threads = 2;
        for thread in &mut nested.drawn.threads {
            thread.cpu = Some(10.0);
        }
        let findings = nested.found();
        let Remedy::RemoveLock { seconds_per_call, .. } = findings[0].remedy else { panic!() };
        seconds_per_call
    };
    assert!((per_call(10_000) - 20.8e-9).abs() < 1e-12, "{}", per_call(10_000));
    assert!((per_call(1_000_000) - 100e-9).abs() < 1e-12, "{}", per_call(1_000_000));
}
