//! The keys that were lost with ranks that have died.

use syncline_fabric::Fabric;

use crate::key::Hash;
use crate::mode::Mode;
use crate::table::Table;

/// The keys that are lost: those whose hashes belong to ranks whose memory is gone.
#[derive(Clone, Debug, PartialEq, Eq)]
pub struct Lost {
    lost: Vec<usize>,
    ranks: usize,
}

impl Lost {
    /// The ranks whose parts are gone, in ascending order.
    pub fn ranks(&self) -> &[usize] {
        &self.lost
    }

    /// Whether this key would be lost, if the table had it.
    pub fn has(&self, key: &[u8]) -> bool {
        self.lost.binary_search(&Hash::of(key).home(self.ranks)).is_ok()
    }

    /// The expected share of keys that are lost, from 0 to 1, if there are many keys.
    pub fn share(&self) -> f64 {
        self.lost.len() as f64 / self.ranks as f64
    }

    /// Whether no keys are lost.
    pub fn is_empty(&self) -> bool {
        self.lost.is_empty()
    }
}

impl<F: Fabric, M: Mode<F>> Table<F, M> {
    /// Finds out which keys are lost, by reading one word of each rank's part.
    pub fn lost(&self) -> Lost {
        let ranks = self.fabric.ranks();
        let is_lost = |rank: &usize| self.fabric.load(self.layout.format(*rank)).is_err();
        Lost { lost: (0..ranks).filter(is_lost).collect(), ranks }
    }
}
