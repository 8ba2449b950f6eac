//! The ways in which a program is run under Syncline: `record`, `inspect`, and `exec` with each
//! lock.

use std::ffi::OsString;
use std::path::Path;

use syncline::lock::{catalogue, forms};

/// A command of Syncline under which a program is run.
#[derive(Clone, Debug, PartialEq, Eq)]
pub enum Way {
    /// `syncline record`.
    Record,
    /// `syncline inspect`, with an unlimited budget, so that it traces every critical section.
    Inspect,
    /// `syncline exec --lock` with these locks.
    Exec(String),
}

impl Way {
    /// The name that `--ways` accepts.
    pub fn name(&self) -> String {
        match self {
            Way::Record => "record".to_owned(),
            Way::Inspect => "inspect".to_owned(),
            Way::Exec(locks) => format!("exec:{locks}"),
        }
    }

    /// The arguments of `syncline` that come before the program's own. The recording or the trace
    /// is written to `output`.
    pub fn words(&self, output: &Path) -> Vec<OsString> {
        let output = || output.into();
        match self {
            Way::Record => vec!["record".into(), "-o".into(), output(), "--".into()],
            // No report is made: it would begin only after the program has ended, so it can't
            // change the program's behaviour.
            Way::Inspect => {
                let options = ["--budget", "0", "--trace-only", "-o"].map(OsString::from);
                ["inspect".into()]
                    .into_iter()
                    .chain(options)
                    .chain([output(), "--".into()])
                    .collect()
            }
            Way::Exec(locks) => vec!["exec".into(), "--lock".into(), locks.into(), "--".into()],
        }
    }
}

/// The ways with these names.
///
/// # Errors
/// A sentence about a name that stands for no way.
pub fn chosen(names: &[String]) -> Result<Vec<Way>, String> {
    let mut ways = Vec::new();
    for name in names {
        match name.as_str() {
            "record" => ways.push(Way::Record),
            "inspect" => ways.push(Way::Inspect),
            "exec" => ways.extend(pairs().into_iter().map(Way::Exec)),
            other => match other.strip_prefix("exec:") {
                Some(locks) if !locks.is_empty() => ways.push(Way::Exec(locks.to_owned())),
                _ => {
                    return Err(format!(
                        "there is no way `{other}`; the ways are record, inspect, exec and exec:LOCKS"
                    ));
                }
            },
        }
    }
    Ok(ways)
}

/// The names of the locks for `exec`. Each is a lock that can replace mutexes, together with a
/// reader-writer lock; the reader-writer locks are used in turn. Waiters of these locks sleep,
/// except those of `rw_flag`. The C library's own locks with spinning come last.
fn pairs() -> Vec<String> {
    let shared = replacements(true);
    let exclusive = replacements(false).into_iter().enumerate();
    let pairs = exclusive.map(|(at, lock)| format!("{lock}+{}", shared[at % shared.len()]));
    pairs.chain(["libc-spin".to_owned()]).collect()
}

/// The names of the locks that can replace a mutex or, if `shared` is true, a reader-writer lock.
/// The names contain no waiting policy; `syncline exec --lock` then takes the form that parks, if
/// there is one.
fn replacements(shared: bool) -> Vec<&'static str> {
    let entries = catalogue();
    let forms = forms();
    let entry = |lock| entries.iter().find(|entry| entry.name == lock).expect("an entry");
    let of_kind = forms
        .iter()
        .filter(|form| form.replaces_posix(entry(form.lock)) && entry(form.lock).shared == shared);
    let mut locks: Vec<&str> = of_kind.map(|form| form.lock).collect();
    locks.dedup();
    locks
}

#[cfg(test)]
mod tests {
    use super::*;

    #[test]
    fn every_replacing_lock_has_a_way() {
        let pairs = pairs();
        for lock in ["mcs+", "gate+", "clh+", "hclh+", "libc-spin"] {
            assert!(pairs.iter().any(|pair| pair.starts_with(lock)), "{lock} of {pairs:?}");
        }
        for lock in ["+rw_readers", "+rw_compact", "+rw_flag", "+rw_writers"] {
            assert!(pairs.iter().any(|pair| pair.ends_with(lock)), "{lock} of {pairs:?}");
        }
        assert!(pairs.len() >= 18, "{pairs:?}");
    }

    #[test]
    fn way_names_are_read_back() {
        let names = ["record", "inspect", "exec:gate+rw_readers"].map(str::to_owned);
        let ways = chosen(&names).expect("three ways");
        assert_eq!(ways.iter().map(Way::name).collect::<Vec<_>>(), names);
        assert!(chosen(&["exec:".to_owned()]).is_err());
        assert!(chosen(&["replay".to_owned()]).is_err());
    }
}
