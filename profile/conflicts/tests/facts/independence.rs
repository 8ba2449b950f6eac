//! Tests which sections of hand-made traces are compared, and which conflict.

use bytemuck::Zeroable;
use syncline_recording::Op;
use syncline_trace::layout::{
    COUNTED_ONE_BY_ONE, CountRecord, EARLY, ObjectRecord, RELEASED_BY_OTHER, SHARED, STOP_LIMIT,
    STOP_NONE,
};

use crate::hand::{LOCK, SITE, block, counted, facts_of, section, stack, trace};
use syncline_conflicts::{Field, Options, facts};

#[test]
fn own_stacks_and_known_locks_are_no_data() {
    let other_lock = 0x20_0000;
    let spin = 0x30_0004;
    let touching = |thread| {
        section(thread)
            .writes(stack(thread) + 64, 8)
            .writes(LOCK, 40)
            .writes(other_lock + 8, 8)
            .writes(0x30_0000, 8) // the spinlock and four bytes beside it
    };
    let mut all = trace(vec![touching(1), touching(2)]);
    all.counts.push((1, counted(other_lock, 1, 0, 0, 0)));
    let spinlock = Op::SpinLock as u32;
    all.counts.push((
        1,
        syncline_trace::layout::CountRecord { op: spinlock, ..counted(spin, 1, 0, 0, 0) },
    ));
    let facts = facts_of(&all);
    let [cause] = facts.locks[0].causes[..] else { panic!("{:?}", facts.locks[0].causes) };
    assert_eq!(cause.field, Field::Fixed { address: 0x30_0000 });
    assert_eq!(cause.bytes, 0x0f, "without the spinlock's own bytes");

    // The stack of another thread is data like any other.
    let on_stack = |thread| section(thread).writes(stack(3), 8);
    let facts = facts_of(&trace(vec![on_stack(1), on_stack(2), section(3)]));
    assert_eq!(facts.locks[0].window.conflicting, 1);
}

/// A new thread often gets the stack of one that has ended. The addresses are the same, but not the
/// data.
#[test]
fn a_reused_stack_belongs_to_each_thread_in_turn() {
    let on_stack = |thread| section(thread).reads(stack(1) + 64, 8).writes(stack(1) + 64, 8);
    let mut all = trace(vec![on_stack(2), on_stack(3)]);
    let conflicting = |all: &syncline_trace::Trace| facts_of(all).locks[0].window.conflicting;
    assert_eq!(conflicting(&all), 1, "both write to thread 1's");
    for thread in &mut all.threads {
        (thread.record.stack_low, thread.record.stack_high) = (stack(1), stack(2));
    }
    assert_eq!(conflicting(&all), 0);
    assert_eq!(facts_of(&all).locks[0].sites[0].words, 0.0);
    // The word after the stack and the word before it are not part of the stack.
    for address in [stack(2), stack(1) - 8] {
        let beside = |thread| section(thread).writes(address, 8);
        let mut all = trace(vec![beside(1), beside(2)]);
        for thread in &mut all.threads {
            (thread.record.stack_low, thread.record.stack_high) = (stack(1), stack(2));
        }
        assert_eq!(conflicting(&all), 1, "{address:#x}");
    }
}

/// All bytes of a lock are left out, but not the bytes next to it. The sizes are those of the C
/// library's types.
#[test]
fn a_lock_is_as_large_as_its_type() {
    for (op, size) in [
        (Op::MutexLock, size_of::<libc::pthread_mutex_t>()),
        (Op::RwlockWrite, size_of::<libc::pthread_rwlock_t>()),
        (Op::SpinLock, size_of::<libc::pthread_spinlock_t>()),
        (Op::SemWait, size_of::<libc::sem_t>()),
    ] {
        let lock = 0x40_0000;
        let size = size as u64;
        let around = |thread| {
            section(thread).with(|r| (r.lock, r.op) = (lock, op as u32)).writes(lock - 8, size + 16)
        };
        let facts = facts_of(&trace(vec![around(1), around(2)]));
        let causes = &facts.locks[0].causes;
        let bytes: u32 = causes.iter().map(|cause| cause.bytes.count_ones()).sum();
        assert_eq!(bytes, 16, "{op:?}: {causes:#x?}");
        let before = Field::Fixed { address: lock - 8 };
        assert!(causes.iter().any(|cause| cause.field == before && cause.bytes == 0xff), "{op:?}");
    }
}

