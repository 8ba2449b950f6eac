//! Tests windows of time: each is the difference of two readings, and can be read like any
//! recording.

use std::fs;
use std::path::Path;
use std::time::Duration;

use bytemuck::Zeroable;
use syncline_recording::folder::Folder;
use syncline_recording::layout::{
    CLOCK_MONOTONIC, EVENT_WAIT, EventRecord, Header, MAGIC, NOBODY, PROCESS_LEFT, Row,
    THREAD_EXITED, THREAD_RUNNING, ThreadRecord, VERSION, WaitRecord,
};
use syncline_recording::{Op, ProcessFile, Recent, Row as Counted, Session, Thread, Windows};

const LOCK: u64 = 0x5000;

/// A reading, at the tick `ended`, of a process with one thread. The thread has acquired a lock
/// `calls` times, and waited for it `waits` times, each time for `each` ticks.
fn look(ended: u64, calls: u64, waits: u64, each: u64) -> ProcessFile {
    let mut counts = Row { lock: LOCK, ret: 0x1000, calls, ..Row::zeroed() };
    counts.key = Row::key(Op::MutexLock, 64);
    (counts.held_ticks, counts.held_samples, counts.held_max) = (calls * 3, calls as u32, 40);
    let mut record = WaitRecord { waits, ticks: waits * each, max: each, ..WaitRecord::zeroed() };
    record.histogram[syncline_recording::layout::bucket(each)] = waits as u32;
    let row = Counted {
        op: Op::MutexLock,
        counts,
        waits: Some(Box::new(record)),
        nest: None,
        sampled: false,
    };
    let event = |n: u64| EventRecord {
        began: n * 100,
        ended: n * 100 + 50,
        lock: LOCK,
        stack: 0,
        who: NOBODY,
        op: Op::MutexLock as u8,
        kind: EVENT_WAIT,
    };
    let thread = Thread {
        index: 2,
        record: ThreadRecord {
            state: THREAD_RUNNING,
            lifetimes: 1,
            started: 5,
            cpu_ns: 0,
            left_cpu_ns: ended * 7,
            logged: waits,
            ..ThreadRecord::zeroed()
        },
        rows: vec![row],
        log: (0..ended / 100).map(event).collect(),
        windows: Windows::ALL,
    };
    let header = Header {
        magic: MAGIC,
        version: VERSION,
        byte_order: 0x0102_0304,
        clock: CLOCK_MONOTONIC,
        ticks_per_second: 1_000_000_000,
        started: 1,
        started_realtime: 1_000_000,
        pid: 41,
        ended,
        state: PROCESS_LEFT,
        ..Header::zeroed()
    };
    ProcessFile {
        path: "41.syncline".into(),
        header,
        now: None,
        modules: Vec::new(),
        threads: vec![thread],
        stacks: vec![bytemuck::Zeroable::zeroed()],
    }
}

/// Packs the file, and reads it again.
fn read(file: &ProcessFile, folder: &Path) -> ProcessFile {
    let path = folder.join("41.syncline");
    fs::write(&path, file.packed()).expect("a file");
    ProcessFile::open(&path).expect("it is whole")
}

#[test]
fn a_packed_process_is_read_back_unchanged() {
    let folder = tempfile::tempdir().expect("a folder");
    let mut file = look(1000, 100, 20, 500);
    file.threads[0].rows[0].sampled = true;
    let again = read(&file, folder.path());
    let [was, is] = [&file.threads[0], &again.threads[0]];
    assert_eq!(is.index, 2);
    assert_eq!((is.rows.len(), is.rows[0].sampled), (1, true));
    assert_eq!(is.rows[0].counts.calls, 100, "nothing more is shared out");
    assert_eq!(is.rows[0].waits.as_ref().map(|w| (w.waits, w.ticks)), Some((20, 10_000)));
    let ends = |thread: &Thread| thread.log.iter().map(|e| e.ended).collect::<Vec<_>>();
    assert_eq!(ends(is), ends(was));
    assert_eq!((again.header.ended, again.header.state), (1000, PROCESS_LEFT));
    assert_eq!(again.packed(), read(&again, folder.path()).packed());
}

#[test]
fn a_window_has_counts_of_its_own_time() {
    let folder = tempfile::tempdir().expect("a folder");
    let (before, after) = (look(1000, 100, 20, 500), look(2050, 175, 25, 500));
    let window = read(&after.since(&read(&before, folder.path())), folder.path());
    assert_eq!((window.header.started, window.header.ended), (1000, 2050));
    assert_eq!(window.header.started_realtime, 1_000_999);
    let thread = &window.threads[0];
    let row = &thread.rows[0];
    let waits = row.waits.as_ref().expect("it waited");
    assert_eq!((row.counts.calls, waits.waits, waits.ticks), (75, 5, 2500));
    assert_eq!((row.counts.held_ticks, row.counts.held_samples), (225, 75));
    assert_eq!(row.counts.held_max, 3, "the longest is not known, the mean is");
    assert_eq!((waits.max, waits.histogram.iter().sum::<u32>()), (500, 5));
    assert_eq!((thread.record.started, thread.record.left_cpu_ns), (1000, 1050 * 7));
    let log: Vec<_> = thread.log.iter().map(|event| (event.began, event.ended)).collect();
    assert_eq!(log[0], (1000, 1050));
    assert_eq!(log.len(), 10);
}

