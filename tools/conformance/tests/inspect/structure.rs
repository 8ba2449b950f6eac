//! Tests where traced sections begin and end: with nested and recursive locks, waits, jumps, and
//! all kinds of locks.

use std::collections::{BTreeMap, BTreeSet};

use syncline_conformance::{Case, Outcome, Program};
use syncline_recording::Op;
use syncline_trace::layout::{
    AFTER_WAIT, BEFORE_WAIT, HANDLER, SHARED, STOP_CLONE, STOP_JUMP, STOP_LIMIT, STOP_NONE,
    STOP_UNKNOWN,
};
use syncline_trace::{Section, Trace};

use crate::traced::{Set, by_lock, trace, trace_with};

/// The number of `getppid` on x86-64.
const GETPPID: u32 = 110;

/// The indices of the words that a section wrote completely, in the program's array at `words`.
fn written(section: &Section, words: u64) -> Vec<u64> {
    const WORDS: u64 = 32;
    let set = Set::of(section);
    (0..WORDS).filter(|n| (0..8).all(|i| set.written.contains(&(words + n * 8 + i)))).collect()
}

/// The addresses that the program prints by name.
fn addresses(outcome: &Outcome) -> BTreeMap<String, u64> {
    let text = String::from_utf8_lossy(&outcome.stdout);
    let facts = text.lines().filter_map(|line| line.strip_prefix('@')?.split_once(' '));
    facts.map(|(name, value)| (name.to_owned(), value.parse().expect("an address"))).collect()
}

/// A traced run of a program, and the addresses that the program printed, by name.
struct Run {
    address: BTreeMap<String, u64>,
    traces: Vec<Trace>,
}

impl Run {
    /// Runs the program with and without tracing, and checks that it behaves the same.
    fn of(source: &str) -> Run {
        let program = Program::compile(source);
        let plain = Case::new(&program).plain();
        let traced = trace(program.path(), [""; 0]);
        assert_eq!(plain.behaviour(), traced.outcome.behaviour());
        Run { address: addresses(&traced.outcome), traces: traced.traces }
    }

    /// The sections of a lock.
    fn of_lock(&self, name: &str) -> Vec<&Section> {
        by_lock(&self.traces[0])[&self.address[name]].clone()
    }

    /// The words that each section of a lock wrote.
    fn wrote(&self, name: &str) -> Vec<Vec<u64>> {
        self.of_lock(name).into_iter().map(|s| written(s, self.address["words"])).collect()
    }
}

#[test]
fn sections_begin_and_end_with_their_lock() {
    let run = Run::of("inspect_structure.c");
    let address = &run.address;
    let (of, wrote) = (|name| run.of_lock(name), |name| run.wrote(name));

    // The last section of `outer` is ended by the program's end.
    assert_eq!(wrote("outer"), [vec![0, 1, 2], vec![25]]);
    assert_eq!(wrote("inner"), [[1]]);
    assert_eq!(of("inner")[0].record.outer, address["outer"]);
    assert_eq!(of("outer")[0].record.outer, 0);

    // Hand over hand: `hand2` is acquired before `hand1` is released.
    assert_eq!(wrote("hand1"), [[3, 4]]);
    assert_eq!(wrote("hand2"), [[4, 5]]);

    assert_eq!(wrote("recursive"), [[6, 7, 8]]);

    // `waiting`: the parts before and after the waits, and the other thread's section.
    let waits = of("waiting");
    let flags = |s: &&Section, flag: u32| s.record.flags & flag != 0;
    let find = |word: u64| {
        let found = waits.iter().find(|s| written(s, address["words"]).contains(&word));
        *found.expect("a part of the wait")
    };
    // Tracing stops where the section creates a thread.
    assert!(waits.iter().any(|s| s.record.stopped == STOP_CLONE));
    assert!(flags(&find(12), AFTER_WAIT));
    assert!(!written(find(12), address["words"]).contains(&11));
    let before = waits.iter().filter(|s| flags(s, BEFORE_WAIT)).count();
    assert!(before >= 1, "{before} parts before a wait");
    assert_eq!(find(12).record.outer, address["around"]);
    assert_eq!(wrote("around"), [[11, 12, 13]]);

    assert_eq!(wrote("shared"), [[14], [15]]);
    assert!(flags(&of("shared")[0], SHARED) && !flags(&of("shared")[1], SHARED));
    assert_eq!(of("shared")[0].record.op, Op::RwlockRead as u32);
    assert_eq!(of("shared")[1].record.op, Op::RwlockWrite as u32);
    assert_eq!(wrote("spin"), [[16]]);
    assert_eq!(wrote("c11"), [[17]]);
    assert_eq!(wrote("tried"), [[24]]);
    assert_eq!(of("tried")[0].record.op, Op::MutexTrylock as u32);

    // Tracing stops when a section becomes too large, and the program continues.
    assert_eq!(wrote("filling"), [[26, 27]]);
    assert_eq!(of("filling")[0].record.stopped, STOP_LIMIT);

    // A system call through a function of the C library belongs to the section, like one that an
    // instruction of the section makes.
    assert_eq!(wrote("asking"), [[28, 29]]);
    let asked: Vec<_> = of("asking")[0].system_calls.iter().map(|c| (c.number, c.times)).collect();
    assert_eq!(asked, [(GETPPID, 2)]);

    assert_eq!(wrote("jumped"), [[18]]);
    assert_eq!(of("jumped")[0].record.stopped, STOP_JUMP);
    assert_eq!(of("creating")[0].record.stopped, STOP_CLONE);
    let last = of("thrown").pop().expect("a section after the jump");
    assert_eq!(written(last, address["words"]), [23]);
    assert_eq!(last.record.stopped, STOP_NONE);
}

