//! Where the probe measures: this machine, or a simulated one.
//!
//! The probe's sequences are written once, over a [`Timed`] memory, which is the library's
//! [`Memory`](syncline::memory::Memory) with a clock, and a [`Bench`], which has threads at the places that one wants. So
//! what runs here is also run on machines whose costs are known, and has to find them.

mod interface;
mod native;
mod simulated;

pub use interface::{Bench, Lines, Timed};
pub use native::NativeBench;
pub use simulated::SimulatedBench;
