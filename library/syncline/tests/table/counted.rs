//! Values that are counted as long as they live, and that may panic when they are dropped.

use std::sync::Arc;
use std::sync::atomic::{AtomicI64, Ordering::Relaxed};

#[derive(Clone, Default)]
pub struct Count(Arc<AtomicI64>);

impl Count {
    pub fn value(&self) -> Counted {
        self.0.fetch_add(1, Relaxed);
        Counted { count: self.clone(), panics: false }
    }

    pub fn bomb(&self) -> Counted {
        let mut value = self.value();
        value.panics = true;
        value
    }

    /// How many values live.
    pub fn alive(&self) -> i64 {
        self.0.load(Relaxed)
    }
}

pub struct Counted {
    count: Count,
    panics: bool,
}

impl Drop for Counted {
    fn drop(&mut self) {
        self.count.0.fetch_sub(1, Relaxed);
        assert!(!self.panics || std::thread::panicking(), "this value panics when dropped");
    }
}
