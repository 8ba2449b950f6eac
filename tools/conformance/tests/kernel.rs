//! `syncline kernel` on Debian's kernel, in QEMU.
//!
//! The expected counts come from the load: it is known how many files each of its processes makes,
//! reads, renames and removes, and how often each process uses pipes. For each of these operations,
//! the kernel takes certain locks once. The waits are compared with the kernel's own count. If QEMU
//! or a kernel is missing, the tests are skipped; `./x setup --kernel` installs both.

use std::path::Path;
use std::process::Command;
use std::time::Duration;

use serde_json::Value;
use syncline_conformance::{Outcome, beside_tests, run_limited, scratch, syncline};
use syncline_trace::Trace;
use syncline_trace::layout::WAITED;

const LIMIT: Duration = Duration::from_secs(240);
/// The number of processes of the load `small`.
const PROCESSES: u64 = 8;
const ROUNDS: u64 = 20;

/// Runs `syncline kernel`. Returns `None` if there is no emulator or no kernel.
fn kernel(folder: &Path, arguments: &[&str]) -> Option<Outcome> {
    let mut command = Command::new(syncline());
    command.arg("kernel").args(arguments).arg("-o").arg(folder.join("out")).current_dir(folder);
    command.env("SYNCLINE_KERNEL_PLUGIN", beside_tests("libsyncline_kernel_plugin.so"));
    command.env("SYNCLINE_KERNEL_INIT", beside_tests("syncline-kernel-init"));
    let outcome = run_limited(&mut command, LIMIT);
    let errors = String::from_utf8_lossy(&outcome.stderr);
    if outcome.status != 0 && errors.contains("./x setup --kernel") {
        println!("skipped: {errors}");
        return None;
    }
    Some(outcome)
}

/// The rows of a report.
struct Rows(Vec<Value>);

impl Rows {
    fn of(document: &Value) -> Rows {
        Rows(document["report"]["rows"].as_array().expect("rows").clone())
    }

    /// The number of acquisitions of locks in any of `functions`. Each kernel has one of these
    /// functions.
    fn taken_in(&self, functions: &[&str]) -> u64 {
        let sites = self.0.iter().filter_map(|row| row["sites"].as_array()).flatten();
        let own = sites.filter(|site| {
            let name = site[0].as_str().and_then(|name| name.split('+').next());
            name.is_some_and(|name| functions.contains(&name))
        });
        own.filter_map(|site| site[1].as_u64()).sum()
    }

    fn class(&self, class: &str) -> &Value {
        let row = self.0.iter().find(|row| row["class"] == class);
        row.unwrap_or_else(|| panic!("there is no row of {class}"))
    }
}

#[test]
fn locks_are_taken_as_often_as_the_load_says_and_nothing_contradicts_itself() {
    let folder = scratch();
    let arguments = ["--load", "small", "--cpus", "2", "--json"];
    let Some(outcome) = kernel(folder.path(), &arguments) else { return };
    outcome.assert_status(0);
    let document: Value = serde_json::from_slice(&outcome.stdout).expect("JSON");
    assert_eq!(document["schema"], "syncline-kernel/1");
    assert_eq!(document["run"]["complete"], true);
    for name in ["unknown_releases", "other_levels", "held_by_user", "contradictions", "lost"] {
        assert_eq!(document["counts"][name], 0, "{name}");
    }
    assert_eq!(document["counts"]["dropped"], 0);
    assert_eq!(document["report"]["acquisitions"], document["counts"]["sections"]);

    // In each round, each process makes, renames, reads and removes a file in each of two folders.
    // It also lists each folder, which takes two calls.
    let files = 2 * PROCESSES * ROUNDS;
    let rows = Rows::of(&document);
    for (functions, times) in [
        (&["vfs_unlink"][..], files),
        (&["generic_file_write_iter", "shmem_file_write_iter"], files),
        (&["iterate_dir"], 2 * files),
        (&["__fdget_pos", "fdget_pos"], 2 * files),
        (&["d_move"], files),
        // The bit spinlock of a chain of `in_lookup_hashtable`: before a file is made, its name is
        // looked up.
        (&["d_alloc_parallel"], files),
        // Each call takes the pipe's mutex and, for the one buffer that is filled or emptied, the
        // lock of the readers' queue.
        (&["pipe_write"], 2 * PROCESSES * ROUNDS),
        (&["pipe_read"], 2 * PROCESSES * ROUNDS),
    ] {
        assert_eq!(rows.taken_in(functions), times, "{functions:?}");
    }
    // A file that is made, moved or removed enters or leaves a chain of names. The chain's lock is
    // one bit of the chain's first pointer, and the other bits are data.
    let chains = rows.class("dentry_hashtable[]");
    assert!(chains["acquisitions"].as_u64() >= Some(4 * files), "{chains}");
    assert_eq!(rows.class("in_lookup_hashtable[]")["conflicts"], 1.0);
    // Listing a folder changes the position in the open folder, under a lock that guards nothing
    // else.
    let position = rows.class("file.f_pos_lock");
    assert_eq!(position["conflicts"], 1.0);
    assert_eq!(position["cause"][0], "file.f_pos");
    assert_eq!(rows.class("mm_struct.mmap_lock")["handed_over"], 0);
    assert!(rows.class("rq.__lock")["handed_over"].as_u64() > Some(0), "no switch was seen");

    // The kernel counts waits from a little before the load's first marker to a little after its
    // last, so it may count a few that the plugin does not see.
    let waits = &document["of_kernel"];
    assert!(waits["missed"].as_u64() <= Some(3), "{waits}");

    no_stack_in_the_sets(&folder.path().join("out"));

    let mut read = Command::new(syncline());
    read.args(["kernel", "--json", "--window", "50", "--read"]).arg(folder.path().join("out"));
    let again = run_limited(&mut read, LIMIT);
    again.assert_status(0);
    let again: Value = serde_json::from_slice(&again.stdout).expect("JSON");
    assert_eq!(again["report"]["acquisitions"], document["report"]["acquisitions"]);
    assert_eq!(again["report"]["window"], 50);
}

