//! Which types may be sent or shared between threads, and which lifetimes may be shortened: what
//! the compiler must accept, and what it must refuse. Types that have the name of a type in the
//! standard library put the same conditions on their values.

use std::rc::Rc;

use static_assertions::{assert_impl_all as is, assert_not_impl_any as is_not};
use syncline::channel::{Inbox, Receiver, Sender};
use syncline::delegation::{Client, Delegated, Pending, Qd, Server};
use syncline::lock::{Clh, Cohort, RawLock, RawSharedLock, Ticket, TimedHmcs, TimedMcs};
use syncline::memory::{Lazy, Memory, Native, Pooled};
use syncline::stm::{TCell, TVar};
use syncline::table::{FlatTable, LockTable, ServedTable, Table};
use syncline::{ArcMutexGuard, ArcRwLockReadGuard, ArcRwLockWriteGuard};
use syncline::{Condvar, MappedMutexGuard, Mutex, MutexGuard, RwLock};
use syncline::{RwLockReadGuard, RwLockUpgradableReadGuard, RwLockWriteGuard};

/// May be sent to another thread, but not shared.
type Sent = std::cell::Cell<u32>;
/// May be shared, but not sent.
type Shared = std::sync::MutexGuard<'static, u32>;
/// May be neither sent nor shared.
type Kept = Rc<u32>;

type Data<T> = <Native as Memory>::Data<T>;

/// A value that must stay on its thread, with a default.
#[derive(Default)]
struct Local(#[allow(dead_code)] Kept);

#[test]
fn data_and_nodes_go_where_their_values_may() {
    is!(Data<Sent>: Send, Sync);
    is_not!(Data<Shared>: Send);
    is_not!(Data<Kept>: Send, Sync);
    is!(Lazy<Sent, Native>: Send);
    is_not!(Lazy<Local, Native>: Send, Sync);
    is_not!(Pooled<Local, Native>: Send, Sync);
}

#[test]
fn locks_go_where_their_values_may() {
    is!(Mutex<Sent>: Send, Sync);
    is_not!(Mutex<Shared>: Send, Sync);
    is_not!(Mutex<Kept>: Send, Sync);
    is!(RwLock<u32>: Send, Sync);
    is!(RwLock<Sent>: Send);
    is_not!(RwLock<Sent>: Sync);
    is_not!(RwLock<Shared>: Send, Sync);
    is_not!(RwLock<Kept>: Send, Sync);
    is!(Delegated<Sent>: Send, Sync);
    is_not!(Delegated<Kept>: Send, Sync);
    is!(Condvar: Send, Sync);
    is!(Cohort<Ticket, Ticket>: Send, Sync);
    is!(TimedHmcs: Send, Sync);
    is!(Clh: Send, Sync);
}

#[test]
fn guards_stay_where_they_are() {
    macro_rules! stays {
        ($($Guard:ident)*) => {
            $(is!($Guard<'static, u32>: Sync);
            is_not!($Guard<'static, u32>: Send);
            is_not!($Guard<'static, Sent>: Sync);)*
        };
    }
    stays!(MutexGuard MappedMutexGuard RwLockReadGuard RwLockWriteGuard RwLockUpgradableReadGuard);
    macro_rules! stays_with_its_lock {
        ($($Guard:ident)*) => {
            $(is!($Guard<u32>: Sync);
            is_not!($Guard<u32>: Send);
            is_not!($Guard<Sent>: Sync);
            // A thread that has a reference to the guard may become the last owner of the lock.
            is_not!($Guard<Shared>: Sync);)*
        };
    }
    stays_with_its_lock!(ArcMutexGuard ArcRwLockReadGuard ArcRwLockWriteGuard);
    is_not!(<TimedMcs as RawLock>::Node: Send, Sync);
}

#[test]
fn results_and_messages_go_where_they_may() {
    is!(Pending<Sent, Qd>: Send, Sync);
    is_not!(Pending<Kept, Qd>: Send, Sync);
    is!(Server<Sent>: Send);
    is_not!(Server<Kept>: Send, Sync);
    is!(Client<Kept>: Send);
    is!(Sender<Sent>: Send);
    is!(Receiver<Sent>: Send);
    is!(Inbox<Sent>: Send);
}

#[test]
fn tables_and_variables_go_where_their_values_may() {
    is!(LockTable<Sent>: Send, Sync);
    is_not!(LockTable<Kept>: Send, Sync);
    is!(ServedTable<Sent>: Send);
    is_not!(ServedTable<Kept>: Send, Sync);
    is!(Table<u32, String>: Send, Sync);
    is_not!(Table<u32, Sent>: Send, Sync);
    is_not!(Table<u32, Kept>: Send, Sync);
    is_not!(Table<Kept, u32>: Send, Sync);
    is_not!(FlatTable<u32, *const u32>: Send, Sync);
    is!(TVar<String>: Send, Sync);
    is_not!(TVar<Sent>: Send, Sync);
    is_not!(TVar<Kept>: Send, Sync);
    is!(TCell<u32>: Send, Sync);
}

/// A lifetime in the value's type may be shortened, as with `&T` and the standard library's guard.
#[test]
fn a_read_guard_of_a_longer_lived_type_is_one_of_a_shorter() {
    fn shorter<'l, 's, L: RawSharedLock>(
        guard: RwLockReadGuard<'l, &'static str, L>,
        _: &'s str,
    ) -> RwLockReadGuard<'l, &'s str, L> {
        guard
    }
    let lock = RwLock::new("long");
    let text = String::from("short");
    assert_eq!(*shorter(lock.read(), &text), "long");
}
