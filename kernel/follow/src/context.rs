//! The locks that a task holds, level by level, and what it accesses while it holds them.
//!
//! A task in the kernel may be interrupted, and the interrupt's accesses belong to no section of
//! the task. So a task has levels. Each level has the locks that were taken at it and the accesses
//! made at it; an access counts only for the locks of its own level. Levels belong to the task and
//! not to the processor, since a task may be suspended at the end of an interrupt and resumed on
//! another processor.
//!
//! Invariants, whose violations [`Broken`] counts:
//! 1. Every released lock was acquired.
//! 2. A lock is released at its own level: the one at which it was acquired, or to which it has
//!    passed since.
//! 3. A task that returns to user space holds no lock.

mod bits;
mod broken;

use crate::bits::Attempt;
use crate::role::{Action, Kind, Role};

use broken::tell;
pub use broken::{Breach, Broken};

/// The kind of a level.
#[derive(Clone, Copy, Debug, PartialEq, Eq)]
pub enum LevelKind {
    /// The task itself, and the exceptions that it causes.
    Task,
    /// An interrupt, or softirqs.
    Interrupt,
}

/// An access of a section.
#[derive(Clone, Copy, Debug, PartialEq, Eq)]
pub struct Access {
    /// The first address of the access.
    pub address: u64,
    /// The lower half of the instruction's address; the upper half is all ones.
    pub insn: u32,
    /// Size in bytes.
    pub size: u8,
    /// Whether it is a store.
    pub store: bool,
    /// Whether the instruction is atomic.
    pub atomic: bool,
}

/// The most accesses that one level keeps; a section with more is cut off.
pub const MOST_ACCESSES: usize = 1 << 15;
/// More levels than this are a sign of a missed return.
const MOST_LEVELS: usize = 12;
/// The most lock functions in progress at one level.
const MOST_PENDING: usize = 8;

/// A lock function in progress.
#[derive(Clone, Copy, Debug)]
struct Pending {
    role: Role,
    site: u64,
    /// The lock's virtual and physical address, once known.
    lock: Option<(u64, u64)>,
    proved: bool,
    /// When the wait began, and which task held the lock then.
    waiting: Option<(u64, u32)>,
}

/// A lock that is held.
#[derive(Clone, Copy, Debug)]
pub struct Held {
    /// The lock's address.
    pub lock: u64,
    /// The role of the function that took it.
    pub role: Role,
    /// Return address of the call that took it.
    pub site: u64,
    /// Position in the order of all acquisitions: later ones have greater numbers.
    pub order: u64,
    /// When it was acquired.
    pub acquired: u64,
    /// How long the task waited for it; `None` if it was free.
    pub waited: Option<u64>,
    /// The task that held it when the wait began; [`u32::MAX`] if unknown.
    pub holder: u32,
    /// Whether the lock passed from the task that took it to another one.
    pub handed_over: bool,
    /// Whether a device was accessed while it was held.
    pub io: bool,
    /// The lock acquired last of those that were already held at its level; 0 if there was none.
    pub outer: u64,
    /// Index of its first access in the log of its level.
    start: usize,
    cut_off: bool,
    /// A store that may have been the release of this bit spinlock: its time, and the number of
    /// accesses in the log of its level by then.
    doubt: Option<(u64, usize)>,
}

impl Held {
    /// Whether a function of this role releases it.
    fn is(&self, role: Role, lock: u64) -> bool {
        self.lock == lock && self.role.kind == role.kind && self.role.shared == role.shared
    }
}

/// A section that has ended.
#[derive(Clone, Debug)]
pub struct Finished {
    /// The lock, with its acquisition.
    pub held: Held,
    /// When it was released.
    pub released: u64,
    /// Whether accesses are missing at its end.
    pub cut_off: bool,
    /// The kind of the level at which it was last held.
    pub level: LevelKind,
    /// The accesses of the section.
    pub accesses: Vec<Access>,
}

/// The latest call at a level: where the stack is, and where the call returns to.
#[derive(Clone, Copy, Debug, Default, PartialEq, Eq)]
pub struct Call {
    /// Address of the return address.
    pub stack: u64,
    /// The return address.
    pub returns: u64,
}

#[derive(Debug)]
struct Level {
    kind: LevelKind,
    /// The latest call of the level below.
    interrupted: Call,
    /// An attempt to take a bit spinlock whose outcome the next block shows.
    attempt: Option<Attempt>,
    pending: Vec<Pending>,
    held: Vec<Held>,
    log: Vec<Access>,
}

impl Level {
    fn new(kind: LevelKind) -> Level {
        let (interrupted, attempt) = (Call::default(), None);
        Level { kind, interrupted, attempt, pending: Vec::new(), held: Vec::new(), log: Vec::new() }
    }
}

/// The state of a task that concerns its locks.
#[derive(Debug)]
pub struct Task {
    levels: Vec<Level>,
    /// Cleared levels, whose memory is reused.
    spare: Vec<Level>,
    /// Violations so far.
    pub broken: Broken,
    /// The first violations since a processor last took the list.
    pub breaches: Vec<Breach>,
}

