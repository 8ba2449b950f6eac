//! What a fix would bring.

use crate::model::{Gain, Process, Remedy};

/// What a remedy would bring; none if that can't be told.
pub fn predict(_process: &Process, _remedy: &Remedy) -> Option<Gain> {
    None
}
