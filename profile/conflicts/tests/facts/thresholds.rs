//! Tests each threshold of the advice from both sides, and the order in which advice is given.

use syncline_conflicts::{Advice, LockFacts, advise};
use syncline_trace::layout::{SHARED, STOP_LIMIT};

use crate::hand::{LOCK, Made, block, counted, facts_of, section, trace};

/// The facts of the first lock of a trace of these sections.
fn of(sections: Vec<Made>) -> LockFacts {
    facts_of(&trace(sections)).locks.remove(0)
}

/// The facts of the first lock of 400 sections. Four threads execute them in turn, and
/// `make(thread, n)` makes the `n`th section.
fn of_400(make: impl Fn(u32, u64) -> Made) -> LockFacts {
    of((0..400).map(|n| make(1 + n as u32 % 4, n)).collect())
}

fn all(lock: &LockFacts) -> Vec<Advice> {
    advise(lock, 4.0).into_iter().map(|proposal| proposal.advice).collect()
}

/// Adds a read and a write of a word to a section.
fn changes(made: Made, word: u64) -> Made {
    made.reads(word, 8).writes(word, 8)
}

/// The facts of a lock with a hundred sections of one thread and ten of another. Of the hundred,
/// `on_two` write two words that each of the ten reads, and `on_one` others write one word that
/// each of the ten also reads.
fn conflicting(on_two: u64, on_one: u64) -> LockFacts {
    let (one, two) = (0x5000, [0x6000, 0x7000]);
    let first = (0..100).map(|n| {
        let made = section(1).writes(0x30_0000 + 8 * n, 8);
        match n {
            n if n < on_two => made.writes(two[0], 8).writes(two[1], 8),
            n if n < on_two + on_one => made.writes(one, 8),
            _ => made,
        }
    });
    let second = (0..10).map(|n| {
        let made = section(2).reads(one, 8).reads(two[0], 8).reads(two[1], 8);
        made.writes(0x40_0000 + 8 * n, 8)
    });
    of(first.chain(second).collect())
}

#[test]
fn a_hundred_pairs_are_enough() {
    let sections = |first: u32, second: u32| {
        let threads = (0..first).map(|_| 1).chain((0..second).map(|_| 2));
        of(threads.map(|thread| changes(section(thread), 0x5000)).collect())
    };
    assert_eq!((sections(9, 11).window.pairs, sections(10, 10).window.pairs), (99, 100));
    assert_eq!(all(&sections(9, 11)), [Advice::TooFewSections]);
    assert_eq!(all(&sections(10, 10)), [Advice::UseAtomic]);
}

#[test]
fn four_sections_that_are_too_long_are_enough() {
    let cut = |sections: u32| {
        let one = |n: u32| {
            let made = section(1 + n % 2).step(0x40_2000, 1_000_000, None);
            made.with(|r| r.stopped = STOP_LIMIT)
        };
        of((0..sections).map(one).collect())
    };
    assert_eq!(all(&cut(3)), [Advice::TooFewSections]);
    assert!(matches!(all(&cut(4))[..], [Advice::Shorten { .. }, Advice::TooFewSections]));
}

#[test]
fn four_of_five_pairs_make_waiting_needless() {
    assert_eq!(conflicting(20, 0).independence(), Some(0.8));
    assert_eq!(all(&conflicting(20, 0)), [Advice::UseOptimistic]);
    assert_eq!(all(&conflicting(21, 0)), [Advice::Leave]);
}

#[test]
fn a_field_is_split_off_if_most_conflicts_are_on_nothing_else() {
    let advice = all(&conflicting(50, 50));
    let [Advice::SplitField { independence_without, .. }] = advice[..] else {
        panic!("{advice:?}")
    };
    assert!((independence_without - 0.5).abs() < 1e-9);
    assert_eq!(all(&conflicting(51, 49)), [Advice::Leave]);
}

