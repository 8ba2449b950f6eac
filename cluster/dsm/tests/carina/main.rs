//! The protocol on a simulated network. Random programs without data races run on the lists and
//! rules of `syncline_dsm::carina` themselves, and what they read is compared with a sequentially
//! consistent oracle. Every seed is one program and one schedule, and gives the same run each time.
//!
//! ```text
//!   program   what nodes do, and which values reads must return
//!   node      performs the lists of steps
//!   network   the operations under way, and when each takes effect
//!   world     one schedule
//!   broken    the protocol with one decision changed: the same check must find each change
//! ```
//!
//! `SYNCLINE_DSM_SCHEDULES` is the number of schedules that the three tests of the sound protocol
//! run together. With fewer than 10,000 schedules the tests may fail, because they don't reach the
//! cases that they have to reach.
//!
//! Not tested: what two threads of a node do to each other between a fetch or a diff and the copy
//! of the twin, since a node here has one thread; homes other than interleaved ones; lines that a
//! node uses at its own home without caching them. There are at most six nodes, four lines and
//! three locks, and no node dies.

mod broken;
mod network;
mod node;
mod program;
mod world;

use std::env;

use broken::Broken;
use syncline_dsm::carina::Scheme;
use world::{Broke, Reached, run};

/// The number of schedules of the sound protocol, a third of them under each scheme.
const SCHEDULES: u64 = 210_000;
/// The check must find a changed decision within this many schedules.
const PATIENCE: u64 = 100_000;

/// The first seed whose run is wrong, and what is wrong in it.
fn first(rules: Broken, scheme: Scheme, seeds: u64, reached: &mut Reached) -> Option<(u64, Broke)> {
    (0..seeds).find_map(|seed| Some((seed, run(rules, scheme, seed, reached).err()?)))
}

fn coherent(rules: Broken, scheme: Scheme, seeds: u64) -> Reached {
    let mut reached = Reached::default();
    let broke = first(rules, scheme, seeds, &mut reached);
    assert_eq!(broke, None, "{rules:?} under {scheme:?}");
    reached
}

fn caught(rules: Broken, schemes: &[Scheme]) {
    for scheme in schemes {
        let broke = first(rules, *scheme, PATIENCE, &mut Reached::default());
        let (seed, how) = broke.unwrap_or_else(|| panic!("{rules:?}, {scheme:?}: not caught"));
        println!("{rules:?}, {scheme:?}: {how:?} in schedule {seed}");
    }
}

/// Runs the schedules of the sound protocol. Together they must reach the cases that this check is
/// made for.
fn sound(scheme: Scheme) {
    let wanted = env::var("SYNCLINE_DSM_SCHEDULES").ok();
    let wanted = wanted.map_or(SCHEDULES, |n| n.parse().expect("a number of schedules"));
    let reached = coherent(Broken::Sound, scheme, wanted.div_ceil(3));
    println!("{scheme:?}: {reached:?}");
    assert!(reached.accesses > 0 && reached.written_dropped > 0 && reached.resets > 0);
    let Reached { kept, notices, everybody, told, .. } = reached;
    let classified = [kept, notices, everybody, told].iter().all(|n| *n > 0);
    assert_eq!(classified, scheme != Scheme::Shared, "{scheme:?}");
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
fn fetching_or_diffing_before_the_deposit_is_coherent() {
    for scheme in [Scheme::Private, Scheme::Writers] {
        coherent(Broken::FetchBeforeDeposit, scheme, SCHEDULES / 10);
        coherent(Broken::DiffBeforeDeposit, scheme, SCHEDULES / 10);
    }
}

#[test]
fn a_seed_gives_the_same_run() {
    let runs = [(); 2].map(|()| {
        let mut reached = Reached::default();
        let broke = first(Broken::NoticeIgnored, Scheme::Writers, PATIENCE, &mut reached);
        (broke, reached.accesses, reached.notices)
    });
    assert!(runs[0].0.is_some());
    assert_eq!(runs[0], runs[1]);
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
    the_papers_notice: PapersNotice under Writers;
    first_writer_tells_nobody: FirstWriterTellsNobody under Writers;
    told_at_once: ToldAtOnce under Private Writers;
    told_by_first_writer: ToldByFirstWriter under Writers;
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
    notice_overwritten: NoticeOverwritten under Private Writers;
    notices_not_awaited: NoticesNotAwaited under Private Writers;
    count_before_log: CountBeforeLog under Writers;
    private_line_not_downgraded: PrivateNotDowngraded under Private Writers;
    written_line_dropped: DirtyDropped under Shared Private Writers;
    twin_from_home: TwinFromHome under Shared Private Writers;
}
