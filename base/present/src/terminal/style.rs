//! Whether text has colours, and how wide the terminal is.

/// The style of text on a terminal.
#[derive(Clone, Copy, Debug, PartialEq, Eq)]
pub struct Style {
    /// Whether to use colours, as ANSI escapes.
    pub color: bool,
    /// Columns of the terminal.
    pub width: usize,
}

impl Default for Style {
    fn default() -> Self {
        Style { color: false, width: 100 }
    }
}

impl Style {
    /// The most columns that a line may have: at least 80.
    pub fn width(&self) -> usize {
        self.width.max(80)
    }
}
