//! Ranks of one machine as processes, and of several machines that share no memory. Counts are exact,
//! each entry is found once, and a rank that is killed leaves a table that others can still use.
//!
//! A process that is a rank runs this program again; its environment makes it run the test
//! [`rank`].

mod deaths;
mod values;

use std::collections::HashSet;
use std::env;
use std::process::{Command, Stdio};
use std::thread::sleep;
use std::time::{Duration, Instant};

use bytemuck::Zeroable;
use syncline::lock::{FairRw, RawSharedLock, ReadersFirst, WritersFirst};
use syncline::wait::Yield;
use syncline::window::BestEffort;
use syncline_dht::{Error, Mode, Options, Table};
use syncline_fabric::host::Job;
use syncline_fabric::{Fabric, Host, Machines, Position, Window, machines};
use values::{increment, is_whole, number, value};

const BYTES: usize = 4 << 20;
/// Options for a table that begins after the words that the tests use.
const OPTIONS: Options = Options { at: 4096, bytes: Some(512 << 10), buckets: 2 };
/// The number of increments by each rank.
const TIMES: u64 = 1000;
/// The number of keys that all ranks change.
const KEYS: u64 = 50;
/// Counters at rank 0: ranks that have arrived at a meeting, entries of all parts, and tables that
/// were refused.
const MET: Position = Position { rank: 0, at: 0 };
const ENTRIES: Position = Position { rank: 0, at: 64 };
const REFUSED: Position = Position { rank: 0, at: 128 };
const LATE: Duration = Duration::from_secs(100);

/// The environment variable that names the scene of a rank.
const SCENE: &str = "SYNCLINE_TEST_SCENE";

fn processes(ranks: usize, scene: &str) -> Job {
    Host::launch(ranks, BYTES, |_| command(scene)).expect("processes start")
}

/// The command that runs a scene as a rank.
fn command(scene: &str) -> Command {
    let mut command = Command::new(env::current_exe().expect("this program"));
    command.args(["--exact", "rank", "--nocapture", "--test-threads=1"]);
    command.env(SCENE, scene).stdout(Stdio::null());
    command
}

/// The code of a process that is a rank. In other processes it does nothing.
#[test]
fn rank() {
    let Ok(scene) = env::var(SCENE) else { return };
    if scene == "machines" {
        let machines = Machines::from_environment().expect("a rank");
        return counts(&Table::open(machines, OPTIONS).expect("a table"));
    }
    let host = Host::from_environment().expect("a rank");
    match scene.split_once(' ').unwrap_or((&scene, "")) {
        ("counts", _) => counts(&Table::open(host, OPTIONS).expect("a table")),
        ("coarse", _) => coarse(&host),
        ("different", _) => different(host),
        ("killed", _) => deaths::work_until_killed(host),
        ("dies", at) => deaths::one_dies(host, at.parse().expect("a number")),
        _ => panic!("there is no scene {scene}"),
    }
}

fn meet(host: &impl Fabric) {
    let ranks = host.ranks() as u64;
    let round = host.add(MET, 1).unwrap() / ranks + 1;
    wait(host, || host.load(MET).unwrap() >= round * ranks);
}

fn wait(host: &impl Fabric, mut until: impl FnMut() -> bool) {
    let start = Instant::now();
    while !until() {
        assert!(start.elapsed() < LATE, "the others do not come");
        host.rest(Duration::from_micros(100));
    }
}

/// All ranks increment the same keys, and each puts and removes keys of its own, while parts grow.
fn counts<F: Fabric, M: Mode<F>>(table: &Table<F, M>) {
    let host = table.fabric();
    let own = |n: u64| format!("of rank {} {n}", host.rank()).into_bytes();
    host.store(ENTRIES, 0).unwrap();
    meet(host);
    for n in 0..TIMES {
        increment(table, n % KEYS);
        assert!(!table.put(&own(n), &value(n)).unwrap());
        if n % 3 == 0 {
            assert!(table.remove(&own(n)).unwrap());
        }
        let seen = table.with(&(n * 7 % KEYS).to_le_bytes(), |found| found.is_none_or(is_whole));
        assert!(seen.unwrap(), "a torn value");
    }
    meet(host);
    for key in 0..KEYS {
        let found = table.get(&key.to_le_bytes()).unwrap().expect("all have come here");
        assert_eq!(number(&found), TIMES * host.ranks() as u64 / KEYS);
    }
    let entries: Vec<_> = table.local().collect::<Result<_, _>>().unwrap();
    assert!(entries.iter().all(|(key, _)| table.home(key) == host.rank()));
    let keys: HashSet<_> = entries.iter().map(|(key, _)| key).collect();
    assert_eq!(keys.len(), entries.len(), "an entry came twice");
    host.add(ENTRIES, keys.len() as u64).unwrap();
    meet(host);
    let left = TIMES - TIMES.div_ceil(3);
    assert_eq!(host.load(ENTRIES).unwrap(), KEYS + left * host.ranks() as u64);
    meet(host);
}

