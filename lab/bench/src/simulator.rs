//! The simulator's speed: the number of simulated accesses to memory per second of this machine's
//! processor time.
//!
//! This figure has no peer. It depends on how many threads use the same lines: under contention,
//! nearly every access lets another thread run.
//!
//! [`compare`] measures the simulator's accuracy.

pub mod compare;

use serde::Serialize;
use syncline::lock::{Mcs, RawLock, Ticket};
use syncline::memory::Padded;
use syncline::wait::Spin;
use syncline_sim::engine::{self, Body, Engine};
use syncline_sim::{Machine, Simulated};

use crate::size::Size;
use crate::statistics::median;
use crate::tables::processor_seconds;

/// The fields of the last line.
pub const FIELDS: &str = "\
accesses_per_second  simulated accesses in a second of processor time: the least of the cases
";

type Tickets = Ticket<Spin, Simulated>;
type Queues = Mcs<Spin, Simulated>;

#[derive(Serialize)]
struct Line {
    accesses_per_second: f64,
}

/// Simulates locks, and measures the speed.
///
/// # Errors
/// None; all benchmarks return a result.
pub fn run(size: Size) -> anyhow::Result<String> {
    let rounds = size.pick(2, 40, 400);
    let repetitions = size.pick(1, 5, 15);
    let machine = |name| Machine::named(name).expect("it comes along");
    let (opteron, xeon) = (machine("opteron"), machine("xeon"));
    println!(
        "million accesses a second of processor time: median, least and most of {repetitions} runs\n"
    );
    let mut least = f64::INFINITY;
    let cases: [(&str, &dyn Fn() -> f64); 4] = [
        ("opteron, 48 threads, 1 ticket lock", &|| speed::<Tickets>(&opteron, 1, rounds)),
        ("opteron, 48 threads, 1 MCS lock", &|| speed::<Queues>(&opteron, 1, 10 * rounds)),
        ("xeon, 80 threads, 1 MCS lock", &|| speed::<Queues>(&xeon, 1, 10 * rounds)),
        ("xeon, 80 threads, 512 ticket locks", &|| speed::<Tickets>(&xeon, 512, 10 * rounds)),
    ];
    for (case, run) in cases {
        let mut speeds: Vec<f64> = (0..repetitions).map(|_| run()).collect();
        speeds.sort_by(f64::total_cmp);
        let middle = median(&speeds);
        let [middle_m, from, to] = [middle, speeds[0], speeds[speeds.len() - 1]].map(|s| s / 1e6);
        println!("  {case:<40} {middle_m:>6.1}   {from:.1} to {to:.1}");
        least = least.min(middle);
    }
    println!();
    Ok(serde_json::to_string(&Line { accesses_per_second: least.round() })?)
}

/// Simulated accesses per second of processor time, on a machine with a thread on every hardware
/// thread.
fn speed<L>(machine: &Machine, locks: usize, rounds: usize) -> f64
where
    L: RawLock<Memory = Simulated> + Default,
{
    let locks: Vec<Padded<L>> = (0..locks).map(|_| Padded::default()).collect();
    let threads = (0..machine.threads()).map(|place| {
        let locks = &locks;
        let body: Body<'_> = Box::new(move || {
            let node = Padded::<L::Node>::default();
            let mut random = fastrand::Rng::with_seed(place as u64);
            for _ in 0..rounds {
                let lock = &locks[random.usize(..locks.len())];
                // SAFETY: the node stays in place, and the thread that releases has acquired.
                unsafe { lock.acquire(&node) };
                engine::delay(100);
                // SAFETY: as above.
                unsafe { lock.release(&node) };
                engine::delay(100);
            }
        });
        (place, body)
    });
    let threads = threads.collect();
    let began = processor_seconds();
    let outcome = Engine::new(machine, 1).run(threads);
    outcome.accesses as f64 / (processor_seconds() - began)
}