/// Checks that no section's set has words of the section's own stack. `filldir64` runs under the
/// lock of the file's position, and reaches its state, which is on its caller's stack, through a
/// pointer. A set may have words of another task's stack, such as a waiter's queue node.
fn no_stack_in_the_sets(out: &Path) {
    /// The range of addresses in which the kernel maps stacks, among other memory.
    const MAPPED: std::ops::Range<u64> = 0xffff_c900_0000_0000..0xffff_e900_0000_0000;
    let symbols = std::fs::read_to_string(out.join("kernel/kallsyms")).expect("symbols");
    let address = |line: &str| u64::from_str_radix(line.split(' ').next()?, 16).ok();
    let function = |names: &[&str]| {
        let has = |line: &&str| line.split(' ').nth(2).is_some_and(|name| names.contains(&name));
        let start = symbols.lines().find(has).and_then(address).expect("a function");
        let next = symbols.lines().filter_map(address).filter(|&other| other > start).min();
        start..next.expect("it is not the last")
    };
    let (taking, filling) = (function(&["__fdget_pos", "fdget_pos"]), function(&["filldir64"]));
    let files = syncline_trace::trace_files(out).expect("a trace");
    let trace = Trace::open(&files[0]).expect("it can be read");
    let sections = trace.sections.iter().filter(|s| taking.contains(&s.record.site));
    let words: Vec<_> = sections.flat_map(|section| &section.words).collect();
    assert!(!words.is_empty(), "nothing was followed");
    let on_stack = words.iter().filter(|word| {
        let by = filling.contains(&word.reader) || filling.contains(&word.writer);
        by && MAPPED.contains(&word.address)
    });
    assert_eq!(on_stack.count(), 0, "words of the stack are in sets");
}

#[test]
fn a_failed_load_is_reported_and_its_recording_kept() {
    let folder = scratch();
    let script = folder.path().join("load.sh");
    std::fs::write(&script, "echo the load speaks\nexit 3\n").expect("a script");
    let script = script.to_str().expect("plain characters");
    let Some(outcome) = kernel(folder.path(), &["--load", script, "--cpus", "2"]) else { return };
    outcome.assert_status(1);
    let errors = String::from_utf8_lossy(&outcome.stderr);
    for word in ["the load failed", "exit status: 3", "the load speaks", "kernel --read"] {
        assert!(errors.contains(word), "no `{word}` in: {errors}");
    }
    let mut read = Command::new(syncline());
    read.args(["kernel", "--read"]).arg(folder.path().join("out"));
    let again = run_limited(&mut read, LIMIT);
    again.assert_status(0);
    let text = String::from_utf8_lossy(&again.stdout);
    assert!(text.contains("did not run to its end") && text.contains("no violation"), "{text}");
}

/// The number of rounds that each task of the module does.
const TIMES: usize = 200;

/// A section's set: the address of each word, with masks of the bytes that were read and written.
type Set = Vec<(u64, u8, u8)>;