impl Default for Task {
    fn default() -> Task {
        Task {
            levels: vec![Level::new(LevelKind::Task)],
            spare: Vec::new(),
            broken: Broken::default(),
            breaches: Vec::new(),
        }
    }
}

impl Task {
    fn level(&mut self) -> &mut Level {
        self.levels.last_mut().expect("the first level is never left")
    }

    /// The kind of the task's current level.
    pub fn kind(&self) -> LevelKind {
        self.levels.last().map_or(LevelKind::Task, |level| level.kind)
    }

    /// Number of levels above the first.
    pub fn depth(&self) -> usize {
        self.levels.len() - 1
    }

    /// Whether a lock is held at the current level, so that accesses count.
    pub fn holds(&self) -> bool {
        self.levels.last().is_some_and(|level| !level.held.is_empty())
    }

    /// An interrupt or exception arrives. `interrupted` is the level's latest call: the interrupt
    /// may come before the called function's first instruction.
    pub fn enter(&mut self, interrupt: bool, interrupted: Call) {
        if self.levels.len() > MOST_LEVELS {
            self.broken.lost += 1;
            self.levels.truncate(1);
        }
        let kind = if interrupt { LevelKind::Interrupt } else { self.kind() };
        let mut level = self.spare.pop().unwrap_or_else(|| Level::new(kind));
        level.kind = kind;
        level.interrupted = interrupted;
        self.levels.push(level);
    }

    /// Leaves the level of an interrupt or exception. Returns the call that was passed to `enter`;
    /// `None` if the task is at its first level.
    pub fn leave(&mut self) -> Option<Call> {
        if self.levels.len() == 1 {
            self.broken.lost += 1;
            return None;
        }
        let mut level = self.levels.pop()?;
        let interrupted = level.interrupted;
        // Locks that are still held at this level will be released at another one, so they pass to
        // the level below.
        let left = std::mem::take(&mut level.held);
        level.attempt = None;
        level.pending.clear();
        level.log.clear();
        self.spare.push(level);
        self.take_over(left.into_iter());
        Some(interrupted)
    }

    /// The task returns to user space, or comes from there: everything in progress has ended.
    pub fn to_user(&mut self) {
        for level in &mut self.levels {
            self.broken.held_by_user += level.held.len() as u64;
            for held in &level.held {
                let Held { lock, role, site, .. } = *held;
                tell(&mut self.breaches, Breach { what: "held by user", lock, role, site });
            }
            level.held.clear();
            level.attempt = None;
            level.pending.clear();
            level.log.clear();
        }
        while self.levels.len() > 1 {
            self.spare.extend(self.levels.pop());
        }
    }

    /// A lock function begins, called by the instruction before `site`.
    pub fn begin(&mut self, role: Role, site: u64) {
        let pending = &mut self.level().pending;
        let full = pending.len() >= MOST_PENDING;
        if full {
            pending.clear();
        }
        let proved = role.action != Action::Try || role.kind == Kind::Rwlock && role.shared;
        pending.push(Pending { role, site, lock: None, proved, waiting: None });
        self.broken.lost += u64::from(full);
    }

    /// The function in progress accesses its lock, at this virtual and physical address.
    pub fn word(&mut self, role: Role, lock: u64, physical: u64) {
        let Some(pending) = self.level().pending.last_mut() else { return };
        if pending.role.kind != role.kind || pending.role.shared != role.shared {
            return;
        }
        match pending.lock {
            None => pending.lock = Some((lock, physical)),
            // A reader whose try failed undoes its increment.
            Some((known, _)) if known == lock && role.action == Action::Try && role.shared => {
                pending.proved = false;
            }
            Some(_) => {}
        }
    }

    /// The try in progress has succeeded.
    pub fn proved(&mut self, role: Role) {
        if let Some(pending) = self.level().pending.last_mut()
            && pending.role == role
            && pending.lock.is_some()
        {
            pending.proved = true;
        }
    }

    /// The lock of the function in progress; `None` if there is no such function of this role's
    /// kind and mode, or if it has not accessed its lock yet.
    pub fn pending_lock(&self, role: Role) -> Option<u64> {
        let pending = self.levels.last()?.pending.last()?;
        let same = pending.role.kind == role.kind && pending.role.shared == role.shared;
        same.then_some(pending.lock?.0)
    }

    /// The function in progress waits, from now on, for the holder of the lock.
    pub fn slow(&mut self, role: Role, now: u64, holder: u32) {
        if let Some(pending) = self.level().pending.last_mut()
            && pending.role.kind == role.kind
            && pending.role.shared == role.shared
            && pending.waiting.is_none()
        {
            pending.waiting = Some((now, holder));
        }
    }

