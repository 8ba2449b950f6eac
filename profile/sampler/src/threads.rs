//! Chooses the threads to sample: those that use the processors most. Also looks at those that
//! sleep.

use std::cmp::Reverse;
use std::collections::HashMap;
use std::io::ErrorKind;
use std::time::{Duration, Instant};

use syncline_recording::Samples;

use crate::asleep::{Asleep, Thread};
use crate::gathered::{Gathered, Slept};
use crate::own::OwnNumbers;
use crate::times::{self, Times, processor_time};
use crate::unread::{LookedAt, Unread};
use crate::window::{Window, stretch};

/// The number of threads that are sampled at a time. Each has a buffer.
const MOST: usize = 32;
/// A thread gets an event only if it has used a processor for at least this long since the last
/// look, in nanoseconds.
const BUSY: u64 = 1_000_000;
/// Half of the first pause between two looks at the threads, and the longest pause later, unless
/// looks take long.
const FIRST: Duration = Duration::from_millis(20);
const LONGEST: Duration = Duration::from_millis(100);
/// The pause between two readings of the buffers, which have room for about 75 milliseconds, and
/// the pause if a window may have to end. Waking up costs more than reading.
const READING: Duration = Duration::from_millis(50);
const ENDING: Duration = Duration::from_millis(20);
/// Looks take at most one part in this many of a processor's time. A look that takes longer than
/// the one before it may have read a file of unwind information, which is kept. So the shorter of
/// the last two looks determines the pause.
const SHARE: u32 = 100;

/// The threads of the sampled processes.
pub struct Threads<P> {
    processes: P,
    sampled: HashMap<Thread, Window>,
    known: HashMap<Thread, Known>,
    own: OwnNumbers,
    unread: Unread,
    looked: Instant,
    next: Instant,
    pause: Duration,
    /// The processor time that the last look took.
    cost: Duration,
    /// Whether the kernel has allowed an event so far.
    allowed: bool,
    refused: Option<String>,
}

/// What is known of a living thread.
struct Known {
    /// Its times at the last look.
    times: Times,
    /// Where it slept at the last look.
    asleep: Option<Slept>,
    /// The processor time up to which its samples stand, and the processor time at which it is to
    /// be sampled again.
    stands: u64,
    due: u64,
}

impl<P: FnMut() -> Vec<u32>> Threads<P> {
    /// Begins without threads. `processes` returns the processes' numbers.
    pub fn new(processes: P) -> Threads<P> {
        Threads {
            processes,
            sampled: HashMap::new(),
            known: HashMap::new(),
            own: OwnNumbers::default(),
            unread: Unread::new(),
            looked: Instant::now(),
            next: Instant::now(),
            pause: FIRST,
            cost: Duration::ZERO,
            allowed: false,
            refused: None,
        }
    }

    /// Why the kernel refuses samples; `None` if it doesn't.
    pub fn refused(&self) -> Option<String> {
        self.refused.clone()
    }

    /// If a look is due, looks at all threads. Adds the time that threads slept, and samples those
    /// that use the processors from now on.
    pub fn choose(&mut self, gathered: &mut Gathered) {
        let began = Instant::now();
        if began < self.next {
            return;
        }
        let used_before = processor_time();
        let since = (began - self.looked).as_nanos() as u64;
        self.looked = began;
        let mut before = std::mem::take(&mut self.known);
        let mut busy = Vec::new();
        for (thread, times) in (self.processes)().into_iter().flat_map(times::of) {
            let known = before.remove(&thread);
            // Time slices before the first look do not count: they may be long ago.
            let slices = known.as_ref().map_or(0, |known| times.since(known.times).slices);
            gathered.run(thread, slices);
            let mut known = known.unwrap_or_else(|| Known::new(times));
            let used = times.since(known.times);
            self.own.note(thread);
            let own = self.own.of(thread).map_or(thread.1, |(_, tid)| tid);
            known.look(thread, own, times, gathered);
            if let Some(asleep) = known.asleep {
                // The thread is taken to have slept since the last look.
                gathered.sleep(thread, asleep, since);
            }
            let sampled = self.sampled.get_mut(&thread);
            let may_be = sampled.is_some() || times.cpu >= known.due || stretch(used) <= 1.0;
            if let Some(window) = sampled {
                window.adapt(used);
            }
            if used.cpu >= BUSY && may_be {
                busy.push((thread, used));
            }
            self.known.insert(thread, known);
        }
        self.sample(busy, gathered);
        let cost = processor_time() - used_before;
        self.pause = LONGEST.min(self.pause * 2).max(self.cost.min(cost) * SHARE);
        self.cost = cost;
        self.next = began + self.pause;
        let looked_at = |(&thread, known): (&Thread, &Known)| LookedAt {
            thread,
            times: known.times,
            slept: known.asleep,
        };
        let threads: Vec<LookedAt> = self.known.iter().map(looked_at).collect();
        self.unread.look(&threads, gathered);
    }

