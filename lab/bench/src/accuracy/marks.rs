//! Reads the marks in a workload's source, which say where its problem is.
//!
//! The line of the problem ends with `/* FINDING rule */`, or with `/* FINDING rule|other */` if
//! more than one rule would be right. If several lines are marked, a finding at one of them
//! suffices. A marked line that begins a function stands for the threads that start there.
//!
//! `/* REMAINS rule */` marks a line whose finding is true of the fixed variant too, since its cost
//! is not part of the problem.

use anyhow::Context;

/// A line at which a finding is expected.
#[derive(Clone, Debug, PartialEq)]
pub struct Mark {
    /// The rules that would be right, by their names in reports.
    pub rules: Vec<String>,
    /// The name of the source file, without its folder.
    pub file: String,
    /// The line's number, from 1.
    pub line: usize,
    /// The function that begins at the line; `None` if no function does.
    pub function: Option<String>,
}

const PROBLEM: &str = "/* FINDING ";
const REMAINING: &str = "/* REMAINS ";
const END: &str = " */";

/// The marks of a program's problem, in the order of its lines.
pub fn read(file: &str, text: &str) -> anyhow::Result<Vec<Mark>> {
    beginning_with(PROBLEM, file, text)
}

/// The marks of what is true of the fixed variant too, in the order of its lines.
pub fn remaining(file: &str, text: &str) -> anyhow::Result<Vec<Mark>> {
    beginning_with(REMAINING, file, text)
}

fn beginning_with(begin: &str, file: &str, text: &str) -> anyhow::Result<Vec<Mark>> {
    let mut marks = Vec::new();
    for (place, line) in text.lines().enumerate() {
        let Some((code, mark)) = line.split_once(begin) else { continue };
        let rules = mark.strip_suffix(END);
        let rules = rules.with_context(|| format!("{file}:{}: a broken mark", place + 1))?;
        marks.push(Mark {
            rules: rules.split('|').map(str::to_owned).collect(),
            file: file.to_owned(),
            line: place + 1,
            function: function_of(code),
        });
    }
    Ok(marks)
}

/// The name of the function whose definition begins with this line.
fn function_of(code: &str) -> Option<String> {
    let at_margin = code.starts_with(|c: char| c.is_ascii_alphabetic());
    let (head, _) = code.split_once('(').filter(|_| at_margin)?;
    let name = head.rsplit(|c: char| !c.is_ascii_alphanumeric() && c != '_').next()?;
    (!name.is_empty()).then(|| name.to_owned())
}

impl Mark {
    /// Whether a finding is at this mark. `place` is the finding's position in the report. It is
    /// like `push at /src/queue.c:120`, or names the start function of a group of threads.
    pub fn is_at(&self, place: &str) -> bool {
        if place.ends_with(&format!("/{}:{}", self.file, self.line)) {
            return true;
        }
        let mut words = place.split(|c: char| !c.is_ascii_alphanumeric() && c != '_');
        self.function.as_deref().is_some_and(|f| words.any(|word| word == f))
    }
}

#[cfg(test)]
mod tests {
    use super::*;

    const TEXT: &str = "
static void *rank(void *own) { /* FINDING unequal-groups */
    lock(&m); /* FINDING too-much-data|too-long-section */
";

    #[test]
    fn marks_have_rules_lines_and_functions() {
        let marks = read("a.c", TEXT).unwrap();
        assert_eq!(marks[0].rules, ["unequal-groups"]);
        assert_eq!((marks[0].line, marks[0].function.as_deref()), (2, Some("rank")));
        assert_eq!(marks[1].rules, ["too-much-data", "too-long-section"]);
        assert_eq!((marks[1].line, marks[1].function.as_deref()), (3, None));
        assert!(read("a.c", "x; /* FINDING too-much-data").is_err());
    }

    #[test]
    fn what_remains_is_no_problem() {
        let text = "a(); /* REMAINS busy-atomics */\nb(); /* FINDING already-exclusive */\n";
        let of = |marks: Vec<Mark>| -> Vec<usize> { marks.iter().map(|m| m.line).collect() };
        assert_eq!(of(read("a.c", text).unwrap()), [2]);
        assert_eq!(of(remaining("a.c", text).unwrap()), [1]);
    }

    #[test]
    fn a_mark_matches_its_exact_line_or_function() {
        let marks = read("a.c", TEXT).unwrap();
        assert!(marks[1].is_at("serve at /src/a.c:3"));
        assert!(!marks[1].is_at("serve at /src/a.c:30"));
        assert!(!marks[1].is_at("serve at /src/aa.c:3"));
        assert!(marks[0].is_at("threads of rank"));
        assert!(!marks[0].is_at("threads of ranks"));
    }
}
