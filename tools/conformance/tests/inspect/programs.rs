//! Programs, real ones and those of this suite, behave the same while their sections are traced.

use std::collections::BTreeMap;
use std::fs;
use std::io::{BufRead, BufReader, Write};
use std::os::unix::net::UnixStream;
use std::path::Path;
use std::thread;
use std::time::{Duration, Instant};

use syncline_conformance::{Case, Program, run_limited, scratch};
use syncline_trace::Trace;
use syncline_trace::layout::{STOP_CLONE, STOP_NONE};

use crate::traced::{preloaded, read, trace, trace_with};

/// Runs a script with and without tracing, and checks that it behaves the same. `folder` is the
/// script's first parameter. Returns the traces.
fn assert_same_behaviour(text: &str, folder: &Path, budget: u32) -> Vec<Trace> {
    let words = ["-ec".as_ref(), text.as_ref(), "sh".as_ref(), folder.as_os_str()];
    let plain = Case::new(&Program::installed("/bin/sh")).args(words).plain();
    let traced = trace_with(Path::new("/bin/sh"), words, budget, &[]);
    assert_eq!(plain.behaviour(), traced.outcome.behaviour());
    traced.traces
}

/// The trace of a program. If several processes ran the program, it is the trace with the most
/// sections. Checks that the trace has at least `sections` sections, and that few of them were
/// stopped early.
#[track_caller]
fn of<'a>(traces: &'a [Trace], program: &str, sections: usize) -> &'a Trace {
    let found = traces.iter().filter(|t| t.executable().ends_with(program));
    let trace = found.max_by_key(|t| t.sections.len()).expect("a trace of the program");
    assert!(trace.sections.len() >= sections, "{program}: {} sections", trace.sections.len());
    // If a section creates a thread, its trace ends there. A server has some six such sections at
    // its start, and on a busy machine a budget leaves few other sections. Of the other sections,
    // one in twenty may end early.
    let reasons = trace.sections.iter().map(|s| s.record.stopped);
    let stopped: Vec<u32> =
        reasons.filter(|&reason| reason != STOP_NONE && reason != STOP_CLONE).collect();
    let all = trace.sections.len();
    assert!(
        stopped.len() * 20 <= all.max(20),
        "{program}: of {all} stopped, by reason: {stopped:?}"
    );
    let making = trace.sections.iter().filter(|s| s.record.stopped == STOP_CLONE).count();
    assert!(making * 20 <= all.max(120), "{program}: of {all} stopped, making threads: {making}");
    trace
}

/// The program has functions of its own that acquire locks: an allocator, `close`, `getenv`,
/// `dlsym` and others.
#[test]
fn functions_of_the_program_that_lock() {
    let (program, library) = Program::with_library("own_functions.cpp");
    let words = [library.path(), Path::new("strict")];
    let plain = Case::new(&program).args(words).plain();
    for budget in [0, 50] {
        let traced = trace_with(program.path(), words, budget, &[]);
        assert_eq!(plain.behaviour(), traced.outcome.behaviour());
    }
}

#[test]
fn pbzip2() {
    let folder = scratch();
    let text: String = (0..200_000u64).map(|n| format!("{:x} and ", n * n % 5003)).collect();
    fs::write(folder.path().join("text"), text).expect("a file");
    let steps = "
        pbzip2 -p4 -b1 -c \"$1/text\" | sha256sum
        pbzip2 -p4 -b1 -c \"$1/text\" | pbzip2 -d -p4 -c | cmp - \"$1/text\"
        echo identical";
    let traces = assert_same_behaviour(steps, folder.path(), 0);
    of(&traces, "pbzip2", 50);
}

#[test]
fn x264() {
    let folder = scratch();
    let (width, height) = (160, 120);
    let mut video = format!("YUV4MPEG2 W{width} H{height} F25:1 Ip A1:1 C420jpeg\n").into_bytes();
    for frame in 0..20usize {
        video.extend_from_slice(b"FRAME\n");
        let pixels = (0..width * height).map(|n| (n % width + 3 * frame) ^ (n / width + frame));
        video.extend(pixels.map(|n| n as u8 / 2));
        video.resize(video.len() + width * height / 2, 128);
    }
    fs::write(folder.path().join("video.y4m"), video).expect("a video");
    let step = "x264 --quiet --threads 4 --muxer raw -o - \"$1/video.y4m\" | sha256sum";
    let traces = assert_same_behaviour(step, folder.path(), 0);
    of(&traces, "x264", 1000);
}

