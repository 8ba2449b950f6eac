//! Runs a program in several variants, in turn, and finds out which is faster.
//!
//! A variant is the program with other variables in its environment. All other variants are
//! compared with the first one. Each round runs every variant once, every other round in reverse
//! order, and compares within the round (`experiment`), since other work on the machine affects all
//! variants of a round alike. The result is the median of the rounds' ratios, with an interval that
//! assumes nothing about their distribution ([`syncline_statistics::Interval`]). A narrow interval
//! around 1 is reported as *no difference* (`verdict`). An experiment may go on until it is decided
//! ([`syncline_statistics::Looks`]), which does not make wrong results more likely.
//!
//! Variants may also be sizes of one delay: `response` computes the response of the run's time to
//! the added time.
//!
//! This crate knows nothing of locks, prints nothing, and reads no arguments.

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
