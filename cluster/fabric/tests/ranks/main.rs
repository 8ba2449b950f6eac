//! Tests of ranks on one machine, as processes and as threads, and of ranks on several machines: sums
//! under locks are exact, bytes arrive, and the part of a rank that dies remains.
//!
//! A rank that is a process runs this test program again, with an environment variable that makes
//! the test [`rank`] do the rank's work.

mod machines;

use std::env;
use std::os::unix::process::ExitStatusExt;
use std::process::{Command, Stdio};
use std::time::{Duration, Instant};

use bytemuck::Zeroable;
use syncline::lock::{FairRw, Hmcs, Mcs, RawLock, Ticket};
use syncline::memory::{Memory, Own};
use syncline::wait::Spin;
use syncline_fabric::host::Job;
use syncline_fabric::{Fabric, Heap, Here, Host, Machines, Position, Region, Window};

const BYTES: usize = 1 << 20;
const NODES: Heap = Heap { at: 64 * 1024, bytes: BYTES - 64 * 1024 };
/// The number of critical sections of each rank under each lock.
const TIMES: u64 = 2_000;
const WORDS: usize = 4;
const DONE: Position = Position { rank: 0, at: 64 };
const LATE: Duration = Duration::from_secs(60);

/// A fabric of real threads.
trait Real: Here {
    fn enter(&self, nodes: Heap);
}

impl Real for Host {
    fn enter(&self, nodes: Heap) {
        Host::enter(self, nodes);
    }
}

impl Real for Machines {
    fn enter(&self, nodes: Heap) {
        Machines::enter(self, nodes);
    }
}

/// The environment variable that says what a rank does.
const SCENE: &str = "SYNCLINE_TEST_SCENE";

/// The command that runs a scene as a rank.
fn command(scene: &str) -> Command {
    let mut command = Command::new(env::current_exe().expect("this program"));
    command.args(["--exact", "rank", "--nocapture", "--test-threads=1"]);
    command.env(SCENE, scene).stdout(Stdio::null());
    command
}

fn processes(ranks: usize, scene: &str) -> Job {
    Host::launch(ranks, BYTES, |_| command(scene)).expect("processes start")
}

/// Does the work of a rank, if this process is one. In other processes it does nothing.
#[test]
fn rank() {
    let Ok(scene) = env::var(SCENE) else { return };
    if let Some(scene) = scene.strip_prefix(machines::SEVERAL) {
        return machines::play(scene);
    }
    let host = Host::from_environment().expect("a rank");
    match scene.as_str() {
        "sums" => all_sums(&host, TIMES),
        "death" => death(&host),
        "wait" => loop {
            host.rest(Duration::from_millis(10));
        },
        _ => panic!("there is no scene {scene}"),
    }
}

/// Rank 1 writes into its own part, sets a word when it has done so, and is killed. Then rank 0
/// reads what rank 1 has written.
fn death(host: &impl Fabric) {
    let (left, said) = (Position { rank: 1, at: 4096 }, Position { rank: 0, at: 128 });
    if host.rank() == 1 {
        host.put(left, b"what is left");
        host.flush(1).unwrap();
        host.store(said, 1).unwrap();
        // SAFETY: kills this process.
        unsafe { libc::raise(libc::SIGKILL) };
    }
    let start = Instant::now();
    while host.load(said).unwrap() == 0 || host.is_alive(1) {
        assert!(start.elapsed() < LATE, "said: {}, and it lives", host.load(said).unwrap());
        host.rest(Duration::from_millis(1));
    }
    let mut read = [0; 12];
    host.get(left, &mut read).unwrap();
    assert_eq!(&read, b"what is left");
    assert!(host.is_alive(0));
}

fn meet(host: &impl Fabric, round: u64) {
    host.add(DONE, 1).unwrap();
    let start = Instant::now();
    let mut looks = 1;
    while host.load(DONE).unwrap() < round * host.ranks() as u64 {
        assert!(start.elapsed() < LATE, "the others do not come");
        host.pause(DONE, looks);
        looks += 1;
    }
}

fn all_sums<F: Real>(host: &F, times: u64) {
    host.enter(NODES);
    sums::<F, Ticket<Spin, Window<F>>>(host, 1, times);
    sums::<F, Mcs<Spin, Window<F>>>(host, 2, times);
    sums::<F, Hmcs<Spin, Window<F>>>(host, 3, times);
    sums::<F, FairRw<Spin, Window<F>>>(host, 4, times);
}

/// Every rank adds to words in the last rank's part, under a lock in the part of rank 0.
fn sums<F, L>(host: &F, number: u64, times: u64)
where
    F: Real,
    L: RawLock<Memory = Window<F>> + Zeroable + 'static,
{
    let data = Position { rank: host.ranks() - 1, at: 1024 * number as usize };
    let place = Position { rank: 0, at: 8192 * number as usize };
    // SAFETY: the part is zero at first, and only this lock uses these bytes.
    let lock: &L = unsafe { Region::lock::<F, L>(place) };
    let mut sums = [0u64; WORDS];
    for _ in 0..times {
        let node = Own::<L::Node, Window<F>>::default();
        // SAFETY: only this call uses the node, and the release below gets the same node.
        unsafe { lock.acquire(&node) };
        host.get(data, bytemuck::cast_slice_mut(&mut sums)).unwrap();
        sums = sums.map(|sum| sum + 1);
        host.put(data, bytemuck::cast_slice(&sums));
        Window::<F>::releasing();
        // SAFETY: acquired with this node.
        unsafe { lock.release(&node) };
    }
    meet(host, number);
    host.get(data, bytemuck::cast_slice_mut(&mut sums)).unwrap();
    assert_eq!(sums, [times * host.ranks() as u64; WORDS], "lock {number}");
}

#[test]
fn processes_count_exactly() {
    let statuses = processes(4, "sums").wait().expect("processes end");
    assert!(statuses.iter().all(|status| status.success()), "{statuses:?}");
}

#[test]
fn threads_count_exactly() {
    Host::threads(3, BYTES, |host| all_sums(&host, TIMES)).expect("parts");
}

#[test]
fn a_killed_rank_is_dead_and_its_part_stays() {
    let statuses = processes(2, "death").wait().expect("processes end");
    assert!(statuses[0].success(), "{statuses:?}");
    assert_eq!(statuses[1].signal(), Some(libc::SIGKILL));
}

#[test]
fn a_job_that_is_dropped_leaves_no_process() {
    let mut job = processes(2, "wait");
    job.kill(1).expect("it is killed");
    let name = job.name();
    drop(job);
    assert!(Host::join(&name, 0).is_err(), "the segment is still there");
}
