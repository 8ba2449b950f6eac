//! Finds the function at an address of a program, in the list that `nm` prints.

use std::path::Path;
use std::process::Command;

use syncline_recording::ProcessFile;

/// The functions of a file: for each the first address, the address after the last byte, and the
/// name.
#[derive(Debug)]
pub struct Functions {
    ranges: Vec<(u64, u64, String)>,
}

impl Functions {
    /// Reads the symbols of an executable or a library.
    ///
    /// # Panics
    /// If `nm` can't read them.
    pub fn of(path: &Path) -> Functions {
        let listing = Command::new("nm").arg("-S").arg(path).output().expect("nm");
        assert!(listing.status.success(), "nm of {}", path.display());
        let text = String::from_utf8_lossy(&listing.stdout).into_owned();
        Functions { ranges: text.lines().filter_map(range).collect() }
    }

    /// The function at an address in the file; `None` if there is no function. (An address in a
    /// process differs from the address in the file by the module's bias.) A variant that the
    /// compiler has made, such as `name.isra.0`, counts as its original.
    pub fn at(&self, address: u64) -> Option<&str> {
        let found = self.ranges.iter().find(|(start, end, _)| (*start..*end).contains(&address));
        found.and_then(|(_, _, name)| name.split('.').next())
    }

    /// The functions in a recorded stack, from the innermost outwards. A frame that is in no
    /// function of `files` becomes `?`. A frame is a return address, so the function is looked up
    /// one byte before it.
    pub fn of_stack(
        files: &[(&Path, &Functions)],
        process: &ProcessFile,
        stack: u32,
    ) -> Vec<String> {
        let name = |frame: &u64| {
            let call = frame - 1;
            let module = process.modules.iter().find(|m| (m.start..m.end).contains(&call))?;
            let path = module.path();
            let (_, functions) = files.iter().find(|(file, _)| file.ends_with(&path))?;
            functions.at(call - module.bias).map(str::to_owned)
        };
        let frames = process.stack(stack).iter();
        frames.map(|frame| name(frame).unwrap_or_else(|| "?".to_owned())).collect()
    }
}

/// Reads a line `ADDRESS SIZE TYPE NAME`. Returns `None` if the line has another form, or if the
/// type does not stand for code.
fn range(line: &str) -> Option<(u64, u64, String)> {
    let words: Vec<&str> = line.split_whitespace().collect();
    let [address, size, "t" | "T" | "W" | "w", name] = words[..] else { return None };
    let start = u64::from_str_radix(address, 16).ok()?;
    let size = u64::from_str_radix(size, 16).ok()?;
    Some((start, start + size, name.to_owned()))
}
