//! Tests the reader with damaged recordings. With any bytes, it must return a value or an error,
//! never panic, and take no more memory than a small multiple of the file's size.
//!
//! The damage follows from fixed seeds, so that a failure can be repeated. The message of a failure
//! names the seed.

mod damage;
mod memory;
mod sample;

use std::fs;
use std::panic::{AssertUnwindSafe, catch_unwind};
use std::path::Path;

use syncline_recording::folder::Folder;
use syncline_recording::layout::{NestRecord, VERSION};
use syncline_recording::{Error, ProcessFile, Session, process_files, processes};

use crate::sample::sample;

/// At most this many times the file's size may be allocated. (A row takes 64 bytes in the file, and
/// about 500 after it was read if it has waits.)
const MEMORY_FACTOR: usize = 16;
const MEMORY_FLOOR: usize = 64 << 10;

/// Reads the bytes as a recording, and uses everything in the result. `what` names the damage in
/// messages.
#[track_caller]
fn read(path: &Path, bytes: &[u8], what: &str) -> Result<ProcessFile, Error> {
    read_process(path, 0, bytes, what)
}

/// Reads the bytes as a file of a recording, and opens the process whose header is on this page.
#[track_caller]
fn read_process(path: &Path, page: u32, bytes: &[u8], what: &str) -> Result<ProcessFile, Error> {
    fs::write(path, bytes).expect("a file to read");
    let mut name = path.as_os_str().to_owned();
    if page != 0 {
        name.push(format!("#{page}"));
    }
    let process = Path::new(&name);
    memory::start();
    let read = catch_unwind(AssertUnwindSafe(|| {
        let found = processes(path).len();
        assert!(found <= 1 + bytes.len() / 4096, "{found} processes");
        ProcessFile::open(process).inspect(use_everything)
    }));
    let most = memory::most();
    let result = read.unwrap_or_else(|_| panic!("the reader panicked on {what}"));
    let allowed = MEMORY_FACTOR * bytes.len() + MEMORY_FLOOR;
    assert!(most <= allowed, "{most} bytes of memory for {} on {what}", bytes.len());
    if let Err(e) = &result {
        assert!(!e.to_string().is_empty());
    }
    result
}

fn use_everything(file: &ProcessFile) {
    let text = (file.executable(), file.arguments(), file.ended(), file.seconds(file.ended()));
    let modules = file.modules.iter().map(|m| m.path().len() + m.build_id().len()).sum::<usize>();
    let threads = file.threads.iter().map(|t| t.record.name().len()).sum::<usize>();
    let rows = file.threads.iter().flat_map(|t| &t.rows);
    let frames = rows.map(|row| {
        let outer = |nest: &NestRecord| nest.locks.map(|n| file.stack(n.stack).len()).iter().sum();
        let nest: usize = row.nest.as_deref().map_or(0, outer);
        let place = file.stack(row.counts.stack).len() + nest;
        let waits = row.waits.as_ref().map_or(0, |w| w.histogram.len() + w.blockers.len());
        place + waits + row.op.label().len()
    });
    let logs = file.threads.iter().flat_map(|t| &t.log).map(|e| file.stack(e.stack).len());
    let frames = frames.sum::<usize>() + logs.sum::<usize>();
    std::hint::black_box((text, modules, threads, frames));
}

fn folder() -> tempfile::TempDir {
    tempfile::tempdir().expect("a folder")
}

#[test]
fn the_sample_is_read_back_unchanged() {
    let folder = folder();
    let file = read(&folder.path().join("1.syncline"), &sample(), "the sample").expect("a value");
    assert_eq!(file.executable(), "/usr/bin/sample");
    assert_eq!(file.arguments(), ["sample", "--fast"]);
    assert_eq!(file.modules.len(), 2);
    assert_eq!(file.stack(1), [0x1010, 0x1020, 0x1030]);
    assert_eq!(file.threads.len(), sample::THREADS);
    for (index, thread) in file.threads.iter().enumerate() {
        assert_eq!(thread.record.name(), format!("worker {index}"));
        assert_eq!(thread.rows.len(), sample::ROWS);
        let calls: u64 = thread.rows.iter().map(|r| r.counts.calls).sum();
        assert_eq!(calls, sample::calls(index));
        let waits: u64 = thread.rows.iter().filter_map(|r| r.waits.as_ref()).map(|w| w.waits).sum();
        assert_eq!(waits, 5);
        let nests: Vec<_> = thread.rows.iter().filter_map(|r| r.nest.as_ref()).collect();
        assert_eq!(nests.len(), 1);
        assert_eq!((nests[0].alone, nests[0].locks[0].seen, nests[0].others), (3, 6, 1));
        let log: Vec<u64> = thread.log.iter().map(|event| event.ended).collect();
        assert_eq!(log, sample::KEPT.collect::<Vec<_>>(), "no more than there are places");
    }
    let counts = ProcessFile::open_counts(&file.path).expect("a value");
    assert!(counts.threads.iter().all(|t| t.log.is_empty() && t.rows.len() == sample::ROWS));
}

