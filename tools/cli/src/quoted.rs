//! Paths as a shell takes them.

use std::path::Path;

use syncline_recording::command_line;

/// A path in a command line that the user is told to type.
pub fn typed(path: &Path) -> String {
    command_line(&[path.to_string_lossy()])
}
