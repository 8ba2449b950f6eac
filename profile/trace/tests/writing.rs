//! Tests that the reader finds what the writer has written: from many threads, in more than one
//! chunk, and in a process that was killed, but nothing from a forked child.

use std::mem::offset_of;
use std::os::unix::ffi::OsStrExt;
use std::os::unix::fs::FileExt;
use std::path::Path;
use std::thread;

use bytemuck::Zeroable;
use syncline_recording::Op;
use syncline_recording::layout::{ModuleRecord, Region};
use syncline_trace::layout::{
    CHUNK, CountRecord, Header, NONE, ObjectRecord, SectionRecord, StepRecord, SystemCallRecord,
    WordRecord,
};
use syncline_trace::writer::{Contents, File, Folder, Start, modules};
use syncline_trace::{Trace, trace_files};

const SIZE: u64 = 32 << 20;

fn create(folder: &Path) -> File {
    let start = Start {
        folder: &Folder::new(folder.as_os_str().as_bytes()).expect("a short path"),
        max_size: SIZE,
        clock: 1,
        ticks_per_second: 1_000_000_000,
        started: 10,
        started_realtime: 0,
        budget_permille: 100,
        only_some: false,
    };
    File::create(&start).expect("a file")
}

fn section(lock: u64, order: u64) -> SectionRecord {
    SectionRecord {
        lock,
        order,
        acquired: order,
        released: order + 1,
        holder: NONE,
        op: Op::MutexLock as u32,
        ..SectionRecord::zeroed()
    }
}

fn words(number: u64) -> Vec<WordRecord> {
    let word = |n| WordRecord {
        address: 8 * n,
        reader: n,
        writer: n + 1,
        object: NONE,
        read: n as u8,
        written: !n as u8,
        flags: 0,
    };
    (0..number).map(word).collect()
}

fn read(folder: &Path) -> Trace {
    let files = trace_files(folder).expect("a folder");
    assert_eq!(files.len(), 1);
    Trace::open(&files[0]).expect("a trace")
}

/// A process that is read while it runs, or was killed, may have claimed a module record that it
/// has not filled in.
#[test]
fn a_module_that_is_not_filled_in_is_left_out() {
    let folder = tempfile::tempdir().expect("a folder");
    let file = create(folder.path());
    let module = ModuleRecord::new((0x1000, 0x2000), 0x1000, b"/usr/lib/a.so", b"id");
    assert!(file.module(&module));
    let path = trace_files(folder.path()).expect("a folder").remove(0);
    let bytes = std::fs::File::options().write(true).open(path).expect("a file");
    let count = offset_of!(Header, modules) + offset_of!(Region, count);
    bytes.write_all_at(&2u32.to_ne_bytes(), count as u64).expect("room");
    let modules = read(folder.path()).modules;
    assert_eq!(modules.iter().map(ModuleRecord::path).collect::<Vec<_>>(), ["/usr/lib/a.so"]);
}

/// A trace may need more memory than is available. In that case its last sections are left out and
/// counted.
#[test]
fn sections_beyond_the_memory_limit_are_left_out_but_counted() {
    const SECTIONS: u64 = 2000;
    let folder = tempfile::tempdir().expect("a folder");
    let file = create(folder.path());
    let mut writer = file.thread(1, 0..1, 0).expect("room");
    let words = words(100);
    for n in 0..SECTIONS {
        assert!(writer.section(&section(1, n), &Contents { words: &words, ..Contents::default() }));
    }
    assert!(writer.count(&CountRecord {
        lock: 1,
        acquisitions: SECTIONS,
        ..CountRecord::zeroed()
    }));
    let path = &trace_files(folder.path()).expect("a folder")[0];
    let memory = 500 * size_of_val(&*words) as u64;
    let mut told = Vec::new();
    let trace =
        Trace::open_within(path, memory, &mut |done, of| told.push((done, of))).expect("a trace");
    let kept = trace.sections.len() as u64;
    assert!((400..=500).contains(&kept), "{kept}");
    assert_eq!(kept + trace.left_out, SECTIONS);
    assert!(trace.sections.iter().map(|s| s.record.order).eq(0..kept), "the first of the run");
    assert_eq!(trace.counts.len(), 1);
    assert!(told.len() > 1 && told.is_sorted() && told.iter().all(|(done, of)| done <= of));
    assert_eq!(read(folder.path()).left_out, 0);
}

