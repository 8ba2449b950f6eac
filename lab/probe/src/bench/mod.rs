//! The machine on which the probe measures: this one, or a simulated one.
//!
//! The probe's sequences are written once, over a [`Timed`] memory, which is the library's
//! [`Memory`](syncline::memory::Memory) with a clock, and a [`Bench`], which runs threads at given
//! places. So the code that runs here also runs on machines whose costs are known, where its
//! results can be checked.

mod interface;
mod native;
mod simulated;

pub use interface::{Bench, Lines, Timed};
pub use native::NativeBench;
pub use simulated::SimulatedBench;