    /// A function of this role returns. If it has taken its lock, the lock is held from now on.
    /// `owned` gets the role and the physical address, and returns whether the lock's word names
    /// this task as its owner. It returns `None` if the word does not name an owner. Then the lock
    /// counts as taken if the function has proved that it took the lock.
    pub fn done(
        &mut self,
        role: Role,
        now: u64,
        order: impl FnOnce() -> u64,
        owned: impl FnOnce(Role, u64) -> Option<bool>,
    ) -> Option<Held> {
        let level = self.levels.last_mut()?;
        let pending = *level.pending.last()?;
        if pending.role.kind != role.kind || pending.role.shared != role.shared {
            return None;
        }
        level.pending.pop();
        let (lock, physical) = pending.lock?;
        let taken = match owned(pending.role, physical) {
            Some(taken) => taken,
            None => pending.proved,
        };
        if !taken {
            return None;
        }
        if level.held.is_empty() {
            level.log.clear();
        }
        let (waited, holder) = match pending.waiting {
            Some((since, holder)) => (Some(now.saturating_sub(since)), holder),
            None => (None, u32::MAX),
        };
        let held = Held {
            lock,
            role: pending.role,
            site: pending.site,
            order: order(),
            acquired: now,
            waited,
            holder,
            handed_over: false,
            io: false,
            outer: level.held.last().map_or(0, |outer| outer.lock),
            start: level.log.len(),
            cut_off: false,
            doubt: None,
        };
        level.held.push(held);
        Some(held)
    }

    /// An access to data. The caller has checked [`Task::holds`].
    pub fn access(&mut self, access: Access) {
        let level = self.level();
        // An access equal to the one before it is dropped, unless that one came before this section
        // began.
        let start = level.held.last().map_or(0, |held| held.start);
        if level.log.get(start..).is_some_and(|own| own.last() == Some(&access)) {
            return;
        }
        if level.log.len() < MOST_ACCESSES {
            level.log.push(access);
        } else {
            level.held.iter_mut().for_each(|held| held.cut_off = true);
        }
    }

    /// A device is accessed.
    pub fn io(&mut self) {
        self.level().held.iter_mut().for_each(|held| held.io = true);
    }

    /// Whether the task holds this lock, in the mode that a function of this role releases.
    pub fn has(&self, role: Role, lock: u64) -> bool {
        self.all_held().any(|held| held.is(role, lock))
    }

    /// A lock is released. Returns the section that ends; `None` if the task does not hold the
    /// lock.
    pub fn release(&mut self, role: Role, lock: u64, now: u64) -> Option<Finished> {
        let found = self.levels.iter().enumerate().rev().find_map(|(level, of)| {
            Some((level, of.held.iter().rposition(|held| held.is(role, lock))?))
        });
        let Some((at, place)) = found else {
            self.broken.unknown_releases += 1;
            tell(&mut self.breaches, Breach { what: "unknown release", lock, role, site: 0 });
            return None;
        };
        if at + 1 != self.levels.len() {
            self.broken.other_levels += 1;
            let site = self.levels[at].held[place].site;
            tell(&mut self.breaches, Breach { what: "other level", lock, role, site });
        }
        let level = &mut self.levels[at];
        let held = level.held.remove(place);
        let accesses = match held.handed_over {
            true => Vec::new(),
            false => level.log.get(held.start..).unwrap_or_default().to_vec(),
        };
        let cut_off = held.cut_off;
        Some(Finished { held, released: now, cut_off, level: level.kind, accesses })
    }

    /// A writer's lock becomes a reader's lock: a new section begins.
    pub fn downgrade(
        &mut self,
        role: Role,
        lock: u64,
        now: u64,
        order: impl FnOnce() -> u64,
    ) -> Option<Finished> {
        let finished = self.release(role, lock, now)?;
        let role = Role { shared: true, action: Action::Lock, ..role };
        let level = self.level();
        let start = level.log.len();
        let (waited, holder) = (None, u32::MAX);
        let held =
            Held { role, order: order(), acquired: now, waited, holder, start, ..finished.held };
        level.held.push(Held { io: false, cut_off: false, ..held });
        Some(finished)
    }

    /// This task is suspended. Removes and returns the locks that pass to the next task: the run
    /// queue's, and all others whose holder may not sleep.
    pub fn switch_out(&mut self) -> Vec<Held> {
        let level = self.level();
        let (go, stay) = level.held.iter().partition(|held| !held.role.kind.sleeps());
        level.held = stay;
        go
    }

    /// Gives the incoming task the locks that [`Task::switch_out`] returned.
    pub fn switch_in(&mut self, held: Vec<Held>) {
        self.take_over(held.into_iter().map(|held| Held { handed_over: true, ..held }));
    }

    fn take_over(&mut self, held: impl Iterator<Item = Held>) {
        let level = self.level();
        if level.held.is_empty() {
            level.log.clear();
        }
        let start = level.log.len();
        level.held.extend(held.map(|held| Held { start, ..held }));
    }

    /// The locks that are held at any level.
    pub fn all_held(&self) -> impl Iterator<Item = &Held> {
        self.levels.iter().flat_map(|level| &level.held)
    }

    /// Forgets all held locks, accesses and violations, and returns the forgotten locks. Called
    /// when recording begins.
    pub fn forget(&mut self) -> Vec<Held> {
        let held = self.all_held().copied().collect();
        for level in &mut self.levels {
            level.held.clear();
            level.log.clear();
        }
        self.broken = Broken::default();
        self.breaches.clear();
        held
    }
}

#[cfg(test)]
mod tests;
