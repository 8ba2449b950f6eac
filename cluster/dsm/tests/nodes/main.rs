//! Nodes on the simulated fabric. The nodes run the same code as processes do: Pyxis, homes, cache,
//! write buffer and diffs. The nodes run random programs without data races, and the results are
//! compared with a sequentially consistent oracle. On this fabric (`syncline_fabric::simulated`),
//! puts overtake each other, reads see half-written pages, and notices are late. Every seed is one
//! program and one schedule.
//!
//! The programs and the broken rules are those of `tests/carina`, which checks the protocol alone
//! on a network of its own. `SYNCLINE_DSM_NODE_SCHEDULES` is the number of schedules that the sound
//! nodes run.
//!
//! Not tested: page faults, since pages are buffers here; several threads in a node. There are at
//! most six nodes and eight pages, and no node dies.

#[allow(dead_code, reason = "only `tests/carina` performs the slips")]
#[path = "../carina/broken.rs"]
mod broken;
#[path = "../carina/program.rs"]
mod program;
mod run;

/// The size of a page, in the module in which `program.rs` looks for it.
mod world {
    pub const PAGE: usize = 16;
}

use std::env;

use broken::Broken;
use run::{Broke, Reached, run};
use syncline_dsm::carina::Scheme;

/// The number of schedules of sound nodes, a third of them under each scheme.
const SCHEDULES: u64 = 24_000;
/// The check must find a broken rule within this many schedules.
const PATIENCE: u64 = 60_000;

fn first(rules: Broken, scheme: Scheme, seeds: u64, reached: &mut Reached) -> Option<(u64, Broke)> {
    (0..seeds).find_map(|seed| Some((seed, run(rules, scheme, seed, reached)?)))
}

fn sound(scheme: Scheme) {
    let wanted = env::var("SYNCLINE_DSM_NODE_SCHEDULES").ok();
    let wanted = wanted.map_or(SCHEDULES, |n| n.parse().expect("a number of schedules"));
    let mut reached = Reached::default();
    let broke = first(Broken::Sound, scheme, wanted.div_ceil(3), &mut reached);
    assert_eq!(broke, None, "{scheme:?}");
    println!("{scheme:?}: {reached:?}");
    let all = [reached.misses, reached.evicted, reached.drained, reached.downgrades];
    assert!(all.iter().all(|count| *count > 0), "{reached:?}");
    let classified = [reached.kept, reached.notices, reached.logged].iter().all(|n| *n > 0);
    assert_eq!(classified, scheme != Scheme::Shared, "{scheme:?}: {reached:?}");
}

#[test]
fn coherent_without_classes() {
    sound(Scheme::Shared);
}

#[test]
fn coherent_with_private_lines() {
    sound(Scheme::Private);
}

#[test]
fn coherent_with_private_lines_and_writers() {
    sound(Scheme::Writers);
}

#[test]
fn a_seed_gives_the_same_run() {
    let runs = [(); 2].map(|()| {
        let mut reached = Reached::default();
        (first(Broken::NoticeIgnored, Scheme::Writers, PATIENCE, &mut reached), reached)
    });
    assert!(runs[0].0.is_some());
    assert_eq!(runs[0], runs[1]);
}

fn caught(rules: Broken, schemes: &[Scheme]) {
    for scheme in schemes {
        let broke = first(rules, *scheme, PATIENCE, &mut Reached::default());
        let (seed, how) = broke.unwrap_or_else(|| panic!("{rules:?}, {scheme:?}: not caught"));
        println!("{rules:?}, {scheme:?}: {how:?} in schedule {seed}");
    }
}

macro_rules! each_is_caught {
    ($($name:ident: $broken:ident under $($scheme:ident)+;)*) => {$(
        #[test]
        fn $name() {
            caught(Broken::$broken, &[$(Scheme::$scheme),+]);
        }
    )*};
}

each_is_caught! {
    private_owner_not_told: PrivateOwnerNotTold under Private;
    first_writer_tells_nobody: FirstWriterTellsNobody under Writers;
    stale_copy_kept: StaleKept under Shared Private Writers;
    shared_line_kept: SharedKept under Private;
    notice_ignored: NoticeIgnored under Private Writers;
    downgrade_after_meeting: DowngradeAfterMeeting under Shared Private Writers;
    release_without_downgrade: ReleaseWithoutDowngrade under Shared Private Writers;
    release_without_flush: ReleaseWithoutFlush under Shared Private Writers;
    flush_before_downgrade: FlushBeforeDowngrade under Shared Private Writers;
    notices_before_lock: NoticesBeforeLock under Private Writers;
    notices_after_invalidation: NoticesAfterInvalidation under Private Writers;
    reset_in_use: ResetInUse under Private Writers;
    writer_not_registered: WriterNotRegistered under Writers;
    fetch_unsettled: FetchUnsettled under Shared Private Writers;
    old_twin: OldTwin under Shared Private Writers;
    lost_run_of_a_diff: LostRun under Shared Private Writers;
    whole_page: WholePage under Shared Private Writers;
}
