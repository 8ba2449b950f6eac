//! What an access to memory costs on this machine.

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
mod sequence;
mod statistic;
mod surroundings;
pub mod topology;
mod walk;

pub use describe::describe;
pub use error::Error;
pub use layout::Layout;
pub use measure::{Effort, Progress, measure};
pub use measurement::Measurement;
pub use note::Note;
pub use statistic::Summary;
pub use surroundings::Surroundings;