/// Two of five pairs conflict on one field, but some of these conflict on another field too.
#[test]
fn a_field_that_is_seldom_alone_is_not_split_off() {
    let lock = |alone: u64| {
        let first = (0..100).map(|n| match n {
            n if n < alone => section(1).writes(0x5000, 8),
            n if n < 40 => section(1).writes(0x5000, 8).writes(0x6000, 8),
            _ => section(1).writes(0x30_0000 + 8 * n, 8),
        });
        let second = (0..10).map(|_| section(2).reads(0x5000, 8).reads(0x6000, 8));
        of(first.chain(second).collect())
    };
    assert!(matches!(all(&lock(20))[..], [Advice::SplitField { .. }]));
    assert_eq!(all(&lock(19)), [Advice::Leave]);
}

#[test]
fn eight_pieces_are_worth_a_lock_each() {
    let pieces = |number: u64| {
        of_400(|thread, n| {
            // With this number, each of the four threads accesses each piece.
            let piece = n / 4 % number;
            let entry = block(0x30_0000 + 64 * piece, 64, 1 + piece);
            section(thread).changes(entry, 0).changes(entry, 8)
        })
    };
    assert_eq!(pieces(7).groups.met_again, 7);
    assert_eq!(all(&pieces(7)), [Advice::UseOptimistic]);
    assert_eq!(all(&pieces(8)), [Advice::Shard { pieces: 8 }]);
}

#[test]
fn readers_share_if_fewer_than_one_of_ten_writes() {
    let writers = |number: u64| {
        of_400(|thread, n| {
            let reading = section(thread).reads(0x5000, 64);
            if n < number { reading.writes(0x5000 + 8 * (n % 8), 8) } else { reading }
        })
    };
    assert_eq!(all(&writers(39)), [Advice::LetReadersShare]);
    assert_eq!(all(&writers(40)), [Advice::UseOptimistic]);
}

#[test]
fn a_section_is_long_from_500_instructions_with_nine_tenths_unshared() {
    let sections = |beside: u32, shared: u32| {
        of_400(|thread, _| {
            changes(changes(section(thread), 0x5000), 0x5008)
                .with(|r| r.instructions = 0)
                .step(0x40_2000, beside, None)
                .step(0x40_2008, shared, Some((0x5000, 0x500f)))
        })
    };
    assert!(matches!(all(&sections(490, 10))[..], [Advice::Shorten { .. }]));
    assert_eq!(sections(489, 10).sites[0].instructions.median, 499);
    assert_eq!(all(&sections(489, 10)), [Advice::Leave]);
    assert!(matches!(all(&sections(901, 99))[..], [Advice::Shorten { .. }]));
    assert_eq!(all(&sections(899, 101)), [Advice::Leave]);
}

/// If long sections are rare among short ones, the advice is not to shorten them.
#[test]
fn a_rare_long_section_makes_no_lock_long() {
    let some = |long: u64, cut: bool| {
        of_400(|thread, n| {
            let made = changes(changes(section(thread), 0x5000), 0x5008);
            let made = made.step(0x40_2000, if n < long { 1_000_000 } else { 20 }, None);
            let stopped = if cut && n < long { STOP_LIMIT } else { 0 };
            made.with(|r| r.stopped = stopped)
        })
    };
    assert_eq!(all(&some(1, false)), [Advice::Leave]);
    assert!(matches!(all(&some(201, false))[..], [Advice::Shorten { .. }]));
    assert_eq!(all(&some(199, true)), [Advice::Leave]);
    assert!(matches!(all(&some(200, true))[..], [Advice::Shorten { .. }]));
}

/// Each section that waited did so for a section on which it depends. The independence of other
/// sections saves nothing.
#[test]
fn only_needless_waiting_can_be_saved() {
    let sections = (0..400).map(|n| {
        let entry = n / 2 % 50;
        let made = section(1 + n as u32 % 4);
        let made = changes(changes(made, 0x30_0000 + 64 * entry), 0x30_0008 + 64 * entry);
        made.held(10 * n, 10 * n + 9, if n % 2 == 1 { 5 } else { 0 })
    });
    let mut trace = trace(sections.collect());
    trace.counts.push((1, counted(LOCK, 400, 200, 2_000_000, 400)));
    let lock = facts_of(&trace).locks.remove(0);
    assert_eq!((lock.waited_for.pairs, lock.waited_for.share()), (200, 1.0));
    let proposal = advise(&lock, 4.0)[0];
    assert_eq!((proposal.advice, proposal.saves_at_most), (Advice::Shard { pieces: 50 }, 0.0));
}

