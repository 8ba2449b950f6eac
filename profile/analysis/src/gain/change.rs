//! Applies a remedy to the tracks of threads.

use std::collections::HashSet;

use super::shorter::Shorter;
use super::tracks::{Ends, Track, Wait};
use crate::model::{Kind, Process, Remedy};

/// Seconds of processor time that a sleep and its wake-up take: system calls and two switches.
/// Measured as the system time of programs that do nothing else: 2.5 to 5 microseconds.
pub const WAKE_UP: f64 = 5e-6;
/// The part of these seconds that the waking thread spends.
pub const WAKING: f64 = 2e-6;
/// The part that the sleeping thread spends.
const SLEEP: f64 = WAKE_UP - WAKING;

/// The tracks as they would have been with the remedy. If the remedy's gain is not predicted by
/// replay, the tracks stay as they are.
pub fn changed(unchanged: &[Track], process: &Process, remedy: &Remedy) -> Vec<Track> {
    let (sites, saved_per_call, waits_left, shorter) = match remedy {
        Remedy::RemoveLock { sites, seconds_per_call } => (sites, *seconds_per_call, 0.0, None),
        Remedy::NoWaits { sites } => (sites, 0.0, 0.0, None),
        Remedy::FewerHandOvers { sites, left } => (sites, WAKING * (1.0 - left), *left, None),
        Remedy::SplitLock { sites, parts } => (sites, 0.0, 1.0 / parts.max(1.0), None),
        Remedy::CheaperCalls { sites, seconds_per_call, waits_left } => {
            (sites, *seconds_per_call, *waits_left, None)
        }
        Remedy::ShortenSections { sites, to } => {
            (sites, 0.0, 1.0, Some(Shorter::new(process, sites, *to)))
        }
        Remedy::Rebalance { .. }
        | Remedy::AtOnce { .. }
        | Remedy::FreeProcessors { .. }
        | Remedy::Unknown => {
            return unchanged.to_vec();
        }
    };
    let at: HashSet<usize> = sites.iter().copied().collect();
    let mut tracks = unchanged.to_vec();
    let cheaper = matches!(remedy, Remedy::CheaperCalls { .. });
    let mut slept = vec![0u64; tracks.len()];
    for (track, slept) in tracks.iter_mut().zip(&mut slept) {
        // If the remedy leaves one of n waits, every n-th wait remains.
        let mut due = 0.0;
        track.waits.retain_mut(|wait| {
            if let Some(shorter) = &shorter {
                shorter.apply(wait, unchanged);
                due += shorter.left(wait);
                return stays(&mut due, wait, slept);
            }
            let Some(site) = wait.site.filter(|site| at.contains(site)) else { return true };
            // The thread still waits until the event has happened, but continues sooner afterwards.
            if cheaper
                && process.sites[site].kind == Kind::Event
                && let Ends::With { delay, .. } = &mut wait.ends
            {
                *slept += u64::from(waits_left < 1.0);
                *delay *= waits_left;
                return true;
            }
            due += waits_left;
            stays(&mut due, wait, slept)
        });
    }
    cheapen(&mut tracks, process, sites, saved_per_call, &slept);
    tracks
}

/// Whether a wait remains: it does if `due` has reached 1, which is then subtracted. Otherwise the
/// wait goes away, and `slept` counts a saved sleep unless the thread spins while it waits.
fn stays(due: &mut f64, wait: &Wait, slept: &mut u64) -> bool {
    let stays = *due >= 1.0 - 1e-9;
    if stays {
        *due -= 1.0;
    } else {
        *slept += u64::from(!wait.spins);
    }
    stays
}

/// Subtracts the saved cost of calls, and of the `slept` sleeps of each thread, from the threads'
/// work, evenly over each thread's track. Each thread's share of the calls is assumed to be its
/// share of all acquisitions.
pub fn cheapen(
    tracks: &mut [Track],
    process: &Process,
    sites: &[usize],
    seconds_per_call: f64,
    slept: &[u64],
) {
    let calls: u64 = sites.iter().map(|&site| process.sites[site].figures.calls).sum();
    let all: u64 = process.threads.iter().map(|thread| thread.acquisitions).sum();
    let per_acquisition = calls as f64 / all.max(1) as f64 * seconds_per_call;
    let left: Vec<f64> = process
        .threads
        .iter()
        .zip(tracks.iter())
        .zip(slept)
        .map(|((thread, track), &slept)| {
            let acquisitions = thread.acquisitions as f64 * played_back(thread.seconds, track);
            let saved = acquisitions * per_acquisition + slept as f64 * SLEEP;
            if track.work > 0.0 { (1.0 - saved / track.work).clamp(0.0, 1.0) } else { 1.0 }
        })
        .collect();
    let scale = |ends: &mut Ends| {
        if let Ends::With { thread, work, .. } = ends {
            *work *= left[*thread];
        }
    };
    for (track, left) in tracks.iter_mut().zip(&left) {
        track.work *= left;
        scale(&mut track.starts);
        for wait in &mut track.waits {
            wait.at *= left;
            scale(&mut wait.ends);
        }
    }
}

/// The share of a thread's life that its track stands for.
fn played_back(seconds: f64, track: &Track) -> f64 {
    if seconds > 0.0 { (track.lived / seconds).min(1.0) } else { 1.0 }
}
