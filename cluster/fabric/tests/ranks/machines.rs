//! Ranks on several machines. Here all machines are this one: each has a segment and an agent of its
//! own, and reaches the others over TCP.

use std::os::unix::process::ExitStatusExt;
use std::process::ExitStatus;
use std::time::{Duration, Instant};
use std::{fs, thread};

use syncline_fabric::machines::{Agent, Job, Machine, Map};
use syncline_fabric::{Fabric, Machines, Position};
use tempfile::NamedTempFile;

use super::{BYTES, LATE, all_sums, command, death, meet};

/// Scenes with this prefix are for ranks on several machines.
pub const SEVERAL: &str = "machines-";
/// Each critical section takes some round trips.
const TIMES: u64 = 200;

/// Does the work of a rank.
pub fn play(scene: &str) {
    let machines = Machines::from_environment().expect("a rank");
    match scene {
        "sums" => all_sums(&machines, TIMES),
        "copies" => copies(&machines),
        "death" => death(&machines),
        "wait" => loop {
            machines.rest(Duration::from_millis(10));
        },
        _ => panic!("there is no scene {scene}"),
    }
}

/// Every rank puts bytes of many lengths into all parts, also at odd offsets and more than a request
/// can carry. Then every rank reads what the others have put.
fn copies(machines: &Machines) {
    let (me, ranks) = (machines.rank(), machines.ranks());
    let share = machines.bytes() / 2 / ranks / 8 * 8;
    let byte = |from: usize, to: usize, at: usize| (from * 89 + to * 31 + at * 7 + at / 251) as u8;
    let begin = |from: usize| machines.bytes() / 2 + from * share;
    for to in 0..ranks {
        let all: Vec<u8> = (0..share).map(|at| byte(me, to, at)).collect();
        let (mut at, mut length) = (0, 1);
        while at < share {
            let piece = &all[at..share.min(at + length)];
            machines.put(Position { rank: to, at: begin(me) + at }, piece);
            (at, length) = (at + piece.len(), length * 2 % 100_003 + 1);
        }
    }
    machines.flush_all();
    meet(machines, 1);
    for (from, to) in (0..ranks).flat_map(|from| (0..ranks).map(move |to| (from, to))) {
        let mut read = vec![0; share];
        machines.get(Position { rank: to, at: begin(from) }, &mut read).unwrap();
        let right = |(at, found): (usize, &u8)| *found == byte(from, to, at);
        assert!(read.iter().enumerate().all(right), "from {from} to {to}");
    }
    // A put is overtaken by nothing that comes after its flush.
    let word = Position { rank: (me + 1) % ranks, at: 512 + 8 * me };
    for value in 0..100u64 {
        machines.put(word, &value.to_le_bytes());
        machines.flush(word.rank).unwrap();
        let mut read = [0; 8];
        machines.get(word, &mut read).unwrap();
        assert_eq!(u64::from_le_bytes(read), value);
    }
}

/// Starts ranks on several machines, and lets `act` watch them.
fn on<R>(ranks: &[usize], bytes: usize, scene: &str, act: impl FnOnce(&Job, &Map) -> R) -> R {
    let agents: Vec<Agent> = ranks.iter().map(|_| Agent::new().expect("an agent")).collect();
    let machine = |(agent, ranks): (&Agent, &usize)| Machine { ranks: *ranks, card: agent.card() };
    let map = Map::new(agents.iter().zip(ranks).map(machine).collect());
    let file = NamedTempFile::new().expect("a file");
    fs::write(file.path(), map.to_bytes()).expect("it is written");
    thread::scope(|scope| {
        for (number, agent) in agents.into_iter().enumerate() {
            let first = map.first(number);
            let (ranks, file) = (first..first + ranks[number], file.path());
            scope.spawn(move || {
                let run = agent.run(ranks, bytes, |_| {
                    let mut command = command(&format!("{SEVERAL}{scene}"));
                    command.envs(Machines::variables(file.as_os_str(), number));
                    command
                });
                run.expect("ranks");
            });
        }
        let job = Job::connect(&map).expect("agents");
        act(&job, &map)
    })
}

fn statuses(job: &Job, map: &Map) -> Vec<ExitStatus> {
    let start = Instant::now();
    loop {
        let ended: Option<Vec<_>> =
            (0..map.ranks()).map(|rank| job.ended(rank).expect("an agent")).collect();
        match ended {
            Some(statuses) => return statuses,
            None => assert!(start.elapsed() < 2 * LATE, "the ranks do not end"),
        }
        thread::sleep(Duration::from_millis(5));
    }
}

#[test]
fn sums_are_exact() {
    for ranks in [&[1, 1][..], &[2, 1], &[1, 1, 2]] {
        let statuses = on(ranks, BYTES, "sums", statuses);
        assert!(statuses.iter().all(|status| status.success()), "{statuses:?}");
    }
}

#[test]
fn all_bytes_arrive() {
    let statuses = on(&[1, 2, 1], 12 << 20, "copies", statuses);
    assert!(statuses.iter().all(|status| status.success()), "{statuses:?}");
}

#[test]
fn a_killed_rank_is_dead_and_its_part_stays() {
    let statuses = on(&[1, 1], BYTES, "death", |job, map| {
        let statuses = statuses(job, map);
        // The launcher can read the part as well.
        let left = job.load(Position { rank: 1, at: 4096 }).expect("an agent");
        assert_eq!(&left.to_le_bytes(), b"what is ");
        statuses
    });
    assert!(statuses[0].success(), "{statuses:?}");
    assert_eq!(statuses[1].signal(), Some(libc::SIGKILL));
}

#[test]
fn a_job_that_is_dropped_or_ended_leaves_no_rank() {
    on(&[1, 2], BYTES, "wait", |job, _| assert!(job.ended(2).expect("an agent").is_none()));
    on(&[1, 2], BYTES, "wait", |job, map| {
        job.end();
        let statuses = statuses(job, map);
        assert!(statuses.iter().all(|status| status.signal() == Some(libc::SIGKILL)));
    });
}

#[test]
fn a_request_beyond_the_parts_ends_only_its_connection() {
    on(&[1, 1], BYTES, "wait", |job, map| {
        let other = Job::connect(map).expect("agents");
        assert!(other.load(Position { rank: 1, at: BYTES }).is_err());
        assert!(other.load(Position { rank: 0, at: 4 }).is_err());
        assert!(job.load(Position { rank: 1, at: BYTES - 8 }).is_ok());
        std::mem::forget(other);
    });
}
