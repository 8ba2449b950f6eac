//! Runs a program in variants, in turn, and says which is faster.
//!
//! A variant is the program with other variables in its environment; the first one is what the
//! others are compared with. Each round runs every variant once, every other round backwards, and
//! compares within the round (`experiment`): what the machine does meanwhile, it does to all.
//! The outcome is the median of the rounds' ratios with an interval that assumes nothing about how
//! they are distributed ([`syncline_statistics::Interval`]). An interval around 1 is *no difference*, in so many words
//! (`verdict`). An experiment may go on until it knows ([`syncline_statistics::Looks`]), without being wrong more often.
//!
//! Variants may also be sizes of one thing: how a run follows what is added to it is `response`.
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
