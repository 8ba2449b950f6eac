//! Tests each kind of advice with a hand-made trace, which is like a small version of a workload.

use syncline_conflicts::{Advice, LockFacts, Proposal, advise};
use syncline_trace::layout::STOP_LIMIT;

use crate::hand::{LOCK, Made, block, counted, facts_of, section, trace};

/// The facts of the lock of 400 sections, which four threads execute in turn. `make(thread, n)`
/// makes the `n`th section.
fn facts(make: impl Fn(u32, u64) -> Made) -> LockFacts {
    let sections = (0..400).map(|n| make(1 + n as u32 % 4, n)).collect();
    let mut trace = trace(sections);
    trace.counts.push((1, counted(LOCK, 400, 200, 2_000_000, 400)));
    facts_of(&trace).locks.remove(0)
}

fn first(lock: &LockFacts) -> Proposal {
    advise(lock, 4.0)[0]
}

#[test]
fn a_table_of_independent_entries_is_to_be_sharded() {
    let mut random = fastrand::Rng::with_seed(1);
    let entries: Vec<u64> = (0..400).map(|_| random.u64(..64)).collect();
    let table = block(0x10_0000_0000, 64 * 64, 1);
    let lock = facts(|thread, n| section(thread).changes(table, 64 * entries[n as usize]));
    let mut distinct = entries.clone();
    distinct.sort_unstable();
    distinct.dedup();
    assert_eq!(lock.groups.groups, distinct.len() as u64);
    let proposal = first(&lock);
    assert_eq!(proposal.advice, Advice::Shard { pieces: distinct.len() as u64 });
    // Threads waited 2 s for the lock, and nearly all of that was needless.
    let expected = 2.0 * lock.independence().expect("pairs");
    assert!((proposal.saves_at_most - expected).abs() < 1e-9 && expected > 1.9);
    assert!((proposal.share_of_thread_time - expected / 4.0).abs() < 1e-9);
}

#[test]
fn one_counter_in_an_otherwise_independent_table_is_to_be_split_off() {
    let header = block(0x1000_0000, 16, 1);
    let entry = |n: u64| block(0x2000_0000 + 64 * (n % 50), 64, 2 + n % 50);
    let lock = facts(|thread, n| section(thread).changes(header, 8).changes(entry(n * 7), 0));
    assert_eq!(lock.independence(), Some(0.0));
    assert_eq!((lock.groups.groups, lock.groups_without.groups), (1, 50));
    let Advice::SplitField { independence_without, pieces_without } = first(&lock).advice else {
        panic!("{:?}", first(&lock));
    };
    assert!(independence_without > 0.95, "{independence_without}");
    // A part of the 2 s of waiting can be saved, although none of it is needless as long as the
    // field is there.
    assert!((first(&lock).saves_at_most - 2.0 * independence_without).abs() < 1e-9);
    assert_eq!(pieces_without, 50);
    assert_eq!(lock.causes[0].pairs, lock.window.conflicting);
}

#[test]
fn a_counter_alone_is_atomic_and_private_data_needs_no_lock() {
    let lock = facts(|thread, _| section(thread).reads(0x5000, 8).writes(0x5000, 8));
    assert_eq!((first(&lock).advice, first(&lock).saves_at_most), (Advice::UseAtomic, 2.0));
    let lock = facts(|thread, _| section(thread).writes(0x5000 + 4096 * u64::from(thread), 64));
    assert_eq!(first(&lock).advice, Advice::NothingShared);
    assert_eq!(first(&lock).saves_at_most, 2.0);
}

#[test]
fn atomic_counters_differ_from_plain_counters() {
    let atomic = |thread, n| section(thread).adds_atomically(0x5000 + 8 * (n % 3));
    let proposal = first(&facts(atomic));
    assert_eq!((proposal.advice, proposal.saves_at_most), (Advice::AlreadyAtomic, 2.0));
    let beside = |thread, n: u64| atomic(thread, n).writes(0x6000, if n == 7 { 8 } else { 0 });
    assert_ne!(first(&facts(beside)).advice, Advice::AlreadyAtomic, "a plain store, once");
}

#[test]
fn function_pointers_are_shared_data_only_if_written() {
    let linked = |thread, _| section(thread).calls_by(0x3fd8);
    assert_eq!(first(&facts(linked)).advice, Advice::NothingShared);
    let counter = |thread, n| linked(thread, n).reads(0x5000, 8).writes(0x5000, 8);
    assert_eq!(first(&facts(counter)).advice, Advice::UseAtomic);
    let hooked =
        |thread, n: u64| linked(thread, n).writes(0x3fd8, if n.is_multiple_of(2) { 8 } else { 0 });
    assert_ne!(first(&facts(hooked)).advice, Advice::NothingShared);
}

