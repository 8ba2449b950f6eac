//! The plan for the library in the program: rules with addresses instead of names.
//!
//! It has the form of the environment variable `SYNCLINE_POLICY`, which
//! `experiment/replace/src/policy/rules.rs` describes.

use std::fmt::Write as _;

use syncline_code::locate::{Found, Missing, Span};

use crate::file::{Policy, Rule, Subject};
use crate::files::Files;
use crate::remark::{Remark, Why};

/// The most different locks of a policy: an object has to store the number of its lock.
const MOST_LOCKS: usize = 30;
/// The most bytes of the variable's value. The kernel limits a variable's name and value together
/// (`MAX_ARG_STRLEN`), so some room is left for the name.
const LONGEST: usize = 131_072 - 64;

/// A policy in the form for one build of a program.
#[derive(Clone, Debug, PartialEq, Eq)]
pub struct Plan {
    /// The value of `SYNCLINE_POLICY`.
    pub variable: String,
    /// Remarks on the names that no longer match as they did when the policy was written, or can't
    /// be checked.
    pub remarks: Vec<Remark>,
}

/// The entries so far, and the locks by their numbers.
#[derive(Default)]
struct Composer {
    locks: Vec<String>,
    entries: String,
    remarks: Vec<Remark>,
}

impl Plan {
    /// Looks the policy's names up in the program's files.
    ///
    /// # Errors
    /// The reason in words, if the policy has too many different locks, or more rules than fit into
    /// the variable.
    pub fn new(policy: &Policy, files: &Files) -> Result<Plan, String> {
        let mut composer = Composer::default();
        for rule in &policy.rules {
            composer.rule(rule, policy, files);
        }
        if let Some(default) = &policy.default {
            let number = composer.number(default);
            composer.add(format_args!("d {number:x}"));
        }
        if policy.rules.iter().any(|rule| rule.subject.is_site()) {
            composer.wrappers(files);
        }
        if composer.locks.len() > MOST_LOCKS {
            return Err(format!("a policy can use {MOST_LOCKS} different locks at most"));
        }
        let locks: String = composer.locks.iter().map(|names| format!("u {names};")).collect();
        composer.plan(&locks)
    }

    /// A plan of call sites without locks, for a library that only has to recognise them. Each list
    /// of names has a number, from 1; after all lists come the wrappers. A name that the files
    /// don't have gets a remark, with the number of its list as the line.
    ///
    /// # Errors
    /// The reason in words, if there are more call sites than fit into the variable.
    pub fn of_places(places: &[Vec<String>], files: &Files) -> Result<Plan, String> {
        let mut composer = Composer::default();
        for (at, name) in places
            .iter()
            .enumerate()
            .flat_map(|(at, names)| names.iter().map(move |name| (at, name)))
        {
            match files.names.site(name, |_| true) {
                Ok(found) => {
                    found.spans.iter().for_each(|span| composer.span("a", Some(at + 1), span));
                }
                Err(missing) => {
                    let why = Why::Without(missing);
                    composer.remarks.push(Remark { line: at + 1, name: name.clone(), why });
                }
            }
        }
        composer.wrappers(files);
        composer.plan("")
    }
}

impl Subject {
    /// Whether it is a call site.
    fn is_site(&self) -> bool {
        matches!(self, Subject::Acquired(_) | Subject::Created(_))
    }
}

impl Composer {
    fn rule(&mut self, rule: &Rule, policy: &Policy, files: &Files) {
        let number = self.number(&rule.locks);
        // A file counts as unchanged if the policy has no build-id for it, or if it is not one of
        // the program's files.
        let unchanged = |file: &str| {
            policy.build_ids.get(file).is_none_or(|noted| match files.names.build_id(file) {
                Some(id) => id == noted,
                None => true,
            })
        };
        let site = |name: &str| files.names.site(name, unchanged);
        let object = |name: &str| files.names.object(name, unchanged);
        match &rule.subject {
            Subject::Acquired(name) => self.named("a", number, rule, name, files, site),
            Subject::Created(name) => self.named("c", number, rule, name, files, site),
            Subject::Object(name) => self.named("o", number, rule, name, files, object),
            Subject::Static => self.add(format_args!("s {number:x}")),
            Subject::Dynamic => self.add(format_args!("y {number:x}")),
        }
    }

    fn named(
        &mut self,
        letter: &str,
        number: usize,
        rule: &Rule,
        name: &str,
        files: &Files,
        find: impl Fn(&str) -> Result<Found, Missing>,
    ) {
        let mut remark =
            |why| self.remarks.push(Remark { line: rule.line, name: name.to_owned(), why });
        let found = match find(name) {
            Ok(found) => {
                if let Some(wider) = found.wider {
                    remark(Why::Wider(wider));
                } else if found.spans.iter().any(|s| files.names.build_id(&s.module).is_none()) {
                    remark(Why::Unchecked);
                }
                found.spans
            }
            Err(missing) => {
                let known = |offset: &&String| {
                    let file = offset.rsplit_once('+').map_or("", |(file, _)| file);
                    files.names.build_id(file).is_some()
                };
                let offsets = rule.offsets.iter().filter(known);
                let spans: Vec<Span> =
                    offsets.filter_map(|offset| find(offset).ok()).flat_map(|f| f.spans).collect();
                remark(match spans.is_empty() {
                    true => Why::Without(missing),
                    false => Why::Offsets(missing),
                });
                spans
            }
        };
        for span in found {
            self.span(letter, Some(number), &span);
        }
    }

    /// Adds the functions of these files that wrap locks, and the libraries that do nothing else.
    fn wrappers(&mut self, files: &Files) {
        let (spans, libraries) = files.names.wrappers();
        for span in spans {
            self.span("w", None, &span);
        }
        libraries.iter().for_each(|start| self.add(format_args!("l {start}")));
    }

    /// The plan whose variable begins with `start`, followed by the entries.
    fn plan(self, start: &str) -> Result<Plan, String> {
        let variable = start.to_owned() + &self.entries;
        if variable.len() > LONGEST {
            return Err(
                "the policy matches more call sites and objects than fit into the environment \
                 variable that passes them"
                    .to_owned(),
            );
        }
        Ok(Plan { variable, remarks: self.remarks })
    }

    fn span(&mut self, letter: &str, number: Option<usize>, span: &Span) {
        let Span { module, addresses } = span;
        // A `;` ends an entry, so a name that contains one can't be written. No file with locks is
        // known to have such a name.
        if module.contains(';') {
            return;
        }
        let number = number.map(|number| format!("{number:x} ")).unwrap_or_default();
        let (from, to) = (addresses.start, addresses.end);
        self.add(format_args!("{letter} {number}{from:x} {to:x} {module}"));
    }

    fn add(&mut self, entry: std::fmt::Arguments<'_>) {
        // Writing to a text never fails.
        let _ = write!(self.entries, "{entry};");
    }

    /// The number of these locks, from 1.
    fn number(&mut self, locks: &str) -> usize {
        let known = self.locks.iter().position(|names| names == locks);
        known.unwrap_or_else(|| {
            self.locks.push(locks.to_owned());
            self.locks.len() - 1
        }) + 1
    }
}
