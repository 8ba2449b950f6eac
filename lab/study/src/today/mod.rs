//! Which lock to use on today's machines. The library's locks run in a few situations, on simulated
//! machines whose descriptions are built from published figures. The results are compared with the
//! library's advice (docs/locks.md). If others have measured two throughputs on such machines, the
//! simulated ratio of these throughputs is compared with the measured ratio.

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