#[test]
fn data_that_sections_met_only_once_is_not_called_private() {
    let large = block(0x10_0000_0000, 400 * 64, 1);
    let once = facts(|thread, n| section(thread).changes(large, 64 * n));
    assert_eq!(first(&once).advice, Advice::UseOptimistic);
    let local = facts(|thread, _| section(thread).step(0x40_1000, 5, None));
    assert_eq!(first(&local).advice, Advice::NothingShared, "nothing outside of the stack");
}

/// If there is a budget, only a part of a section of a million instructions is traced. Such a
/// section can't be compared, but is known to be long.
#[test]
fn sections_that_are_too_long_to_be_traced_are_to_be_shortened() {
    let shared = 0x5000;
    let sections = |threads: u64| {
        let one = |n: u64| {
            section(1 + (n % threads) as u32)
                .reads(shared, 8)
                .step(0x40_1000, 1, Some((shared, shared + 7)))
                .step(0x40_2000, 1_000_000, None)
                .with(|r| r.stopped = STOP_LIMIT)
        };
        facts_of(&trace((0..8).map(one).collect())).locks.remove(0)
    };
    let Advice::Shorten { share } = first(&sections(2)).advice else {
        panic!("{:?}", advise(&sections(2), 4.0));
    };
    assert!(share > 0.99, "{share}");
    assert_eq!(advise(&sections(2), 4.0)[1].advice, Advice::TooFewSections);
    assert_eq!(first(&sections(1)).advice, Advice::TooFewSections, "one thread shares nothing");
}

#[test]
fn spread_conflicts_name_no_field_to_split_off() {
    // Three of four pairs are independent. The others conflict on two words each, so no field is a
    // cause alone.
    let lock = facts(|thread, n| {
        let word = 0x5000 + 8 * (n / 4 % 4);
        section(thread).reads(word, 8).writes(word, 8).reads(word + 4096, 8).writes(word + 4096, 8)
    });
    assert!((0.5..0.8).contains(&lock.independence().expect("pairs")), "{:?}", lock.window);
    assert_eq!(first(&lock).advice, Advice::Leave);
}

/// Locks that are acquired at one call site are reported together, but judged by the data that each
/// of them guards.
#[test]
fn many_locks_with_a_counter_each_are_atomic() {
    let lock = facts(|thread, n| {
        let which = n / 4 % 20;
        section(thread)
            .with(|r| r.lock = LOCK + 64 * which)
            .reads(0x5000 + 64 * which, 8)
            .writes(0x5000 + 64 * which, 8)
    });
    assert_eq!((lock.locks, lock.groups.groups), (20, 20));
    assert_eq!(first(&lock).advice, Advice::UseAtomic);
}

#[test]
fn readers_of_one_structure_may_read_together() {
    let lock = facts(|thread, n| {
        let reading = (0..20).fold(section(thread), |m, i| m.reads(0x5000 + 8 * i, 8));
        if n % 40 == 0 { reading.writes(0x5000, 8) } else { reading }
    });
    assert_eq!(first(&lock).advice, Advice::LetReadersShare);
}

#[test]
fn a_long_section_that_computes_is_to_be_shortened() {
    let lock = facts(|thread, _| {
        section(thread)
            .changes(block(0x5000, 64, 1), 0)
            .changes(block(0x5000, 64, 1), 8)
            .step(0x40_2000, 10_000, None)
            .step(0x40_2004, 500, Some((0x9000 + 4096 * u64::from(thread), 0x9010)))
            .step(0x40_2008, 10, Some((0x5000, 0x500f)))
    });
    let site = &lock.sites[0];
    assert_eq!((site.instructions.median, site.total_instructions), (10_510, 400 * 10_510));
    assert_eq!((site.outside_instructions, site.shared_instructions), (400 * 510, 400 * 10));
    assert_eq!((site.steps[0].address, site.steps[0].shared), (0x40_2000, false));
    let Advice::Shorten { share } = first(&lock).advice else { panic!("{:?}", first(&lock)) };
    assert!((share - 10_500.0 / 10_510.0).abs() < 1e-9);
}

#[test]
fn truly_conflicting_sections_are_left_and_io_is_marked() {
    let lock = facts(|thread, _| {
        (0..6).fold(section(thread), |m, i| m.reads(0x5000 + 8 * i, 8).writes(0x5000 + 8 * i, 8))
    });
    assert_eq!(first(&lock).advice, Advice::Leave);
    // The sections write independent data, but since they do output, there is no advice by data.
    let lock =
        facts(|thread, _| section(thread).writes(0x5000 + 4096 * u64::from(thread), 8).calls(1));
    assert_eq!((first(&lock).advice, first(&lock).io), (Advice::Leave, true));
    assert_eq!((lock.sites[0].doing_io, lock.sites[0].system_calls[&1]), (400, 400));
    let few = trace(vec![section(1).writes(0x5000, 8), section(2)]);
    assert_eq!(first(&facts_of(&few).locks[0]).advice, Advice::TooFewSections);
}
