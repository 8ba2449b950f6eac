//! Which threads are sampled: those that use the processors most, and those that sleep.

use std::collections::HashMap;
use std::fs;
use std::io::ErrorKind;
use std::time::{Duration, Instant};

use nix::time::{ClockId, clock_gettime};
use syncline_recording::{Samples, schedstat};

use crate::asleep::{Asleep, Thread};
use crate::clock::Clock;
use crate::gathered::Gathered;
use crate::own::OwnNumbers;

/// Threads that are sampled at a time. Each has a buffer.
const MOST: usize = 32;
/// A thread gets an event if it has used a processor for this long since the last look, in
/// nanoseconds.
const BUSY: u64 = 1_000_000;
/// The time from the first look at the threads to the next, and the longest later.
const FIRST: Duration = Duration::from_millis(20);
const LONGEST: Duration = Duration::from_millis(100);
/// Looks take at most this part of a processor's time, as a divisor.
const SHARE: u32 = 50;

/// The threads of some processes.
pub struct Threads<P> {
    processes: P,
    sampled: HashMap<Thread, Clock>,
    /// Processor time at the last look, in nanoseconds.
    used: HashMap<Thread, u64>,
    own: OwnNumbers,
    looked: Instant,
    next: Instant,
    pause: Duration,
    refused: Option<String>,
}

impl<P: FnMut() -> Vec<u32>> Threads<P> {
    /// None, yet. `processes` gives the processes' numbers.
    pub fn new(processes: P) -> Threads<P> {
        Threads {
            processes,
            sampled: HashMap::new(),
            used: HashMap::new(),
            own: OwnNumbers::default(),
            looked: Instant::now(),
            next: Instant::now(),
            pause: FIRST,
            refused: None,
        }
    }

    /// Why the kernel refuses samples, if it does.
    pub fn refused(&self) -> Option<String> {
        self.refused.clone()
    }

    /// Looks, if it is time to, which threads use the processors, and samples these from now on.
    pub fn choose(&mut self, gathered: &mut Gathered) {
        let began = Instant::now();
        if began < self.next {
            return;
        }
        let cost = processor_time();
        let mut used = HashMap::new();
        for pid in (self.processes)() {
            used.extend(times(pid));
        }
        used.keys().for_each(|&thread| self.own.note(thread));
        self.look_for_sleepers(used.keys().copied(), gathered);
        let before = |thread: &Thread| self.used.get(thread).copied().unwrap_or(0);
        let mut busy: Vec<(u64, Thread)> = used
            .iter()
            .map(|(&thread, &time)| (time.saturating_sub(before(&thread)), thread))
            .collect();
        busy.retain(|&(time, _)| time >= BUSY);
        busy.sort_unstable_by(|a, b| b.cmp(a));
        busy.truncate(MOST);
        let is_new = |thread: &Thread| !self.sampled.contains_key(thread);
        let new: Vec<Thread> =
            busy.iter().map(|&(_, thread)| thread).filter(|thread| is_new(thread)).collect();
        let full = self.sampled.len() + new.len() > MOST;
        self.drop(gathered, |thread| {
            !used.contains_key(thread) || full && !busy.iter().any(|(_, busy)| busy == thread)
        });
        new.into_iter().for_each(|thread| self.open(thread));
        self.used = used;
        self.pause = LONGEST.min(self.pause * 2).max((processor_time() - cost) * SHARE);
        self.next = began + self.pause;
    }

    /// Those that sleep now have done so since the last look.
    fn look_for_sleepers(
        &mut self,
        threads: impl Iterator<Item = Thread>,
        gathered: &mut Gathered,
    ) {
        let now = Instant::now();
        let since = (now - self.looked).as_nanos() as u64;
        self.looked = now;
        for thread in threads {
            if let Some(asleep) = Asleep::of(thread) {
                gathered.sleep(thread, &asleep, since);
            }
        }
    }

