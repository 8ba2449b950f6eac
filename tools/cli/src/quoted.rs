//! Paths quoted for a shell.

use std::path::Path;

use syncline_recording::command_line;

/// A path in a command line that a message tells the user to type.
pub fn typed(path: &Path) -> String {
    command_line(&[path.to_string_lossy()])
}
