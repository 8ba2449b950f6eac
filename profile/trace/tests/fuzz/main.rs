//! Tests the reader with damaged traces. With any bytes, it must return a value or an error, never
//! panic, and take no more memory than a multiple of the file's size.
//!
//! The damage follows from fixed seeds, so that a failure can be repeated. The message of a failure
//! names the seed.

mod damage;
#[path = "../../../recording/tests/fuzz/memory.rs"]
mod memory;
mod sample;

use std::fs;
use std::panic::{AssertUnwindSafe, catch_unwind};
use std::path::Path;

use syncline_trace::layout::VERSION;
use syncline_trace::{Error, Trace, trace_files};

use crate::sample::{last_chunk, sample};

/// At most this many times the file's size may be allocated. A section without words takes 32 bytes
/// in the file, and ten times as many after it was read. An instruction takes one byte in the file,
/// or a quarter of one if the form is that of an earlier section, and 32 bytes after it was read.
/// While a list grows, it takes up to three times the size of its elements.
const MEMORY_FACTOR: usize = 160;
const MEMORY_FLOOR: usize = 64 << 10;

/// Reads the bytes as a trace, and uses everything in the result. `what` names the damage in
/// messages.
#[track_caller]
fn read(path: &Path, bytes: &[u8], what: &str) -> Result<Trace, Error> {
    fs::write(path, bytes).expect("a file to read");
    memory::start();
    let read = catch_unwind(AssertUnwindSafe(|| Trace::open(path).inspect(use_everything)));
    let most = memory::most();
    let result = read.unwrap_or_else(|_| panic!("the reader panicked on {what}"));
    let allowed = MEMORY_FACTOR * bytes.len() + MEMORY_FLOOR;
    assert!(most <= allowed, "{most} bytes of memory for {} on {what}", bytes.len());
    if let Err(e) = &result {
        assert!(!e.to_string().is_empty());
    }
    result
}

fn use_everything(trace: &Trace) {
    let text = (trace.executable(), trace.arguments(), trace.left_alone());
    let time = trace.seconds(trace.ended());
    let modules = trace.modules.iter().map(|m| m.path().len() + m.build_id().len()).sum::<usize>();
    let threads = trace.threads.iter().map(|t| t.name().len()).sum::<usize>();
    let arrays = trace
        .sections
        .iter()
        .map(|s| s.objects.len() + s.words.len() + s.steps.len() + s.system_calls.len());
    std::hint::black_box((text, time, modules, threads, arrays.sum::<usize>()));
}

fn folder() -> tempfile::TempDir {
    tempfile::tempdir().expect("a folder")
}

#[test]
fn the_sample_is_read_back_unchanged() {
    let folder = folder();
    let trace = read(&folder.path().join("1.trace"), &sample(), "the sample").expect("a value");
    assert_eq!(trace.executable(), "/usr/bin/sample");
    assert_eq!(trace.arguments(), ["sample", "--fast"]);
    assert_eq!(trace.modules.len(), 1);
    let names: Vec<_> = trace.threads.iter().map(|t| t.name()).collect();
    assert_eq!(names, ["worker 0", "worker 1"]);
    assert_eq!(trace.sections.len(), sample::THREADS * sample::SECTIONS);
    for (number, section) in trace.sections.iter().enumerate() {
        assert_eq!(section.thread as usize, number / sample::SECTIONS);
        assert_eq!(*section.words, sample::words(number % sample::SECTIONS));
        assert_eq!((section.objects[0].size, section.steps[0].times), (24, 20));
        assert_eq!(section.system_calls[0].number, 1);
    }
    let counts: Vec<_> = trace.counts.iter().map(|(t, c)| (*t, c.acquisitions)).collect();
    assert_eq!(counts, [(0, 100), (1, 100)]);
    assert_eq!(trace.ended(), 8000);
}

#[test]
fn a_file_of_another_version_is_refused_by_its_number() {
    let folder = folder();
    let mut bytes = sample();
    damage::put(&mut bytes, 8, 4, 99);
    let result = read(&folder.path().join("1.trace"), &bytes, "version 99");
    let Err(error @ Error::Version { found: 99, .. }) = result else { panic!("not refused") };
    let expected = format!("recorded in format 99, but this Syncline reads format {VERSION}");
    assert!(error.to_string().ends_with(&expected), "{error}");
}

#[test]
fn truncated_files_are_handled() {
    let (folder, whole) = (folder(), sample());
    let path = folder.path().join("1.trace");
    let ends = [last_chunk() - 1, last_chunk()].into_iter().chain(whole.len() - 1200..whole.len());
    for length in (0..whole.len()).step_by(401).chain(ends) {
        let result = read(&path, &whole[..length], &format!("the first {length} bytes"));
        assert!(
            length > last_chunk() || result.is_err(),
            "a file without its last records was read"
        );
    }
}

/// Replaces every third word that the reader relies on by each special value.
#[test]
fn every_word_with_every_special_value() {
    let (folder, whole) = (folder(), sample());
    let path = folder.path().join("1.trace");
    for at in sample::structure().into_iter().step_by(3) {
        for special in damage::special_values(whole.len() as u64) {
            let mut bytes = whole.clone();
            let width = if special > u64::from(u32::MAX) { 8 } else { 4 };
            damage::put(&mut bytes, at, width, special);
            drop(read(&path, &bytes, &format!("{special:#x} at {at}")));
        }
    }
}

#[test]
fn thousands_of_random_damages() {
    const CASES: u64 = 5_000;
    let (folder, whole) = (folder(), sample());
    let path = folder.path().join("1.trace");
    let places = sample::structure();
    let mut readable = 0;
    for seed in 0..CASES {
        let bytes = damage::damaged(&whole, &places, seed);
        readable += u64::from(read(&path, &bytes, &format!("seed {seed}")).is_ok());
    }
    // If fewer files were readable, the damage would be too coarse to get past the first checks; if
    // all were, it would not damage anything.
    assert!((CASES / 20..CASES).contains(&readable), "{readable} of {CASES} were readable");
}

#[test]
fn noise_and_other_files() {
    let folder = folder();
    let path = folder.path().join("1.trace");
    let mut random = fastrand::Rng::with_seed(3);
    for length in [0, 1, 7, 8, 4095, 4096, 70_000] {
        let mut noise: Vec<u8> = std::iter::repeat_with(|| random.u8(..)).take(length).collect();
        let outcome = read(&path, &noise, "noise");
        assert!(matches!(outcome, Err(Error::Foreign(_) | Error::NoRoom(_))));
        if length >= 8 {
            noise[..8].copy_from_slice(b"SYNTRACE");
            assert!(read(&path, &noise, "noise after the magic").is_err());
        }
    }
    assert!(matches!(Trace::open(folder.path()), Err(Error::Foreign(_))));
    assert!(matches!(Trace::open(&folder.path().join("none")), Err(Error::Io { .. })));
    assert!(matches!(trace_files(&folder.path().join("none")), Err(Error::Io { .. })));
    assert_eq!(trace_files(folder.path()).expect("a folder"), [path]);
}
