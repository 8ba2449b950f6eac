//! Loops that only wait, from the samples of where threads were.

use syncline_recording::layout::ThreadRecord;
use syncline_recording::{ProcessFile, SampledProcess, SampledThread};

use super::clock::Clock;
use super::processor;
use super::stacks::Stacks;

/// Samples must cover at least this share of a thread's processor time to represent all of it. (The
/// sampler may have looked at a thread for only a twentieth of its time.)
const LEAST_COVERED: f64 = 0.04;

/// A thread in a loop that only waits, with one stack.
pub struct Spin {
    /// The thread's index in the file.
    pub thread: usize,
    /// The stack's number.
    pub stack: usize,
    /// Processor time, in ticks.
    pub ticks: u64,
}

/// All loops that only wait, by thread and stack. Samples inside a recorded call are left out,
/// since they are counted as waits already.
pub fn find(
    file: &ProcessFile,
    samples: Option<&SampledProcess>,
    clock: &Clock,
    stacks: &mut Stacks,
) -> Vec<Spin> {
    let Some(process) = samples else { return Vec::new() };
    let seen = process.threads.iter().flat_map(|thread| &thread.seen);
    let mut addresses: Vec<u64> =
        seen.filter_map(|&(frame, _)| process.stack(frame).first().copied()).collect();
    addresses.sort_unstable();
    addresses.dedup();
    let spins = stacks.symbols().spins(&addresses);
    let is_spin = |address| addresses.binary_search(&address).is_ok_and(|at| spins[at]);
    let mut found = Vec::new();
    for sampled in &process.threads {
        let Some(thread) = file.place_of(sampled.tid) else { continue };
        let whole = whole(sampled, &file.threads[thread].record, clock);
        for &(frame, nanoseconds) in &sampled.seen {
            let seen = process.stack(frame);
            if !seen.first().is_some_and(|&instruction| is_spin(instruction)) {
                continue;
            }
            let Some(stack) = stacks.add_seen(seen) else { continue };
            stacks.show_outside_headers(stack);
            let ticks = clock.ticks(nanoseconds as f64 / 1e9 * whole);
            found.push(Spin { thread, stack, ticks });
        }
    }
    found
}

/// The factor that extrapolates from a thread's sampled time to all its processor time; 1 if the
/// samples cover too small a part of that time.
pub fn whole(sampled: &SampledThread, record: &ThreadRecord, clock: &Clock) -> f64 {
    let covered = sampled.covered as f64 / 1e9;
    match processor::cpu(record, clock) {
        Some(cpu) if covered >= LEAST_COVERED * cpu && covered > 0.0 => cpu / covered,
        _ => 1.0,
    }
}
