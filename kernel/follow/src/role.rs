//! The roles of the kernel's functions: which functions acquire a lock, release one, or wait for
//! one.
//!
//! The names are those of Linux 6.1 to 6.12 on x86-64. A kernel that lacks some of them has other
//! variants of these functions.

use syncline_recording::Op;

/// A kind of lock.
#[derive(Clone, Copy, Debug, PartialEq, Eq, Hash, PartialOrd, Ord)]
pub enum Kind {
    /// `spinlock_t`, `raw_spinlock_t`: a queued spinlock of four bytes.
    Spin,
    /// `rwlock_t`: a queued lock for readers and writers, of eight bytes.
    Rwlock,
    /// `struct mutex`.
    Mutex,
    /// `struct rw_semaphore`.
    Rwsem,
    /// A bit spinlock: this bit of a byte, counted from the lowest. The rest of its word is data.
    Bit(u8),
}

impl Kind {
    /// Size in bytes of such a lock. These bytes don't count as data of its sections.
    pub fn bytes(self) -> u32 {
        match self {
            Kind::Spin => 4,
            Kind::Rwlock => 8,
            Kind::Mutex => 32,
            Kind::Rwsem => 40,
            Kind::Bit(_) => 1,
        }
    }

    /// Whether a waiter sleeps, and a holder may.
    pub fn sleeps(self) -> bool {
        matches!(self, Kind::Mutex | Kind::Rwsem)
    }
}

/// What a function does with a lock.
#[derive(Clone, Copy, Debug, PartialEq, Eq, Hash, PartialOrd, Ord)]
pub enum Action {
    /// Acquires it, after waiting until it is free.
    Lock,
    /// Takes it if it is free.
    Try,
    /// Waits for it; an [`Action::Lock`] function calls this function or jumps to it.
    Slow,
    /// Releases it.
    Unlock,
    /// Releases it as a writer and acquires it as one of several readers, in one step.
    Downgrade,
}

/// The role of a function.
#[derive(Clone, Copy, Debug, PartialEq, Eq, Hash, PartialOrd, Ord)]
pub struct Role {
    /// The kind of lock.
    pub kind: Kind,
    /// Whether several holders share the lock.
    pub shared: bool,
    /// What the function does with the lock.
    pub action: Action,
}

const fn role(kind: Kind, shared: bool, action: Action) -> Role {
    Role { kind, shared, action }
}

/// The roles of functions, with their names in the plan.
pub const ROLES: [(&str, Role); 25] = [
    ("spin.lock", role(Kind::Spin, false, Action::Lock)),
    ("spin.try", role(Kind::Spin, false, Action::Try)),
    ("spin.slow", role(Kind::Spin, false, Action::Slow)),
    ("spin.unlock", role(Kind::Spin, false, Action::Unlock)),
    ("read.lock", role(Kind::Rwlock, true, Action::Lock)),
    ("read.try", role(Kind::Rwlock, true, Action::Try)),
    ("read.slow", role(Kind::Rwlock, true, Action::Slow)),
    ("read.unlock", role(Kind::Rwlock, true, Action::Unlock)),
    ("write.lock", role(Kind::Rwlock, false, Action::Lock)),
    ("write.try", role(Kind::Rwlock, false, Action::Try)),
    ("write.slow", role(Kind::Rwlock, false, Action::Slow)),
    ("write.unlock", role(Kind::Rwlock, false, Action::Unlock)),
    ("mutex.lock", role(Kind::Mutex, false, Action::Lock)),
    ("mutex.try", role(Kind::Mutex, false, Action::Try)),
    ("mutex.slow", role(Kind::Mutex, false, Action::Slow)),
    ("mutex.unlock", role(Kind::Mutex, false, Action::Unlock)),
    ("down_read.lock", role(Kind::Rwsem, true, Action::Lock)),
    ("down_read.try", role(Kind::Rwsem, true, Action::Try)),
    ("down_read.slow", role(Kind::Rwsem, true, Action::Slow)),
    ("up_read.unlock", role(Kind::Rwsem, true, Action::Unlock)),
    ("down_write.lock", role(Kind::Rwsem, false, Action::Lock)),
    ("down_write.try", role(Kind::Rwsem, false, Action::Try)),
    ("down_write.slow", role(Kind::Rwsem, false, Action::Slow)),
    ("up_write.unlock", role(Kind::Rwsem, false, Action::Unlock)),
    ("downgrade.unlock", role(Kind::Rwsem, false, Action::Downgrade)),
];