#[test]
fn memory_that_was_freed_and_used_again_is_another_object() {
    let one = |thread, serial| section(thread).changes(block(0x5000, 64, serial), 8);
    assert_eq!(facts_of(&trace(vec![one(1, 1), one(2, 2)])).locks[0].window.conflicting, 0);
    assert_eq!(facts_of(&trace(vec![one(1, 1), one(2, 1)])).locks[0].window.conflicting, 1);
}

#[test]
fn a_lock_in_used_again_memory_is_a_new_lock() {
    let one = |thread, incarnation| {
        section(thread).writes(0x5000, 8).with(|r| r.incarnation = incarnation)
    };
    let facts = facts_of(&trace(vec![one(1, 1), one(2, 2), one(1, 2)]));
    let [lock] = &facts.locks[..] else { panic!("one address at one place") };
    assert_eq!((lock.locks, lock.window.pairs, lock.window.conflicting), (1, 1, 1));
    assert_eq!(lock.traced, 3);
}

/// A block with a mutex was freed, and its memory was used again.
#[test]
fn the_words_of_a_lock_are_data_once_its_block_is_freed() {
    let other_lock = 0x5010;
    let with_lock = block(0x5000, 64, 1);
    // The first section acquires the mutex in the block, and the others acquire another lock.
    let conflicting = |change: fn(&mut ObjectRecord), counts: &[CountRecord]| {
        let of_mutex = section(1).changes(with_lock, 0).with(|r| r.lock = other_lock);
        let mut block = with_lock;
        change(&mut block);
        let one = |thread| section(thread).changes(block, other_lock + 8 - block.start);
        let mut all = trace(vec![of_mutex, one(1), one(2)]);
        all.counts = counts.iter().map(|count| (1, *count)).collect();
        let facts = facts_of(&all);
        facts.locks.iter().map(|lock| lock.window.conflicting).sum::<u64>()
    };
    let other_size = |block: &mut ObjectRecord| (block.serial, block.size) = (2, 128);
    let other_site = |block: &mut ObjectRecord| (block.serial, block.site) = (2, 0x40_a000);
    assert_eq!(conflicting(|_| {}, &[]), 0, "the mutex is there");
    assert_eq!(conflicting(other_size, &[]), 1);
    assert_eq!(conflicting(other_site, &[]), 1);
    // A block of the same kind has a mutex at the same offset, even if that was never traced.
    assert_eq!(conflicting(|block| block.serial = 2, &[]), 0);
    let beside = |block: &mut ObjectRecord| (block.serial, block.start) = (2, 0x5010);
    assert_eq!(conflicting(beside, &[]), 1, "at another offset");

    // If the mutex was acquired where no section was traced, it may have been in any block.
    let counted = counted(other_lock, 9, 0, 0, 0);
    assert_eq!(conflicting(other_site, &[counted]), 1);
    let elsewhere = CountRecord { site: 0x60_0000, ..counted };
    assert_eq!(conflicting(other_site, &[counted, elsewhere]), 0);
}

/// A mutex was freed, and a lock of another kind was made at its address, which other call sites
/// acquire.
#[test]
fn counts_of_an_address_are_divided_among_its_successive_locks() {
    let one = |site, incarnation| {
        section(1).with(|r| (r.site, r.incarnation) = (site, incarnation)).held(0, 1, 0)
    };
    let mut all = trace(vec![one(SITE, 1), one(SITE, 1), one(0x50_0000, 2)]);
    let count = |site, acquisitions, waited_ticks| CountRecord {
        lock: LOCK,
        site,
        acquisitions,
        contended: acquisitions / 10,
        waited_ticks,
        ..CountRecord::zeroed()
    };
    // Nothing was traced at the last call site: its counts go to the lock with the most sections.
    let counts = [count(SITE, 1000, 50), count(0x50_0000, 20, 3), count(0x60_0000, 100, 0)];
    all.counts = counts.map(|count| (0, count)).to_vec();
    let facts = facts_of(&all);
    let of = |site| facts.locks.iter().find(|lock| lock.sites[0].site == site).expect("a lock");
    let figures = |site| (of(site).acquisitions, of(site).contended, of(site).sites.len());
    assert_eq!(figures(SITE), (1100, 110, 1));
    assert_eq!(figures(0x50_0000), (20, 2, 1));
    assert_eq!(facts.overall.acquisitions, 1120, "each counts once");
}