#[test]
fn threads_write_at_once_and_all_is_read() {
    const THREADS: u64 = 8;
    const SECTIONS: u64 = 500;
    let folder = tempfile::tempdir().expect("a folder");
    let file = create(folder.path());
    modules::note_loaded(file);
    modules::note_loaded(file); // adds nothing
    thread::scope(|scope| {
        for t in 0..THREADS {
            scope.spawn(move || {
                let mut writer = file.thread(100 + t as u32, 0x1000..0x2000, t).expect("room");
                let object = ObjectRecord { start: 0, size: 64, site: 7, serial: t };
                let step = StepRecord { address: 1, low: 0, high: 7, times: 2, accesses: 1 };
                let call = SystemCallRecord { number: 202, times: 3 };
                for n in 0..SECTIONS {
                    let words = words(n % 40);
                    let contents = Contents {
                        objects: &[object],
                        words: &words,
                        steps: &[step],
                        system_calls: &[call],
                    };
                    assert!(writer.section(&section(t, n), &contents));
                }
                let count =
                    CountRecord { lock: t, acquisitions: SECTIONS, ..CountRecord::zeroed() };
                assert!(writer.count(&count));
                writer.set_stack(0..0x3000);
                writer.set_name_and_end(b"a name that is longer than its field", 99);
            });
        }
    });
    file.add_cost(5);
    file.leave_alone("first");
    file.leave_alone("second");
    file.end(1000);

    let trace = read(folder.path());
    assert_eq!(trace.threads.len(), THREADS as usize);
    assert!(trace.threads.iter().all(|t| t.name() == "a name that is longer t"));
    assert!(trace.threads.iter().all(|t| t.record.stack_high == 0x3000 && t.record.ended == 99));
    assert_eq!(trace.sections.len(), (THREADS * SECTIONS) as usize);
    for thread in &trace.threads {
        let own = || trace.sections.iter().filter(|s| s.thread == thread.index);
        let lock = u64::from(thread.record.tid) - 100;
        assert!(own().all(|s| s.record.lock == lock && s.objects[0].serial == lock));
        assert!(own().map(|s| s.record.order).eq(0..SECTIONS), "in the order of writing");
        assert!(own().all(|s| *s.words == words(s.record.order % 40)));
    }
    assert_eq!(trace.counts.len(), THREADS as usize);
    assert_eq!((trace.header.cost_ticks, trace.ended(), trace.header.dropped), (5, 1000, 0));
    assert_eq!(trace.left_alone().as_deref(), Some("first"));
    let own = std::env::current_exe().expect("a path");
    let this = trace.modules.iter().find(|m| Path::new(&m.path()) == own).expect("the test");
    let here = threads_write_at_once_and_all_is_read as *const () as u64;
    assert!((this.start..this.end).contains(&here));
    assert_eq!(trace.modules.iter().filter(|m| m.start == this.start).count(), 1);
    assert!(trace.modules.iter().any(|m| m.path().contains("libc.so") && !m.build_id().is_empty()));
}

#[test]
fn a_section_may_be_larger_than_a_chunk_and_the_file_may_be_full() {
    let folder = tempfile::tempdir().expect("a folder");
    let file = create(folder.path());
    let mut writer = file.thread(1, 0..0, 0).expect("room");
    // Each of these words takes seven bytes in the file.
    let words = words(CHUNK / 3);
    let contents = Contents { words: &words, ..Contents::default() };
    let mut written = 0;
    while writer.section(&section(1, written), &contents) {
        written += 1;
    }
    let trace = read(folder.path());
    assert_eq!(trace.sections.len() as u64, written);
    assert!(written > SIZE / (4 * CHUNK), "{written} sections in {SIZE} bytes");
    assert!(trace.header.arena_used > 2 * CHUNK * written, "none fits into two chunks");
    assert!(trace.sections.iter().all(|s| *s.words == *words));
    assert_eq!(trace.header.dropped, 1);
}

