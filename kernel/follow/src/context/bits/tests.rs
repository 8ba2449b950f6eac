use super::*;
use crate::context::{Access, Broken, Call, Finished};

/// Bit 9 of the word at 0x10.
const NINTH: Attempt = Attempt { byte: 1, bit: 1, site: 7, taken: 0x100, busy: 0x200 };
const LOCK: u64 = 0x11;

fn store(address: u64) -> Access {
    Access { address, insn: 1, size: 8, store: true, atomic: false }
}

fn take(task: &mut Task, now: u64) {
    task.attempt(NINTH, 0x10, 0);
    assert_eq!(task.continues(NINTH.taken), Some(Outcome::Taken(NINTH.role())));
    task.done(NINTH.role(), now, || now, |_, _| None).expect("it is taken");
}

fn clear(task: &mut Task, address: u64, bit: u8) -> Option<Finished> {
    let (role, lock) = task.bit_cleared(address, bit)?;
    task.release(role, lock, 9)
}

#[test]
fn a_bit_is_taken_when_the_block_behind_its_jump_begins() {
    let mut task = Task::default();
    assert_eq!(task.continues(NINTH.taken), None, "the block is reached in other ways, too");
    task.attempt(NINTH, 0x10, 0);
    assert!(task.attempts() && !task.holds());
    task.enter(true, Call::default());
    assert!(!task.attempts());
    assert_eq!(task.continues(NINTH.taken), None, "it is another level's attempt");
    task.leave();
    assert_eq!(task.continues(0x180), None, "the jump is still to come");
    assert_eq!(task.continues(NINTH.taken), Some(Outcome::Taken(NINTH.role())));
    let held = task.done(NINTH.role(), 1, || 1, |_, _| None).expect("it is taken");
    assert_eq!((held.lock, held.site, held.waited), (LOCK, 7, None));
    task.access(store(0x40));
    let finished = clear(&mut task, 0x10, 9).expect("it is held");
    assert_eq!(finished.accesses, [store(0x40)]);
    assert!(!task.holds() && !task.attempts());
    assert_eq!(task.broken, Broken::default());
}

#[test]
fn attempts_that_fail_are_one_wait() {
    let mut task = Task::default();
    for since in [1, 5] {
        task.attempt(NINTH, 0x10, 0);
        assert_eq!(task.continues(NINTH.busy), Some(Outcome::Busy(NINTH.role())));
        assert_eq!(task.pending_lock(NINTH.role()), Some(LOCK));
        task.slow(NINTH.role(), since, 3);
    }
    // The compiler may repeat the attempt at another address.
    let again = Attempt { site: 8, taken: 0x300, busy: 0x400, ..NINTH };
    task.attempt(again, 0x10, 0);
    assert_eq!(task.continues(again.taken), Some(Outcome::Taken(NINTH.role())));
    let held = task.done(NINTH.role(), 9, || 1, |_, _| None).expect("it is taken");
    assert_eq!((held.site, held.waited, held.holder), (7, Some(8), 3));
    clear(&mut task, 0x10, 9).expect("it is held");
    take(&mut task, 10);
    assert!(clear(&mut task, 0x11, 1).is_some_and(|finished| finished.held.waited.is_none()));
}

#[test]
fn only_the_bit_itself_is_released() {
    let mut task = Task::default();
    take(&mut task, 1);
    assert!(clear(&mut task, 0x10, 1).is_none());
    assert!(clear(&mut task, 0x18, 9).is_none());
    assert!(clear(&mut task, 0x10, 8).is_none());
    assert_eq!(task.bit_stored(0x10, 1), None);
    assert_eq!(task.bit_stored(0x12, 8), None);
    assert_eq!(task.bit_stored(0x10, 8), Some((NINTH.role(), LOCK)));
    task.enter(true, Call::default());
    assert_eq!(task.bit_stored(0x10, 8), None, "an interrupt does not hold it");
    task.leave();
    task.to_user();
    assert_eq!(task.broken.held_by_user, 1);
}

#[test]
fn a_store_in_doubt_was_the_release_if_another_task_takes_the_lock() {
    let mut task = Task::default();
    take(&mut task, 1);
    task.access(store(0x40));
    task.access(store(0x10));
    task.doubt(NINTH.role(), LOCK, 2);
    assert!(task.doubts() && task.settle(|_| false).is_none());
    // The store in doubt did not clear the bit. The lock is released later.
    task.access(store(0x48));
    let kept = clear(&mut task, 0x10, 9).expect("it is held");
    assert_eq!(kept.accesses, [store(0x40), store(0x10), store(0x48)]);

    take(&mut task, 3);
    task.access(store(0x40));
    task.doubt(NINTH.role(), LOCK, 4);
    task.access(store(0x50));
    task.enter(true, Call::default());
    assert!(!task.doubts() && task.settle(|_| true).is_none(), "it is not this level's");
    task.leave();
    let finished = task.settle(|held| held.order == 3).expect("it was released");
    assert_eq!((finished.released, finished.accesses), (4, vec![store(0x40)]));
    assert!(!task.holds() && !task.doubts());
    assert_eq!(task.broken, Broken::default());
}