#[test]
fn a_wait_that_had_begun_counts_from_the_windows_begin() {
    // waits since 400 .......|1000 ........ until 1500: 1100 ticks, 500 of them in the window
    let mut before = look(1000, 0, 0, 0);
    let record = &mut before.threads[0].record;
    (record.waiting_op, record.waiting_lock, record.waiting_since) =
        (Op::MutexLock as u32, LOCK, 400);
    let mut after = look(2000, 1, 1, 1100);
    let window = after.clone().since(&before);
    let waits = window.threads[0].rows[0].waits.as_ref().expect("it waited");
    assert_eq!((waits.waits, waits.ticks, waits.max), (1, 500, 500));

    // It still waits.
    let record = &mut after.threads[0].record;
    (record.waiting_op, record.waiting_lock, record.waiting_since) =
        (Op::MutexLock as u32, LOCK, 400);
    let window = after.since(&before);
    assert_eq!(window.threads[0].record.waiting_since, 1000);
}

#[test]
fn rows_and_threads_without_change_are_left_out() {
    let mut before = look(1000, 100, 20, 500);
    let mut after = look(2000, 100, 20, 500);
    assert_eq!(after.clone().since(&before).threads[0].rows.len(), 0);
    for file in [&mut before, &mut after] {
        file.threads[0].record.state = THREAD_EXITED;
        file.threads[0].record.ended = 900;
    }
    assert!(after.clone().since(&before).threads.is_empty(), "it had ended");
    // Another thread has taken over the record.
    after.threads[0].record.lifetimes = 2;
    assert_eq!(after.clone().since(&before).threads.len(), 1);
    // The earlier reading was of another process with the same number.
    before.header.started_realtime += 1;
    assert_eq!(after.since(&before).threads[0].rows[0].counts.calls, 100);
}

/// The distribution of a call site's calls over its locks is an estimate that may change, but the
/// sum is exact.
#[test]
fn the_sum_of_a_call_site_stays_exact() {
    let with = |calls: [u64; 2]| {
        let mut file = look(1000, 0, 0, 0);
        let row = file.threads[0].rows[0].clone();
        let rows = calls.map(|n| {
            let lock = LOCK + n % 7;
            Counted { counts: Row { lock, calls: n, ..row.counts }, sampled: true, ..row.clone() }
        });
        file.threads[0].rows = rows.to_vec();
        file
    };
    let mut before = with([700, 351]);
    before.header.ended = 900;
    let window = with([693, 1051]).since(&before);
    let calls: u64 = window.threads[0].rows.iter().map(|row| row.counts.calls).sum();
    assert_eq!(calls, 693);
}

/// A millisecond in ticks, which are nanoseconds here.
const MS: u64 = 1_000_000;

/// The tick at which a window of 1 ms ends.
fn end_of(window: u64) -> u64 {
    1 + window * MS
}

/// The reading at the end of a window of 1 ms. The lock is acquired ten times in each window. The
/// logs had been taken `taken` times, the last time at the end of window `last`; 0 if they had not.
fn until(window: u64, taken: u32, last: u64) -> ProcessFile {
    let mut file = look(end_of(window), 10 * window, 0, 1);
    file.header.window = taken;
    file.header.window_began = if last == 0 { 0 } else { end_of(last) };
    file.threads[0].log.retain(|event| event.ended > file.header.window_began);
    file
}

fn put(folder: &Path, file: &ProcessFile) {
    fs::create_dir_all(folder).expect("a folder");
    fs::write(folder.join("41.syncline"), file.packed()).expect("a file");
}

/// A recording of 6 ms in windows of 1 ms. The first windows were removed, and these are left. The
/// logs were taken at the end of each window.
fn in_windows(left: std::ops::RangeInclusive<u64>) -> tempfile::TempDir {
    let folder = tempfile::tempdir().expect("a folder");
    put(folder.path(), &until(6, 6, 6));
    for window in left.clone() {
        let path = folder.path().join(format!("window-{window}"));
        let sums = |window: u64| until(window, window as u32 - 1, window - 1);
        put(&path.join("sums"), &sums(window));
        if window == *left.start() && window > 1 {
            put(&path.join("before"), &sums(window - 1));
        }
        let session = Session {
            version: Session::VERSION,
            syncline: String::new(),
            command: vec!["true".to_owned()],
            pid: 41,
            started: MS + (window - 1) * MS,
            seconds: Some(1e-3),
            ending: None,
            processors: 1,
            idle: None,
            kernel: String::new(),
        };
        session.write(&Folder::open(&path).expect("a folder")).expect("a file");
    }
    folder
}