#[test]
fn incomplete_and_shared_sections_are_not_compared() {
    let writing = |thread| section(thread).writes(0x5000, 8);
    let facts = facts_of(&trace(vec![
        writing(1),
        writing(2).with(|r| r.stopped = STOP_LIMIT),
        writing(3).with(|r| r.flags |= RELEASED_BY_OTHER),
        writing(4).with(|r| r.flags |= SHARED),
        writing(5).with(|r| r.flags |= SHARED),
    ]));
    let lock = &facts.locks[0];
    // Sections 4 and 5 are compared with section 1, but not with each other.
    assert_eq!((lock.traced, lock.compared, lock.window.pairs), (5, 3, 2));
    assert_eq!((lock.handed_over, lock.sites[0].stopped, lock.shared_mode), (1, 1, true));
}

/// In a file, all sections of one thread come before those of another. They must be compared in the
/// order in which they held the lock.
#[test]
fn sections_are_compared_in_the_order_in_which_they_held_the_lock() {
    let writing = |thread| section(thread).writes(0x5000, 8);
    let mut all = trace(vec![writing(1), writing(1), writing(2), writing(2)]);
    let options = Options { window: 1, processors: 4 };
    let pairs = |all: &syncline_trace::Trace| facts(all, &options).locks[0].window.conflicting;
    assert_eq!(pairs(&all), 1, "one after the other");
    for (section, order) in all.sections.iter_mut().zip([0, 2, 1, 3]) {
        section.record.order = order;
    }
    assert_eq!(pairs(&all), 3, "in turn");
}

#[test]
fn sections_outside_the_window_are_not_compared() {
    let mut sections = vec![section(1).writes(0x5000, 8)];
    sections.extend((0..128).map(|n| section(2).writes(0x6000 + 8 * n, 8)));
    sections.push(section(2).writes(0x5000, 8));
    let trace = trace(sections);
    let conflicting =
        |window| facts(&trace, &Options { window, processors: 1 }).locks[0].window.conflicting;
    assert_eq!((conflicting(128), conflicting(129)), (0, 1));
}

/// The first sections of a call site are traced in addition to those that are drawn at random, so
/// sections of rare sites are over-represented.
#[test]
fn sections_that_were_not_drawn_are_left_out_where_enough_were() {
    let made = |n: u32, early: bool| {
        let made = section(1 + n % 2);
        let made = if early { made.writes(0x5000, 8) } else { made.reads(0x5000, 8) };
        made.with(|record| record.flags |= if early { EARLY } else { 0 })
    };
    let of = |drawn: u32| {
        let all = (0..drawn + 8).map(|n| made(n, n < 8)).collect();
        facts_of(&trace(all)).locks[0].clone()
    };
    let enough = of(16);
    assert_eq!((enough.window.sections, enough.window.conflicting), (15, 0));
    assert!(enough.causes.is_empty());
    assert_eq!((enough.traced, enough.compared), (24, 24), "they are told of elsewhere");
    assert!(of(15).window.conflicting > 0, "of few, all say more");
}

/// Three threads queue for the lock. Each section that waited is compared with the one that it
/// waited for.
#[test]
fn contended_pairs_have_a_waiter_and_its_holder() {
    //   1  ====
    //   2    __====              waits for 1, same data
    //   3       ___===           waits for 2, other data
    //   1                 ==     waits for no thread
    let facts = facts_of(&trace(vec![
        section(1).writes(0x5000, 8).held(0, 40, 0),
        section(2).writes(0x5000, 4).held(41, 80, 20),
        section(3).writes(0x6000, 8).held(81, 110, 31),
        section(1).writes(0x5000, 8).held(150, 170, 0),
    ]));
    let pairs = facts.locks[0].waited_for;
    assert_eq!((pairs.pairs, pairs.conflicting), (2, 1));
    assert_eq!((pairs.mean_set_bytes(), pairs.mean_conflicting_bytes()), (4.0, 4.0));
}

