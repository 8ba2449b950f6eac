//! Quotes paths for a shell.

use std::path::Path;

use syncline_recording::command_line;

/// A path in the form in which a message shows it in a command that the user can type.
pub fn typed(path: &Path) -> String {
    command_line(&[path.to_string_lossy()])
}