#[test]
fn memcached() {
    const KEYS: usize = 500;
    let folder = scratch();
    let socket = folder.path().join("socket");
    let traces = folder.path().join("traces");
    fs::create_dir(&traces).expect("a folder");
    let mut server = preloaded(Path::new("/usr/bin/memcached"), &traces, 0);
    server.args(["-u", "root", "-t", "4", "-A", "-s"]).arg(&socket);
    thread::scope(|scope| {
        let clients = scope.spawn(|| {
            thread::scope(|scope| {
                let socket = &socket;
                (0..4).for_each(|n| _ = scope.spawn(move || client(socket, n, KEYS)));
            });
            connect(&socket).get_mut().write_all(b"shutdown\r\n").expect("a shutdown");
        });
        run_limited(&mut server, Duration::from_secs(60));
        clients.join().expect("the right answers");
    });
    let traces = read(&traces);
    let trace = of(&traces, "memcached", 4 * KEYS);
    // Memcached's items are in blocks of the heap, either each in its own or together in
    // memcached's slabs.
    assert!(trace.sections.iter().any(|s| !s.objects.is_empty()), "no block of the heap");
}

/// A traced server gives the same answers as one that runs alone. Its system tables are made
/// without tracing, since making them takes longest and is not tested here. It has a folder of its
/// own for temporary tables, since a server that starts removes all tables in that folder, even
/// those of another server.
#[test]
fn mariadb() {
    const STEPS: &str = r#"
        PATH=$PATH:/usr/sbin
        cd "$1"; rm -rf data
        export TMPDIR="$1/temporary"; mkdir -p "$TMPDIR"
        (unset LD_PRELOAD; mariadb-install-db --no-defaults --force --datadir="$1/data" \
            --user=root --auth-root-authentication-method=normal --skip-test-db) >install.log 2>&1
        mariadbd --no-defaults --datadir="$1/data" --socket="$1/socket" --user=root \
            --skip-networking --innodb-buffer-pool-size=32M --innodb-log-file-size=16M \
            --innodb-flush-log-at-trx-commit=2 --pid-file="$1/pid" 2>server.log &
        sql() { env -u LD_PRELOAD mariadb --no-defaults -uroot -N -S "$1/socket" -e "$2"; }
        tries=0
        until sql "$1" 'select 1' >/dev/null 2>&1; do
            tries=$((tries + 1)); test $tries -lt 600; sleep 0.1
        done
        sql "$1" 'create database shop; use shop; create table items
            (id int primary key auto_increment, k int not null, c char(60) not null, key (k));
            insert into items (k, c) select seq * 37 % 500, md5(seq) from seq_1_to_1000'
        clients=
        for client in 0 1 2 3; do
            rows="id > $client * 250 and id <= ($client + 1) * 250"
            sql "$1" "set session transaction isolation level read committed; use shop;
                update items set k = k + 1000 where $rows;
                delete from items where $rows and k % 10 = 3" &
            clients="$clients $!"
        done
        for client in $clients; do wait $client; done
        sql "$1" 'checksum table shop.items; select count(*), sum(k) from shop.items;
            check table shop.items; shutdown'
        wait"#;
    let folder = scratch();
    // The default budget. The server's start alone runs millions of instructions in sections. How
    // many sections are traced depends on how busy the machine is: a few hundred or, on a machine
    // with other work, eight.
    let traces = assert_same_behaviour(STEPS, folder.path(), 100);
    of(&traces, "mariadbd", 1);
}

fn connect(socket: &Path) -> BufReader<UnixStream> {
    let deadline = Instant::now() + Duration::from_secs(40);
    loop {
        if let Ok(stream) = UnixStream::connect(socket) {
            return BufReader::new(stream);
        }
        assert!(Instant::now() < deadline, "memcached does not answer");
        thread::sleep(Duration::from_millis(10));
    }
}

/// Stores keys and reads them back.
fn client(socket: &Path, number: usize, keys: usize) {
    let mut server = connect(socket);
    let mut ask = |question: String, lines: usize| {
        server.get_mut().write_all(question.as_bytes()).expect("a question");
        let mut answer = String::new();
        for _ in 0..lines {
            answer.clear();
            server.read_line(&mut answer).expect("an answer");
        }
        answer.trim_end().to_owned()
    };
    for key in 0..keys {
        let value = format!("{}", key * 7919 + number);
        let length = value.len();
        let stored = ask(format!("set k{number}-{key} 0 0 {length}\r\n{value}\r\n"), 1);
        assert_eq!(stored, "STORED");
        let more = ask(format!("incr k{number}-{key} 5\r\n"), 1);
        assert_eq!(more, (key * 7919 + number + 5).to_string());
        assert_eq!(ask(format!("get k{number}-{key}\r\n"), 3), "END");
    }
}

