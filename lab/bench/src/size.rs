//! The amount of measuring in a benchmark: for a test, for a quick impression, or for publication.

/// The amount of measuring.
#[derive(Clone, Copy)]
pub enum Size {
    /// Everything is measured once, and as briefly as possible. For tests, which judge no figure.
    Smoke,
    /// The benchmark takes less than 40 seconds.
    Quick,
    /// The benchmark takes minutes. For figures that are published.
    Full,
}

impl Size {
    /// Selects the value for this size among three.
    pub fn pick<T>(self, smoke: T, quick: T, full: T) -> T {
        match self {
            Size::Smoke => smoke,
            Size::Quick => quick,
            Size::Full => full,
        }
    }
}