/// A long section that accesses only one word computes something that no single atomic operation
/// can.
#[test]
fn only_short_sections_are_one_atomic_operation() {
    let sections = |instructions: u32| {
        of_400(|thread, _| {
            changes(section(thread), 0x5000).with(|r| r.instructions = 0).step(
                0x40_2000,
                instructions,
                Some((0x5000, 0x5007)),
            )
        })
    };
    assert_eq!(all(&sections(499)), [Advice::UseAtomic]);
    assert!(matches!(all(&sections(500))[..], [Advice::SplitField { .. }]));
}

/// A section that makes system calls or allocates can't be replaced by one atomic operation,
/// whatever data it touches.
#[test]
fn sections_with_system_calls_are_no_atomic_operation() {
    const GETPID: u32 = 39;
    let counter = |thread| changes(section(thread), 0x5000);
    assert_eq!(all(&of_400(|thread, _| counter(thread))), [Advice::UseAtomic]);
    let calling = of_400(|thread, n| match n {
        7 => counter(thread).calls(GETPID),
        _ => counter(thread),
    });
    assert_ne!(all(&calling)[0], Advice::UseAtomic);
    let allocating = of_400(|thread, n| counter(thread).with(|r| r.allocations = (n == 7).into()));
    assert_ne!(all(&allocating)[0], Advice::UseAtomic);
}

#[test]
fn advice_on_data_comes_before_advice_on_length() {
    let lock = of_400(|thread, n| {
        let entry = block(0x30_0000 + 64 * (n % 51), 64, 1 + n % 51);
        section(thread).changes(entry, 0).changes(entry, 8).step(0x40_2000, 10_000, None)
    });
    assert!(matches!(all(&lock)[..], [Advice::Shard { pieces: 51 }, Advice::Shorten { .. }]));
}

/// A word that is only changed by atomic instructions needs no lock, and the advice to use an
/// atomic operation would be useless.
#[test]
fn already_atomic_comes_before_use_atomic() {
    let atomic = |thread| section(thread).adds_atomically(0x5000);
    assert_eq!(all(&of_400(|thread, _| atomic(thread))), [Advice::AlreadyAtomic]);
    // Threads that hold a lock as readers at the same time have to write with atomic instructions,
    // so this does not show that the lock is needless.
    let sharing = of_400(|thread, n| {
        let made = atomic(thread);
        if n == 7 { made.with(|r| r.flags |= SHARED) } else { made }
    });
    assert_ne!(all(&sharing)[0], Advice::AlreadyAtomic);
}

#[test]
fn a_lock_is_for_output_if_half_of_its_sections_do_some() {
    let calling = |number: u64| {
        of_400(|thread, n| {
            let made = section(thread).writes(0x5000 + 4096 * u64::from(thread), 8);
            if n < number { made.calls(1) } else { made }
        })
    };
    assert_eq!(all(&calling(199)), [Advice::NothingShared]);
    assert!(advise(&calling(199), 4.0)[0].io);
    assert_eq!(all(&calling(200)), [Advice::Leave]);
}

/// Data that only one section accessed does not show whether threads share data.
#[test]
fn nothing_is_shared_if_half_of_the_sections_reused_data() {
    let alone = |number: u64| {
        of_400(|thread, n| {
            let own = 0x5000 + 4096 * u64::from(thread);
            section(thread).writes(if n < number { 0x30_0000 + 8 * n } else { own }, 8)
        })
    };
    assert_eq!(all(&alone(200)), [Advice::NothingShared]);
    assert_ne!(all(&alone(201))[0], Advice::NothingShared);
}
