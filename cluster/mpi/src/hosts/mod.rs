//! Windows whose ranks are on several hosts.
//!
//! ```text
//!   rank A (host 1)                     rank T (host 2)
//!     spread    the part is on another    server   a thread of its own: receives requests
//!               host: sends a request  -->  stand_in  acts for A in the locks of T's segment
//!   cohort    the scheme `hierarchical`: the host's lock first
//!   meet      which ranks are on one host, and their segment
//!   request   the format of requests
//!   peers     this process's server, and its connections to other servers
//!   place     a number that identifies a host
//! ```
//!
//! The lock of a part is in the segment of the host that its rank is on. The ranks of this host use
//! the lock with the processor's atomic instructions. For a rank on another host there is a
//! *stand-in* in the process of the part's rank. The server's thread in that process runs the
//! lock's code with the other rank's row of the segment, and answers when it has acquired the lock.
//! So only the processors of one host change a word, and a scheme works between hosts as it does
//! within one; only the next rank in a queue is notified by a message.
//!
//! A request and its answer are two messages. A release is one message, and no rank waits for it.
//! The server's thread works no matter what its process does meanwhile. This thread calls no
//! function of MPI.
//!
//! When a rank dies, the kernel closes the rank's connections, and the rank's stand-ins release the
//! parts that the rank held (under `hierarchical`, except the parts that the rank's whole host
//! holds). If a stand-in still waits for a part, it acquires the part when its turn comes, and
//! releases it at once. When the rank of a part has died, ranks on other hosts can't lock the part
//! any more, and get an error.

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
