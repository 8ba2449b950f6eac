//! The lines of the source around a call site, if they can be read when the page is written.
//!
//! A path comes from a program's debug information, so it may name any file. Only regular
//! files of moderate size whose names look like source are read.

use std::fmt::Write;
use std::fs;
use std::io::Read;
use std::path::Path;
use std::time::SystemTime;

use syncline_analysis::model::{Frame, Process};
use syncline_present::page::Escaped;

/// The number of lines before and after the call site.
const AROUND: usize = 5;

/// The longest source that is read, in bytes.
const LARGEST: u64 = 8 << 20;

/// The most characters of a line that are shown.
const WIDEST: usize = 160;

/// The extensions of source files.
const ENDINGS: [&str; 20] = [
    "c", "cc", "cpp", "cxx", "c++", "h", "hh", "hpp", "hxx", "h++", "inl", "ipp", "tcc", "inc",
    "rs", "f90", "zig", "d", "m", "mm",
];

/// The lines around a frame's position, as HTML; empty if they can't be read.
pub fn excerpt(process: &Process, frame: &Frame) -> String {
    let (Some(file), Some(line)) = (&frame.file, frame.line) else { return String::new() };
    let Some(source) = read(Path::new(file)) else { return String::new() };
    let Some(lines) = around(&source.text, line as usize) else { return String::new() };
    let binary = frame.module.and_then(|module| process.modules.get(module));
    let binary_changed = binary.and_then(|module| fs::metadata(&module.path).ok()?.modified().ok());
    let mut html = format!(
        "<figure class=\"excerpt\"><figcaption>{}:{line}{}</figcaption><pre tabindex=\"0\">",
        Escaped(file),
        doubt(source.changed, binary_changed)
    );
    for (number, text) in lines {
        let text: String = text.chars().take(WIDEST).collect();
        let text = Escaped(&text.replace('\t', "    ")).to_string();
        let _ = match number == line as usize {
            // The mark is a block, which ends its line.
            true => write!(html, "<mark><i>{number:>5} </i>{text}</mark>"),
            false => writeln!(html, "<i>{number:>5} </i>{text}"),
        };
    }
    html + "</pre></figure>\n"
}

/// A note if the source may not be what the program was built from; empty otherwise.
fn doubt(source: Option<SystemTime>, binary: Option<SystemTime>) -> &'static str {
    match (source, binary) {
        (Some(source), Some(binary)) if source <= binary => "",
        (Some(_), Some(_)) => {
            " <strong>changed since the program was built: lines may have moved</strong>"
        }
        _ => " <strong>the program's file can't be read: lines may have moved</strong>",
    }
}

struct Source {
    text: String,
    changed: Option<SystemTime>,
}

fn read(path: &Path) -> Option<Source> {
    let ending = path.extension()?.to_str()?.to_ascii_lowercase();
    if !path.is_absolute() || !ENDINGS.contains(&ending.as_str()) {
        return None;
    }
    let metadata = fs::metadata(path).ok()?;
    if !metadata.is_file() || metadata.len() > LARGEST {
        return None;
    }
    let mut bytes = Vec::new();
    fs::File::open(path).ok()?.take(LARGEST).read_to_end(&mut bytes).ok()?;
    let text = String::from_utf8_lossy(&bytes).into_owned();
    Some(Source { text, changed: metadata.modified().ok() })
}

/// The lines around `line`, each with its number, counted from 1; `None` if there is no such line.
fn around(text: &str, line: usize) -> Option<Vec<(usize, &str)>> {
    let first = line.checked_sub(1)?.saturating_sub(AROUND);
    let lines: Vec<_> = text
        .lines()
        .enumerate()
        .map(|(place, text)| (place + 1, text))
        .skip(first)
        .take(line - first + AROUND)
        .collect();
    lines.iter().any(|(number, _)| *number == line).then_some(lines)
}

#[cfg(test)]
mod tests {
    use std::time::Duration;

    use super::*;

    #[test]
    fn an_excerpt_has_the_lines_around_a_line() {
        let text: String = (1..=30).map(|n| format!("line {n}\n")).collect();
        let numbers = |line| -> Option<(usize, usize)> {
            let lines = around(&text, line)?;
            assert!(lines.iter().all(|(n, text)| *text == format!("line {n}")));
            Some((lines.first()?.0, lines.last()?.0))
        };
        assert_eq!(numbers(1), Some((1, 6)));
        assert_eq!(numbers(15), Some((10, 20)));
        assert_eq!(numbers(30), Some((25, 30)));
        assert_eq!((numbers(31), numbers(0)), (None, None));
    }

    #[test]
    fn only_source_files_are_read() {
        let folder = tempfile::tempdir().unwrap();
        let path = |name: &str| folder.path().join(name);
        fs::write(path("a.c"), "int x;\n").unwrap();
        fs::write(path("secret"), "password\n").unwrap();
        fs::create_dir(path("folder.c")).unwrap();
        assert_eq!(read(&path("a.c")).unwrap().text, "int x;\n");
        for name in ["secret", "folder.c", "none.c"] {
            assert!(read(&path(name)).is_none(), "{name}");
        }
        assert!(read(Path::new("a.c")).is_none());
    }

    #[test]
    fn a_source_newer_than_the_program_is_marked() {
        let old = SystemTime::UNIX_EPOCH;
        let new = old + Duration::from_secs(1);
        assert_eq!(doubt(Some(old), Some(new)), "");
        assert!(doubt(Some(new), Some(old)).contains("changed since"));
        assert!(doubt(Some(old), None).contains("can't be read"));
    }
}
