//! The tracks of a run as it would have been without the recorder.
//!
//! After a wait, the recorder notes how long the wait was and which thread held the lock; before
//! the release, it notes how long the lock was held. For this, the lock is held a few hundred
//! nanoseconds longer. A contended section of twenty nanoseconds becomes ten times as long, and
//! others wait for the longer section. Without the recorder, each wait for such a section ends
//! earlier by that time, and the threads have less work, by the same time.

use super::change::cheapen;
use super::tracks::{Ends, Track};
use crate::model::{Kind, Lock, Process};

/// The recorder's time in sections is ignored below this share of the threads' time.
const LEAST: f64 = 1e-3;

/// Takes the recorder's own time in sections out of the tracks.
pub fn unrecorded(mut tracks: Vec<Track>, process: &Process) -> Vec<Track> {
    let own: f64 = process.sites.iter().map(|site| site.figures.recorder).sum();
    if own <= LEAST * process.thread_seconds {
        return tracks;
    }
    let earlier: Vec<f64> = process.locks.iter().map(earlier).collect();
    for wait in tracks.iter_mut().flat_map(|track| &mut track.waits) {
        let Some(by) = wait.lock.and_then(|lock| earlier.get(lock)) else { continue };
        match &mut wait.ends {
            Ends::With { work, .. } => *work = (*work - by).max(0.0),
            Ends::After(seconds) => *seconds = (*seconds - by).max(0.0),
        }
    }
    let is_lock = |site: &usize| process.sites[*site].kind == Kind::Lock;
    let sites: Vec<usize> = (0..process.sites.len()).filter(is_lock).collect();
    let calls: u64 = sites.iter().map(|&site| process.sites[site].figures.calls).sum();
    let slept = vec![0; tracks.len()];
    cheapen(&mut tracks, process, &sites, own / calls.max(1) as f64, &slept);
    tracks
}

/// Seconds by which a wait for a lock would end earlier without the recorder, on average. The
/// recorder lengthens only sections whose holder had itself waited. Such sections' share of the
/// waits for the lock is assumed to be their share of the time held.
fn earlier(lock: &Lock) -> f64 {
    let figures = &lock.figures;
    let waits = figures.waits as f64;
    if lock.kind != Kind::Lock || waits == 0.0 || figures.recorder == 0.0 {
        return 0.0;
    }
    let own = figures.recorder / waits;
    let section = figures.held / figures.calls.max(1) as f64;
    let (after_waits, others) = (waits * (section + own), (figures.calls as f64 - waits).max(0.0));
    own * after_waits / (after_waits + others * section).max(f64::MIN_POSITIVE)
}

#[cfg(test)]
mod tests {
    use syncline_recording::{Op, Primitive};

    use super::*;
    use crate::findings::testing::{Use, process};

    /// The tracks of two threads without the recorder: the work at which a wait ends, and the work
    /// of the second thread. Each thread has a second of work, and the second thread ends a wait of
    /// the first one. Of a hundred acquisitions of the lock, `waits` waited, and the recorder took
    /// a millisecond in each of these.
    fn ends(waits: u64) -> (f64, f64) {
        let mut drawn = process(1.0, 2);
        drawn.threads("work", 2, 1.0);
        let lock = drawn.lock(Primitive::Mutex, "lock");
        let site = drawn.site(Op::MutexLock, "work at a.c:1");
        let used = Use { calls: 100, waits, waited: 0.5, held: 0.1, ..Use::default() };
        drawn.uses(lock, site, used);
        drawn.locks[lock].figures.recorder = waits as f64 * 1e-3;
        drawn.sites[site].figures.recorder = waits as f64 * 1e-3;
        for (number, thread) in drawn.threads.iter_mut().enumerate() {
            thread.acquisitions = if number < 2 { 50 } else { 0 };
        }
        let ends = Ends::With { thread: 1, work: 0.5, delay: 0.0 };
        let wait = super::super::tracks::Wait {
            at: 0.25,
            ends,
            spins: false,
            site: Some(site),
            lock: Some(lock),
            ended: 0.5,
            seconds: 0.25,
        };
        let track =
            |waits| Track { starts: Ends::After(0.0), waits, work: 1.0, lived: 1.0, demand: 1.0 };
        let tracks = unrecorded(vec![track(vec![wait]), track(Vec::new())], &drawn);
        let Ends::With { work, .. } = tracks[0].waits[0].ends else { panic!("it still waits") };
        (work, tracks[1].work)
    }

    #[test]
    fn waits_end_earlier_and_threads_have_less_to_do() {
        // The recorder took a hundred milliseconds in all, half of them in each thread; all holders
        // had waited.
        let (ended, work) = ends(100);
        assert!((work - 0.95).abs() < 1e-9, "{work}");
        assert!((ended - 0.95 * 0.499).abs() < 1e-9, "{ended}");
        // Half of the holders had waited, and their sections are twice as long.
        let (ended, work) = ends(50);
        assert!((work - 0.975).abs() < 1e-9, "{work}");
        assert!((ended - 0.975 * (0.5 - 1e-3 * 2.0 / 3.0)).abs() < 1e-9, "{ended}");
        assert_eq!(ends(0), (0.5, 1.0));
    }
}
