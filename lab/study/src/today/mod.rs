//! Which lock to take on a machine of today. The library's locks run on the machines that are built
//! from published figures, in a few situations, and are compared with the library's advice
//! (docs/locks.md). Ratios of two locks that others have measured on such machines are compared
//! with the simulated ones.

mod published;
mod rates;
mod report;
mod situation;

pub use published::{PUBLISHED, Ratio, simulated};
pub use rates::{Rate, rates};
pub use report::{MARKS, Measured, markdown};
pub use situation::{
    Advice, DEFAULT, LOCKS, MACHINES, SITUATIONS, Situation, Threads, UNFAIR, Work,
};
