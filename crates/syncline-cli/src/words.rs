//! Numbers as a person writes them, and paths as a shell takes them.

use std::path::Path;

use syncline_recording::command_line;

/// A path in a command line that the user is told to type.
pub fn typed(path: &Path) -> String {
    command_line(&[path.to_string_lossy()])
}

/// A number and what is counted, in the singular or the plural.
pub fn counted(number: u64, one: &str, many: &str) -> String {
    format!("{number} {}", if number == 1 { one } else { many })
}

/// A number of bytes.
pub fn size(bytes: u64) -> String {
    match bytes {
        0..1_048_576 => format!("{} KiB", bytes.div_ceil(1024)),
        _ => format!("{:.1} MiB", bytes as f64 / 1_048_576.0),
    }
}

/// A share of one.
pub fn percent(share: f64) -> String {
    format!("{:.1} %", share * 100.0)
}

#[cfg(test)]
mod tests {
    use super::*;

    #[test]
    fn one_is_singular() {
        assert_eq!(counted(1, "process", "processes"), "1 process");
        assert_eq!(counted(0, "process", "processes"), "0 processes");
    }

    #[test]
    fn sizes_are_told_in_the_unit_that_fits() {
        assert_eq!(size(1), "1 KiB");
        assert_eq!(size(5 << 20), "5.0 MiB");
    }
}