/// This suite's own programs, which are made to be hard to interpose.
#[test]
fn programs_of_this_suite() {
    let names = [
        "mutex_kinds.c",
        "mutex_robust.c",
        "cond.c",
        "rwlock.c",
        "spin_barrier.c",
        "c11.c",
        "errno.c",
        "posix_corners.c",
        "nested.c",
        "cancel.c",
        "cancelled_in_lock.c",
        "dlerror.c",
        "fork_server.c",
        "cxx.cpp",
        "odd.c",
        "signals.c post",
        "signals.c jump",
        "threads.c 3",
        "spawns.c all",
        "spawning.c",
        "own_threads.c",
        "many.c distinct",
        "sandbox.c",
        "inspect_signals.c",
    ];
    for name in names {
        let (file, argument) = name.split_once(' ').unwrap_or((name, ""));
        let arguments = argument.split_whitespace();
        let program = Program::compile(file);
        let plain = Case::new(&program).args(arguments.clone()).plain();
        let traced = trace(program.path(), arguments);
        assert_eq!(plain.behaviour(), traced.outcome.behaviour(), "{name}");
    }
}

/// With a budget only some sections are traced, but the count of all acquisitions is nearly right.
#[test]
fn acquisitions_beyond_the_budget_are_counted() {
    let program = Program::compile("mutex_threads.c");
    // The budget is a thousandth of the program's time.
    let some = trace_with(program.path(), [""; 0], 1, &[]);
    let stdout = String::from_utf8_lossy(&some.outcome.stdout);
    let stated = stdout.lines().filter_map(|line| {
        let words: Vec<&str> = line.strip_prefix('@')?.split_whitespace().collect();
        let [_, thread, operation, _, count] = words[..] else { return None };
        // Thread 0 stands for all threads together. Counting it too would count everything twice.
        let acquires = matches!(operation, "MutexLock" | "MutexTrylock" | "MutexTimedlock");
        (acquires && thread != "0").then(|| count.parse::<u64>().expect("a number"))
    });
    let counted: u64 =
        some.traces.iter().flat_map(|t| &t.counts).map(|(_, c)| c.acquisitions).sum();
    // If a thread acquires a lock often, one acquisition stands for others, so the count is an
    // estimate.
    let stated: u64 = stated.sum();
    assert!(counted.abs_diff(stated) < stated / 50, "{counted} of {stated}");
    let sections: usize = some.traces.iter().map(|t| t.sections.len()).sum();
    assert!(sections > 0 && (sections as u64) < counted / 2, "{sections} of {counted}");
}

/// Each lock is counted in a program that has more locks than a thread can keep counts of at a
/// time.
#[test]
fn counts_of_a_hundred_thousand_locks() {
    let program = Program::compile("many.c");
    // The selected call site does not exist, so nothing is traced, and there is no budget to keep.
    let nowhere = [("SYNCLINE_INSPECT_SITES", "site - 0x1 0x2")];
    let counted = counts(&trace_with(program.path(), ["distinct"], 0, &nowhere).traces);
    assert_eq!(counted.values().sum::<u64>(), 500_000);
    assert_eq!(counted.len(), 100_000);
    assert!(counted.values().all(|&acquisitions| acquisitions == 5));
}

/// Within a budget, one acquisition stands for others at a call site with many acquisitions.
#[test]
fn counts_within_a_budget_are_nearly_right() {
    let program = Program::compile("many.c");
    let counted = counts(&trace_with(program.path(), ["distinct"], 1, &[]).traces);
    let all = counted.values().sum::<u64>();
    // The bound is six times the standard deviation of the estimate, which is 0.31 % of all
    // acquisitions.
    assert!(all.abs_diff(500_000) < 500_000 * 19 / 1000, "{all} of 500000");
    assert_ne!(all, 500_000, "nothing was estimated");
}

/// The acquisitions of each lock.
fn counts(traces: &[Trace]) -> BTreeMap<u64, u64> {
    let mut counted = BTreeMap::new();
    for (_, count) in traces.iter().flat_map(|t| &t.counts) {
        *counted.entry(count.lock).or_default() += count.acquisitions;
    }
    counted
}
