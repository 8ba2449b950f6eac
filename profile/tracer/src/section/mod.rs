//! Critical sections that are traced: their beginning, their end, and their records.
//!
//! Each interposed function of a lock begins with [`enter`] and ends with `Call::leave`. In
//! between, the call is of one of these kinds:
//!
//! - nothing is being traced in this thread: an acquisition may begin a traced section;
//! - a section that is being traced made the call: the section continues when the function returns;
//! - a section is being traced, but the call was made by a signal handler that interrupted it, or
//!   by the program's own allocator: the call is only passed on.
//!
//! ```text
//!   enter    finds out which kind of call it is
//!   leave    ends a section without a release
//!   stop     stops tracing when it can't go on
//!   edges    logs the beginning and the end of a section
//!   finish   turns the log into records in the file
//! ```

mod edges;
mod enter;
mod finish;
mod leave;
mod stop;

pub use edges::{Acquired, begin, end};
pub use enter::{Call, Caller, enter, return_address};
pub use finish::{drain, finish};
pub use leave::{jumping, leaving_alone};
pub use stop::stopped;