/// Two tasks of a kernel module run sections under each kind of lock at the same time. The bytes
/// that each section accesses are known.
#[test]
fn sections_of_a_module_are_followed_to_the_byte() {
    let folder = scratch();
    let files = folder.path().join("files");
    let Some(()) = build_module(folder.path(), &files) else { return };
    let script = folder.path().join("load.sh");
    // The load fails deliberately, so that the console with the module's output is printed.
    std::fs::write(&script, "/insmod /truth.ko; exit 3\n").expect("a script");
    let [script, files] = [&script, &files].map(|path| path.to_str().expect("plain characters"));
    let arguments = ["--load", script, "--files", files, "--cpus", "2"];
    let Some(outcome) = kernel(folder.path(), &arguments) else { return };
    let console = String::from_utf8_lossy(&outcome.stderr);
    if console.contains("Exec format error") {
        println!("skipped: the headers are another kernel's");
        return;
    }
    assert!(!console.contains("taken twice"), "{console}");
    let place = |name: &str| {
        let mut words = console.split_whitespace().skip_while(|word| *word != name).skip(1);
        let address = words.next().and_then(|word| u64::from_str_radix(word, 16).ok());
        address.unwrap_or_else(|| panic!("the module did not say where {name} is: {console}"))
    };
    let own = |task: u64, word: u64| place("own") + 64 * task + 8 * word;
    let each = |sets: [Set; 2]| sets.into_iter().flat_map(|set| vec![set; TIMES]).collect();
    let both = |set: Set| each([set.clone(), set]);
    let words = |task: u64| vec![(own(task, 0), 0, 0xff), (own(task, 1), 0xff, 0)];

    let out = folder.path().join("out");
    let files = syncline_trace::trace_files(&out).expect("a trace");
    let trace = Trace::open(&files[0]).expect("it can be read");
    let check = |name: &str, expected: Vec<Set>| {
        let lock = place(name);
        let sections = trace.sections.iter().filter(|section| section.record.lock == lock);
        let set =
            |word: &syncline_trace::layout::WordRecord| (word.address, word.read, word.written);
        let mut sets: Vec<Set> =
            sections.map(|section| section.words.iter().map(set).collect()).collect();
        sets.iter_mut().for_each(|set| set.sort_unstable());
        let mut expected = expected;
        expected.iter_mut().for_each(|set| set.sort_unstable());
        sets.sort_unstable();
        expected.sort_unstable();
        assert_eq!(sets.len(), expected.len(), "sections of {name}");
        let wrong = sets.iter().zip(&expected).find(|(set, expected)| set != expected);
        assert_eq!(wrong, None, "a set of {name} is not what was expected");
    };
    let empty = both(Vec::new());
    check("apart", [each([words(0), words(1)]), empty].concat());
    check("together", both(vec![(place("shared"), 0xff, 0xff)]));
    check("irq", both(vec![(place("byte"), 0, 1 << 3)]));
    check("rw", each([vec![(own(1, 2), 0xff, 0)], vec![(own(0, 2), 0xff, 0)]]));
    check("mutex", each([vec![(own(0, 3), 0, 0xff)], vec![(own(1, 3), 0, 0xff)]]));
    let (writer, reader) = (vec![(own(0, 4), 0, 0xff)], vec![(own(0, 5), 0xff, 0)]);
    check("sem", [both(writer), both(reader)].concat());
    let other_bit = (place("bit") - 1, 0, 1 << 2);
    let with = |task: u64, more| vec![(own(task, 6), 0, 0xff), more];
    let copied = |task: u64| [with(task, other_bit), vec![(own(task, 7), 0xff, 0)]].concat();
    check("bit", each([copied(0), copied(1)]));
    check("chain", both(vec![(place("chain"), 0, 0xff)]));
    let release = (place("stored"), 0, 0xff);
    check("stored", each([with(0, release), with(1, release)]));
    check("plain", Vec::new());
    let (told, seen) = ((place("held"), 0, 0xff), (place("wants"), 0xff, 0));
    check(
        "wanted",
        each([vec![told, seen, (place("wanted"), 0, 0xff)], vec![(own(1, 6), 0, 0xff)]]),
    );
    let wanted = place("wanted");
    let waited = trace
        .sections
        .iter()
        .filter(|section| section.record.lock == wanted && section.record.flags & WAITED != 0);
    // The second task waits each time, unless it was kept from running for long before it tried.
    assert!(waited.count() >= TIMES / 10, "waits were not seen");

    let mut read = Command::new(syncline());
    read.args(["kernel", "--read"]).arg(&out);
    run_limited(&mut read, LIMIT).assert_status(0);
}

/// Builds the module and the program that loads it. Returns `None` if the kernel's headers are
/// missing.
fn build_module(folder: &Path, files: &Path) -> Option<()> {
    let source = Path::new(env!("CARGO_MANIFEST_DIR")).join("programs/kernel_truth");
    let headers = std::fs::read_dir("/usr/src").ok()?.flatten().map(|entry| entry.path());
    let headers = headers.filter(|path| path.to_string_lossy().ends_with("-cloud-amd64")).max();
    let Some(headers) = headers else {
        println!("skipped: there are no headers of a kernel for clouds: ./x setup --kernel");
        return None;
    };
    let module = folder.join("module");
    std::fs::create_dir(&module).expect("a folder");
    std::fs::create_dir(files).expect("a folder");
    for name in ["truth.c", "Kbuild"] {
        std::fs::copy(source.join(name), module.join(name)).expect("a file");
    }
    let mut make = Command::new("make");
    make.arg("-C").arg(headers).arg(format!("M={}", module.display())).arg("modules");
    run_limited(&mut make, LIMIT).assert_status(0);
    std::fs::copy(module.join("truth.ko"), files.join("truth.ko")).expect("a module");
    let mut compile = Command::new("cc");
    compile.arg("-o").arg(files.join("insmod")).arg(source.join("insmod.c"));
    run_limited(&mut compile, LIMIT).assert_status(0);
    Some(())
}
