//! The tables of a process: locks, call sites, who blocks whom, threads.

mod blocking;
mod figures;
mod locks;
mod sites;
mod threads;

pub use blocking::blocking;
pub use locks::locks;
pub use sites::sites;
pub use threads::threads;
