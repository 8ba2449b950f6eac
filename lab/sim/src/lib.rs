//! Simulated many-core machines, in place of those that are not at hand: a
//! [`Memory`](syncline::memory::Memory) on which the library's own algorithms run unchanged.
//!
//! 1. [`machine`]: topology, and the cycles that an access takes, from a description file. The
//!    machines of the SSYNC paper are built in.
//! 2. `line`: which caches have a line, which determines the cost of the next access to it.
//! 3. [`engine`]: threads, processors and time.
//! 4. [`Simulated`]: the memory.
//! 5. [`uncached`]: the words and registers of a machine without cache coherence.
//!
//! A thread's code itself costs no time. Between two accesses no time passes, except for the few
//! instructions that belong to each access, for pauses, switches of threads, wake-ups and messages,
//! and for the time that [`engine::delay`] and [`engine::execute`] add.
//!
//! ```
//! use syncline::lock::{Mcs, RawLock};
//! use syncline::wait::Spin;
//! use syncline_sim::{Machine, Simulated, engine::{self, Body, Engine}};
//!
//! let xeon = Machine::named("xeon").unwrap();
//! let lock = Mcs::<Spin, Simulated>::default();
//! let threads = (0..20).map(|processor| {
//!     let lock = &lock;
//!     let body: Body<'_> = Box::new(move || {
//!         let node = Default::default();
//!         for _ in 0..100 {
//!             // SAFETY: the node stays in place, and the thread that releases has acquired.
//!             unsafe { lock.acquire(&node) };
//!             engine::delay(50);
//!             // SAFETY: as above.
//!             unsafe { lock.release(&node) };
//!         }
//!     });
//!     (processor, body)
//! });
//! let outcome = Engine::new(&xeon, 1).run(threads.collect());
//! assert!(outcome.cycles > 20 * 100 * 50);
//! ```

mod caches;
pub mod engine;
mod levels;
mod line;
pub mod machine;
mod memory;
pub mod uncached;

pub use machine::Machine;
pub use memory::long::SimulatedLong;
pub use memory::{Simulated, SimulatedData, SimulatedLink, SimulatedWord};