/// All ranks increment the same keys in the coarse mode, with one kind of window lock after
/// another.
fn coarse(host: &Host) {
    fn under<L: RawSharedLock<Memory = Window<Host>> + Zeroable + 'static>(host: &Host, at: usize) {
        let options = Options { at: 4096 + at * (512 << 10), ..OPTIONS };
        host.enter(Table::<_, syncline_dht::Coarse<Host, L>>::nodes(host, options).unwrap());
        counts(
            &Table::<_, syncline_dht::Coarse<Host, L>>::open_coarse(host.clone(), options).unwrap(),
        );
    }
    under::<BestEffort<true, Yield, Window<Host>>>(host, 0);
    under::<BestEffort<false, Yield, Window<Host>>>(host, 1);
    under::<WritersFirst<Yield, Window<Host>>>(host, 2);
    under::<ReadersFirst<Yield, Window<Host>>>(host, 3);
    under::<FairRw<Yield, Window<Host>>>(host, 4);
}

/// Two ranks open the table with different options. Exactly one of them gets an error.
fn different(host: Host) {
    let options = Options { buckets: 2 << host.rank(), ..OPTIONS };
    match Table::open(host.clone(), options) {
        Ok(_) => {}
        Err(Error::Different { rank: 0 }) => drop(host.add(REFUSED, 1)),
        Err(error) => panic!("{error}"),
    }
    meet(&host);
    assert_eq!(host.load(REFUSED).unwrap(), 1);
}

fn all_end_well(scene: &str, ranks: usize) {
    let statuses = processes(ranks, scene).wait().expect("processes end");
    assert!(statuses.iter().all(|status| status.success()), "{statuses:?}");
}

#[test]
fn processes_count_exactly() {
    all_end_well("counts", 4);
}

#[test]
fn ranks_of_several_machines_count_exactly() {
    let all_end_well = |job: &machines::Job| {
        let start = Instant::now();
        while !(0..job.ranks()).all(|rank| {
            let status = job.ended(rank).expect("an agent");
            assert!(status.is_none_or(|status| status.success()), "rank {rank}: {status:?}");
            status.is_some()
        }) {
            assert!(start.elapsed() < LATE, "the ranks do not end");
            sleep(Duration::from_millis(5));
        }
    };
    machines::pretend(&[1, 2], BYTES, |_| command("machines"), all_end_well).expect("ranks");
}

#[test]
fn processes_count_exactly_under_the_locks_of_windows() {
    all_end_well("coarse", 3);
}

#[test]
fn ranks_that_open_different_tables_get_an_error() {
    all_end_well("different", 2);
}

#[test]
fn threads_count_exactly() {
    Host::threads(3, BYTES, |host| counts(&Table::open(host, OPTIONS).unwrap())).expect("parts");
}

#[test]
fn a_full_part_refuses_an_entry_and_keeps_the_others() {
    let options = Options { bytes: Some(24 << 10), ..OPTIONS };
    Host::threads(1, BYTES, |host| {
        let table = Table::open(host, options).unwrap();
        let key = |n: u64| n.to_le_bytes();
        let put = |n| table.put(&key(n), &[n as u8; 200]);
        let fits = (0..).take_while(|&n| put(n).is_ok()).count() as u64;
        assert!((30..100).contains(&fits), "{fits} entries");
        assert!(matches!(put(fits), Err(Error::Full { rank: 0, .. })));
        assert!(!table.contains(&key(fits)).unwrap());
        for n in 0..fits {
            assert_eq!(table.get(&key(n)).unwrap(), Some(vec![n as u8; 200]));
        }
        assert!(table.remove(&key(0)).unwrap());
        assert_eq!(put(fits), Ok(false), "what was removed makes room");
        assert!(matches!(table.resize(1 << 20), Err(Error::Full { rank: 0, .. })));
        assert_eq!(table.local().count() as u64, fits);
    })
    .expect("parts");
}

#[test]
fn parts_that_are_too_small_are_refused() {
    Host::threads(1, 4096, |host| {
        let open = |options| Table::open(host.clone(), options).map(|_| ());
        let small = open(Options::default());
        assert!(matches!(small, Err(Error::Size { at: 0, bytes: 4096, .. })), "{small:?}");
        assert!(open(Options { at: 8, ..Options::default() }).is_err());
        assert!(open(Options { at: usize::MAX / 64 * 64, ..Options::default() }).is_err());
    })
    .expect("parts");
}

#[test]
fn a_resize_makes_room_once() {
    Host::threads(2, BYTES, |host| {
        let rank = host.rank() as u64;
        let table = Table::open(host, OPTIONS).unwrap();
        table.resize(4000).unwrap();
        for n in 0..1000u64 {
            table.put(&(2 * n + rank).to_le_bytes(), b"there").unwrap();
        }
        table.resize(1).unwrap();
        meet(table.fabric());
        for n in 0..2000u64 {
            assert_eq!(table.get(&n.to_le_bytes()).unwrap().as_deref(), Some(&b"there"[..]));
        }
        meet(table.fabric());
    })
    .expect("parts");
}
