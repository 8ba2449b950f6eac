//! Sections that become shorter, so that waits for them become fewer and end earlier.
//!
//! A thread that arrives at a lock waits if another thread is in a section at that moment. The
//! smaller the share of the other threads' work that is in sections, the rarer this is.
//!
//! If a lock is not handed over, one thread may take it many times while another thread sleeps. The
//! sleeping thread's wait ends earlier by what all these sections save.

use super::tracks::{Ends, Track, Wait};
use crate::held::share_of_work;
use crate::model::{Lock, Process};

/// How much rarer and shorter the waits for each lock become.
pub struct Shorter {
    /// Seconds of work by which a section becomes shorter, on average.
    by: f64,
    /// The share of a section that is saved.
    part: f64,
    locks: Vec<AtLock>,
}

/// How the waits for one lock change.
#[derive(Clone, Copy)]
struct AtLock {
    /// The share of the waiting for the lock that was for sections which become shorter.
    for_these: f64,
    /// The share of the lock's threads' work that is in the lock's sections.
    of_work: f64,
    /// The share of the waits that is left.
    left: f64,
}

impl Shorter {
    /// The change if the sections of `sites` shrink to the share `to` of their length.
    pub fn new(process: &Process, sites: &[usize], to: f64) -> Shorter {
        let figures = || sites.iter().map(|&site| &process.sites[site].figures);
        let (held, calls) = (
            figures().map(|figures| figures.held).sum::<f64>(),
            figures().map(|figures| figures.calls).sum::<u64>(),
        );
        let mean = if calls > 0 { held / calls as f64 } else { 0.0 };
        let part = 1.0 - to.clamp(0.0, 1.0);
        let at_lock = |lock| AtLock::new(process, lock, sites, part);
        let locks = process.locks.iter().map(at_lock).collect();
        Shorter { by: mean * part, part, locks }
    }

    /// The share of the waits for the lock of `wait` that is left.
    pub fn left(&self, wait: &Wait) -> f64 {
        wait.lock.and_then(|lock| self.locks.get(lock)).map_or(1.0, |lock| lock.left)
    }

    /// Makes a wait end earlier. `tracks` are those of the recorded run.
    pub fn apply(&self, wait: &mut Wait, tracks: &[Track]) {
        let Some(lock) = wait.lock.and_then(|lock| self.locks.get(lock)) else { return };
        match &mut wait.ends {
            Ends::With { thread, work, .. } => {
                let sections = wait.seconds.min(went_on(&tracks[*thread], *work)) * lock.of_work;
                let by = self.by.max(sections * self.part);
                *work = (*work - by * lock.for_these).max(0.0);
            }
            Ends::After(seconds) => *seconds = (*seconds - self.by * lock.for_these).max(0.0),
        }
    }
}

/// Seconds that a thread had worked since its last wait when it had done `work` seconds of work.
fn went_on(track: &Track, work: f64) -> f64 {
    let waited = track.waits.partition_point(|wait| wait.at < work);
    let since = waited.checked_sub(1).map_or(0.0, |last| track.waits[last].at);
    work - since
}

impl AtLock {
    fn new(process: &Process, lock: &Lock, sites: &[usize], part: f64) -> AtLock {
        let known = lock.blockers.iter().filter(|blocker| blocker.holder.is_some());
        let (mut here, mut all) = (0.0, 0.0);
        for blocker in known {
            all += blocker.waited;
            if blocker.holder.is_some_and(|holder| sites.contains(&holder)) {
                here += blocker.waited;
            }
        }
        let used = lock.sites.iter().any(|used| sites.contains(&used.site));
        let for_these = if all > 0.0 { here / all } else { f64::from(used) };
        let of_work = if used { share_of_work(process, lock) } else { 0.0 };
        // No more threads than there are processors can arrive at a time.
        let arriving = lock.threads.len().min(process.processors.unwrap_or(usize::MAX)).max(2);
        let taken = |of_work: f64| 1.0 - (1.0 - of_work).powi(arriving as i32 - 1);
        let before = taken(of_work);
        let left =
            if before > 0.0 { taken(of_work * (1.0 - for_these * part)) / before } else { 1.0 };
        AtLock { for_these, of_work, left }
    }
}

#[cfg(test)]
mod tests {
    use syncline_recording::{Op, Primitive};

    use super::*;
    use crate::findings::testing::{Use, process};

    /// The work of a second thread at which a first thread's wait ends, if all sections shrink to
    /// half. The wait took a second, and ended when the second thread had done two seconds of work.
    /// The second thread spends 0.8 of its work in sections of a tenth of a second. The second
    /// thread itself waited when it had done `waited_at` seconds of work.
    fn ends(waited_at: f64) -> f64 {
        let mut drawn = process(10.0, 2);
        let first = drawn.threads("draw", 2, 10.0);
        let lock = drawn.lock(Primitive::Mutex, "face");
        let site = drawn.site(Op::MutexLock, "draw at face.c:10");
        drawn.uses(
            lock,
            site,
            Use { calls: 160, waits: 9, waited: 9.0, held: 16.0, ..Use::default() },
        );
        drawn.locks[lock].threads = vec![(first, 80), (first + 1, 80)];
        let wait = |at, ends| Wait {
            at,
            ends,
            spins: false,
            site: Some(site),
            lock: Some(lock),
            ended: 3.0,
            seconds: 1.0,
        };
        let track =
            |waits| Track { starts: Ends::After(0.0), waits, work: 9.0, lived: 9.0, demand: 1.0 };
        let for_second = Ends::With { thread: 1, work: 2.0, delay: 0.0 };
        let mut changed = wait(1.0, for_second);
        let tracks = [track(vec![changed]), track(vec![wait(waited_at, Ends::After(0.1))])];
        Shorter::new(&drawn, &[site], 0.5).apply(&mut changed, &tracks);
        let Ends::With { work, .. } = changed.ends else { panic!("it still waits") };
        work
    }

    #[test]
    fn a_wait_for_many_sections_ends_earlier_by_their_sum() {
        assert!((ends(0.5) - (2.0 - 0.4)).abs() < 1e-6, "a second of sections: {}", ends(0.5));
        assert!((ends(1.5) - (2.0 - 0.2)).abs() < 1e-6, "it waited meanwhile: {}", ends(1.5));
    }

    #[test]
    fn a_wait_for_one_section_ends_earlier_by_its_gain() {
        assert!((ends(1.95) - (2.0 - 0.05)).abs() < 1e-6, "{}", ends(1.95));
    }
}