/// The name of the role that the function with this name has.
pub fn name_of(function: &str) -> Option<&'static str> {
    const RAW: [(&str, &str); 9] = [
        ("_raw_spin_lock", "spin.lock"),
        ("_raw_spin_trylock", "spin.try"),
        ("_raw_spin_unlock", "spin.unlock"),
        ("_raw_read_lock", "read.lock"),
        ("_raw_read_trylock", "read.try"),
        ("_raw_read_unlock", "read.unlock"),
        ("_raw_write_lock", "write.lock"),
        ("_raw_write_trylock", "write.try"),
        ("_raw_write_unlock", "write.unlock"),
    ];
    const SUFFIXES: [&str; 7] =
        ["", "_bh", "_irq", "_irqsave", "_irqrestore", "_nested", "_irqsave_nested"];
    let raw = RAW.iter().find(|(prefix, _)| {
        function.strip_prefix(prefix).is_some_and(|suffix| SUFFIXES.contains(&suffix))
    });
    if let Some(&(_, name)) = raw {
        return Some(name);
    }
    Some(match function {
        "native_queued_spin_lock_slowpath" => "spin.slow",
        "queued_read_lock_slowpath" => "read.slow",
        "queued_write_lock_slowpath" => "write.slow",
        "mutex_lock" | "mutex_lock_io" | "mutex_lock_killable" | "mutex_lock_interruptible" => {
            "mutex.lock"
        }
        "mutex_trylock" => "mutex.try",
        "mutex_unlock" => "mutex.unlock",
        "down_read" | "down_read_killable" | "down_read_interruptible" => "down_read.lock",
        "down_read_trylock" => "down_read.try",
        "rwsem_down_read_slowpath" => "down_read.slow",
        "up_read" => "up_read.unlock",
        "down_write" | "down_write_killable" => "down_write.lock",
        "down_write_trylock" => "down_write.try",
        "rwsem_down_write_slowpath" => "down_write.slow",
        "up_write" => "up_write.unlock",
        "downgrade_write" => "downgrade.unlock",
        _ if function.starts_with("__mutex_lock") => "mutex.slow",
        _ => return None,
    })
}

impl Role {
    /// The operation that a trace records for an acquisition by this role.
    pub fn op(self) -> Op {
        let trying = self.action == Action::Try;
        match (self.kind, self.shared, trying) {
            (Kind::Spin | Kind::Bit(_), _, false) => Op::SpinLock,
            (Kind::Spin | Kind::Bit(_), _, true) => Op::SpinTrylock,
            (Kind::Mutex, _, false) => Op::MutexLock,
            (Kind::Mutex, _, true) => Op::MutexTrylock,
            (_, true, false) => Op::RwlockRead,
            (_, true, true) => Op::RwlockTryRead,
            (_, false, false) => Op::RwlockWrite,
            (_, false, true) => Op::RwlockTryWrite,
        }
    }
}

#[cfg(test)]
mod tests {
    use super::*;

    #[test]
    fn every_name_has_a_role() {
        let functions = [
            ("_raw_spin_lock_irqsave", Kind::Spin, false, Action::Lock),
            ("_raw_spin_trylock_bh", Kind::Spin, false, Action::Try),
            ("_raw_spin_unlock_irqrestore", Kind::Spin, false, Action::Unlock),
            ("_raw_read_unlock_irq", Kind::Rwlock, true, Action::Unlock),
            ("_raw_write_lock_bh", Kind::Rwlock, false, Action::Lock),
            ("__mutex_lock.constprop.0", Kind::Mutex, false, Action::Slow),
            ("down_write_killable", Kind::Rwsem, false, Action::Lock),
            ("up_read", Kind::Rwsem, true, Action::Unlock),
            ("downgrade_write", Kind::Rwsem, false, Action::Downgrade),
        ];
        for (function, kind, shared, action) in functions {
            let name = name_of(function).expect(function);
            let (_, role) = ROLES.iter().find(|(known, _)| *known == name).expect(name);
            assert_eq!(*role, Role { kind, shared, action }, "{function}");
        }
        assert_eq!(name_of("_raw_spin_rq_lock_irqsave"), None);
        assert_eq!(name_of("mutex_is_locked"), None);
    }
}
