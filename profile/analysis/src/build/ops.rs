//! Which operations count as acquisitions, and which as waits.

use syncline_recording::{Class, Op};

use crate::model::Kind;

/// Whether an operation takes a lock, so that contention and quadrants are defined.
pub fn takes_lock(op: Op) -> bool {
    wants(op) && Kind::of(op.primitive()) == Kind::Lock
}

/// Whether an operation is an acquisition or a try, which may find its object taken.
pub fn wants(op: Op) -> bool {
    matches!(op.class(), Class::Acquire | Class::Try)
}

/// Whether an operation is an acquisition, a try or a wait, and not a poll, a wake-up or a
/// creation.
pub fn wants_or_waits(op: Op) -> bool {
    wants(op) || op.class() == Class::Wait
}
