//! What threads were seen to do outside of recorded calls: loops that only wait, atomic
//! instructions, and other system calls.

use syncline_code::model::Doing;
use syncline_recording::layout::ThreadRecord;
use syncline_recording::{ProcessFile, SampledProcess, SampledThread};

use super::clock::Clock;
use super::processor;
use super::stacks::Stacks;

/// Samples must cover at least this share of a thread's processor time to represent all of it. (The
/// sampler may have looked at a thread for only a twentieth of its time.)
const LEAST_COVERED: f64 = 0.04;

/// What the samples of a process show.
#[derive(Default)]
pub struct Seen {
    /// Loops that only wait.
    pub spins: Vec<Spent>,
    /// Atomic instructions.
    pub atomics: Vec<Spent>,
    /// System calls.
    pub calls: Vec<Spent>,
}

/// The time that a thread spent with one stack.
pub struct Spent {
    /// The thread's index in the file.
    pub thread: usize,
    /// The stack's number.
    pub stack: usize,
    /// Processor time, in ticks.
    pub ticks: u64,
}

/// All loops that only wait, atomic instructions and system calls, by thread and stack. Samples
/// inside a recorded call are left out, since these calls are counted already.
pub fn find(
    file: &ProcessFile,
    samples: Option<&SampledProcess>,
    clock: &Clock,
    stacks: &mut Stacks,
) -> Seen {
    let mut found = Seen::default();
    let Some(process) = samples else { return found };
    let seen =
        process.threads.iter().flat_map(|thread| thread.seen.iter().chain(&thread.in_kernel));
    let mut addresses: Vec<u64> =
        seen.filter_map(|&(frame, _)| process.stack(frame).first().copied()).collect();
    addresses.sort_unstable();
    addresses.dedup();
    let doing = stacks.symbols().doing(&addresses);
    for sampled in &process.threads {
        let Some(thread) = file.place_of(sampled.tid) else { continue };
        let whole = whole(sampled, &file.threads[thread].record, clock);
        let seen = sampled.seen.iter().map(|&seen| (seen, false));
        let in_kernel = sampled.in_kernel.iter().map(|&seen| (seen, true));
        for ((frame, nanoseconds), in_kernel) in seen.chain(in_kernel) {
            let seen = process.stack(frame);
            let at = seen.first().and_then(|address| addresses.binary_search(address).ok());
            let (spent, stack) = match (at.map_or(Doing::Works, |at| doing[at]), in_kernel) {
                (Doing::Waits, false) => (&mut found.spins, stacks.add_seen(seen)),
                (Doing::Exchanges, false) => (&mut found.atomics, stacks.add_behind(seen)),
                // A thread in the kernel that is not at a call was interrupted, or accessed a
                // missing page.
                (Doing::Calls, true) => (&mut found.calls, stacks.add_behind(seen)),
                _ => continue,
            };
            let Some(stack) = stack else { continue };
            if !in_kernel {
                stacks.show_outside_headers(stack);
            }
            let ticks = clock.ticks(nanoseconds as f64 / 1e9 * whole);
            spent.push(Spent { thread, stack, ticks });
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
