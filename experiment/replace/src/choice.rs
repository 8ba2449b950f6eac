//! Which locks are put in place of the program's: chosen by name, once, at the first use of any;
//! or for each object by a [`policy`].

use core::marker::PhantomData;
use core::ptr;
use core::sync::atomic::{
    AtomicBool, AtomicPtr, AtomicU32, Ordering::AcqRel, Ordering::Acquire, Ordering::Relaxed,
    Ordering::Release,
};

use syncline::lock::{TimedLock, TimedSharedLock, TryLock, TrySharedLock};
use syncline::memory::Memory;
use syncline_interpose::fail;

use crate::memory::{self, Own};
use crate::{generation, mutex, options, policy, rwlock, spin};

/// A table of functions that is exchanged once.
pub struct Table<T: 'static>(AtomicPtr<T>);

impl<T> Table<T> {
    /// A table of these functions.
    pub const fn new(first: &'static T) -> Table<T> {
        Table(AtomicPtr::new(ptr::from_ref(first).cast_mut()))
    }

    /// The functions.
    #[inline(always)]
    pub fn get(&self) -> &'static T {
        // Relaxed: the tables are constants.
        // SAFETY: it comes from a reference for ever.
        unsafe { &*self.0.load(Relaxed) }
    }

    /// Exchanges the functions.
    pub fn set(&self, table: &'static T) {
        // Relaxed: as in `get`.
        self.0.store(ptr::from_ref(table).cast_mut(), Relaxed);
    }
}

/// In place of mutexes.
pub static MUTEXES: Table<mutex::Ops> = Table::new(&mutex::Ops::FIRST);
/// In place of spinlocks.
pub static SPINLOCKS: Table<spin::Ops> = Table::new(&spin::Ops::FIRST);
/// In place of reader-writer locks.
pub static RWLOCKS: Table<rwlock::Ops> = Table::new(&rwlock::Ops::FIRST);

/// Whether a lock was chosen that asks which processors are near each other.
static NEAR: AtomicBool = AtomicBool::new(false);

/// Chooses if nobody has, and readies what the chosen locks need of a started program.
pub fn start() {
    choose();
    // Relaxed: this thread has seen the choice.
    if NEAR.load(Relaxed) {
        memory::learn_groups();
    }
}

/// A lock for one of these purposes.
#[derive(Clone, Copy)]
enum Chosen {
    Exclusive(&'static mutex::Ops, &'static spin::Ops),
    Shared(&'static rwlock::Ops),
}

/// Chooses, or waits until another thread has.
#[cold]
pub fn choose() {
    const UNDONE: u32 = 0;
    const DOING: u32 = 1;
    const DONE: u32 = 2;
    static STAGE: AtomicU32 = AtomicU32::new(UNDONE);
    // Acquire: pairs with the Release below.
    match STAGE.compare_exchange(UNDONE, DOING, AcqRel, Acquire) {
        Ok(_) => {
            choose_once();
            STAGE.store(DONE, Release);
        }
        Err(_) => {
            while STAGE.load(Acquire) != DONE {
                Own::yield_now();
            }
        }
    }
}

fn choose_once() {
    let (names, policy) = (options::locks(), options::policy());
    if !names.is_empty() || !policy.is_empty() {
        memory::prepare();
        generation::prepare();
    }
    if !policy.is_empty() {
        MUTEXES.set(policy::start(policy));
        SPINLOCKS.set(&spin::Ops::BY_POLICY);
        RWLOCKS.set(&rwlock::Ops::BY_POLICY);
        return;
    }
    let set = set(names);
    MUTEXES.set(set.mutexes.unwrap_or(&mutex::Ops::LEFT));
    SPINLOCKS.set(set.spinlocks.unwrap_or(&spin::Ops::LEFT));
    RWLOCKS.set(set.rwlocks.unwrap_or(&rwlock::Ops::LEFT));
}

/// The name that leaves all to the C library.
pub const LIBC: &[u8] = b"libc";

/// Locks for each kind of object, as far as they were named.
#[derive(Default)]
pub struct Set {
    pub mutexes: Option<&'static mutex::Ops>,
    pub spinlocks: Option<&'static spin::Ops>,
    pub rwlocks: Option<&'static rwlock::Ops>,
}

/// The locks of these names, joined by `+`. `libc` leaves all to the C library, and `libc-spin` all
/// but that mutexes spin before they sleep.
pub fn set(names: &[u8]) -> Set {
    let mut set = Set::default();
    if names == LIBC {
        set.mutexes = Some(&mutex::Ops::LEFT);
        set.spinlocks = Some(&spin::Ops::LEFT);
        set.rwlocks = Some(&rwlock::Ops::LEFT);
        return set;
    }
    for name in names.split(|&b| b == b'+').filter(|name| !name.is_empty()) {
        if name == b"libc-spin" {
            set.mutexes = Some(&mutex::Ops::SPINNING);
            continue;
        }
        match find(name) {
            Some(Chosen::Exclusive(mutex, spin)) => {
                (set.mutexes, set.spinlocks) = (Some(mutex), Some(spin));
            }
            Some(Chosen::Shared(rwlock)) => set.rwlocks = Some(rwlock),
            None => fail(&[b"this library has no lock that can replace another named ", name]),
        }
    }
    set
}

/// Asks what a lock can be used for; the most that it can do wins. Method calls on values find
/// the implementation with the most references first.
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
        let spin = const { &spin::Ops::of::<L>() };
        Some(Chosen::Exclusive(const { &mutex::Ops::of::<L, mutex::Polled>() }, spin))
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
        let spin = const { &spin::Ops::of::<L>() };
        Some(Chosen::Exclusive(const { &mutex::Ops::of::<L, mutex::Timed>() }, spin))
    }
}

impl<L: TimedSharedLock<Memory = Own, Node = (), SharedNode = ()> + 'static> Suited
    for &&Probe<Both<L>>
{
    fn chosen(&self) -> Option<Chosen> {
        Some(Chosen::Shared(const { &rwlock::Ops::of::<L, mutex::Timed, rwlock::Timed>() }))
    }
}

/// A lock that is held alone.
struct Only<L>(PhantomData<L>);
/// A lock that can be shared.
struct Both<L>(PhantomData<L>);

/// The lock of this name: a form's, such as `mcs-park`, or a lock's, which stands for its last
/// form: the parking one, if it has one.
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
        // Relaxed: it is read at the program's start.
        NEAR.store(true, Relaxed);
    }
    found
}

/// Whether a feature of the catalogue says that the lock asks which processors are near.
macro_rules! is_near {
    (near) => {
        true
    };
    ($other:ident) => {
        false
    };
}
use is_near;