    /// Samples the busiest of these threads. Each comes with the times that it has used since the
    /// last look.
    fn sample(&mut self, mut busy: Vec<(Thread, Times)>, gathered: &mut Gathered) {
        busy.sort_unstable_by_key(|(_, used)| Reverse(used.cpu));
        busy.truncate(MOST);
        let is_new = |(thread, _): &&(Thread, Times)| !self.sampled.contains_key(thread);
        let new: Vec<(Thread, Times)> = busy.iter().filter(is_new).copied().collect();
        let full = self.sampled.len() + new.len() > MOST;
        self.close(gathered, |thread, _| full && !busy.iter().any(|(busy, _)| busy == thread));
        new.into_iter().for_each(|(thread, used)| self.open(thread, used));
    }

    fn open(&mut self, thread: Thread, used: Times) {
        let Some(known) = self.known.get(&thread) else { return };
        match Window::open(thread, known.stands, known.times.cpu, used) {
            Ok(window) => {
                self.sampled.insert(thread, window);
                self.allowed = true;
            }
            Err(error) => match error.kind() {
                // If an event was allowed before, only this thread is refused: it may be another
                // user's.
                ErrorKind::PermissionDenied | ErrorKind::Unsupported if !self.allowed => {
                    self.refused = Some(error.to_string());
                }
                // The thread has ended, or there is no memory for another buffer.
                _ => {}
            },
        }
    }

    /// How long it takes until the threads have to be looked at, or the buffers read.
    pub fn pause(&self) -> Duration {
        let look = self.next.saturating_duration_since(Instant::now());
        let ends = self.sampled.values().any(Window::ends_soon);
        let read = if ends { ENDING } else { READING };
        if self.sampled.is_empty() { look } else { look.min(read) }
    }

    /// Reads the samples since the last call.
    pub fn read(&mut self, gathered: &mut Gathered) {
        for (&thread, window) in &mut self.sampled {
            window.read(thread, gathered);
        }
        self.close(gathered, |_, window| window.is_over());
    }

    /// Takes the remaining samples, and ends.
    pub fn finish(mut self, mut gathered: Gathered) -> Samples {
        self.close(&mut gathered, |_, _| true);
        self.so_far(&gathered)
    }

    /// The samples so far, except those of windows that are open.
    pub fn so_far(&self, gathered: &Gathered) -> Samples {
        gathered.samples(self.refused.clone(), |thread| self.own.of(thread))
    }

    /// Closes the windows for which `which` is true, and those of threads that have ended.
    fn close(
        &mut self,
        gathered: &mut Gathered,
        mut which: impl FnMut(&Thread, &mut Window) -> bool,
    ) {
        let known = &mut self.known;
        let ends = |thread: &Thread, window: &mut Window| {
            !known.contains_key(thread) || which(thread, window)
        };
        let closed: Vec<(Thread, Window)> = self.sampled.extract_if(ends).collect();
        for (thread, window) in closed {
            let closed = window.close(thread, gathered);
            if let Some(known) = known.get_mut(&thread) {
                (known.stands, known.due) = (closed.stands, closed.due);
            }
        }
    }
}

impl Known {
    /// A thread that is seen for the first time.
    fn new(times: Times) -> Known {
        Known { times: Times::default(), asleep: None, stands: times.cpu, due: 0 }
    }

    /// Looks at a thread, whose own number is `own` and whose current times are `times`.
    fn look(&mut self, thread: Thread, own: u32, times: Times, gathered: &mut Gathered) {
        if !self.sleeps_on(times) {
            let asleep = Asleep::of(thread);
            self.asleep = asleep.and_then(|asleep| gathered.asleep(thread, own, &asleep));
        }
        self.times = times;
    }

    /// Whether the thread still sleeps as it did at the last look: it has not run since. A kernel
    /// that does not count time slices has zeros.
    fn sleeps_on(&self, times: Times) -> bool {
        self.asleep.is_some() && times.slices > 0 && times.slices == self.times.slices
    }
}