    fn open(&mut self, thread: Thread) {
        match Clock::of(thread.1) {
            Ok(clock) => {
                self.sampled.insert(thread, clock);
            }
            Err(error) => match error.kind() {
                // Another thread may be this user's.
                ErrorKind::PermissionDenied | ErrorKind::Unsupported if self.sampled.is_empty() => {
                    self.refused = Some(error.to_string());
                }
                // The thread has ended, or there is no memory for one more buffer.
                _ => {}
            },
        }
    }

    /// Reads the samples since the last call.
    pub fn read(&mut self, gathered: &mut Gathered) {
        for (&thread, clock) in &mut self.sampled {
            let lost = clock.read(|sample| gathered.add(thread, sample));
            gathered.lose(lost);
        }
    }

    /// Takes the rest, and ends.
    pub fn finish(mut self, mut gathered: Gathered) -> Samples {
        self.drop(&mut gathered, |_| true);
        gathered.finish(self.refused, |thread| self.own.of(thread))
    }

    fn drop(&mut self, gathered: &mut Gathered, which: impl Fn(&Thread) -> bool) {
        for (thread, mut clock) in self.sampled.extract_if(|thread, _| which(thread)) {
            let lost = clock.read(|sample| gathered.add(thread, sample));
            gathered.lose(lost);
            gathered.cover(thread, clock.covered());
        }
    }
}

/// The processor time of this thread.
fn processor_time() -> Duration {
    clock_gettime(ClockId::CLOCK_THREAD_CPUTIME_ID).map_or(Duration::ZERO, Duration::from)
}

/// The processor time of each thread of a process, in nanoseconds; none of a process that has ended.
fn times(pid: u32) -> Vec<(Thread, u64)> {
    let entries = fs::read_dir(format!("/proc/{pid}/task")).into_iter().flatten();
    let time = |entry: fs::DirEntry| {
        let tid: u32 = entry.file_name().to_str()?.parse().ok()?;
        let text = fs::read(entry.path().join("schedstat")).ok()?;
        Some(((pid, tid), schedstat::parse(&text)?.cpu_ns))
    };
    entries.filter_map(|entry| time(entry.ok()?)).collect()
}

#[cfg(test)]
mod tests {
    use std::process::id;
    use std::thread;

    use super::*;

    #[test]
    fn a_thread_that_computes_is_sampled_and_one_that_sleeps_is_not() {
        let mut threads = Threads::new(|| vec![id()]);
        let mut gathered = Gathered::default();
        let sleeper = thread::spawn(|| thread::sleep(Duration::from_secs(1)));
        let worker = thread::spawn(|| {
            let mut sum = 0u64;
            while processor_time() < Duration::from_millis(800) {
                // Asking for the time is a call of the kernel, where no samples are taken.
                for _ in 0..1_000_000 {
                    sum = std::hint::black_box(sum.wrapping_mul(3) + 1);
                }
            }
            // SAFETY: the call has no arguments.
            (sum, unsafe { nix::libc::gettid() } as u32)
        });
        while !worker.is_finished() {
            threads.choose(&mut gathered);
            threads.read(&mut gathered);
            thread::sleep(Duration::from_millis(20));
        }
        let (_, worker) = worker.join().expect("it only computes");
        let samples = threads.finish(gathered);
        sleeper.join().expect("it only sleeps");
        if let Some(why) = &samples.refused {
            eprintln!("not tested: the kernel refuses samples: {why}");
            return;
        }
        let [process] = &samples.processes[..] else { panic!("{samples:?}") };
        let seen = |thread: &syncline_recording::SampledThread| {
            thread.seen.iter().map(|&(_, count)| u64::from(count)).sum::<u64>()
        };
        let most = process.threads.iter().max_by_key(|thread| seen(thread)).expect("a thread");
        assert_eq!(most.tid, worker);
        // As many as its rate says, but for those in the kernel: none is made up, and few are lost.
        let expected = most.covered as f64 / 1e9 * f64::from(samples.hertz);
        let seen = seen(most) as f64;
        assert!(seen > 0.5 * expected && seen < 1.2 * expected + 2.0, "{seen} of {expected}");
    }
}