/// The accesses of a signal handler that runs while a section is traced do not belong to the
/// section, no matter at which point the handler interrupts the section.
#[test]
fn signal_handlers_do_not_belong_to_sections() {
    let run = Run::of("inspect_handlers.c");
    let address = &run.address;
    let (of, wrote) = (|name| run.of_lock(name), |name| run.wrote(name));
    assert_eq!(wrote("outer"), [vec![0, 1, 2], vec![3, 4, 5, 6]]);
    assert_eq!(of("inner").last().map(|s| written(s, address["words"])), Some(vec![1]));
    assert_eq!(wrote("called"), [vec![4, 5]]);
    assert!(of("outer").iter().all(|s| s.record.stopped == STOP_NONE));
    let handled = of("outer").iter().map(|s| s.record.flags & HANDLER != 0).collect::<Vec<_>>();
    assert_eq!(handled, [false, true], "it calls while libc waits, and between instructions");
}

/// A restartable sequence must run untraced, because the kernel recognises it by the addresses of
/// its code. The rest of the section runs untraced too.
#[test]
fn restartable_sequences_end_the_trace() {
    let run = Run::of("inspect_rseq.c");
    for (lock, wrote, stopped) in
        [("none", 0, STOP_NONE), ("taken", 1, STOP_UNKNOWN), ("stored", 3, STOP_UNKNOWN)]
    {
        assert_eq!(run.wrote(lock), [[wrote]], "{lock}");
        assert_eq!(run.of_lock(lock)[0].record.stopped, stopped, "{lock}");
    }
}

/// Hardware transactions are aborted as they begin. The code that the program then runs instead is
/// traced.
#[test]
fn transactions_do_not_begin() {
    let run = Run::of("inspect_elision.c");
    let instead = if run.address["tries"] == 1 { vec![0, 1, 2] } else { vec![0, 2] };
    assert_eq!(run.wrote("lock"), [instead]);
    assert_eq!(run.of_lock("lock")[0].record.stopped, STOP_NONE);
}

/// The engine neither uses nor saves tiles (AMX). It does not know the instructions that load or
/// store a tile.
#[test]
fn tiles_are_as_without_tracing() {
    let run = Run::of("inspect_tiles.c");
    if run.address.is_empty() {
        eprintln!("skipped: the processor or the kernel has no tiles");
        return;
    }
    let stopped = |lock| run.of_lock(lock)[0].record.stopped;
    assert_eq!((stopped("across"), stopped("within")), (STOP_NONE, STOP_UNKNOWN));
    assert!(run.of_lock("across")[0].record.instructions > 10_000);
}

/// A library is opened while the program runs. The program ends by `_exit`, which the tracer does
/// not see, so what the trace says about the library was written at once.
#[test]
fn files_of_code_that_was_loaded_later_are_known_at_once() {
    let library = Program::compile_with("plugin.c", &["-shared", "-fPIC"]);
    let program = Program::compile("opens.c");
    let path = library.path().to_str().expect("UTF-8");
    let traced = trace(program.path(), [path, "now", "1"]);
    let [trace] = &traced.traces[..] else { panic!("one process") };
    assert_eq!(trace.header.ended, 0, "its end was not seen");
    let module = trace.modules.iter().find(|module| module.path() == path);
    let module = module.expect("the library's file");
    let its_own = |section: &&Section| {
        section.steps.iter().any(|step| (module.start..module.end).contains(&step.address))
    };
    assert!(trace.sections.iter().filter(its_own).count() > 200);
}

/// Only the sections of the locks and call sites that `SYNCLINE_INSPECT_SITES` selects are traced.
#[test]
fn only_selected_locks_and_sites_are_traced() {
    // The program is linked to have the same addresses each time, which are also those in the file.
    let program = Program::compile_with("inspect_structure.c", &["-no-pie", "-fno-pie"]);
    let all = trace(program.path(), [""; 0]);
    let address = addresses(&all.outcome);
    let lock = |name: &str| (address[name], address[name] + 1);
    let (inner, spin) = (lock("inner"), lock("spin"));
    let c11 = by_lock(&all.traces[0])[&address["c11"]][0].record.site;
    let file = program.path().file_name().expect("a name").to_string_lossy().into_owned();
    let asked = [
        format!("lock - {:#x} {:#x}", inner.0, inner.1),
        format!("lock {file} {:#x} {:#x}", spin.0, spin.1),
        format!("lock other {:#x} {:#x}", address["outer"], address["outer"] + 1),
        format!("site {file} {:#x} {c11:#x}", c11 - 1),
    ];
    let asked = asked.join("\n");
    let environment = [("SYNCLINE_INSPECT_SITES", asked.as_str())];
    let some = trace_with(program.path(), [""; 0], 0, &environment);
    let traced: BTreeSet<u64> = some.traces[0].sections.iter().map(|s| s.record.lock).collect();
    assert_eq!(traced, BTreeSet::from([address["inner"], address["spin"], address["c11"]]));
    // Sections that are not traced are counted as well.
    let counted = |t: &[Trace]| t[0].counts.iter().map(|(_, c)| c.acquisitions).sum::<u64>();
    assert_eq!(counted(&some.traces), counted(&all.traces));
}
