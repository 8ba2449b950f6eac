//! The locks that a stress test can use: those of the library's catalogue, a ticket lock without
//! back-off, and mutexes that park at once. Waiters of the catalogue's locks and of the ticket lock
//! spin, because every thread of the tests has a processor of its own. Only waiters of `futex`
//! and of `rw_compact`, and the first waiter of `gate`, sleep after a while.

use syncline::lock::ticket::Eager;
use syncline::lock::{Anderson, Cohort, Hclh, RawLock, Ticket};
use syncline::wait::Spin;

use super::memcached::{self, Request};
use super::mutex::Mutex;
use super::table::{self, Shape};
use super::uncontended::{self, Turns};
use super::{Load, Outcome, throughput};
use crate::world::World;

/// A lock, with the tests that can run on it.
pub struct Contender<W: World> {
    /// The lock's name. If the lock is in the catalogue, it is the name there.
    pub name: &'static str,
    /// The test of threads that acquire the lock: [`throughput`].
    pub throughput: fn(&W, &Load) -> Outcome,
    /// The test of the cost of acquiring the free lock: [`uncontended`].
    pub uncontended: fn(&W, Option<usize>, &Turns) -> f64,
    /// The test of a hash table with the lock in each bucket: [`table`].
    pub table: fn(&W, Shape, &Load) -> Outcome,
    /// The test of memcached's sections under the lock: [`memcached`].
    pub memcached: fn(&W, &Request, &Load) -> Outcome,
}

impl<W: World> Contender<W> {
    fn of<L: RawLock<Memory = W::Memory>>(name: &'static str) -> Contender<W> {
        Contender {
            name,
            throughput: throughput::run::<W, L>,
            uncontended: uncontended::run::<W, L>,
            table: table::run::<W, L>,
            memcached: memcached::run::<W, L>,
        }
    }

    /// The C library's mutex, as SSYNC's library uses it.
    pub fn mutex() -> Contender<W> {
        Contender::of::<Mutex<W::Memory>>("mutex")
    }

    /// The C library's mutex. In the test of memcached, threads wait for it as memcached itself
    /// does.
    pub fn own() -> Contender<W> {
        let memcached = memcached::run_with_own_waiting::<W, Mutex<W::Memory>>;
        Contender { name: "own", memcached, ..Contender::mutex() }
    }

    /// The contenders of [`all`] with these names, in the given order. Unknown names are left out.
    pub fn named(names: &[&str]) -> Vec<Contender<W>> {
        let mut known: Vec<_> = all::<W>().into_iter().map(Some).collect();
        let mut find = |&name: &&str| {
            let wanted = |c: &&mut Option<Contender<W>>| c.as_ref().is_some_and(|c| c.name == name);
            known.iter_mut().find(wanted).and_then(Option::take)
        };
        names.iter().filter_map(&mut find).collect()
    }
}

/// The numbers of groups and of slots in locks with a fixed number of them. `GROUPS` is enough for
/// the eight sockets of SSYNC's largest machine, and `SLOTS` for its 80 cores.
const GROUPS: usize = 8;
const SLOTS: usize = 128;

/// All contenders except the mutexes: the catalogue's locks, and the ticket lock without back-off.
/// Locks with a fixed number of groups or slots get enough of them for SSYNC's machines.
#[allow(clippy::vec_init_then_push, reason = "each line of the catalogue pushes one")]
pub fn all<W: World>() -> Vec<Contender<W>> {
    let mut list = Vec::new();
    macro_rules! push {
        ($list:ident $name:ident, $type:ident, $($feature:ident)*) => {
            let name = stringify!($name);
            $list.push(Contender::<W>::of::<syncline::lock::$type<Spin, W::Memory>>(name));
        };
    }
    syncline::for_each_lock!(push, list);
    type Tickets<M> = Ticket<Spin, M>;
    let mut fit = |fitted: Contender<W>| {
        let place = list.iter_mut().find(|c| c.name == fitted.name);
        *place.expect("it is in the catalogue") = fitted;
    };
    fit(Contender::of::<Anderson<Spin, W::Memory, SLOTS>>("anderson"));
    fit(Contender::of::<Cohort<Tickets<W::Memory>, Tickets<W::Memory>, GROUPS>>("hticket"));
    fit(Contender::of::<Hclh<Spin, W::Memory, GROUPS>>("hclh"));
    list.push(Contender::of::<Ticket<Spin, W::Memory, Eager>>(EAGER));
    list
}

/// The name of the ticket lock without back-off, which is not in the catalogue.
pub const EAGER: &str = "ticket_eager";
