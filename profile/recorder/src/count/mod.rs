//! The counting itself: what every interposed function does besides its call.
//!
//! An acquisition first finds where it is counted ([`spot`]), so that this is done before the
//! thread has the lock; then it tries. If the try succeeds, it was uncontended, and all that
//! follows is [`acquired`]: add one, note the lock as held. Only if it fails does time get measured
//! ([`wait_for_lock`]), and the holder looked for.

mod hold;
mod holder;
mod interrupted;
mod nest;
mod notice;
mod outcome;
mod polling;
mod uncontended;
mod wait;

pub use crate::count::interrupted::wait_letting_go;
pub use crate::count::notice::{waking, waking_nobody};
pub use crate::count::outcome::Outcome;
pub use crate::count::polling::{polling, refused};
pub use crate::count::uncontended::{acquired, begins_with, counted, happened, passed, releasing};
pub use crate::count::wait::{lock_untried, wait_for_event, wait_for_lock};
pub use crate::thread::call::Caller;
pub use crate::thread::rows::spot;
