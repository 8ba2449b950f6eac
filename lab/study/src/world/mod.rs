//! The machine on which a stress test runs: the real one that runs this program ([`Here`]), or a
//! simulated one ([`Elsewhere`]).
//!
//! A test is written once, over a [`World`]: a memory, hardware threads by number, and a clock
//! that counts cycles.

mod elsewhere;
mod here;
mod interface;

pub use elsewhere::Elsewhere;
pub use here::Here;
pub use interface::{Body, Course, Homes, Phase, Placement, Watch, World};

/// The position of a thread that is not pinned.
pub use syncline_sim::engine::ANYWHERE;
