//! Finds the locks of the catalogue by name, as functions for each kind of object.

use core::marker::PhantomData;

use syncline::lock::{TimedLock, TimedSharedLock, TryLock, TrySharedLock};
use syncline_interpose::fail;

use crate::memory::{self, Own};
use crate::numbered::mutex::IfFirst;
use crate::{mutex, rwlock, spin};

/// The functions of a lock: for mutexes and spinlocks, or for reader-writer locks.
#[derive(Clone, Copy)]
enum Chosen {
    Exclusive(Mutexes, &'static spin::Ops),
    Shared(&'static rwlock::Ops),
}

/// The name that leaves everything to the C library.
pub const LIBC: &[u8] = b"libc";

/// A lock in place of mutexes.
#[derive(Clone, Copy)]
pub struct Mutexes {
    pub ops: &'static mutex::Ops,
    /// The functions for locking and unlocking if this lock is the first of several in a policy.
    pub if_first: IfFirst,
}

impl Mutexes {
    const fn of_libc(ops: &'static mutex::Ops) -> Mutexes {
        Mutexes { ops, if_first: IfFirst::LEFT }
    }
}

/// The locks for each kind of object; `None` for a kind that no name was given for.
#[derive(Default)]
pub struct Set {
    pub mutexes: Option<Mutexes>,
    pub spinlocks: Option<&'static spin::Ops>,
    pub rwlocks: Option<&'static rwlock::Ops>,
}

/// The locks of these names, joined by `+`. `libc` leaves everything to the C library. With
/// `libc-spin`, mutexes stay the C library's, but their waiters spin before they sleep; other
/// objects are not affected. If no lock has a name, or the lock can't replace others, this ends the
/// program.
pub fn set(names: &[u8]) -> Set {
    let mut set = Set::default();
    if names == LIBC {
        set.mutexes = Some(Mutexes::of_libc(&mutex::Ops::LEFT));
        set.spinlocks = Some(&spin::Ops::LEFT);
        set.rwlocks = Some(&rwlock::Ops::LEFT);
        return set;
    }
    for name in names.split(|&b| b == b'+').filter(|name| !name.is_empty()) {
        if name == b"libc-spin" {
            set.mutexes = Some(Mutexes::of_libc(&mutex::Ops::SPINNING));
            continue;
        }
        match find(name) {
            Some(Chosen::Exclusive(mutex, spin)) => {
                (set.mutexes, set.spinlocks) = (Some(mutex), Some(spin));
            }
            Some(Chosen::Shared(rwlock)) => set.rwlocks = Some(rwlock),
            None => {
                fail(&[b"this library has no lock of this name that can replace others: ", name])
            }
        }
    }
    set
}

fn exclusive<L: TryLock<Memory = Own> + 'static>(ops: &'static mutex::Ops) -> Chosen {
    Chosen::Exclusive(
        Mutexes { ops, if_first: IfFirst::of::<L>() },
        const { &spin::Ops::of::<L>() },
    )
}

/// Finds the most capable use of a lock: if several implementations of `chosen` fit, a method call
/// takes the implementation whose type has the most references.
struct Probe<L>(PhantomData<L>);

trait Unsuited {
    fn chosen(&self) -> Option<Chosen> {
        None
    }
}

impl<L> Unsuited for Probe<L> {}

trait SuitedIfTried {
    fn chosen(&self) -> Option<Chosen>;
}

impl<L: TryLock<Memory = Own> + 'static> SuitedIfTried for &Probe<Only<L>> {
    fn chosen(&self) -> Option<Chosen> {
        let ops = const { &mutex::Ops::of::<L, mutex::Polled>() };
        Some(exclusive::<L>(ops))
    }
}

impl<L: TrySharedLock<Memory = Own, Node = (), SharedNode = ()> + 'static> SuitedIfTried
    for &Probe<Both<L>>
{
    fn chosen(&self) -> Option<Chosen> {
        let ops =
            const { &rwlock::Ops::of::<L, mutex::Polled, rwlock::Polled>().but_for_writers() };
        Some(Chosen::Shared(ops))
    }
}

trait Suited {
    fn chosen(&self) -> Option<Chosen>;
}

impl<L: TimedLock<Memory = Own> + 'static> Suited for &&Probe<Only<L>> {
    fn chosen(&self) -> Option<Chosen> {
        let ops = const { &mutex::Ops::of::<L, mutex::Timed>() };
        Some(exclusive::<L>(ops))
    }
}

impl<L: TimedSharedLock<Memory = Own, Node = (), SharedNode = ()> + 'static> Suited
    for &&Probe<Both<L>>
{
    fn chosen(&self) -> Option<Chosen> {
        Some(Chosen::Shared(const { &rwlock::Ops::of::<L, mutex::Timed, rwlock::Timed>() }))
    }
}

/// An exclusive lock, which replaces mutexes and spinlocks.
struct Only<L>(PhantomData<L>);
/// A lock that can be shared, which replaces reader-writer locks.
struct Both<L>(PhantomData<L>);

/// The lock with this name; `None` if there is none that can replace others. The name is that of a
/// form, such as `mcs-park`, or that of a lock, which stands for the lock's last form: the parking
/// form, if it has one.
fn find(name: &[u8]) -> Option<Chosen> {
    let mut found = None;
    let mut near = false;
    macro_rules! form {
        ($form:expr, $waiting:ident, $type:ty, $lock:ident, exclusive $($feature:ident)*) => {
            form! { @ $form, Only<$type>, $lock, $($feature)* }
        };
        ($form:expr, $waiting:ident, $type:ty, $lock:ident, shared $($feature:ident)*) => {
            form! { @ $form, Both<$type>, $lock, $($feature)* }
        };
        (@ $form:expr, $use:ty, $lock:ident, $($feature:ident)*) => {
            if name == $form.as_bytes() || name == stringify!($lock).as_bytes() {
                found = (&&&Probe::<$use>(PhantomData)).chosen();
                near = false $(|| is_near!($feature))*;
            }
        };
    }
    syncline::for_each_form!(form in Own);
    if near && found.is_some() {
        memory::need_groups();
    }
    found
}

/// Whether a feature of the catalogue says that the lock needs to know which processors are near
/// each other.
macro_rules! is_near {
    (near) => {
        true
    };
    ($other:ident) => {
        false
    };
}
use is_near;
