//! Recordings whose bytes are damaged in random ways. The result must be an analysis or an error,
//! within a time limit, and the reports of the analysis can be written.

use std::path::Path;
use std::time::{Duration, Instant};

use syncline_analysis::{Analysis, Options};
use syncline_present::terminal::Style;
use syncline_recording::Op;
use syncline_report::{self as report, Extent};
use tempfile::TempDir;

use crate::fixture::{Fixture, MS, SECOND};

/// The number of damaged files that are tried.
const ROUNDS: usize = 4000;
/// The longest time that one file may take, even on a busy machine.
const LIMIT: Duration = Duration::from_secs(10);

fn valid() -> Vec<u8> {
    let mut f = Fixture::new(&["/bin/app", "argument"], 2);
    f.module("/nowhere/app", 0x1000..0x9000, 0x1000, &[7; 20]);
    let stacks = [f.stack(&[0x1010, 0x1020]), f.stack(&[0x1030])];
    for name in ["main", "worker"] {
        let thread = f.thread(name, 0..SECOND);
        f.row(thread, Op::MutexLock, 0x8000, stacks[0], 10)
            .waited(&[MS, 2 * MS])
            .blocked_by(stacks[1], 0, 1, MS);
        f.row(thread, Op::CondWait, 0x8100, stacks[1], 3).waited(&[MS]);
        f.row(thread, Op::MutexInit, 0x8000, stacks[0], 1);
    }
    f.bytes()
}

/// Overwrites, flips or cuts bytes. At least half of the damage is in the first 512 bytes, which
/// are the header's; a quarter stores extreme values in whole words.
fn damage(bytes: &mut Vec<u8>, random: &mut fastrand::Rng) {
    for _ in 0..random.usize(1..6) {
        let at = match random.bool() {
            true => random.usize(..bytes.len().min(512)),
            false => random.usize(..bytes.len()),
        };
        let word = at & !7;
        match random.u8(..8) {
            0..3 => bytes[at] ^= 1 << random.u8(..8),
            3 => bytes[at] = random.u8(..),
            4 | 5 if word + 8 <= bytes.len() => {
                let extreme = [0, 1, u64::MAX, u64::MAX / 2, 1 << 32, u64::from(u32::MAX)];
                let value = extreme[random.usize(..extreme.len())];
                bytes[word..word + 8].copy_from_slice(&value.to_ne_bytes());
            }
            6 => bytes.truncate(at.max(1)),
            _ => bytes[at] = 0xff,
        }
    }
}

#[test]
fn damaged_recordings_give_an_answer() {
    let whole = valid();
    let folder = TempDir::new().unwrap();
    let path = folder.path().join("1.syncline");
    let mut random = fastrand::Rng::with_seed(20);
    let mut readable = 0;
    for round in 0..ROUNDS {
        let mut bytes = whole.clone();
        damage(&mut bytes, &mut random);
        std::fs::write(&path, &bytes).unwrap();
        let began = Instant::now();
        if let Ok(analysis) = Analysis::load(&path, &Options::default()) {
            readable += 1;
            let mut out = Vec::new();
            report::terminal(&analysis, Extent::Findings, &mut out, &Style::default()).unwrap();
            report::json(&analysis, &mut out).unwrap();
            report::html(&analysis, &mut out).unwrap();
        }
        assert!(began.elapsed() < LIMIT, "round {round} took {:?}", began.elapsed());
    }
    assert!(readable > ROUNDS / 10 && readable < ROUNDS, "{readable}: the damage tests nothing");
}

#[test]
fn an_unreadable_file_among_others_is_left_out_with_a_note() {
    let folder = TempDir::new().unwrap();
    std::fs::write(folder.path().join("1.syncline"), valid()).unwrap();
    std::fs::write(folder.path().join("2.syncline"), b"something else").unwrap();
    let analysis = Analysis::load(folder.path(), &Options::default()).unwrap();
    assert_eq!((analysis.processes.len(), analysis.notes.len()), (1, 1));
    let note = analysis.notes[0].to_string();
    assert!(note.ends_with("2.syncline: not a Syncline recording"), "{note}");
}

#[test]
fn without_a_recording_there_is_an_error() {
    let folder = TempDir::new().unwrap();
    let load = |path: &Path| Analysis::load(path, &Options::default()).map(|_| ()).unwrap_err();
    assert!(load(folder.path()).to_string().contains("no recording in this folder"));
    load(&folder.path().join("missing"));
    std::fs::write(folder.path().join("1.syncline"), b"").unwrap();
    load(folder.path());
}
