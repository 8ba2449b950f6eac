//! The choice of the sections that are traced.
//!
//! Each acquisition of a lock is traced with the same probability, whatever its call site and
//! whether or not it waited. So the traced pairs of sections represent all pairs of the program.
//! Two measures are needed for this:
//!
//! - an acquisition that is counted represents several others that were passed over
//!   (`thread::often`). A traced section counts as one, whatever it represents. So an acquisition
//!   that represents fewer others is passed over at random, in proportion;
//! - when the budget allows tracing again, the first acquisition that finds this out is passed
//!   over. Otherwise, acquisitions after a long pause would be traced too often.
//!
//! There are exceptions for sections that would hardly be chosen at random. Locks with much waiting
//! have gaps of their own (`process::waits`). The first sections of each call site are also traced
//! ([`Choice::Early`]); results that depend on how often a site is traced leave these out.

use core::cell::Cell;
use core::sync::atomic::Ordering::Relaxed;

use crate::engine::choice::Choice;
use crate::thread::Thread;
use crate::{clock, heap};

/// If the budget allows, the next section to trace is at most twice this many acquisitions away.
/// The distance is random, so that it does not coincide with a pattern of the program.
const GAP: u32 = 8;
/// Used in place of [`GAP`] while the budget is used up.
const LONG_GAP: u32 = 128;

/// Sections of a watched lock are traced at shorter gaps at first, since there may be few of them.
/// The gap is then the number of acquisitions of the watched family that the thread has made,
/// divided by this number; it is at least 1 and at most [`GAP`].
const SOON: u32 = 64;

/// This many sections of a call site are traced as soon as the budget allows: a site that is rarely
/// reached would hardly be drawn at random.
const FIRST: u32 = 32;
/// After this many drawn sections of a lock, further ones are drawn more and more rarely, whatever
/// their call site. That leaves the budget to other locks. The analysis looks at windows of 128
/// sections, and memory is limited.
const MANY: u32 = 4096;

/// Decides whether a section of a lock at a call site is traced, and why. `is_rare` says that fewer
/// than [`FIRST`] sections of the site may have been traced; it is cleared when that many have
/// been. The acquisition represents `stands_for` acquisitions.
#[inline]
pub fn choose(
    thread: &mut Thread,
    (lock, site): (u64, u64),
    is_rare: &Cell<bool>,
    stands_for: u32,
) -> Choice {
    if thread.process.options.budget == 0 {
        return drawn_if(thread.process.has_room());
    }
    thread.passed += stands_for;
    thread.looked_at += 1;
    thread.most = thread.most.max(stands_for);
    if is_fair(thread, stands_for, thread.most) {
        thread.countdown = thread.countdown.saturating_sub(thread.most);
    }
    if let Some(watch) = thread.process.waits.watch(lock, site) {
        return drawn_if(is_drawn(thread, watch, site, stands_for));
    }
    if thread.countdown > 0 && !(thread.may_trace && is_rare.get()) {
        return Choice::Passed;
    }
    ask(thread, (lock, site), is_rare)
}

fn drawn_if(is_drawn: bool) -> Choice {
    if is_drawn { Choice::Drawn } else { Choice::Passed }
}

/// Whether an acquisition that represents `stands_for` acquisitions is counted as one that
/// represents `most`. The answer is random, and the ratio of the two is its probability. So no site
/// of a lock is traced more often only because it is sampled more often.
#[inline]
fn is_fair(thread: &mut Thread, stands_for: u32, most: u32) -> bool {
    stands_for >= most || thread.random(most) < stands_for
}

/// Whether a section of a watched lock is traced. The answer is random, and does not depend on
/// whether the acquisition waited.
#[cold]
fn is_drawn(thread: &mut Thread, watch: usize, site: u64, stands_for: u32) -> bool {
    if thread.countdown == 0 {
        account(thread, thread.process.may_trace());
    }
    let draws = &mut thread.draws[watch];
    draws.seen = draws.seen.saturating_add(stands_for);
    draws.most = draws.most.max(stands_for);
    let (most, seen) = (draws.most, draws.seen);
    if !is_fair(thread, stands_for, most) {
        return false;
    }
    let draws = &mut thread.draws[watch];
    draws.next = draws.next.saturating_sub(most);
    if draws.next > 0 {
        return false;
    }
    let gap = (seen / SOON).clamp(1, GAP);
    let may_trace = thread.process.may_trace_watched();
    let could = core::mem::replace(&mut draws.may_trace, may_trace);
    thread.draws[watch].next = 1 + thread.random(2 * gap);
    let drawn = could && may_trace && thread.process.has_room();
    if drawn {
        thread.process.traced_at(site).fetch_add(1, Relaxed);
    }
    drawn
}

/// Before a lock is tried, does work that would otherwise lengthen the hold. The acquisition that
/// follows, of a lock at a call site, represents `stands_for` acquisitions.
pub fn prepare(thread: &mut Thread, (lock, site): (u64, u64), stands_for: u32) {
    if thread.countdown > thread.most.max(stands_for) {
        let watch = thread.process.waits.watch(lock, site).map(|watch| thread.draws[watch]);
        if watch.is_none_or(|draws| draws.next > draws.most.max(stands_for)) {
            return;
        }
    }
    let now = clock::now();
    thread.keep_written(now);
    if thread.process.options.budget != 0 {
        thread.process.keep_up(now);
    }
}

#[cold]
fn ask(thread: &mut Thread, (lock, site): (u64, u64), is_rare: &Cell<bool>) -> Choice {
    let process = thread.process;
    let (at_site, of_lock) = (process.traced_at(site), process.traced_of(lock));
    let is_early = at_site.load(Relaxed) < FIRST;
    is_rare.set(is_early);
    let is_drawn = thread.countdown == 0;
    if !is_early && !is_drawn {
        return Choice::Passed;
    }
    let may_trace = process.may_trace();
    let could = account(thread, may_trace);
    if !(could && may_trace && process.has_room()) {
        return Choice::Passed;
    }
    let before = of_lock.load(Relaxed);
    let choice = match is_drawn && (before < MANY || thread.random(before) < MANY) {
        true => Choice::Drawn,
        false if is_early => Choice::Early,
        false => return Choice::Passed,
    };
    at_site.fetch_add(1, Relaxed);
    of_lock.fetch_add(u32::from(choice == Choice::Drawn), Relaxed);
    choice
}

/// Charges the acquisitions since the last charge to the budget, and plans the budget's next check
/// if one was due. Returns whether the budget allowed tracing at the check before this one.
fn account(thread: &mut Thread, may_trace: bool) -> bool {
    let (allocations, frees) = heap::thread_counts();
    let allocator = allocations.wrapping_add(frees);
    let allocator_calls = allocator.wrapping_sub(thread.allocator);
    thread.process.add_skipped(thread.passed, thread.looked_at, allocator_calls);
    (thread.passed, thread.looked_at, thread.allocator) = (0, 0, allocator);
    if thread.countdown == 0 {
        let gap = if may_trace { GAP } else { LONG_GAP };
        thread.countdown = 1 + thread.random(2 * gap);
    }
    core::mem::replace(&mut thread.may_trace, may_trace)
}
