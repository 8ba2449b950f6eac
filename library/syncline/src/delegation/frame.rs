//! A section and, later, its result, with a pointer to the value on which the section runs.

use core::mem;

use super::inside::inside;
use super::panics::{Outcome, catch};
use crate::memory::{Data, Memory};

/// A section of type `F`, to be run on a value of type `T`, and the room for its result.
pub(super) struct Frame<T, F, R, M: Memory> {
    value: *const M::Data<T>,
    stage: M::Data<Stage<F, R>>,
}

enum Stage<F, R> {
    Waiting(F),
    Running,
    Ended(Outcome<R>),
}

impl<T, F: FnOnce(&mut T) -> R, R, M: Memory> Frame<T, F, R, M> {
    #[inline]
    pub(super) fn new(value: &M::Data<T>, section: F) -> Self {
        Self { value, stage: M::Data::new(Stage::Waiting(section)) }
    }

    /// Runs the section.
    ///
    /// # Safety
    ///
    /// The value and the frame are alive, and no other thread uses them meanwhile. The section has
    /// not been run.
    #[inline]
    pub(super) unsafe fn run(&self) {
        // SAFETY: the frame is ours.
        let stage = unsafe { self.stage.with(|stage| mem::replace(&mut *stage, Stage::Running)) };
        let Stage::Waiting(section) = stage else { unreachable!("a section runs once") };
        // SAFETY: the value is ours.
        let outcome = unsafe {
            (*self.value).with(|value| inside(self.value, || catch(|| section(&mut *value))))
        };
        // SAFETY: the frame is ours.
        unsafe { self.stage.with(|stage| *stage = Stage::Ended(outcome)) };
    }

    /// The section's outcome. The section must have run.
    #[inline]
    pub(super) fn into_outcome(self) -> Outcome<R> {
        match self.stage.into_inner() {
            Stage::Ended(outcome) => outcome,
            _ => unreachable!("a result is taken after the run"),
        }
    }
}
