//! This machine as a [`World`]: threads of the operating system, each pinned to one processor
//! unless the placement is `Anywhere`.

use std::hint::spin_loop;
use std::sync::Barrier;
use std::sync::atomic::Ordering::Relaxed;
use std::sync::atomic::{AtomicU8, AtomicU64};
use std::thread;
use std::time::{Duration, Instant};

use nix::sched::{CpuSet, sched_getaffinity, sched_setaffinity};
use nix::unistd::Pid;
use syncline::memory::{Memory, Native, Padded};

use super::interface::{Body, Course, Phase, Placement, Watch, World};
use syncline_sim::engine::ANYWHERE;

/// The time for which the cycle counter is compared with the system's clock.
const CALIBRATION: Duration = Duration::from_millis(20);
/// The number of transfers of a line over which the time of one is averaged.
const TRANSFERS: u32 = 2_000;

/// This machine, limited to the processors that the process may use.
#[derive(Debug)]
pub struct Here {
    /// The system's numbers of the processors.
    processors: Vec<usize>,
    hertz: f64,
    clock_cost: u64,
}

/// The phase of a run, which the thread that started the run sets.
#[derive(Debug, Default)]
pub struct Signal(AtomicU8);

impl Watch for Signal {
    #[inline]
    fn phase(&self) -> Phase {
        // Relaxed: the phase carries no other data.
        match self.0.load(Relaxed) {
            0 => Phase::WarmUp,
            1 => Phase::Measured,
            _ => Phase::Over,
        }
    }
}

impl Here {
    /// Creates a world for this machine. Measures its clock, which takes some 20 milliseconds.
    pub fn new() -> Here {
        // A process that may not query its affinity still runs on some processor.
        let allowed = sched_getaffinity(Pid::from_raw(0)).unwrap_or_default();
        let usable = |&number: &usize| allowed.is_set(number).unwrap_or(false);
        let mut processors: Vec<usize> = (0..CpuSet::count()).filter(usable).collect();
        if processors.is_empty() {
            processors.push(0);
        }
        let (began, ticks) = (Instant::now(), clock());
        thread::sleep(CALIBRATION);
        let hertz = (clock() - ticks) as f64 / began.elapsed().as_secs_f64();
        let clock_cost = (0..1_000).map(|_| 0u64.wrapping_sub(clock()).wrapping_add(clock()));
        let clock_cost = clock_cost.min().unwrap_or(0);
        OVERSHOOT.store(overshoot(), Relaxed);
        Here { processors, hertz, clock_cost }
    }

    fn keep_on(&self, place: usize) {
        if place == ANYWHERE {
            return;
        }
        let mut set = CpuSet::new();
        // If pinning fails, the measurement only gets noisier.
        let _ = set.set(self.processors[place]);
        let _ = sched_setaffinity(Pid::from_raw(0), &set);
    }
}

impl Default for Here {
    fn default() -> Self {
        Here::new()
    }
}

impl World for Here {
    type Memory = Native;
    type Watch = Signal;
    const SIMULATED: bool = false;

    fn name(&self) -> &str {
        "native"
    }

    fn threads(&self) -> usize {
        self.processors.len()
    }

    fn hertz(&self) -> f64 {
        self.hertz
    }

    /// Indices into `processors`, in the system's order. Nodes are unknown here, so near and far
    /// placements are the same.
    fn places(&self, threads: usize, order: Placement) -> Vec<usize> {
        match order {
            Placement::Near | Placement::Far => (0..self.threads()).cycle().take(threads).collect(),
            Placement::Anywhere => vec![ANYWHERE; threads],
        }
    }

    fn steps(&self) -> Vec<usize> {
        let all = self.threads();
        let doublings = (0..).map(|power| 1 << power).take_while(|&step| step < all);
        doublings.chain([all]).collect()
    }

    fn has_sockets(&self) -> bool {
        true
    }

    /// False, since the system does not say whether stores are broadcast.
    fn broadcasts(&self) -> bool {
        false
    }

    fn partners(&self) -> Vec<(String, usize)> {
        let name = |&number: &usize| format!("processor {number}");
        self.processors.iter().map(name).enumerate().skip(1).map(|(at, name)| (name, at)).collect()
    }

