//! The options for this process on the kernel's command line.

use std::fs;

/// The options that begin with `syncline.`.
#[derive(Debug)]
pub struct Options {
    /// Whether to hand over symbols, types and the list of modules, and to run no load.
    pub learn: bool,
    /// The load.
    pub load: String,
    /// The length of the loads `small` and `fs`; 1 is the shortest.
    pub scale: u32,
}

impl Options {
    /// The options of this boot.
    pub fn of_kernel() -> Options {
        let line = fs::read_to_string("/proc/cmdline").unwrap_or_default();
        let value = |name: &str| {
            let mut words = line.split_whitespace();
            words.find_map(|word| word.strip_prefix(name)?.strip_prefix('='))
        };
        Options {
            learn: line.split_whitespace().any(|word| word == "syncline.learn"),
            load: value("syncline.load").unwrap_or("small").to_owned(),
            scale: value("syncline.scale").and_then(|n| n.parse().ok()).unwrap_or(1),
        }
    }
}
