//! Within a budget, sections of the locks that threads wait for are traced first.

use syncline_conformance::{Program, Truth};
use syncline_trace::Section;
use syncline_trace::layout::EARLY;

use crate::traced::{Traced, trace_with};

/// The command's default budget: a tenth of the program's time, in thousandths.
const DEFAULT: u32 = 100;
/// The number of traced sections that a report needs of a lock.
const ENOUGH: usize = 200;

/// One acquisition in 512 is of the lock that threads wait for. If sections were chosen at random,
/// only a few would be of this lock.
#[test]
fn a_lock_that_is_waited_for_has_sections_however_rarely_it_is_taken() {
    let program = Program::compile("inspect_watched.c");
    let Traced { outcome, traces } = trace_with(program.path(), ["rare"], DEFAULT, &[]);
    let hot = Truth::read(&outcome.stdout).value("hot");
    let of_hot = traces[0].sections.iter().filter(|s| s.record.lock == hot).count();
    let waits = traces[0].counts.iter().filter(|(_, count)| count.lock == hot);
    let waited: u64 = waits.map(|(_, count)| count.contended).sum();
    let all = traces[0].sections.len();
    assert!(of_hot >= ENOUGH, "{of_hot} of {all} sections; waited for {waited} times");
}

/// Sections of a watched lock are chosen with equal probability: neither those that waited nor
/// those of one call site are preferred.
#[test]
fn sections_of_a_watched_lock_are_drawn_with_equal_probability() {
    let program = Program::compile("inspect_watched.c");
    let Traced { outcome, traces } = trace_with(program.path(), ["mixed"], DEFAULT, &[]);
    let truth = Truth::read(&outcome.stdout);
    let (hot, trace) = (truth.value("hot"), &traces[0]);
    let is_drawn = |s: &&Section| s.record.lock == hot && s.record.flags & EARLY == 0;
    let traced = trace.sections.iter().filter(is_drawn);
    let mut sites: Vec<u64> = traced.map(|s| s.record.site).collect();
    sites.sort_unstable();
    let all = sites.len();
    let rarer = sites.chunk_by(|a, b| a == b).map(<[u64]>::len).min().expect("sections");
    // One section in 16 is of the rarer call site.
    assert!(all >= ENOUGH && rarer * 8 < all, "{rarer} of {all}");
}
