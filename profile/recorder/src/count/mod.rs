//! Counting: what every interposed function does in addition to the program's call.
//!
//! An acquisition first finds the row that counts it ([`spot`]), before the thread has the lock.
//! Then it tries the lock. If the try succeeds, the lock was uncontended, and [`acquired`] only
//! adds one and notes the lock as held. If the try fails, [`wait_for_lock`] looks for the holder
//! and measures the wait. The row is found before the wait. The wait is counted when it has ended
//! or, if the row's sections are short, after the release ([`pending`]), because other threads may
//! already wait for this lock.

mod hold;
mod holder;
mod interrupted;
mod nest;
mod notice;
mod outcome;
mod pending;
mod polling;
mod uncontended;
mod wait;
mod waited;

pub use crate::count::interrupted::wait_letting_go;
pub use crate::count::notice::{waking, waking_nobody};
pub use crate::count::outcome::Outcome;
pub use crate::count::polling::{polling, refused};
pub use crate::count::uncontended::{acquired, begins_with, counted, happened, passed, release};
pub use crate::count::wait::{lock_untried, wait_for_event, wait_for_lock};
pub use crate::thread::call::Caller;
pub use crate::thread::rows::spot;
