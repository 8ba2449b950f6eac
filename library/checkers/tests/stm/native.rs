//! Recorded histories of system threads.

use std::sync::Barrier;
use std::thread;

use syncline::memory::Native;
use syncline::stm::{Engine, Session, Shared, TCell};
use syncline::wait::Park;

use crate::history::{CELLS, Recorder, Step, Time};

/// The number of recorded histories, each small enough to be decided.
const HISTORIES: usize = 2_000;
const THREADS: usize = 3;
const ROUNDS: usize = 3;

type E = Shared<Park, Native, 2>;

/// Records three transactions of each thread, on cells that `draw` picks.
fn record(
    engine: &E,
    cells: &[TCell<u32>; CELLS],
    draw: impl Fn() -> usize + Copy + Send,
) -> Recorder {
    let recorder = Recorder::new(Time::Real, THREADS);
    let start = Barrier::new(THREADS);
    thread::scope(|scope| {
        for thread in 0..THREADS {
            let (recorder, start) = (&recorder, &start);
            scope.spawn(move || {
                let mut session = Session::new(engine);
                start.wait();
                for round in 0..ROUNDS {
                    let picked = [draw(), draw(), draw()].map(|number| number % CELLS);
                    recorder.begin(thread);
                    session.atomically(|tx| {
                        recorder.attempt(thread);
                        for (place, cell) in picked.into_iter().enumerate() {
                            let value = cells[cell].get(tx)?;
                            recorder.step(thread, Step::Read(cell, value));
                            if place == 1 {
                                let value = 1 + (thread * ROUNDS + round) as u32;
                                cells[cell].set(tx, value);
                                recorder.step(thread, Step::Write(cell, value));
                                thread::yield_now();
                            }
                        }
                        Ok(())
                    });
                    recorder.committed(thread);
                }
            });
        }
    });
    recorder
}

#[test]
fn recorded_histories_are_opaque() {
    let numbers = std::sync::atomic::AtomicUsize::new(1);
    // The multiplication permutes the numbers of 64 bits (Knuth's multiplier); its high bits look
    // random.
    let draw = || {
        let number = numbers.fetch_add(1, std::sync::atomic::Ordering::Relaxed);
        number.wrapping_mul(6_364_136_223_846_793_005) >> 33
    };
    for _ in 0..HISTORIES {
        let engine = E::default();
        let cells = std::array::from_fn(|_| engine.cell(0));
        record(&engine, &cells, draw).check();
    }
}