    /// Measures only the transfer between the first and the last processor of `places`.
    fn transfer(&self, places: &[usize]) -> u64 {
        let (Some(&first), Some(&last)) = (places.first(), places.last()) else { return 0 };
        if first == last && first != ANYWHERE {
            return 0;
        }
        let word = Padded::<<Native as Memory>::Word>::default();
        let (word, ready) = (&word, Barrier::new(2));
        let turns = |mine: u32| {
            move || {
                for turn in (mine..TRANSFERS).step_by(2) {
                    let mut looks = 0;
                    while word.load(Relaxed) != turn {
                        looks += 1;
                        // Both threads may run on the same processor.
                        if looks % 1_000 == 0 { thread::yield_now() } else { spin_loop() }
                    }
                    word.store(turn + 1, Relaxed);
                }
            }
        };
        thread::scope(|scope| {
            let other = scope.spawn(|| {
                self.keep_on(last);
                ready.wait();
                turns(1)();
            });
            let timed = scope.spawn(|| {
                self.keep_on(first);
                ready.wait();
                let began = clock();
                turns(0)();
                clock() - began
            });
            let ticks = timed.join().expect("it only counts");
            other.join().expect("it only counts");
            ticks / u64::from(TRANSFERS)
        })
    }

    fn run(&self, course: &Course, threads: Vec<(usize, Body<'_, Self>)>) -> f64 {
        let (signal, ready) = (Signal::default(), Barrier::new(threads.len() + 1));
        thread::scope(|scope| {
            for (place, body) in threads {
                let (signal, ready) = (&signal, &ready);
                scope.spawn(move || {
                    self.keep_on(place);
                    ready.wait();
                    body(signal);
                });
            }
            ready.wait();
            thread::sleep(Duration::from_secs_f64(course.warm_up));
            let began = Instant::now();
            signal.0.store(1, Relaxed);
            thread::sleep(Duration::from_secs_f64(course.measured));
            signal.0.store(2, Relaxed);
            began.elapsed().as_secs_f64()
        })
    }

    #[inline]
    fn now() -> u64 {
        clock()
    }

    fn clock_cost(&self) -> u64 {
        self.clock_cost
    }

    /// Pauses without spin-loop hints, since one hint takes as long as a short pause.
    #[inline]
    fn delay(cycles: u64) {
        stay(cycles.saturating_sub(OVERSHOOT.load(Relaxed)));
    }

    fn execute(_: u64) {}

    fn fence() {
        std::sync::atomic::fence(std::sync::atomic::Ordering::SeqCst);
    }
}

/// The cycles by which a pause is longer than requested, since reading the clock takes time.
static OVERSHOOT: AtomicU64 = AtomicU64::new(0);

/// Pauses for at least this many cycles; reading the clock makes the pause longer. On x86-64, the
/// function first waits until earlier instructions have completed. Otherwise the processor would
/// complete them during the pause.
#[inline]
fn stay(cycles: u64) {
    #[cfg(target_arch = "x86_64")]
    // SAFETY: every x86-64 processor has this instruction.
    unsafe {
        std::arch::x86_64::_mm_lfence();
    }
    let began = clock();
    while clock() - began < cycles {}
}

/// Measures the cycles by which a pause is too long.
fn overshoot() -> u64 {
    const PAUSES: u64 = 200;
    const CYCLES: u64 = 400;
    let measure = |_| {
        let began = clock();
        (0..PAUSES).for_each(|_| stay(CYCLES));
        ((clock() - began) / PAUSES).saturating_sub(CYCLES)
    };
    (0..5).map(measure).min().unwrap_or(0)
}

/// The clock, in ticks of the time-stamp counter.
#[cfg(target_arch = "x86_64")]
#[inline]
fn clock() -> u64 {
    // SAFETY: the instruction reads a counter that every such processor has.
    unsafe { std::arch::x86_64::_rdtsc() }
}

/// The clock in nanoseconds, on processors other than x86-64.
#[cfg(not(target_arch = "x86_64"))]
fn clock() -> u64 {
    Native::now().as_nanos() as u64
}
