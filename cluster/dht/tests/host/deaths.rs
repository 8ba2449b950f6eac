//! Processes that are killed, at random moments or right before one of their changes to the ranks'
//! memory.

use std::os::unix::process::ExitStatusExt;
use std::sync::atomic::{AtomicU64, Ordering::Relaxed};
use std::thread;
use std::time::Duration;

use syncline_dht::{Options, Table};
use syncline_fabric::{Change, Dead, Fabric, Host, Position};

use crate::values::{increment, is_whole, number, value};
use crate::{KEYS, OPTIONS, processes, wait};

/// The offset, in each rank's part, of the number of increments that have returned.
const RETURNED: usize = 192;
/// The word of rank 0 that counts the dying rank's puts that have returned.
const PUTS: Position = Position { rank: 0, at: 256 };
/// The number of keys that the dying rank puts.
const DYING_KEYS: u64 = 60;

/// All ranks increment: rank 0 until all others are dead, and the others until they are killed.
/// Then rank 0 counts.
pub fn work_until_killed(host: Host) {
    let table = Table::open(host.clone(), OPTIONS).unwrap();
    let alive = || (1..host.ranks()).filter(|&rank| host.is_alive(rank)).count();
    let returned = |rank| Position { rank, at: RETURNED };
    for n in 0.. {
        if host.rank() == 0 && alive() == 0 {
            break;
        }
        increment(&table, n % KEYS);
        host.add(returned(host.rank()), 1).unwrap();
    }
    let all: u64 = (0..host.ranks()).map(|rank| host.load(returned(rank)).unwrap()).sum();
    let count = |key: u64| {
        increment(&table, key);
        let found = table.get(&key.to_le_bytes()).unwrap().expect("it was incremented");
        assert!(is_whole(&found), "a torn value");
        number(&found) - 1
    };
    let sum: u64 = (0..KEYS).map(count).sum();
    let killed = host.ranks() as u64 - 1;
    assert!((all..=all + killed).contains(&sum), "{sum} of {all} increments, {killed} killed");
    assert!(table.lost().is_empty(), "parts outlive their ranks here");
}

/// A fabric that kills its process before one of the puts, exchanges or other changes of words.
struct Dying {
    host: Host,
    left: AtomicU64,
}

impl Dying {
    fn count(&self) {
        if self.left.fetch_sub(1, Relaxed) == 0 {
            // SAFETY: this ends the process.
            unsafe { libc::raise(libc::SIGKILL) };
        }
    }
}

impl Fabric for Dying {
    fn rank(&self) -> usize {
        self.host.rank()
    }
    fn ranks(&self) -> usize {
        self.host.ranks()
    }
    fn bytes(&self) -> usize {
        self.host.bytes()
    }
    fn put(&self, to: Position, bytes: &[u8]) {
        self.count();
        self.host.put(to, bytes);
    }
    fn get(&self, from: Position, into: &mut [u8]) -> Result<(), Dead> {
        self.host.get(from, into)
    }
    fn compare_and_swap(&self, at: Position, old: u64, new: u64) -> Result<u64, Dead> {
        self.count();
        self.host.compare_and_swap(at, old, new)
    }
    fn fetch_and(&self, at: Position, change: Change, operand: u64) -> Result<u64, Dead> {
        // A load changes nothing, so it does not count.
        if change != Change::Keep {
            self.count();
        }
        self.host.fetch_and(at, change, operand)
    }
    fn flush(&self, rank: usize) -> Result<(), Dead> {
        self.host.flush(rank)
    }
    fn flush_all(&self) {
        self.host.flush_all();
    }
    fn pause(&self, at: Position, looks: u32) {
        self.host.pause(at, looks);
    }
    fn rest(&self, time: Duration) {
        self.host.rest(time);
    }
    fn is_alive(&self, rank: usize) -> bool {
        self.host.is_alive(rank)
    }
    fn machine(&self, rank: usize) -> usize {
        self.host.machine(rank)
    }
    fn now(&self) -> Duration {
        self.host.now()
    }
}

/// Rank 1 dies before one of its changes, perhaps while it holds buckets or has half split one.
/// Rank 0 then uses everything that rank 1 has left.
pub fn one_dies(host: Host, at: u64) {
    let options = Options { buckets: 1, ..OPTIONS };
    let key = |n: u64| format!("key {n}").into_bytes();
    if host.rank() == 1 {
        let table = Table::open(Dying { host: host.clone(), left: at.into() }, options).unwrap();
        for n in 0..DYING_KEYS {
            table.put(&key(n), &value(n)).unwrap();
            host.add(PUTS, 1).unwrap();
        }
        for n in 0..DYING_KEYS {
            table.put(&key(n), &value(n + 1)).unwrap();
        }
        // SAFETY: as above.
        unsafe { libc::raise(libc::SIGKILL) };
    }
    wait(&host, || !host.is_alive(1));
    let table = Table::open(host.clone(), options).unwrap();
    let returned = host.load(PUTS).unwrap();
    for n in 0..DYING_KEYS {
        let found = table.get(&key(n)).unwrap();
        assert!(found.is_some() || n >= returned, "key {n} is gone, of {returned}");
        let known = |found: &[u8]| found == value(n) || found == value(n + 1);
        assert!(found.is_none_or(|found| known(&found)), "key {n} has another value");
        assert!(table.put(&key(n), &value(n)).unwrap() || n >= returned);
    }
    let entries = table.entries_of(0).chain(table.entries_of(1));
    let mut keys: Vec<_> = entries.map(|entry| entry.unwrap().0).collect();
    keys.sort();
    let mut all: Vec<_> = (0..DYING_KEYS).map(key).collect();
    all.sort();
    assert_eq!(keys, all, "each key comes once");
    assert!((0..DYING_KEYS).all(|n| table.remove(&key(n)).unwrap()));
}

#[test]
fn survivors_go_on_when_ranks_are_killed() {
    for time in [3, 20, 60] {
        let mut job = processes(4, "killed");
        thread::sleep(Duration::from_millis(100));
        for rank in 1..4 {
            thread::sleep(Duration::from_millis(time));
            job.kill(rank).unwrap();
        }
        let statuses = job.wait().unwrap();
        assert!(statuses[0].success(), "{statuses:?}");
    }
}

/// `SYNCLINE_DEATHS=1` tries all of about 900 changes, which takes a minute.
#[test]
fn a_rank_may_die_before_any_of_its_accesses() {
    let every = std::env::var("SYNCLINE_DEATHS").map_or(17, |step| step.parse().expect("a number"));
    for at in (2..900).step_by(every) {
        let statuses = processes(2, &format!("dies {at}")).wait().unwrap();
        assert!(statuses[0].success(), "access {at}: {statuses:?}");
        assert_eq!(statuses[1].signal(), Some(libc::SIGKILL), "access {at}");
    }
}
