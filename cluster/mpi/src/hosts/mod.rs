//! Windows whose ranks are on several hosts.
//!
//! ```text
//!   rank A (host 1)                     rank T (host 2)
//!     spread    the part's host is       server   a thread of its own: takes requests
//!               another: asks there  -->   stand_in  plays A in the locks of T's segment
//!   cohort    `hierarchical`: the host's lock first
//!   meet      which ranks are on one host, and their segment
//!   request   what is asked, as bytes
//!   peers     this process's server, and its connections to others
//!   place     a number that identifies a host
//! ```
//!
//! A part's lock lies in the segment of its rank's host. The ranks of that host use it with the
//! processor's atomics. A rank of another host is represented by a stand-in in the part's own rank:
//! the server's thread there runs the same code of the same lock, with the requesting rank's row of
//! the segment, and answers when the lock is acquired. So each word is changed by one host's
//! processors only, a scheme works between hosts as it does within one, and the next rank in a
//! queue is notified by a message.
//!
//! A request takes one message there and one back; a release is one message, for which no rank
//! waits. The thread depends neither on what its process does nor on MPI, of which it calls
//! nothing.
//!
//! When a rank dies, the kernel closes its connections, and its stand-ins release what it held
//! (under `hierarchical` not what its host holds). What they still wait for, they acquire in turn
//! and release at once. When the rank of a part has died, the part can't be locked from other
//! hosts: that is an error.

mod cohort;
mod meet;
mod peers;
pub mod place;
mod request;
mod spread;
mod stand_in;

pub use cohort::Cohort;
pub use meet::Meeting;
pub use spread::Spread;
pub use stand_in::forget;