/// All numbers of a section are read as they were written, however large they are.
#[test]
fn any_section_is_read_as_it_was_written() {
    let folder = tempfile::tempdir().expect("a folder");
    let file = create(folder.path());
    let mut random = fastrand::Rng::with_seed(1);
    let made: Vec<_> = (0..2000).map(|_| any_section(&mut random)).collect();
    let mut writer = file.thread(1, 0..0, 0).expect("room");
    for (record, (objects, words, steps, calls)) in &made {
        let contents = Contents { objects, words, steps, system_calls: calls };
        assert!(writer.section(record, &contents));
        // Records of another kind come between the sections.
        let counts = if record.lock % 3 == 0 { 20 } else { 0 };
        assert!((0..counts).all(|_| writer.count(&CountRecord::zeroed())));
    }
    let trace = read(folder.path());
    assert_eq!(trace.sections.len(), made.len());
    for (found, (record, (objects, words, steps, calls))) in trace.sections.iter().zip(&made) {
        assert_eq!(*found.objects, **objects);
        assert_eq!(*found.words, **words);
        assert_eq!(*found.steps, **steps);
        assert_eq!(*found.system_calls, **calls);
        let mut record = *record;
        record.objects = objects.len() as u32;
        record.words = words.len() as u32;
        record.steps = steps.len() as u32;
        record.system_calls = calls.len() as u32;
        assert_eq!(bytemuck::bytes_of(&found.record), bytemuck::bytes_of(&record));
    }
    assert!(trace.header.arena_used > 2 * CHUNK, "some were the first of a chunk");
}

/// Sections that execute the same code with other data take few bytes except for their addresses.
#[test]
fn repeated_code_is_written_once() {
    const SECTIONS: u64 = 5000;
    let folder = tempfile::tempdir().expect("a folder");
    let file = create(folder.path());
    let mut writer = file.thread(1, 0..0, 0).expect("room");
    // There are four kinds of sections. The last kind has many steps that access no memory.
    let made = |n: u64| {
        let kind = n % 4;
        let steps = (0..if kind == 3 { 900 } else { 40 + kind }).map(|i| {
            let accesses = u32::from(kind != 3 && i % 4 == 0);
            let (low, high) = if accesses == 0 { (u64::MAX, 0) } else { (n << 8, (n << 8) + 7) };
            StepRecord { address: 0x4000 + 4 * i, low, high, times: 1, accesses }
        });
        let mut words = words(8 + kind);
        words.iter_mut().for_each(|word| word.address += n << 8);
        (words, steps.collect::<Vec<_>>())
    };
    for n in 0..SECTIONS {
        let (words, steps) = made(n);
        let contents = Contents { words: &words, steps: &steps, ..Contents::default() };
        assert!(writer.section(&section(1, n), &contents));
    }
    let trace = read(folder.path());
    assert_eq!(trace.sections.len() as u64, SECTIONS);
    for (n, section) in trace.sections.iter().enumerate() {
        let (words, steps) = made(n as u64);
        assert!(*section.words == *words && *section.steps == *steps, "section {n}");
    }
    // A section of the last kind takes 900 bytes, and each of the others about 100, because their
    // forms were written before.
    let bytes = trace.header.arena_used / SECTIONS;
    assert!((250..350).contains(&bytes), "{bytes} bytes a section");
}

type Arrays = (Vec<ObjectRecord>, Vec<WordRecord>, Vec<StepRecord>, Vec<SystemCallRecord>);

