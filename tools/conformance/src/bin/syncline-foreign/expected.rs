//! The file of expected differences. It has a line, `program | ways | reason`, for each.
//!
//! The field `program` is the end of a program's path (`pthread_kill/6-1`), or its suite and path.
//! The field `ways` has the names of ways to run it, with commas between them. `*` stands for any
//! characters. Empty lines and lines that begin with `#` are ignored.

use std::fs;
use std::path::Path;

use crate::verdict::{Row, Verdict};
use crate::ways::Way;

/// One line of the file.
#[derive(Clone, Debug)]
pub struct Expectation {
    program: String,
    ways: Vec<String>,
    /// Why the difference is expected.
    pub reason: String,
}

/// All lines of the file.
#[derive(Debug, Default)]
pub struct Expectations(Vec<Expectation>);

impl Expectations {
    /// Reads the file.
    ///
    /// # Errors
    /// A sentence that says why the file can't be read, or which line of it is wrong.
    pub fn read(path: &Path) -> Result<Expectations, String> {
        let shown = path.display();
        let text = fs::read_to_string(path).map_err(|error| format!("{shown}: {error}"))?;
        Expectations::parse(&text).map_err(|problem| format!("{shown}: {problem}"))
    }

    fn parse(text: &str) -> Result<Expectations, String> {
        let lines = text.lines().enumerate();
        let said = lines.filter(|(_, line)| !line.trim().is_empty() && !line.starts_with('#'));
        let read = said.map(|(number, line)| {
            Expectation::parse(line)
                .ok_or_else(|| format!("line {}: not `program | ways | reason`", number + 1))
        });
        Ok(Expectations(read.collect::<Result<_, _>>()?))
    }

    /// The line that matches this program and this way, or `None` if there is none.
    pub fn about(&self, program: &str, way: &Way) -> Option<&Expectation> {
        self.0.iter().find(|line| line.is_about(program, way))
    }

    /// The lines that match at least one verdict of these rows, and only verdicts that are
    /// [`Verdict::Same`].
    pub fn no_longer<'a>(&'a self, rows: &[Row], ways: &[Way]) -> Vec<&'a Expectation> {
        let tried = |line: &&Expectation| {
            let cells = rows.iter().flat_map(|row| {
                row.verdicts
                    .iter()
                    .zip(ways)
                    .map(|(verdict, way)| (row.program.name(), verdict, way))
            });
            let about: Vec<_> = cells.filter(|(name, _, way)| line.is_about(name, way)).collect();
            !about.is_empty() && about.iter().all(|(_, verdict, _)| **verdict == Verdict::Same)
        };
        self.0.iter().filter(tried).collect()
    }
}

impl Expectation {
    fn parse(line: &str) -> Option<Expectation> {
        let mut fields = line.splitn(3, '|').map(str::trim);
        let (program, ways, reason) = (fields.next()?, fields.next()?, fields.next()?);
        let ways: Vec<String> = ways.split(',').map(|way| way.trim().to_owned()).collect();
        let whole = !program.is_empty() && !reason.is_empty() && ways.iter().all(|w| !w.is_empty());
        whole.then(|| Expectation { program: program.to_owned(), ways, reason: reason.to_owned() })
    }

    fn is_about(&self, program: &str, way: &Way) -> bool {
        let ends = program.match_indices('/').map(|(at, _)| &program[at + 1..]);
        let named = ends.chain([program]).any(|end| matches(&self.program, end));
        named && self.ways.iter().any(|pattern| matches(pattern, &way.name()))
    }
}

impl std::fmt::Display for Expectation {
    fn fmt(&self, f: &mut std::fmt::Formatter<'_>) -> std::fmt::Result {
        write!(f, "{} | {} | {}", self.program, self.ways.join(", "), self.reason)
    }
}

/// Whether a text matches this pattern. In the pattern, `*` stands for any characters.
fn matches(pattern: &str, text: &str) -> bool {
    let Some((before, after)) = pattern.split_once('*') else { return pattern == text };
    let Some(rest) = text.strip_prefix(before) else { return false };
    let mut ends = rest.char_indices().map(|(at, _)| at).chain([rest.len()]);
    ends.any(|at| matches(after, &rest[at..]))
}

#[cfg(test)]
mod tests {
    use super::*;

    #[test]
    fn patterns_match_with_stars() {
        for (pattern, text) in
            [("a", "a"), ("*", ""), ("exec:*", "exec:gate"), ("exec:*+rw_*", "exec:mcs+rw_flag")]
        {
            assert!(matches(pattern, text), "{pattern} {text}");
        }
        for (pattern, text) in [("a", "ab"), ("exec:*", "record"), ("*+rw_flag", "exec:rw_flag")] {
            assert!(!matches(pattern, text), "{pattern} {text}");
        }
    }

    #[test]
    fn an_expectation_matches_the_end_of_a_path() {
        let text = "# why\n\nkeys/1-1 | record, exec:* | they are ours | and so on\n";
        let lines = Expectations::parse(text).expect("a line");
        let gate = Way::Exec("gate".to_owned());
        let line = lines.about("ltp/keys/1-1", &gate).expect("it");
        assert_eq!(line.reason, "they are ours | and so on");
        assert!(lines.about("keys/1-1", &Way::Record).is_some());
        assert!(lines.about("ltp/monkeys/1-1", &Way::Record).is_none());
        assert!(lines.about("ltp/keys/1-1", &Way::Inspect).is_none());
        assert!(Expectations::parse("keys/1-1 | record").is_err());
        assert!(Expectations::parse("keys/1-1 | record, | why").is_err());
    }
}
