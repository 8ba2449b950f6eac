//! A thread's processor time, as the kernel reported it at the thread's end or at the last sample.

use syncline_recording::layout::{THREAD_EXITED, ThreadRecord};

use super::clock::Clock;

/// Whether a record's latest thread was sampled when its process ended, or when the recording was
/// read.
fn looked_at(record: &ThreadRecord) -> bool {
    record.state != THREAD_EXITED && record.left_cpu_ns != 0
}

/// Processor time in seconds; `None` if unknown.
pub fn cpu(record: &ThreadRecord, clock: &Clock) -> Option<f64> {
    match record.state {
        THREAD_EXITED => Some(seconds(record.cpu_ns)),
        _ if looked_at(record) => {
            Some(seconds(record.cpu_ns.saturating_add_unsigned(record.left_cpu_ns)))
        }
        _ => living_cpu(record, clock),
    }
}

/// Seconds in which a thread was ready to run and had no processor; `None` if unknown.
pub fn ready(record: &ThreadRecord) -> Option<f64> {
    let left = if looked_at(record) { record.left_ready_ns } else { 0 };
    let known = record.state == THREAD_EXITED || looked_at(record);
    known.then_some(seconds(record.ready_ns.saturating_add_unsigned(left)))
}

/// The longest time in seconds for which a thread may have been ready without a processor. A
/// thread's record has no ready time if the thread was off its processor for only a small part of
/// its life, or could not read the time. Then the result is all the time that the thread was off
/// its processor, or infinity if its processor time is unknown.
pub fn ready_at_most(record: &ThreadRecord, clock: &Clock) -> f64 {
    match ready(record) {
        Some(ready) if ready > 0.0 => ready,
        _ => cpu(record, clock)
            .map_or(f64::INFINITY, |cpu| (clock.seconds(lifetime(record, clock)) - cpu).max(0.0)),
    }
}

/// Converts nanoseconds to seconds; 0 if they are negative. They are a sum of differences, and the
/// kernel's figures of a running thread are a few milliseconds old, so a difference may be below
/// zero.
fn seconds(nanoseconds: i64) -> f64 {
    nanoseconds.max(0) as f64 / 1e9
}

/// Processor time of a thread whose end was not recorded, extrapolated from its last sample; `None`
/// if there is no sample, or if the last one was in the first half of its life.
fn living_cpu(record: &ThreadRecord, clock: &Clock) -> Option<f64> {
    let lived = clock.ended().saturating_sub(record.started) as f64;
    let seen = record.seen_cpu_at.saturating_sub(record.started) as f64;
    let goes_on = lived / seen.max(1.0);
    // `cpu_ns` is positive if the record had earlier threads, and negative if the thread had run
    // before the recorder found it.
    let (earlier, before) = (record.cpu_ns.max(0) as f64, record.cpu_ns.min(0) as f64);
    let used = (record.seen_cpu_ns as f64 + before).max(0.0);
    (record.seen_cpu_at != 0 && goes_on <= 2.0).then(|| (earlier + used * goes_on.max(1.0)) / 1e9)
}

/// Ticks that the threads of a record lived.
pub fn lifetime(record: &ThreadRecord, clock: &Clock) -> u64 {
    let ended = if record.ended != 0 { record.ended } else { clock.ended() };
    record.earlier_ticks.saturating_add(ended.saturating_sub(record.started))
}
