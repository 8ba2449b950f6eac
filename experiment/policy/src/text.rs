//! Writes policy files, with comments for their readers.

use std::fmt::Write as _;

use toml::Value;

use crate::file::{Policy, Subject, VERSION};

const HEAD: &str = "\
# Locks in place of a program's own. To run a program with them:
#     syncline exec --policy THIS-FILE -- PROGRAM
# syncline-policy(5) describes the file. If several rules match one object, the most precise one \
applies:
# `object`, then `created`, `acquired`, `class`, and `default`.
";

impl Policy {
    /// The text of the file, with `comment` at its top, line by line.
    pub fn text(&self, comment: &[String]) -> String {
        let mut text = HEAD.to_owned();
        if !comment.is_empty() {
            text.push_str("#\n");
        }
        lines(&mut text, comment);
        // Writing to a `String` never fails, here and below.
        let _ = writeln!(text, "\nversion = {VERSION}");
        if let Some(program) = &self.program {
            let _ = writeln!(text, "program = {}", quoted(program));
        }
        text.push_str(
            "# Objects that no rule matches: locks as in a rule's `use`, or \"libc\", the C library's own.\n",
        );
        let default = self.default.as_deref().unwrap_or("libc");
        let _ = writeln!(text, "default = {}", quoted(default));
        for rule in &self.rules {
            text.push('\n');
            lines(&mut text, &rule.comment);
            text.push_str("[[lock]]\n");
            let (key, name) = match &rule.subject {
                Subject::Acquired(name) => ("acquired", name.as_str()),
                Subject::Created(name) => ("created", name.as_str()),
                Subject::Object(name) => ("object", name.as_str()),
                Subject::Static => ("class", "static"),
                Subject::Dynamic => ("class", "dynamic"),
            };
            let _ = writeln!(text, "{key} = {}", quoted(name));
            if !rule.offsets.is_empty() {
                let offsets: Vec<String> = rule.offsets.iter().map(|text| quoted(text)).collect();
                let _ = writeln!(text, "offsets = [{}]", offsets.join(", "));
            }
            let _ = writeln!(text, "use = {}", quoted(&rule.locks));
        }
        if !self.build_ids.is_empty() {
            text.push_str("\n# The builds to which offsets belong; in any other build they are ignored.\n[build_ids]\n");
            for (file, id) in &self.build_ids {
                let _ = writeln!(text, "{} = {}", quoted(file), quoted(id));
            }
        }
        text
    }
}

fn lines(text: &mut String, comment: &[String]) {
    for line in comment {
        let _ = writeln!(text, "# {}", line.replace(['\n', '\r'], " "));
    }
}

fn quoted(text: &str) -> String {
    Value::String(text.to_owned()).to_string()
}

#[cfg(test)]
mod tests {
    use std::path::Path;

    use super::*;
    use crate::file::{Error, Rule};

    fn parse(text: &str) -> Result<Policy, Error> {
        let check = |name: &str| match name {
            "gate" => Ok("gate+rw_readers".to_owned()),
            "mcs" => Ok("mcs-park".to_owned()),
            _ => Err(format!("there is no lock `{name}`")),
        };
        Policy::parse(Path::new("p.toml"), text, check)
    }

    #[test]
    fn what_is_written_is_read_again() {
        let rule = |subject, offsets: &[&str]| Rule {
            subject,
            offsets: offsets.iter().map(|&text| text.to_owned()).collect(),
            locks: "gate".to_owned(),
            comment: vec!["1.25x (1.20 to 1.31)".to_owned()],
            line: 0,
        };
        let policy = Policy {
            program: Some("/opt/a \"b\"".to_owned()),
            default: Some("libc".to_owned()),
            build_ids: [("app".to_owned(), "ab12".to_owned())].into(),
            rules: vec![
                rule(Subject::Acquired("push at queue.c:12".to_owned()), &["app+0x12"]),
                rule(Subject::Created("Queue<…>::Queue  q.h:1".to_owned()), &[]),
                rule(Subject::Object("table (app)".to_owned()), &[]),
                rule(Subject::Static, &[]),
                rule(Subject::Dynamic, &[]),
            ],
        };
        let text = policy.text(&["measured on a Monday".to_owned()]);
        let mut read = parse(&text).unwrap();
        for rule in &mut read.rules {
            assert!(text.lines().nth(rule.line - 1).unwrap().starts_with("[[lock]]"), "{rule:?}");
            assert_eq!(rule.locks, "gate+rw_readers");
            rule.locks = "gate".to_owned();
            rule.comment = vec!["1.25x (1.20 to 1.31)".to_owned()];
            rule.line = 0;
        }
        assert_eq!(read, policy);
    }

    /// The part of a page between two lines that contain these words, without the two lines.
    fn part(page: &str, begin: &str, end: &str) -> String {
        let lines = page.lines().skip_while(|line| !line.contains(begin)).skip(1);
        lines.take_while(|line| !line.contains(end)).map(|line| format!("{line}\n")).collect()
    }

    #[test]
    fn the_pages_describe_what_is_read() {
        let book = include_str!("../../../docs/policy.md");
        let manual = part(crate::MAN_PAGE, "begin", "end").replace("\\-", "-");
        let manual: String =
            manual.lines().filter(|l| !l.starts_with('.')).map(|l| format!("{l}\n")).collect();
        for example in [part(book, "```toml", "```"), manual] {
            let names = example.replace("gate+rw_readers", "gate").replace("futex", "mcs");
            let policy =
                parse(&names.replace("\"libc-spin\"", "\"mcs\"").replace("\"libc\"", "\"gate\""));
            let policy = policy.unwrap_or_else(|error| panic!("{error}:\n{example}"));
            assert_eq!((policy.rules.len(), policy.build_ids.len()), (4, 1));
        }
        // All fields, as the error for an unknown field lists them.
        for wrong in ["version = 1\nnew = 1", "version = 1\n[[lock]]\nuse = \"gate\"\nnew = 1"] {
            let error = parse(wrong).unwrap_err().to_string();
            let (_, fields) = error.split_once("expected one of ").expect(&error);
            for field in fields.split('`').skip(1).step_by(2) {
                let (row, item) = (format!("{field}`"), format!(".B {field}"));
                assert!(book.contains(&row) || book.contains(&format!("[{field}]")), "{field}");
                let known = crate::MAN_PAGE.contains(&item)
                    || crate::MAN_PAGE.contains(&format!("[{field}]"));
                assert!(known, "{field}");
            }
        }
    }

    #[test]
    fn what_is_wrong_is_told_with_its_line() {
        for (text, told) in [
            ("", "p.toml:1: the policy has no line `version = 1`"),
            ("version = 2\nnew = 1", "p.toml: the policy has version 2"),
            ("version = 1\nlocks = 1", "p.toml:2: unknown field `locks`"),
            ("version = 1\ndefault = \"mutex\"", "p.toml:2: there is no lock `mutex`"),
            ("version = 1\n\n[[lock]]\nuse = \"gate\"", "p.toml:3: a rule has one of"),
            ("version = 1\n[[lock]]\nobject = \"a\"\nclass = \"static\"\nuse = \"gate\"", "one of"),
            ("version = 1\n[[lock]]\nclass = \"heap\"\nuse = \"gate\"", "no class `heap`"),
            ("version = 1\n[[lock]]\nobject = \"a\"", "missing field `use`"),
            ("version = 1\nobject = \"a", "p.toml:2: "),
        ] {
            let error = parse(text).unwrap_err().to_string();
            assert!(error.contains(told), "{text:?}: {error}");
        }
    }
}
