use super::*;
use crate::role::Kind;

const SPIN: Role = Role { kind: Kind::Spin, shared: false, action: Action::Lock };

const CALL: Call = Call { stack: 0x1000, returns: 7 };

fn lock(task: &mut Task, lock: u64, now: u64) {
    task.begin(SPIN, 7);
    task.word(SPIN, lock, 0);
    task.done(SPIN, now, || now, |_, _| None).expect("it is taken");
}

fn access(address: u64) -> Access {
    Access { address, insn: 1, size: 8, store: true, atomic: false }
}

#[test]
fn what_an_interrupt_does_belongs_to_its_own_sections() {
    let mut task = Task::default();
    lock(&mut task, 0x10, 1);
    task.access(access(0x100));
    task.enter(true, CALL);
    assert!(!task.holds());
    lock(&mut task, 0x20, 2);
    task.access(access(0x200));
    let inner = task.release(SPIN, 0x20, 3).expect("it is held");
    assert_eq!(task.leave(), Some(CALL), "what it came after goes on");
    task.access(access(0x108));
    let outer = task.release(SPIN, 0x10, 4).expect("it is held");
    assert_eq!(inner.accesses, [access(0x200)]);
    assert_eq!(inner.level, LevelKind::Interrupt);
    assert_eq!(outer.accesses, [access(0x100), access(0x108)]);
    assert_eq!(task.broken, Broken::default());
}

#[test]
fn broken_invariants_are_counted() {
    let mut task = Task::default();
    assert!(task.release(SPIN, 0x10, 1).is_none());
    lock(&mut task, 0x20, 1);
    task.enter(true, CALL);
    task.release(SPIN, 0x20, 2);
    task.leave();
    lock(&mut task, 0x30, 3);
    task.to_user();
    let Broken { unknown_releases, other_levels, held_by_user, .. } = task.broken;
    assert_eq!((unknown_releases, other_levels, held_by_user), (1, 1, 1));
}

#[test]
fn a_try_that_failed_holds_nothing_and_a_run_queue_goes_to_the_next_task() {
    let mut task = Task::default();
    let role = Role { action: Action::Try, ..SPIN };
    task.begin(role, 7);
    task.word(role, 0x10, 0);
    assert!(task.done(role, 1, || 1, |_, _| None).is_none());
    task.begin(role, 7);
    task.word(role, 0x10, 0);
    task.proved(role);
    assert!(task.done(role, 1, || 1, |_, _| None).is_some());
    let mut next = Task::default();
    next.switch_in(task.switch_out());
    next.access(access(0x100));
    let finished = next.release(SPIN, 0x10, 2).expect("it is held");
    assert!(finished.held.handed_over && finished.accesses.is_empty());
    assert!(!task.holds());
}

#[test]
fn a_downgraded_writer_ends_its_section_and_goes_on_as_a_reader() {
    let mut task = Task::default();
    let role = |shared, action| Role { kind: Kind::Rwsem, shared, action };
    let writer = role(false, Action::Lock);
    task.begin(writer, 7);
    task.word(writer, 0x10, 0);
    task.done(writer, 1, || 1, |_, _| None).expect("it is taken");
    task.access(access(0x100));
    let first = task.downgrade(role(false, Action::Downgrade), 0x10, 2, || 2).expect("it is held");
    task.access(access(0x108));
    let second = task.release(role(true, Action::Unlock), 0x10, 3).expect("it is held still");
    assert_eq!(first.accesses, [access(0x100)]);
    assert_eq!(second.accesses, [access(0x108)]);
    assert!(!first.held.role.shared && second.held.role.shared);
    assert_eq!((second.held.acquired, second.held.order), (2, 2));
    assert_eq!(task.broken, Broken::default());
}

#[test]
fn a_function_that_leaves_all_to_the_waiters_one_learns_the_lock_from_it() {
    let mut task = Task::default();
    let role = |action| Role { kind: Kind::Mutex, shared: false, action };
    task.begin(role(Action::Lock), 7);
    assert_eq!(task.pending_lock(role(Action::Slow)), None, "nobody knows yet");
    task.word(role(Action::Slow), 0x10, 0);
    let held = task.done(role(Action::Slow), 1, || 1, |_, _| Some(true)).expect("it is taken");
    assert_eq!((held.lock, held.site, held.waited), (0x10, 7, None));
}

#[test]
fn sections_inside_another_one_that_do_the_same_have_the_same_set() {
    let mut task = Task::default();
    lock(&mut task, 0x10, 1);
    for now in [2, 4] {
        lock(&mut task, 0x20, now);
        task.access(access(0x100));
        task.access(access(0x100));
        let inner = task.release(SPIN, 0x20, now + 1).expect("it is held");
        assert_eq!(inner.accesses, [access(0x100)], "at {now}");
    }
    let outer = task.release(SPIN, 0x10, 6).expect("it is held");
    assert!(outer.accesses.iter().all(|&one| one == access(0x100)));
}
