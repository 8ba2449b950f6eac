//! Reads policy files, which are TOML. Unknown content is an error, because a user would believe
//! that a silently ignored rule is in effect.

use std::collections::BTreeMap;
use std::fs;
use std::path::{Path, PathBuf};

use serde::Deserialize;
use thiserror::Error;
use toml::Spanned;

/// The version of the format that this crate reads and writes.
pub(crate) const VERSION: i64 = 1;

/// A policy: which lock each object gets.
#[derive(Clone, Debug, Default, PartialEq, Eq)]
pub struct Policy {
    /// The program that the names refer to, if it is not the one that is run: its path, or a name
    /// that is searched for as a shell does.
    pub program: Option<String>,
    /// The locks of all objects that no rule matches; `None` leaves these objects to the C library.
    pub default: Option<String>,
    /// The build-ids of the files that offsets are in, by the files' names.
    pub build_ids: BTreeMap<String, String>,
    /// The rules. If several rules match one object, the most precise one applies: a rule for an
    /// object, then for a creating call site, for an acquiring call site, and for a class; among
    /// equals the first.
    pub rules: Vec<Rule>,
}

/// A rule: objects, and the locks that they get.
#[derive(Clone, Debug, PartialEq, Eq)]
pub struct Rule {
    /// The objects that the rule is about.
    pub subject: Subject,
    /// The addresses of the objects or call sites when the rule was written, as `FILE+0xADDRESS`,
    /// for use if the file has the same build-id but was stripped.
    pub offsets: Vec<String>,
    /// The names of locks, joined by `+`, or `libc`.
    pub locks: String,
    /// The lines of the comment that is written above the rule.
    pub comment: Vec<String>,
    /// The line that it begins on, from 1; 0 if it is not from a file.
    pub line: usize,
}

/// The objects that a rule is about. Names have the form that reports print.
#[derive(Clone, Debug, PartialEq, Eq)]
pub enum Subject {
    /// Objects that are first acquired at this call site.
    Acquired(String),
    /// Objects that a call at this call site initialises.
    Created(String),
    /// This variable, and all objects in it.
    Object(String),
    /// Objects in the static data of the program and its libraries.
    Static,
    /// Objects that are allocated, or on a stack.
    Dynamic,
}

/// The reason why a file is not a policy.
#[derive(Debug, Error)]
pub enum Error {
    /// The file can't be read.
    #[error("can't read {}: {}", .0.display(), .1)]
    Unreadable(PathBuf, std::io::Error),
    /// The file has the format of another version of Syncline.
    #[error("{}: the policy has version {version}, but this Syncline reads version {VERSION}", .path.display())]
    Version {
        /// The file.
        path: PathBuf,
        /// Its version.
        version: i64,
    },
    /// A part of the file is not valid.
    #[error("{}:{line}: {what}", .path.display())]
    Wrong {
        /// The file.
        path: PathBuf,
        /// The line, from 1.
        line: usize,
        /// What is wrong on that line.
        what: String,
    },
}

#[derive(Deserialize)]
struct Versioned {
    version: Option<i64>,
}

#[derive(Deserialize)]
#[serde(deny_unknown_fields)]
struct RawPolicy {
    #[serde(rename = "version")]
    _version: i64,
    program: Option<String>,
    default: Option<Spanned<String>>,
    #[serde(default)]
    build_ids: BTreeMap<String, String>,
    #[serde(default)]
    lock: Vec<Spanned<RawRule>>,
}

#[derive(Deserialize)]
#[serde(deny_unknown_fields)]
struct RawRule {
    acquired: Option<String>,
    created: Option<String>,
    object: Option<String>,
    class: Option<String>,
    #[serde(default)]
    offsets: Vec<String>,
    #[serde(rename = "use")]
    locks: Spanned<String>,
}

impl Policy {
    /// Reads a file. `check` gets names of locks, and returns their full form, or what is wrong
    /// with them.
    ///
    /// # Errors
    /// If the file can't be read or is not a policy. [`Error::Wrong`] has the line that is wrong.
    pub fn read(
        path: &Path,
        check: impl Fn(&str) -> Result<String, String>,
    ) -> Result<Policy, Error> {
        let text = fs::read_to_string(path).map_err(|e| Error::Unreadable(path.into(), e))?;
        Policy::parse(path, &text, check)
    }

    pub(crate) fn parse(
        path: &Path,
        text: &str,
        check: impl Fn(&str) -> Result<String, String>,
    ) -> Result<Policy, Error> {
        let line_of = |at: usize| text[..at.min(text.len())].lines().count().max(1);
        let wrong = |at: usize, what: String| {
            // For an offset at the start of a line, `line_of` counts only the lines before that
            // line.
            let starts = at == 0 || text[..at.min(text.len())].ends_with('\n');
            let line = line_of(at) + usize::from(starts && at != 0);
            Error::Wrong { path: path.to_owned(), line, what }
        };
        let from_toml = |error: toml::de::Error| {
            wrong(error.span().map_or(0, |span| span.start), error.message().to_owned())
        };
        let versioned: Versioned = toml::from_str(text).map_err(from_toml)?;
        match versioned.version {
            Some(VERSION) => {}
            Some(version) => return Err(Error::Version { path: path.to_owned(), version }),
            None => return Err(wrong(0, format!("the policy has no line `version = {VERSION}`"))),
        }
        let raw: RawPolicy = toml::from_str(text).map_err(from_toml)?;
        let named = |locks: &Spanned<String>| match locks.get_ref().as_str() {
            "libc" => Ok("libc".to_owned()),
            names => check(names).map_err(|what| wrong(locks.span().start, what)),
        };
        let rule = |raw: Spanned<RawRule>| {
            let start = raw.span().start;
            let raw = raw.into_inner();
            Ok(Rule {
                locks: named(&raw.locks)?,
                offsets: raw.offsets.clone(),
                comment: Vec::new(),
                line: line_of(start + 1),
                subject: subject(raw).map_err(|what| wrong(start, what))?,
            })
        };
        Ok(Policy {
            program: raw.program,
            default: raw.default.as_ref().map(named).transpose()?,
            build_ids: raw.build_ids,
            rules: raw.lock.into_iter().map(rule).collect::<Result<_, _>>()?,
        })
    }
}

fn subject(raw: RawRule) -> Result<Subject, String> {
    let class = |name: String| match name.as_str() {
        "static" => Ok(Subject::Static),
        "dynamic" => Ok(Subject::Dynamic),
        _ => Err(format!("there is no class `{name}`; it is `static` or `dynamic`")),
    };
    let said = [
        raw.acquired.map(Subject::Acquired).map(Ok),
        raw.created.map(Subject::Created).map(Ok),
        raw.object.map(Subject::Object).map(Ok),
        raw.class.map(class),
    ];
    let mut said = said.into_iter().flatten();
    match (said.next(), said.next()) {
        (Some(subject), None) => subject,
        _ => Err("a rule has one of `acquired`, `created`, `object` and `class`".to_owned()),
    }
}
