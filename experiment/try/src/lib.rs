//! Runs a program in variants, in turn, and says which is faster.
//!
//! A variant is the program with other variables in its environment; the first one is what the
//! others are compared with. Each round runs every variant once, every other round backwards, and
//! compares within the round (`experiment`): other work on the machine affects all variants alike.
//! The outcome is the median of the rounds' ratios with an interval that assumes nothing about how
//! they are distributed ([`syncline_statistics::Interval`]). A narrow interval around 1 is reported
//! as *no difference* (`verdict`). An experiment may go on until it is decided
//! ([`syncline_statistics::Looks`]), without being wrong more often.
//!
//! Variants may also be sizes of one delay: `response` says how the run's time follows the time
//! that is added.
//!
//! It does not know what a lock is, prints nothing, and reads no arguments.

mod experiment;
mod load;
mod measure;
mod response;
mod run;
mod verdict;

pub use experiment::{Comparison, Experiment, Outcome, Step, Variant, once};
pub use load::{Load, Ready};
pub use measure::{Measure, NotANumber};
pub use response::{Response, Shape};
pub use run::{Failed, Sample};
pub use verdict::{Verdict, Why};
