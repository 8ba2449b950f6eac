//! Ranks on several machines. Here all machines are this one: each has a segment and an agent of its
//! own, and reaches the others over TCP.

use std::os::unix::process::ExitStatusExt;
use std::process::ExitStatus;
use std::thread;
use std::time::{Duration, Instant};

use syncline_fabric::machines::{Job, pretend};
use syncline_fabric::{Fabric, Machines, Operation, Position, Swap};

use super::{BYTES, LATE, all_sums, command, death, meet};

/// Scenes with this prefix are for ranks on several machines.
pub const SEVERAL: &str = "machines-";
/// Each critical section takes some round trips.
const TIMES: u64 = 200;
/// More bytes than a request can carry.
const LONG: usize = (2 << 20) + 100;

/// Does the work of a rank.
pub fn play(scene: &str) {
    let machines = Machines::from_environment().expect("a rank");
    match scene {
        "sums" => all_sums(&machines, TIMES),
        "copies" => copies(&machines),
        "relay" => relay(&machines),
        "chain" => chain(&machines),
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
    let share = machines.bytes() / 4 / ranks / 8 * 8;
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
    // The parts of two ranks of a machine in turn, and more than a request can carry.
    let turns = begin(ranks) + 8 * 64 * me;
    for at in 0..8 {
        for to in 0..ranks {
            machines.put(Position { rank: to, at: turns + 8 * at }, &[me as u8 + 1; 8]);
        }
    }
    let long: Vec<u8> = (0..LONG).map(|at| byte(me, 0, at)).collect();
    let far = Position { rank: (me + 1) % ranks, at: 1 << 20 };
    machines.put(far, &long);
    machines.flush_all();
    meet(machines, 1);
    let mut read = vec![0; LONG];
    machines.get(far, &mut read).unwrap();
    assert!(read == long, "a long put");
    for (from, to) in (0..ranks).flat_map(|from| (0..ranks).map(move |to| (from, to))) {
        let mut read = [0; 64];
        machines.get(Position { rank: to, at: begin(ranks) + 8 * 64 * from }, &mut read).unwrap();
        assert_eq!(read, [from as u8 + 1; 64], "from {from} to {to}, in turn");
    }
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

/// Rank 0 puts to the last rank, flushes, and tells a rank of a third machine, which then gets what was
/// put. Its way to the last rank is another one than that of rank 0.
fn relay(machines: &Machines) {
    let (told, last) = (Position { rank: 1, at: 256 }, machines.ranks() - 1);
    for value in 1..=200u64 {
        let data = Position { rank: last, at: 1024 };
        match machines.rank() {
            0 => {
                machines.put(data, &value.to_le_bytes());
                machines.flush(last).unwrap();
                machines.store(told, value).unwrap();
            }
            1 => {
                let mut looks = 1;
                while machines.load(told).unwrap() < value {
                    machines.pause(told, looks);
                    looks += 1;
                }
                let mut read = [0; 8];
                machines.get(data, &mut read).unwrap();
                assert_eq!(u64::from_le_bytes(read), value);
            }
            _ => {}
        }
        meet(machines, value);
    }
}

/// A chain of operations ends at the first swap that fails, and later requests are not confused by
/// that. The operations are about this machine, another one, or two of them.
fn chain(machines: &Machines) {
    let ranks = machines.ranks();
    let me = machines.rank();
    for (one, other) in (0..ranks).flat_map(|one| (0..ranks).map(move |other| (one, other))) {
        let word = Position { rank: one, at: 2048 + 8 * (me * ranks + other) };
        let bytes = Position { rank: other, at: 3072 + 8 * (me * ranks + one) };
        machines.put(bytes, &[7; 8]);
        machines.flush(other).unwrap();
        // The word holds 0, and then 5.
        for (old, new, performed) in
            [(0, 5, 2), (0, 5, 2), (5, 5, 2), (0, 6, 1), (5, 0, 2), (1, 2, 1)]
        {
            let (mut swap, mut read) = (Swap::new(word, old, new), [0; 8]);
            let held = machines.load(word).unwrap();
            let get = Operation::Get { from: bytes, into: &mut read };
            let done = machines.perform(&mut [Operation::Swap(&mut swap), get]).unwrap();
            assert_eq!((done, swap.found), (performed, held), "{one} {other} {old} {new}");
            assert_eq!(read, [if performed == 2 { 7 } else { 0 }; 8]);
        }
    }
    meet(machines, 1);
}

/// Starts ranks on several machines, and lets `act` watch them.
fn on<R>(ranks: &[usize], bytes: usize, scene: &str, act: impl FnOnce(&Job) -> R) -> R {
    let command = |_| command(&format!("{SEVERAL}{scene}"));
    pretend(ranks, bytes, command, act).expect("ranks")
}

fn statuses(job: &Job) -> Vec<ExitStatus> {
    let start = Instant::now();
    loop {
        let ended: Option<Vec<_>> =
            (0..job.ranks()).map(|rank| job.ended(rank).expect("an agent")).collect();
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
    let statuses = on(&[1, 2, 1], 16 << 20, "copies", statuses);
    assert!(statuses.iter().all(|status| status.success()), "{statuses:?}");
}

#[test]
fn a_chain_of_operations_ends_at_a_failed_swap() {
    let statuses = on(&[2, 1, 1], BYTES, "chain", statuses);
    assert!(statuses.iter().all(|status| status.success()), "{statuses:?}");
}

#[test]
fn what_was_flushed_is_seen_by_all_machines() {
    let statuses = on(&[1, 1, 1], BYTES, "relay", statuses);
    assert!(statuses.iter().all(|status| status.success()), "{statuses:?}");
}

#[test]
fn a_killed_rank_is_dead_and_its_part_stays() {
    let statuses = on(&[1, 1], BYTES, "death", |job| {
        let statuses = statuses(job);
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
    on(&[1, 2], BYTES, "wait", |job| assert!(job.ended(2).expect("an agent").is_none()));
    on(&[1, 2], BYTES, "wait", |job| {
        job.end();
        let statuses = statuses(job);
        assert!(statuses.iter().all(|status| status.signal() == Some(libc::SIGKILL)));
    });
}

#[test]
fn a_request_beyond_the_parts_ends_only_its_connection() {
    on(&[1, 1], BYTES, "wait", |job| {
        assert!(job.load(Position { rank: 1, at: BYTES - 8 }).is_ok());
        assert!(job.load(Position { rank: 1, at: BYTES }).is_err());
        assert!(job.load(Position { rank: 1, at: 0 }).is_err(), "the connection is closed");
        assert!(job.load(Position { rank: 0, at: 0 }).is_ok(), "the other one is not");
        assert!(job.load(Position { rank: 0, at: 4 }).is_err(), "this is no word");
    });
}
