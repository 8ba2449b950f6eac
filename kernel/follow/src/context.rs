//! The locks that a task holds, level by level, and what it accesses meanwhile.
//!
//! A task in the kernel may be interrupted: what an interrupt does belongs to no section of the task.
//! So a task has levels. Each has the locks that were taken at it and the accesses made at it; an access
//! counts for the locks of its own level alone. Levels belong to the task and not to the processor,
//! since a task may be put aside at the end of an interrupt and go on elsewhere.
//!
//! Invariants, which [`Broken`] counts:
//! 1. What is released was acquired.
//! 2. It is released at the level at which it was acquired.
//! 3. A task that returns to user space holds nothing.

use crate::role::{Action, Kind, Role};

/// What a level is.
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
    /// Its first address.
    pub address: u64,
    /// The lower half of the instruction's address; the upper half is all ones.
    pub insn: u32,
    /// Bytes.
    pub size: u8,
    /// Whether it is a store.
    pub store: bool,
    /// Whether the instruction is atomic.
    pub atomic: bool,
}

/// Accesses that one level keeps; a section that does more is cut off.
pub const MOST_ACCESSES: usize = 1 << 15;
/// Levels deeper than this are a sign of a lost return.
const MOST_LEVELS: usize = 12;
/// Lock functions under way at one level.
const MOST_PENDING: usize = 8;

/// A lock function that has begun and not ended.
#[derive(Clone, Copy, Debug)]
struct Pending {
    role: Role,
    site: u64,
    /// Where the lock is, virtually and physically, once that is known.
    lock: Option<(u64, u64)>,
    proved: bool,
    /// When waiting began, and which task held the lock then.
    waiting: Option<(u64, u32)>,
}

/// A lock that is held.
#[derive(Clone, Copy, Debug)]
pub struct Held {
    /// Its address.
    pub lock: u64,
    /// How it was taken.
    pub role: Role,
    /// Return address of the call that took it.
    pub site: u64,
    /// A greater number was taken later, of all locks.
    pub order: u64,
    /// When.
    pub acquired: u64,
    /// How long it had to be waited for; `None` if it was free.
    pub waited: Option<u64>,
    /// The task that held it then; [`u32::MAX`] if that is not known.
    pub holder: u32,
    /// Whether another task than the one that took it goes on with it.
    pub handed_over: bool,
    /// Whether a device was accessed meanwhile.
    pub io: bool,
    /// The lock that was held around it; 0 if there was none.
    pub outer: u64,
    /// Where its accesses begin in its level's.
    start: usize,
    cut_off: bool,
}

impl Held {
    /// Whether a function of this role gives it back.
    fn is(&self, role: Role, lock: u64) -> bool {
        self.lock == lock && self.role.kind == role.kind && self.role.shared == role.shared
    }
}

/// A section that has ended.
#[derive(Clone, Debug)]
pub struct Finished {
    /// The lock.
    pub held: Held,
    /// When it was given back.
    pub released: u64,
    /// Whether accesses are missing at its end.
    pub cut_off: bool,
    /// What kind of level it was.
    pub level: LevelKind,
    /// Its accesses.
    pub accesses: Vec<Access>,
}

/// How often an invariant was broken.
#[derive(Clone, Copy, Debug, Default, PartialEq, Eq)]
pub struct Broken {
    /// Releases of what was not acquired (1).
    pub unknown_releases: u64,
    /// Releases at another level (2).
    pub other_levels: u64,
    /// Locks held at a return to user space (3).
    pub held_by_user: u64,
    /// Words whose value contradicts the state.
    pub contradictions: u64,
    /// Entries without an end.
    pub lost: u64,
}

impl Broken {
    /// Both together.
    pub fn plus(self, other: Broken) -> Broken {
        Broken {
            unknown_releases: self.unknown_releases + other.unknown_releases,
            other_levels: self.other_levels + other.other_levels,
            held_by_user: self.held_by_user + other.held_by_user,
            contradictions: self.contradictions + other.contradictions,
            lost: self.lost + other.lost,
        }
    }
}

/// One of them: what was broken, and where.
#[derive(Clone, Copy, Debug, PartialEq, Eq)]
pub struct Breach {
    /// What.
    pub what: &'static str,
    /// The lock.
    pub lock: u64,
    /// How it was taken or given back.
    pub role: Role,
    /// Return address of the call that took it; 0 if it was not taken.
    pub site: u64,
}

/// This many breaches of a task are told one by one.
const TOLD: usize = 16;

/// The latest call of a level: where the stack is, and where the call returns to.
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
    pending: Vec<Pending>,
    held: Vec<Held>,
    log: Vec<Access>,
}

impl Level {
    fn new(kind: LevelKind) -> Level {
        let interrupted = Call::default();
        Level { kind, interrupted, pending: Vec::new(), held: Vec::new(), log: Vec::new() }
    }
}

