//! A node's copies of pages, and how a node learns what the program does to them.
//!
//! ```text
//!   copies   what a node can do with its copies, however faults come
//!   plain    buffers, for simulated nodes: every access is a call
//!   memory   the reserved addresses, and what is requested of the system
//!   uffd     userfaultfd
//!   tracked  userfaultfd, where the kernel itself notes which pages were written (6.7)
//!   guarded  userfaultfd, where first writes come to the handler (5.11)
//!   mapped   SIGSEGV and `mprotect`, everywhere
//!   written  which pages are written, if the kernel does not record that
//!   choose   which of the three this process can have
//! ```

mod choose;
mod copies;
mod guarded;
mod mapped;
mod memory;
mod plain;
mod tracked;
mod uffd;
mod written;

pub use choose::{Chosen, Side, Unavailable, choose};
pub use copies::{Access, Pages, Twins};
pub use memory::{Mapping, Reserved};
pub use plain::Plain;
pub use written::Written;
