//! System calls, other than recorded waits, in which samples show that threads slept or used a
//! processor.

use std::collections::BTreeMap;

use syncline_recording::{ProcessFile, SampledProcess, SampledThread, UnreadRequests};
use syscalls::x86_64::Sysno;

use super::clock::Clock;
use super::seen::Spent;
use super::stacks::Stacks;
use super::sum::Sum;
use crate::model::{InCall, Unread};

/// All calls in which threads slept, those with most time first. Samples inside a recorded call are
/// left out, since they are counted as waits already. Sleeping threads are sampled about ten
/// times a second.
pub fn asleep(
    file: &ProcessFile,
    process: Option<&SampledProcess>,
    stacks: &mut Stacks,
) -> Vec<InCall> {
    sleeps(file, process, stacks, |thread| &thread.slept)
}

/// Those of these calls in which threads waited for nothing but input that the process itself gives.
pub fn inner(
    file: &ProcessFile,
    process: Option<&SampledProcess>,
    stacks: &mut Stacks,
) -> Vec<InCall> {
    sleeps(file, process, stacks, |thread| &thread.inner)
}

fn sleeps(
    file: &ProcessFile,
    process: Option<&SampledProcess>,
    stacks: &mut Stacks,
    which: impl Fn(&SampledThread) -> &[(u32, u32, u64, u64)],
) -> Vec<InCall> {
    let mut calls = Calls::default();
    for sampled in process.iter().flat_map(|process| &process.threads) {
        let Some(thread) = file.place_of(sampled.tid) else { continue };
        for &(frame, call, _, nanoseconds) in which(sampled) {
            let stack = process.map(|process| process.stack(frame)).unwrap_or_default();
            let Some(number) = stacks.add_seen(stack) else { continue };
            calls.add(name(call), thread, number, nanoseconds as f64 / 1e9, stacks);
        }
    }
    calls.finish(stacks)
}

/// The requests that waited while every thread slept; `None` if there were none. A thread that
/// sleeps in a recorded call could have read them as well.
pub fn unread(file: &ProcessFile, process: &SampledProcess, stacks: &mut Stacks) -> Option<Unread> {
    let UnreadRequests { looks, nanoseconds, times_connections } = process.unread;
    let mut calls = Calls::default();
    for sampled in &process.threads {
        let Some(thread) = file.place_of(sampled.tid) else { continue };
        for &(frame, call, _, nanoseconds) in &sampled.beside_unread {
            let Some(number) = stacks.add_caller(process.stack(frame)) else { continue };
            calls.add(name(call), thread, number, nanoseconds as f64 / 1e9, stacks);
        }
    }
    (looks > 0).then(|| Unread {
        looks,
        seconds: nanoseconds as f64 / 1e9,
        connections: times_connections as f64 / nanoseconds.max(1) as f64,
        asleep: calls.finish(stacks),
    })
}

/// All calls in which threads used a processor, those with most time first. The name is that of the
/// function that makes the call.
pub fn running(spent: &[Spent], stacks: &mut Stacks, clock: &Clock) -> Vec<InCall> {
    let mut calls = Calls::default();
    for spent in spent {
        let Some(function) = stacks.innermost(spent.stack) else { continue };
        let seconds = clock.seconds(spent.ticks);
        calls.add(usual_name(&function), spent.thread, spent.stack, seconds, stacks);
    }
    calls.finish(stacks)
}

/// Time in system calls, by the call and its call site.
#[derive(Default)]
struct Calls(BTreeMap<(String, String), Sum>);

impl Calls {
    fn add(&mut self, call: String, thread: usize, stack: usize, seconds: f64, stacks: &Stacks) {
        let sum = self.0.entry((call, stacks.place_name(stack))).or_default();
        sum.add(thread, stack, seconds);
    }

    fn finish(self, stacks: &Stacks) -> Vec<InCall> {
        let in_call = |((call, _), sum): ((String, String), Sum)| {
            let stack = sum.stack()?;
            let place = stacks.place_name(stack);
            let threads = sum.threads().map(|(thread, _)| thread).collect();
            Some(InCall { call, place, seconds: sum.seconds(), threads, stack })
        };
        let mut all: Vec<InCall> = self.0.into_iter().filter_map(in_call).collect();
        all.sort_by(|a, b| b.seconds.total_cmp(&a.seconds).then_with(|| a.place.cmp(&b.place)));
        all
    }
}

/// The name by which programs know a function of the C library: `write` for `__GI___libc_write`.
fn usual_name(function: &str) -> String {
    let mut name = function;
    for prefix in ["__GI_", "__libc_", "__"] {
        name = name.strip_prefix(prefix).unwrap_or(name);
    }
    name.to_owned()
}

/// The name of a system call.
fn name(call: u32) -> String {
    match Sysno::new(call as usize) {
        Some(known) => known.name().to_owned(),
        None => format!("system call {call}"),
    }
}

#[cfg(test)]
mod tests {
    use super::*;

    #[test]
    fn functions_have_the_names_that_programs_use() {
        assert_eq!(usual_name("__GI___libc_write"), "write");
        assert_eq!(usual_name("__libc_pread64"), "pread64");
        assert_eq!(usual_name("fsync"), "fsync");
    }

    #[test]
    fn calls_have_names() {
        assert_eq!(name(202), "futex");
        assert_eq!(name(232), "epoll_wait");
        assert_eq!(name(99_999), "system call 99999");
    }
}