/// How many milliseconds and how many acquisitions of a recording's end are shown, and whether as
/// many milliseconds are shown as were asked for.
fn last(folder: &tempfile::TempDir, milliseconds: f64) -> (u64, u64, bool) {
    let asked = Duration::from_secs_f64(milliseconds / 1e3);
    let recent = Recent::find(folder.path(), asked).expect("windows");
    let whole = ProcessFile::open(&folder.path().join("41.syncline")).expect("a file");
    let shown = recent.of(whole).expect("it went on");
    let span = (recent.span().as_secs_f64() * 1e3).round();
    let own = (shown.seconds(shown.ended() - shown.header.started) * 1e3).round();
    assert_eq!(span, own, "the process was there all the time");
    (span as u64, shown.threads[0].rows[0].counts.calls, recent.reaches())
}

#[test]
fn the_end_of_a_run_begins_where_a_window_begins_or_ends() {
    let folder = in_windows(4..=6);
    assert_eq!(last(&folder, 0.5), (1, 10, true));
    assert_eq!(last(&folder, 1.5), (2, 20, true));
    assert_eq!(last(&folder, 2.5), (3, 30, true), "since the oldest window began");
    assert_eq!(last(&folder, 9.0), (3, 30, false), "all windows that are kept");
    assert_eq!(last(&in_windows(6..=6), 9.0), (1, 10, false), "the only window that is kept");
    let all = in_windows(1..=6);
    assert_eq!(last(&all, 5.5), (6, 60, true));
    assert_eq!(last(&all, 9.0), (6, 60, false));
    assert!(Recent::find(all.path(), Duration::from_secs(1)).expect("windows").is_all());
    // A command was killed between the two steps by which a window is removed.
    let (from, to) = ("window-4/sums", "window-5/before");
    fs::rename(folder.path().join(from), folder.path().join(to)).expect("moved");
    assert_eq!(last(&folder, 9.0), (2, 20, false));
}

/// The events that are shown of the last microseconds of a recording: how many there are, and the
/// window after whose end they begin.
fn events(folder: &Path, microseconds: u64) -> (u64, u64) {
    let recent = Recent::find(folder, Duration::from_micros(microseconds)).expect("windows");
    let whole = ProcessFile::open(&folder.join("41.syncline")).expect("a file");
    let shown = recent.of(whole).expect("it went on");
    let log = &shown.threads[0].log;
    assert!(log.is_sorted_by_key(|event| event.ended));
    let began = shown.header.started.max(shown.header.window_began);
    assert!(log.iter().all(|event| event.ended > began));
    (log.len() as u64, began / MS)
}

#[test]
fn the_end_of_a_run_has_the_logs_of_its_windows() {
    /// The number of events in a window: there is one each 100 ns.
    const EACH: u64 = MS / 100;
    let folder = in_windows(3..=6);
    let path = folder.path();
    assert_eq!(events(path, 500), (EACH, 5));
    assert_eq!(events(path, 1500), (2 * EACH, 4));
    assert_eq!(events(path, 9000), (4 * EACH, 2), "all windows that are kept");
    assert_eq!(events(in_windows(1..=6).path(), 9000), (6 * EACH, 0), "all of the recording");
    let whole = ProcessFile::open(&path.join("41.syncline")).expect("a file");
    let whole = whole.with_logs_of_windows(path);
    assert_eq!(whole.threads[0].log.len() as u64, 4 * EACH, "all windows that are kept");
    assert_eq!(whole.header.window_began / MS, 2);
    assert_eq!(whole.threads[0].rows[0].counts.calls, 60, "counts are those of the whole run");

    // The logs could not be taken at the end of window 4, so window 5 has its events too.
    let sums = |window: u64| path.join(format!("window-{window}/sums"));
    put(path, &until(6, 5, 6));
    put(&sums(6), &until(6, 4, 5));
    put(&sums(5), &until(5, 3, 3));
    assert_eq!(events(path, 9000), (4 * EACH, 2));

    // A log became full in window 5, so events are missing before the window's end.
    put(path, &until(6, 6, 6));
    put(&sums(6), &until(6, 5, 5));
    let mut full = until(5, 4, 4);
    (full.threads[0].record.log, full.threads[0].record.log_kept) = (1, 1 << 20);
    put(&sums(5), &full);
    assert_eq!(events(path, 9000), (EACH, 5));
    fs::remove_dir_all(path.join("window-5")).expect("removed");
    assert_eq!(events(path, 9000), (EACH, 5), "a window is missing");
}
