//! Critical sections that are traced: their begin, their end, and the records of them.
//!
//! Each interposed function of a lock begins with [`enter`] and ends with `Call::leave`. In
//! between it is one of three kinds:
//!
//! - nothing is being traced in this thread: an acquisition may begin a section;
//! - the section that is being traced has called it: the section continues when the function
//!   returns;
//! - something is being traced, but this call comes from elsewhere, which can only be a signal
//!   handler that interrupted it: the call is passed on, and not followed.
//!
//! ```text
//!   enter    which of these a call is
//!   leave    the program leaves a section, or tracing, otherwise than by a release
//!   stop     tracing can't go on
//!   edges    the begin and the end of a section, in the log
//!   finish   from the log to records in the file
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
