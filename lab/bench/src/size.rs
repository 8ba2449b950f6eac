//! How much a benchmark measures: for a test, for a quick impression, or for publication.

/// How much to measure.
#[derive(Clone, Copy)]
pub enum Size {
    /// Everything once and as small as possible: for tests, which judge no figure.
    Smoke,
    /// Under 40 seconds.
    Quick,
    /// For figures that get published: minutes.
    Full,
}

impl Size {
    /// The one of three values that belongs to this size.
    pub fn pick<T>(self, smoke: T, quick: T, full: T) -> T {
        match self {
            Size::Smoke => smoke,
            Size::Quick => quick,
            Size::Full => full,
        }
    }
}
