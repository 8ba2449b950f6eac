//! Measures what an access to memory costs on this machine. SSYNC calls this probe ccbench (section
//! 4.2), and the command `syncline machine` runs it.
//!
//! 1. [`topology`]: the hardware threads, and the distances between them.
//! 2. [`bench`](mod@bench): the machine that is measured, real or simulated, with threads at chosen
//!    places, a clock and a flush.
//! 3. [`case`]: six operations and five states, and how a line gets into each state.
//! 4. `plan`, `sequence`, `runs`, `walk`: which threads measure what, and the code that is timed.
//! 5. [`measure`](fn@measure): the whole measurement, in several passes; [`measurement`] has its
//!    result.
//! 6. [`Note`]: a remark on a value that could not be measured, or not with certainty.
//! 7. [`report`] shows the result, and [`describe`](fn@describe) makes a machine description from
//!    it.
//!
//! The probe does not measure bandwidth, contention (several threads that access one line at the
//! same time), or the speed of locks. The stress tests measure contention and locks.
//!
//! ```
//! use syncline_probe::bench::SimulatedBench;
//! use syncline_probe::case::{Access, State};
//! use syncline_probe::{Effort, measure};
//!
//! let machine = syncline_sim::Machine::named("opteron-2384").unwrap();
//! let bench = SimulatedBench::new(&machine, 1);
//! let of = measure(&bench, &Effort::SIMULATED, &mut |_| ()).unwrap();
//! let near = of.cell(Access::Load, State::Modified, 0).unwrap();
//! let far = of.cell(Access::Load, State::Modified, 1).unwrap();
//! assert!(of.own(Access::Load).unwrap().median < near.median);
//! assert!(near.median < far.median, "the other socket");
//! ```

pub mod bench;
pub mod case;
mod describe;
mod error;
mod layout;
mod measure;
pub mod measurement;
mod note;
mod plan;
pub mod report;
mod runs;
mod sequence;
mod surroundings;
pub mod topology;
mod walk;

pub use describe::describe;
pub use error::Error;
pub use layout::Layout;
pub use measure::{Effort, Progress, changed_line, measure};
pub use measurement::Measurement;
pub use note::Note;
pub use surroundings::Surroundings;
pub use syncline_statistics::Summary;
