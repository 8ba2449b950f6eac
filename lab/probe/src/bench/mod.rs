//! The machine that the probe measures: this one, or a simulated one.
//!
//! The probe's sequences of accesses are written once, over two traits. [`Timed`] is the library's
//! [`Memory`](syncline::memory::Memory) with a clock, and a [`Bench`] runs threads at chosen
//! places. So the code that measures this machine also measures simulated machines. Their costs are
//! known, so its results can be checked there.

mod interface;
mod native;
mod simulated;

pub use interface::{Bench, Lines, Timed};
pub use native::NativeBench;
pub use simulated::SimulatedBench;
