//! Parses names of positions and variables.

/// A parsed name of a position in the code.
#[derive(Debug, PartialEq, Eq)]
pub enum Name<'a> {
    /// An offset in a function or a file.
    Offset {
        /// The function or the file.
        of: &'a str,
        /// The offset in bytes from the start of that.
        offset: u64,
    },
    /// A line of a source file, or a whole function in that file.
    Line {
        /// The function; `None` if only the line was given.
        function: Option<&'a str>,
        /// The source file, without its folders.
        file: &'a str,
        /// The line; `None` for the whole function.
        line: Option<u32>,
    },
    /// A function.
    Plain(&'a str),
}

impl Name<'_> {
    /// Parses a name.
    pub fn parse(text: &str) -> Name<'_> {
        let text = text.trim();
        for between in [" at ", "  "] {
            if let Some((function, place)) = text.rsplit_once(between) {
                let (file, line) = match file_line(place) {
                    Some((file, line)) => (file, Some(line)),
                    None => (place, None),
                };
                return Name::Line { function: Some(function.trim()), file: last(file), line };
            }
        }
        if let Some((of, offset)) = offset(text) {
            return Name::Offset { of, offset };
        }
        match file_line(text) {
            Some((file, line)) => Name::Line { function: None, file: last(file), line: Some(line) },
            None => Name::Plain(text),
        }
    }
}

/// The parts of `name+0x12`; `None` if the text has another form.
pub fn offset(text: &str) -> Option<(&str, u64)> {
    let (of, digits) = text.rsplit_once("+0x")?;
    Some((of, u64::from_str_radix(digits, 16).ok()?))
}

/// The name and the module of `name (module)`; a text of another form is a name as a whole.
pub fn variable(text: &str) -> (&str, Option<&str>) {
    let text = text.trim();
    let inner = text.strip_suffix(')').and_then(|text| text.rsplit_once(" ("));
    inner.map_or((text, None), |(name, module)| (name, Some(module)))
}

/// Whether `name` is that of a shared library, such as `libz.so.1` or `mod_ssl.so`.
pub fn is_library(name: &str) -> bool {
    name.ends_with(".so") || name.contains(".so.")
}

/// The parts of `queue.c:120`; `None` if the text has another form. A text with two colons is a C++
/// or Rust name.
fn file_line(text: &str) -> Option<(&str, u32)> {
    let (file, line) = text.rsplit_once(':')?;
    let line = line.parse().ok()?;
    (!file.ends_with(':') && !file.is_empty()).then_some((file, line))
}

fn last(path: &str) -> &str {
    path.rsplit('/').next().unwrap_or(path)
}

#[cfg(test)]
mod tests {
    use super::*;

    #[test]
    fn printed_call_sites_are_parsed() {
        let line = |function, file, line| Name::Line { function, file, line };
        for (text, name) in [
            ("push at /src/queue.c:120", line(Some("push"), "queue.c", Some(120))),
            ("Queue<…>::push  queue.h:7", line(Some("Queue<…>::push"), "queue.h", Some(7))),
            ("push at /src/queue.c", line(Some("push"), "queue.c", None)),
            ("queue.c:120", line(None, "queue.c", Some(120))),
            ("push+0x1f", Name::Offset { of: "push", offset: 31 }),
            ("lib.so.1+0x20", Name::Offset { of: "lib.so.1", offset: 32 }),
            ("pool::worker::{{closure}}", Name::Plain("pool::worker::{{closure}}")),
            ("push", Name::Plain("push")),
        ] {
            assert_eq!(Name::parse(text), name);
        }
        assert_eq!(variable("table+0x8 (app)"), ("table+0x8", Some("app")));
        assert_eq!(variable("pool::(anonymous namespace)"), ("pool::(anonymous namespace)", None));
    }
}
