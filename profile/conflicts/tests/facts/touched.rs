//! Tests that the loader's instructions are left out, which data sections are reported to touch,
//! and what is reported about locks and sections that were not traced.

use bytemuck::Zeroable;
use syncline_conflicts::{Names, Object, Options, Touched, facts, named};
use syncline_recording::layout::ModuleRecord;
use syncline_trace::Trace;

use crate::hand::{LOCK, Made, block, counted, facts_of, section, trace};

/// The address of the loader's code in traces made by [`with_loader`].
const LOADER: u64 = 0x50_0000;

fn with_loader(mut all: Trace) -> Trace {
    let mut module = ModuleRecord::zeroed();
    (module.start, module.end) = (LOADER, LOADER + 0x1_0000);
    let path = b"/lib64/ld-linux-x86-64.so.2";
    module.path[..path.len()].copy_from_slice(path);
    all.modules.push(module);
    all
}

/// Adds four instructions to a section, one of which accesses memory.
fn four(made: Made) -> Made {
    made.step(0x40_1000, 3, None).step(0x40_2000, 1, Some((0x5000, 0x5007)))
}

/// The loader's instructions at the first call of a function count neither for a section's length,
/// nor for its lines, nor for its accesses.
#[test]
fn the_loaders_instructions_do_not_count_for_sections() {
    let first = four(section(1)).step(LOADER + 0x10, 700, Some((0x5000, 0x5007)));
    let sections = vec![first, four(section(2)), four(section(1)).reads(0x5000, 8)];
    let facts = facts_of(&with_loader(trace(sections.clone())));
    let site = &facts.locks[0].sites[0];
    assert_eq!((site.instructions.max, site.total_instructions), (4, 12));
    assert_eq!(site.memory_share, 0.25, "of the sections without the loader");
    assert!(site.steps.iter().all(|step| step.address < LOADER), "{:?}", site.steps);
    assert_eq!(site.outside_instructions, 3);
    // If the loader ran in each section, its instructions are included in this share, because the
    // share without them is not known.
    let only = facts_of(&with_loader(trace(vec![sections[0].clone()])));
    assert_eq!(only.locks[0].sites[0].memory_share, 701.0 / 704.0);
    // If the trace has no loader at these addresses, the instructions are like any others.
    let facts = facts_of(&trace(sections));
    assert_eq!(facts.locks[0].sites[0].instructions.max, 704);
}

#[test]
fn touched_words_are_grouped_by_their_object() {
    let entry = |n: u64| block(0x2000_0000 + 64 * n, 64, 1 + n);
    let other = block(0x3000_0000, 128, 1);
    let facts = facts_of(&trace(vec![
        section(1).changes(entry(0), 0).changes(entry(0), 8).reads(0x5000, 8),
        section(2).changes(entry(1), 0).reads(0x5000, 16),
        section(1).changes(other, 0),
    ]));
    let heap = |size| Object::Heap { site: entry(0).site, size };
    let fixed = |address| Object::Fixed { address };
    let touched = |blocks, words, accesses, written| Touched { blocks, words, accesses, written };
    assert_eq!(
        facts.locks[0].touched,
        [
            (heap(64), touched(2, 3, 3, 3)),
            (fixed(0x5000), touched(0, 1, 2, 0)),
            (heap(128), touched(1, 1, 1, 1)),
            (fixed(0x5008), touched(0, 1, 1, 0)),
        ]
    );
}

/// Gives names in a program with one variable, at 0x5000.
struct OneVariable;

impl Names for OneVariable {
    fn place(&mut self, _: u64) -> String {
        "make  a.c:1".to_owned()
    }
    fn line(&mut self, _: u64) -> String {
        "a.c:2".to_owned()
    }
    fn variable(&mut self, address: u64) -> Option<String> {
        (0x5000..0x5100).contains(&address).then(|| format!("v+{:#x}", address - 0x5000))
    }
    fn whole_variable(&mut self, address: u64) -> Option<String> {
        self.variable(address).map(|_| "v".to_owned())
    }
}