/// A task, as far as its locks go.
#[derive(Debug)]
pub struct Task {
    levels: Vec<Level>,
    /// Cleared levels, whose memory is used again.
    spare: Vec<Level>,
    /// What was broken so far.
    pub broken: Broken,
    /// The first of that, one by one.
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

    /// What the level is that the task is at.
    pub fn kind(&self) -> LevelKind {
        self.levels.last().map_or(LevelKind::Task, |level| level.kind)
    }

    /// Levels above the first.
    pub fn depth(&self) -> usize {
        self.levels.len() - 1
    }

    /// Whether accesses count now.
    pub fn holds(&self) -> bool {
        self.levels.last().is_some_and(|level| !level.held.is_empty())
    }

    /// An interrupt or exception comes in, after this call: it may come right between a call and the
    /// first instruction of what is called.
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

    /// It returns; the call that it came after.
    pub fn leave(&mut self) -> Option<Call> {
        if self.levels.len() == 1 {
            self.broken.lost += 1;
            return None;
        }
        let mut level = self.levels.pop()?;
        let interrupted = level.interrupted;
        // Locks that are still held there will be released at another level.
        let left = std::mem::take(&mut level.held);
        level.pending.clear();
        level.log.clear();
        self.spare.push(level);
        self.take_over(left.into_iter());
        Some(interrupted)
    }

    /// The task returns to user space, or comes from there: whatever was under way has ended.
    pub fn to_user(&mut self) {
        for level in &mut self.levels {
            self.broken.held_by_user += level.held.len() as u64;
            for held in &level.held {
                let Held { lock, role, site, .. } = *held;
                tell(&mut self.breaches, Breach { what: "held by user", lock, role, site });
            }
            level.held.clear();
            level.pending.clear();
            level.log.clear();
        }
        while self.levels.len() > 1 {
            self.spare.extend(self.levels.pop());
        }
    }

    /// A lock function begins, called from before `site`.
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

    /// The function that is under way accesses its lock, at this address and this physical one.
    pub fn word(&mut self, role: Role, lock: u64, physical: u64) {
        let Some(pending) = self.level().pending.last_mut() else { return };
        if pending.role.kind != role.kind || pending.role.shared != role.shared {
            return;
        }
        match pending.lock {
            None => pending.lock = Some((lock, physical)),
            // A reader that tried takes its mark back.
            Some((known, _)) if known == lock && role.action == Action::Try && role.shared => {
                pending.proved = false;
            }
            Some(_) => {}
        }
    }

    /// The try that is under way has succeeded.
    pub fn proved(&mut self, role: Role) {
        if let Some(pending) = self.level().pending.last_mut()
            && pending.role == role
            && pending.lock.is_some()
        {
            pending.proved = true;
        }
    }

    /// The lock of the function under way that waits for it; `None` if there is none of this kind.
    pub fn pending_lock(&self, role: Role) -> Option<u64> {
        let pending = self.levels.last()?.pending.last()?;
        let same = pending.role.kind == role.kind && pending.role.shared == role.shared;
        same.then_some(pending.lock?.0)
    }

    /// It waits, since now, for the holder of the lock.
    pub fn slow(&mut self, role: Role, now: u64, holder: u32) {
        if let Some(pending) = self.level().pending.last_mut()
            && pending.role.kind == role.kind
            && pending.role.shared == role.shared
            && pending.waiting.is_none()
        {
            pending.waiting = Some((now, holder));
        }
    }

    /// A function of this role returns. If it has taken its lock, that is held from now on. `owned` is
    /// asked, by the physical address, whether the lock's word says that this task has it.
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
        };
        level.held.push(held);
        Some(held)
    }

    /// An access. The caller has asked [`Task::holds`].
    pub fn access(&mut self, access: Access) {
        let level = self.level();
        // What the section before has logged is not this one's.
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

    /// Whether it holds this lock, taken as this role would give it back.
    pub fn has(&self, role: Role, lock: u64) -> bool {
        self.all_held().any(|held| held.is(role, lock))
    }

    /// A lock is given back. `None` if it was not taken.
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

    /// A writer's lock is given back, and goes on as a reader's: a new section begins.
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

    /// What the next task goes on with, as this one is put aside: the run queue's lock, and whatever
    /// else can't be held in sleep.
    pub fn switch_out(&mut self) -> Vec<Held> {
        let level = self.level();
        let (go, stay) = level.held.iter().partition(|held| !held.role.kind.sleeps());
        level.held = stay;
        go
    }

    /// The other side of [`Task::switch_out`].
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

    /// What is held at any level.
    pub fn all_held(&self) -> impl Iterator<Item = &Held> {
        self.levels.iter().flat_map(|level| &level.held)
    }

    /// Forgets all that is held and under way, as where recording begins; what was forgotten.
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

fn tell(breaches: &mut Vec<Breach>, breach: Breach) {
    if breaches.len() < TOLD {
        breaches.push(breach);
    }
}

#[cfg(test)]
mod tests;