#[test]
fn a_file_of_another_version_is_refused_by_its_number() {
    let folder = folder();
    let mut bytes = sample();
    damage::put(&mut bytes, 8, 4, 1);
    let result = read(&folder.path().join("1.syncline"), &bytes, "version 1");
    let Err(error @ Error::Version { found: 1, .. }) = result else { panic!("not refused") };
    let expected = format!("recorded in format 1, but this Syncline reads format {VERSION}");
    assert!(error.to_string().ends_with(&expected), "{error}");
}

#[test]
fn an_event_that_was_never_finished_is_left_out() {
    let folder = folder();
    let file = read(&folder.path().join("1.syncline"), &sample::unfinished(), "a sample");
    let log: Vec<u64> = file.expect("a value").threads[0].log.iter().map(|e| e.ended).collect();
    assert_eq!(log, [0, 1, 3]);
}

#[test]
fn windows_that_are_longer_than_their_period_are_refused() {
    let folder = folder();
    match read(&folder.path().join("1.syncline"), &sample::impossible_windows(), "windows") {
        Ok(_) => panic!("read"),
        Err(error) => assert!(error.to_string().contains("impossible windows"), "{error}"),
    }
}

/// Otherwise a small file could make the reader allocate any amount of memory.
#[test]
fn tables_and_logs_that_overlap_are_refused() {
    let folder = folder();
    let path = folder.path().join("1.syncline");
    let logs = (sample::one_log_for_all(), "one log for all");
    let tables = (sample::one_table_for_all(), "one table for all");
    for (file, what) in [logs, tables] {
        match read(&path, &file, what) {
            Ok(_) => panic!("read"),
            Err(error) => assert!(error.to_string().contains("overlap"), "{error}"),
        }
    }
}

#[test]
fn truncated_files_are_handled() {
    let (folder, whole) = (folder(), sample());
    let path = folder.path().join("1.syncline");
    for length in (0..whole.len()).step_by(7) {
        let result = read(&path, &whole[..length], &format!("the first {length} bytes"));
        assert!(length > 4096 || result.is_err(), "a file without a whole header was read");
    }
}

#[test]
fn children_in_one_file_are_distinguished() {
    let (folder, whole) = (folder(), sample::family());
    let path = folder.path().join("1.syncline");
    let first = read(&path, &whole, "a family").expect("a value");
    let found = process_files(folder.path()).expect("a recording");
    let names: Vec<_> = found.iter().map(|path| path.file_name().expect("a name")).collect();
    let [child, grandchild] = sample::PAGES.map(|page| format!("1.syncline#{page}"));
    assert_eq!(names, ["1.syncline", &child, &grandchild]);
    assert_eq!(process_files(&found[1]).expect("one"), found[1..2]);
    let starts =
        |file: &ProcessFile| -> Vec<u64> { file.modules.iter().map(|m| m.start).collect() };
    let tids =
        |file: &ProcessFile| -> Vec<u32> { file.threads.iter().map(|t| t.record.tid).collect() };
    assert_eq!((starts(&first), tids(&first)), (vec![0x1000, 0x2000], vec![42, 43, 44]));
    let expected = [(43, vec![0x1000, 0x3000], vec![45, 46]), (44, vec![0x1000], vec![47])];
    for (path, (pid, modules, threads)) in found[1..].iter().zip(expected) {
        let file = ProcessFile::open(path).expect("a value");
        assert_eq!((file.header.pid, file.header.parent_page == 0), (pid, pid == 43));
        assert_eq!((starts(&file), tids(&file)), (modules, threads));
        assert_eq!(file.executable(), "/usr/bin/sample");
        assert_eq!(file.stack(1), [0x1010, 0x1020, 0x1030], "a stack that it uses");
        assert_eq!(file.next_program(), folder.path().join(format!("{pid}.syncline")));
    }
}