/// All words of a variable are one kind of data.
#[test]
fn data_is_named_by_its_variable() {
    let sections = vec![
        section(1).reads(0x5000, 24).changes(block(0x2000_0000, 64, 1), 0),
        section(2).writes(0x5010, 8).reads(0x9000, 8),
    ];
    let (trace, options) = (trace(sections), Options { window: 128, processors: 4 });
    let report = named(&trace, &facts(&trace, &options), &options, &mut OneVariable);
    let data = &report.locks[0].data;
    let said: Vec<_> = data.iter().map(|d| (d.what.as_str(), d.blocks, d.words)).collect();
    let elsewhere = "memory outside of variables and blocks";
    assert_eq!(
        said,
        [("v", 0, 3), ("blocks of 64 bytes from make  a.c:1", 1, 1), (elsewhere, 0, 1)]
    );
    assert!((data[0].share - 4.0 / 6.0).abs() < 1e-9 && (data[0].written - 0.25).abs() < 1e-9);
    assert_eq!(report.locks[0].data_kinds, 3);
}

/// The position of a lock in a block is reported if that block existed when the lock was acquired.
#[test]
fn a_lock_lies_in_a_block_of_the_heap() {
    let of = |serial| {
        let around = block(LOCK - 16, 64, serial);
        let in_block = section(1).changes(around, 56).with(|record| record.incarnation = 2);
        let (trace, options) = (trace(vec![in_block]), Options { window: 128, processors: 4 });
        let report = named(&trace, &facts(&trace, &options), &options, &mut OneVariable);
        report.locks[0].lies.clone()
    };
    assert_eq!(of(2).as_deref(), Some("+0x10 of a block of 64 bytes from make  a.c:1"));
    assert_eq!(of(1), None, "a block that was there before");
}

/// A lock of which nothing was traced is reported too, because threads may have waited for it
/// longest.
#[test]
fn locks_that_were_not_traced_are_counted() {
    let mut all = trace(vec![section(1), section(2)]);
    all.counts = vec![
        (1, counted(LOCK, 10, 1, 1_000_000, 0)),
        (1, counted(0x20_0000, 100, 5, 500_000, 0)),
        (2, counted(0x20_0000, 100, 5, 500_000, 0)),
        (2, counted(0x30_0000, 7, 1, 250_000, 0)),
    ];
    let facts = facts_of(&all);
    let untraced = facts.overall.untraced;
    assert_eq!((untraced.locks, untraced.acquisitions), (2, 207));
    assert_eq!((untraced.waited, untraced.longest), (1.25, Some((0x20_0000, 1.0))));
    assert_eq!(facts.overall.acquisitions, 10, "of those that were traced");
}

/// A process that was killed has not written its last counts. The counts of its traced sections are
/// lower bounds.
#[test]
fn counts_of_a_killed_process_are_at_least_its_traced_sections() {
    let sections = || {
        let waited = section(2).held(100, 200, 250_000);
        vec![section(1).held(0, 90, 0), waited, section(1).held(300, 400, 0)]
    };
    let whole = facts_of(&trace(sections()));
    assert!(!whole.overall.cut_short);
    assert_eq!((whole.locks[0].contended, whole.locks[0].waited), (0, 0.0), "by its counts");
    let mut killed = trace(sections());
    killed.header.ended = 0;
    let facts = facts_of(&killed);
    assert!(facts.overall.cut_short);
    let lock = &facts.locks[0];
    assert_eq!((lock.acquisitions, lock.contended, lock.waited), (3, 1, 0.25));
    // The locks are weighted by instructions, which must not be reported as seconds held.
    assert!(facts.overall.by_instructions && lock.held == 0.0 && lock.weight > 0.0);
    // Threads that had ended had written their counts, which may be larger.
    killed.counts.push((1, counted(LOCK, 50, 0, 0, 0)));
    assert_eq!(facts_of(&killed).locks[0].acquisitions, 50);
}

/// The reasons why sections could not be traced to their end are counted separately.
#[test]
fn stop_reasons_are_counted_separately() {
    use syncline_trace::layout::{STOP_FORK, STOP_LIMIT};
    let stopped = |why| section(1).with(|record| record.stopped = why);
    let facts = facts_of(&trace(vec![
        stopped(STOP_LIMIT),
        stopped(STOP_LIMIT),
        stopped(STOP_FORK),
        section(1),
    ]));
    let site = &facts.locks[0].sites[0];
    assert_eq!((site.stopped, site.cut), (3, 2));
    assert_eq!(
        site.stops.clone().into_iter().collect::<Vec<_>>(),
        [(STOP_FORK, 1), (STOP_LIMIT, 2)]
    );
}