#[cfg(test)]
mod tests {
    use std::hint::black_box;
    use std::process::id;
    use std::thread;

    use syncline_recording::SampledThread;

    use super::*;

    #[test]
    fn a_thread_that_computes_is_sampled_and_one_that_sleeps_is_not() {
        let mut threads = Threads::new(|| vec![id()]);
        let mut gathered = Gathered::default();
        let sleeper = thread::spawn(|| thread::sleep(Duration::from_secs(1)));
        let worker = thread::spawn(|| {
            let mut sum = 0u64;
            while processor_time() < Duration::from_millis(800) {
                // Asking for the time is a system call, and samples in the kernel do not count as
                // seen.
                for _ in 0..1_000_000 {
                    sum = black_box(sum.wrapping_mul(3) + 1);
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
        let seen = |thread: &SampledThread| {
            thread.seen.iter().map(|&(_, nanoseconds)| nanoseconds).sum::<u64>()
        };
        let most = process.threads.iter().max_by_key(|thread| seen(thread)).expect("a thread");
        assert_eq!(most.tid, worker);
        // The samples stand for all of the time, except that in the kernel. No samples are made up,
        // and few are lost.
        let (seen, all) = (seen(most) as f64, most.covered as f64);
        assert!(seen > 0.5 * all && seen < 1.2 * all, "{seen} of {all}");
    }

    /// The first look at a large program reads its files. If only that is expensive, the next look
    /// comes soon; if each is, looks become rare.
    #[test]
    fn one_expensive_look_does_not_make_looks_rare() {
        let mut looks = 0;
        let mut threads = Threads::new(|| {
            looks += 1;
            let until = processor_time() + Duration::from_millis([20, 0, 20, 20][looks - 1]);
            while processor_time() < until {}
            Vec::new()
        });
        let mut gathered = Gathered::default();
        for most in [LONGEST, LONGEST, LONGEST, Duration::MAX] {
            threads.choose(&mut gathered);
            let pause = threads.pause();
            assert!(pause <= most, "{pause:?}");
            if pause <= LONGEST {
                thread::sleep(pause);
            }
        }
        assert!(threads.pause() > Duration::from_secs(1), "{:?}", threads.pause());
    }

    /// Frames larger than the copy of the stack in a sample do not end the stack.
    #[test]
    fn functions_outside_of_a_large_frame_are_seen() {
        #[inline(never)]
        fn outermost() -> u64 {
            black_box(large()) + 1
        }
        #[inline(never)]
        fn large() -> u64 {
            let mut words = [0u64; 12_000];
            compute(black_box(&mut words));
            words[7]
        }
        #[inline(never)]
        fn compute(words: &mut [u64]) {
            while processor_time() < Duration::from_millis(800) {
                for n in 0..1_000_000 {
                    words[n % 8] = black_box(words[n % 8].wrapping_mul(3) + 1);
                }
            }
        }
        let mut threads = Threads::new(|| vec![id()]);
        let mut gathered = Gathered::default();
        let worker = thread::spawn(|| {
            // SAFETY: the call has no arguments.
            (outermost(), unsafe { nix::libc::gettid() } as u32)
        });
        while !worker.is_finished() {
            threads.choose(&mut gathered);
            threads.read(&mut gathered);
            thread::sleep(Duration::from_millis(20));
        }
        let (_, worker) = worker.join().expect("it only computes");
        let samples = threads.finish(gathered);
        if let Some(why) = &samples.refused {
            eprintln!("not tested: the kernel refuses samples: {why}");
            return;
        }
        let [process] = &samples.processes[..] else { panic!("{samples:?}") };
        let is_worker = |thread: &&SampledThread| thread.tid == worker;
        let worker = process.threads.iter().find(is_worker).expect("it was sampled");
        let start = outermost as fn() -> u64 as usize as u64;
        // The function is a few instructions long.
        let is_outermost = |address: &u64| (start..start + 64).contains(address);
        let (mut within, mut all) = (0, 0);
        for &(frame, nanoseconds) in &worker.seen {
            all += nanoseconds;
            if process.stack(frame).iter().skip(1).any(is_outermost) {
                within += nanoseconds;
            }
        }
        // The first samples come before two copies of the stack, and readings are late on a busy
        // machine.
        assert!(within as f64 > 0.3 * all as f64, "{within} of {all} ns");
    }

    /// The thread's time slices are short, so it is sampled for parts of its time. These parts
    /// stand for much of it.
    #[test]
    fn a_thread_that_often_sleeps_is_sampled_in_parts() {
        let mut threads = Threads::new(|| vec![id()]);
        let mut gathered = Gathered::default();
        let (sender, receiver) = std::sync::mpsc::channel();
        let worker = thread::spawn(move || {
            // SAFETY: the call has no arguments.
            sender.send(unsafe { nix::libc::gettid() } as u32).expect("it listens");
            let mut sum = 0u64;
            while processor_time() < Duration::from_millis(1_200) {
                for n in 0..30_000 {
                    sum = black_box(sum.wrapping_add(n));
                }
                thread::sleep(Duration::from_micros(10));
            }
        });
        let tid = receiver.recv().expect("its number");
        let (mut with, mut without) = (0, 0);
        while !worker.is_finished() {
            threads.choose(&mut gathered);
            threads.read(&mut gathered);
            let is_sampled = threads.sampled.contains_key(&(id(), tid));
            *if is_sampled { &mut with } else { &mut without } += 1;
            thread::sleep(Duration::from_millis(5));
        }
        worker.join().expect("it computes and sleeps");
        let samples = threads.finish(gathered);
        if let Some(why) = &samples.refused {
            eprintln!("not tested: the kernel refuses samples: {why}");
            return;
        }
        assert!(with < without, "{with} times with an event, {without} times without");
        let of = |thread: &&SampledThread| thread.tid == tid;
        let worker = samples.processes[0].threads.iter().find(of).expect("it was sampled");
        let covered = worker.covered as f64 / 1e9;
        assert!((0.5..1.3).contains(&covered), "{covered} of 1.2 s");
    }

    #[test]
    fn a_thread_that_has_not_run_sleeps_on() {
        let times = Times { cpu: 5, slices: 2 };
        let slept = Slept { frame: 1, call: 202, python_futex: 0, inner: false };
        let mut known = Known { times, asleep: Some(slept), ..Known::new(times) };
        assert!(known.sleeps_on(times));
        assert!(!known.sleeps_on(Times { slices: 3, ..times }), "it has run");
        known.asleep = None;
        assert!(!known.sleeps_on(times), "it did not sleep");
        let uncounted = Times::default();
        let known = Known { times: uncounted, asleep: Some(slept), ..Known::new(times) };
        assert!(!known.sleeps_on(uncounted), "the kernel does not count");
    }

    /// Two sleeps of a thread, in different system calls, are both found. The time of each is right
    /// up to the longest pause between two looks, since a thread is taken to have slept since the
    /// last look. On a busy machine looks come late.
    #[test]
    fn sleeps_have_their_time() {
        let mut threads = Threads::new(|| vec![id()]);
        let mut gathered = Gathered::default();
        let (sender, receiver) = std::sync::mpsc::channel();
        let sleeper = thread::spawn(move || {
            // SAFETY: the call has no arguments.
            sender.send(unsafe { nix::libc::gettid() } as u32).expect("it listens");
            let took = |sleep: fn(Duration)| {
                let began = Instant::now();
                sleep(Duration::from_millis(700));
                began.elapsed().as_secs_f64()
            };
            [took(thread::sleep), took(thread::park_timeout)]
        });
        let tid = receiver.recv().expect("its number");
        let mut longest = Duration::ZERO;
        while !sleeper.is_finished() {
            let before = threads.looked;
            threads.choose(&mut gathered);
            longest = longest.max(threads.looked - before);
            thread::sleep(Duration::from_millis(10));
        }
        let longest = longest.max(threads.looked.elapsed()).as_secs_f64();
        let took = sleeper.join().expect("it only sleeps");
        let samples = threads.finish(gathered);
        let [process] = &samples.processes[..] else { panic!("{samples:?}") };
        let sleeper = process.threads.iter().find(|thread| thread.tid == tid).expect("it slept");
        // The calls of the C library's sleep and of a futex.
        let calls = [nix::libc::SYS_clock_nanosleep, nix::libc::SYS_futex];
        for (call, took) in calls.into_iter().zip(took) {
            let slept = sleeper.slept.iter().filter(|&&(_, number, ..)| number == call as u32);
            let found = slept.map(|&(.., nanoseconds)| nanoseconds as f64 / 1e9).sum::<f64>();
            let differs = (found - took).abs();
            assert!(differs < longest + 0.1, "call {call}: {found} of {took} s, looks {longest}");
        }
    }
}