/// Among other things, this makes links between headers, threads and ancestors that form a circle or lead
/// nowhere.
#[test]
fn every_word_of_a_child_with_every_special_value() {
    let (folder, whole) = (folder(), sample::family());
    let path = folder.path().join("1.syncline");
    let own = sample::PAGES.map(u64::from);
    for at in sample::structure_of_child() {
        for special in damage::special_values(whole.len() as u64).into_iter().chain(own) {
            let mut bytes = whole.clone();
            let width = if special > u64::from(u32::MAX) { 8 } else { 4 };
            damage::put(&mut bytes, at, width, special);
            for page in sample::PAGES {
                drop(read_process(&path, page, &bytes, &format!("{special:#x} at {at}")));
            }
        }
    }
    for page in [1, u32::MAX, sample::PAGES[1] + 1] {
        assert!(read_process(&path, page, &whole, "another page").is_err());
    }
}

#[test]
fn truncated_children_and_children_with_random_damage() {
    let (folder, whole) = (folder(), sample::family());
    let path = folder.path().join("1.syncline");
    let mut readable = 0;
    for length in (0..whole.len()).step_by(61) {
        drop(read_process(&path, sample::PAGES[0], &whole[..length], &format!("{length} bytes")));
    }
    for seed in 0..5000 {
        let bytes = damage::damaged(&whole, seed);
        let read = read_process(&path, sample::PAGES[1], &bytes, &format!("seed {seed}"));
        readable += u64::from(read.is_ok());
    }
    assert!((250..5000).contains(&readable), "{readable} were readable");
}

/// Replaces each word that the reader relies on by each special value.
#[test]
fn every_word_with_every_special_value() {
    let (folder, whole) = (folder(), sample());
    let path = folder.path().join("1.syncline");
    for at in sample::structure() {
        for special in damage::special_values(whole.len() as u64) {
            let mut bytes = whole.clone();
            let width = if special > u64::from(u32::MAX) { 8 } else { 4 };
            damage::put(&mut bytes, at, width, special);
            drop(read(&path, &bytes, &format!("{special:#x} at {at}")));
        }
    }
}

#[test]
fn thousands_of_randomly_damaged_files() {
    const CASES: u64 = 20_000;
    let (folder, whole) = (folder(), sample());
    let path = folder.path().join("1.syncline");
    let mut readable = 0;
    for seed in 0..CASES {
        let bytes = damage::damaged(&whole, seed);
        readable += u64::from(read(&path, &bytes, &format!("seed {seed}")).is_ok());
    }
    // If fewer files were readable, the damage would be too coarse to get past the first checks; if
    // all were, it would not damage anything.
    assert!((CASES / 20..CASES).contains(&readable), "{readable} of {CASES} were readable");
}

#[test]
fn noise_and_other_files() {
    let folder = folder();
    let path = folder.path().join("1.syncline");
    let mut random = fastrand::Rng::with_seed(3);
    for length in [0, 1, 7, 8, 4095, 4096, 70_000] {
        let mut noise: Vec<u8> = std::iter::repeat_with(|| random.u8(..)).take(length).collect();
        let outcome = read(&path, &noise, "noise");
        assert!(matches!(outcome, Err(Error::Foreign(_) | Error::NoRoom(_))));
        if length >= 8 {
            noise[..8].copy_from_slice(b"SYNCLINE");
            assert!(read(&path, &noise, "noise after the magic").is_err());
        }
    }
    assert!(matches!(ProcessFile::open(folder.path()), Err(Error::Foreign(_))));
    assert!(matches!(ProcessFile::open(&folder.path().join("none")), Err(Error::Io { .. })));
}

#[test]
fn damaged_sessions_and_odd_folders() {
    let folder = folder();
    assert!(matches!(process_files(folder.path()), Err(Error::Empty(_))));
    assert!(matches!(Session::read(folder.path()), Ok(None)));
    let session = Session {
        version: Session::VERSION,
        syncline: "0.1.0".into(),
        command: vec!["sample".into()],
        pid: 1,
        started: 2,
        seconds: Some(0.5),
        ending: None,
        processors: 2,
        idle: Some(0.25),
        kernel: "Linux".into(),
    };
    let opened = Folder::open(folder.path()).expect("a folder");
    session.write(&opened).expect("a session");
    assert_eq!(Session::read(folder.path()).expect("a session"), Some(session));
    let path = folder.path().join("session.json");
    let whole = fs::read(&path).expect("its text");
    for seed in 0..2000 {
        fs::write(&path, damage::damaged(&whole, seed)).expect("a file");
        let read = catch_unwind(|| drop(Session::read(folder.path())));
        assert!(read.is_ok(), "seed {seed}");
    }
}