#[test]
fn the_mean_is_weighted_by_the_time_held() {
    let apart = 0x20_0000;
    let mut sections = Vec::new();
    for n in 0..20 {
        sections.push(section(1 + n % 2).writes(0x5000, 8));
        let other = section(1 + n % 2).writes(0x6000 + 8 * u64::from(n), 8);
        sections.push(other.with(|r| (r.lock, r.site) = (apart, SITE + 0x100)));
    }
    let mut trace = trace(sections);
    // The lock whose sections conflict is held for 1 of 4 seconds.
    trace.counts.push((1, counted(LOCK, 1000, 0, 0, 1_000_000)));
    trace.counts.push((1, counted(apart, 1000, 0, 0, 3_000_000)));
    let facts = facts_of(&trace);
    assert_eq!(facts.locks[0].lock, apart, "held longest");
    assert_eq!(facts.locks[0].independence(), Some(1.0));
    assert_eq!(facts.locks[1].independence(), Some(0.0));
    assert_eq!(facts.overall.independence, Some(0.75));
    assert_eq!(facts.overall.busy, Some(3.25));
    // In the paper on Syncchar, an independence of 24.1 % on 15 processors gives "4" (section 4.2).
    assert_eq!(syncline_conflicts::busy(0.241, 15).round(), 4.0);
}

/// At the first call of a function, the loader writes its address into a word that all later calls
/// read.
#[test]
fn words_bound_by_the_dynamic_loader_are_no_data() {
    let loader = |made: crate::hand::Made| {
        let mut made = made.writes(0x8000, 8).reads(0x9000, 8).reads(0x8800, 8);
        for word in &mut made.0.words {
            if word.address != 0x8800 {
                (word.reader, word.writer) = (0x50_0010, word.writer.min(1) * 0x50_0020);
            }
        }
        made
    };
    let mut all = trace(vec![
        loader(section(1)),
        section(2).reads(0x8000, 8),
        section(3).reads(0x8000, 8).reads(0x8800, 8),
    ]);
    assert_eq!(facts_of(&all).locks[0].window.conflicting, 2);
    let mut module = syncline_recording::layout::ModuleRecord::zeroed();
    (module.start, module.end) = (0x50_0000, 0x51_0000);
    let path = b"/lib64/ld-linux-x86-64.so.2";
    module.path[..path.len()].copy_from_slice(path);
    all.modules.push(module);
    let facts = facts_of(&all);
    assert_eq!(facts.locks[0].window.conflicting, 0);
    assert_eq!(facts.locks[0].sites[0].words, 2.0 / 3.0, "only what the program reads itself");
}

#[test]
fn a_block_that_grows_in_place_stays_the_same_object() {
    let one = |thread, size| section(thread).changes(block(0x5000, size, 1), 8);
    assert_eq!(facts_of(&trace(vec![one(1, 64), one(2, 128)])).locks[0].window.conflicting, 1);
}

/// If there is a budget, not every acquisition of a thread that acquires often is counted.
#[test]
fn counts_that_may_be_estimates_are_marked() {
    let estimated = |budget, of_one_thread| {
        let mut all = trace(vec![section(1), section(2)]);
        all.header.budget_permille = budget;
        all.counts = vec![
            (1, counted(LOCK, of_one_thread, 0, 0, 0)),
            (2, counted(LOCK, COUNTED_ONE_BY_ONE - 1, 0, 0, 0)),
        ];
        let facts = facts_of(&all);
        assert_eq!(facts.overall.estimated, facts.locks[0].estimated);
        facts.overall.estimated
    };
    assert!(estimated(100, COUNTED_ONE_BY_ONE));
    assert!(!estimated(100, COUNTED_ONE_BY_ONE - 1), "threads are counted apart");
    assert!(!estimated(0, 1_000_000), "without a budget each is counted");
}

/// Locks that are acquired at one call site are one family, even if their sections can't be
/// compared. Locks whose call sites are unknown are not a family.
#[test]
fn locks_of_unknown_call_sites_are_no_family() {
    let locks = |sites: [u64; 2], stopped: u32| {
        let one = |n: usize| {
            section(1).with(|record| {
                record.lock = LOCK + 64 * n as u64;
                (record.site, record.stopped) = (sites[n], stopped);
            })
        };
        facts_of(&trace(vec![one(0), one(1)])).locks.len()
    };
    assert_eq!(locks([SITE, SITE], STOP_NONE), 1);
    assert_eq!(locks([SITE, SITE + 8], STOP_NONE), 2);
    assert_eq!(locks([0, 0], STOP_NONE), 2);
    assert_eq!(locks([SITE, SITE], STOP_LIMIT), 1);
    assert_eq!(locks([SITE, SITE + 8], STOP_LIMIT), 2);
}
