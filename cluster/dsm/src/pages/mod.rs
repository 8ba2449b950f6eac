//! A node's copies of pages, and how a node learns which pages the program accesses.
//!
//! ```text
//!   copies   what a node can do with its copies, on every fault side
//!   plain    pages in buffers, for simulated nodes: every access is a call
//!   memory   the range of global addresses, and the calls that map memory
//!   uffd     userfaultfd
//!   tracked  userfaultfd, where the kernel itself records which pages were written (Linux 6.7)
//!   guarded  userfaultfd, where first writes come to the handler (Linux 5.11)
//!   mapped   SIGSEGV and `mprotect`, everywhere
//!   written  which pages are written, if the kernel does not record that
//!   choose   which of the three fault sides this process gets
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
pub use memory::{Mapping, Reserved, Where};
pub use plain::Plain;
pub use written::Written;