/// A section with numbers of all sizes.
fn any_section(random: &mut fastrand::Rng) -> (SectionRecord, Arrays) {
    fn any(random: &mut fastrand::Rng) -> u64 {
        let bits = random.u32(0..=64);
        if bits == 0 { 0 } else { random.u64(..) >> (64 - bits) }
    }
    fn list<T>(random: &mut fastrand::Rng, one: impl Fn(&mut fastrand::Rng) -> T) -> Vec<T> {
        (0..random.usize(0..20)).map(|_| one(random)).collect()
    }
    let objects = list(random, |r| ObjectRecord {
        start: any(r),
        size: any(r),
        site: any(r),
        serial: any(r),
    });
    let words = list(random, |r| WordRecord {
        address: any(r) & !7,
        reader: any(r),
        writer: any(r),
        object: any(r) as u32,
        read: any(r) as u8,
        written: any(r) as u8,
        flags: r.u16(..4),
    });
    let mut steps = list(random, |r| {
        let (times, low) = (any(r) as u32, any(r));
        let accesses = [0, times, any(r) as u32][r.usize(..3)];
        let high = if accesses == 0 { 0 } else { any(r) };
        let low = if accesses == 0 { u64::MAX } else { low };
        StepRecord { address: any(r), low, high, times, accesses }
    });
    // Each instruction occurs only once, in the order of the addresses. (Repeated instructions have
    // a test of their own.)
    steps.sort_by_key(|step| step.address);
    steps.dedup_by_key(|step| step.address);
    let calls = list(random, |r| SystemCallRecord { number: any(r) as u32, times: any(r) as u32 });
    let record = SectionRecord {
        lock: any(random),
        site: any(random),
        acquired: any(random),
        released: any(random),
        waited: any(random),
        order: any(random),
        outer: any(random),
        incarnation: any(random),
        holder: any(random) as u32,
        flags: any(random) as u32,
        stopped: any(random) as u32,
        op: any(random) as u32,
        instructions: any(random),
        memory_instructions: any(random),
        allocations: any(random) as u32,
        frees: any(random) as u32,
        ..SectionRecord::zeroed()
    };
    (record, (objects, words, steps, calls))
}

/// Blocks of code may overlap, so an instruction may be in several blocks.
#[test]
fn an_instruction_that_comes_more_than_once_is_added_up() {
    let folder = tempfile::tempdir().expect("a folder");
    let file = create(folder.path());
    let mut writer = file.thread(1, 0..0, 0).expect("room");
    let step =
        |address, low, high, times, accesses| StepRecord { address, low, high, times, accesses };
    let none = u64::MAX;
    let steps = [
        step(0x1008, none, 0, 3, 0),
        step(0x1000, 0x500, 0x507, 1, 1),
        step(0x1004, 0x700, 0x707, 5, 2),
        step(0x1000, 0x400, 0x403, 2, 2),
        step(0x1004, none, 0, 7, 0),
    ];
    let contents = Contents { steps: &steps, ..Contents::default() };
    assert!(writer.section(&section(1, 1), &contents));
    let expected = [
        step(0x1000, 0x400, 0x507, 3, 3),
        step(0x1004, 0x700, 0x707, 12, 2),
        step(0x1008, none, 0, 3, 0),
    ];
    let trace = read(folder.path());
    assert_eq!(*trace.sections[0].steps, expected);
    assert_eq!(trace.sections[0].record.steps, 3);
}

/// A forked child writes nothing to its parent's file. All that a killed process has written stays
/// in its file.
#[test]
fn forked_children_write_nothing_and_killed_processes_keep_their_records() {
    let folder = tempfile::tempdir().expect("a folder");
    let file = create(folder.path());
    let mut writer = file.thread(1, 0..0, 0).expect("room");
    assert!(writer.section(&section(1, 1), &Contents::default()));
    let inside = tempfile::tempdir().expect("a folder");
    // SAFETY: the child calls only what is safe after a fork, since the writer allocates nothing.
    match unsafe { libc::fork() } {
        0 => {
            let refused = !file.is_ours()
                && !writer.section(&section(1, 2), &Contents::default())
                && file.thread(2, 0..0, 0).is_none();
            let own = create(inside.path());
            if refused && let Some(mut writer) = own.thread(3, 0..0, 0) {
                for order in 0..100 {
                    writer.section(&section(9, order), &Contents::default());
                }
            }
            // SAFETY: the call kills this child at once.
            unsafe { libc::kill(libc::getpid(), libc::SIGKILL) };
        }
        child => {
            let mut status = 0;
            // SAFETY: the child is this process's, and the status may be written to.
            unsafe { libc::waitpid(child, &mut status, 0) };
            assert_eq!(libc::WTERMSIG(status), libc::SIGKILL);
        }
    }
    assert_eq!(read(inside.path()).sections.len(), 100);
    assert!(writer.section(&section(1, 3), &Contents::default()));
    let orders: Vec<_> = read(folder.path()).sections.iter().map(|s| s.record.order).collect();
    assert_eq!(orders, [1, 3]);
}
