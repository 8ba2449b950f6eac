//! Which locks take the place of a program's: names of the catalogue, joined by `+`.
//!
//! A lock can be put in the C library's place if it can be tried, since POSIX' functions can try.
//! Behind its gate every lock can. One that is shared must need no node for an acquisition, since
//! POSIX' objects have no room for each reader's.
//!
//! Two names are no locks of the catalogue: `libc`, the C library's own, and `libc-spin`, its mutexes
//! that spin before they sleep.

use std::fmt;
use std::str::FromStr;

use syncline::lock::{Entry, Form, catalogue, forms};

/// What is the C library's.
const LIBC: [&str; 2] = ["libc", "libc-spin"];

/// A lock for mutexes and spinlocks, one for reader-writer locks, or both.
#[derive(Clone, Debug, PartialEq, Eq)]
pub struct Locks {
    names: Vec<&'static str>,
}

impl Locks {
    /// As the library reads them.
    pub fn names(&self) -> String {
        self.names.join("+")
    }
}

impl fmt::Display for Locks {
    fn fmt(&self, f: &mut fmt::Formatter<'_>) -> fmt::Result {
        f.write_str(&self.names())
    }
}

impl FromStr for Locks {
    type Err = String;

    fn from_str(text: &str) -> Result<Locks, String> {
        if let Some(name) = LIBC.into_iter().find(|name| *name == text) {
            return Ok(Locks { names: vec![name] });
        }
        let chosen = text.split('+').map(find).collect::<Result<Vec<_>, _>>()?;
        for shared in [false, true] {
            let mut same = chosen.iter().filter(|(entry, _)| entry.shared == shared);
            if let (Some((_, one)), Some((_, other))) = (same.next(), same.next()) {
                return Err(format!(
                    "{} and {} are for the same kind of lock",
                    one.name, other.name
                ));
            }
        }
        Ok(Locks { names: chosen.iter().map(|(_, form)| form.name).collect() })
    }
}

/// The form of this name. A lock's name stands for its parking form, which is its last.
fn find(name: &str) -> Result<(Entry, Form), String> {
    let entries = catalogue();
    let form = forms().into_iter().rfind(|form| form.name == name || form.lock == name);
    let found = form.and_then(|form| {
        let entry = entries.iter().find(|entry| entry.name == form.lock)?;
        Some((*entry, form))
    });
    match found {
        None => Err(format!("there is no lock `{name}`; these are there: {}", suited(|_| true))),
        Some((entry, form)) if !replaces(&entry, &form) => Err(format!(
            "`{}` can't take the place of the program's locks; these of its kind can: {}",
            form.name,
            suited(|other| other.shared == entry.shared)
        )),
        Some(found) => Ok(found),
    }
}

fn replaces(entry: &Entry, form: &Form) -> bool {
    let parks = form.name == entry.name || form.name.ends_with("-park");
    parks || if entry.shared { entry.node_bytes == 0 && entry.can_try } else { entry.can_try }
}

/// The names of those that can be chosen and satisfy a condition.
fn suited(condition: impl Fn(&Entry) -> bool) -> String {
    let entries = catalogue();
    let names = forms().into_iter().filter(|form| {
        entries
            .iter()
            .any(|entry| entry.name == form.lock && replaces(entry, form) && condition(entry))
    });
    names.map(|form| form.name).collect::<Vec<_>>().join(", ")
}

#[cfg(test)]
mod tests {
    use super::*;

    #[test]
    fn a_name_stands_for_the_parking_form() {
        let names = |text: &str| text.parse::<Locks>().map(|locks| locks.names());
        assert_eq!(names("mcs").as_deref(), Ok("mcs-park"));
        assert_eq!(names("gate+rw_readers").as_deref(), Ok("gate+rw_readers-park"));
        assert_eq!(names("ticket-spin").as_deref(), Ok("ticket-spin"));
        assert_eq!(names("libc-spin").as_deref(), Ok("libc-spin"));
    }

    #[test]
    fn what_cannot_be_tried_is_refused_and_others_named() {
        let refusal = |text: &str| text.parse::<Locks>().unwrap_err();
        assert!(refusal("clh-spin").contains("clh-park"));
        assert!(refusal("rw_fair-yield").contains("rw_flag-spin"));
        assert!(!refusal("rw_fair-yield").contains("gate"));
        assert!(refusal("nothing").contains("mcs-park"));
        assert!(refusal("mcs+gate").contains("same kind"));
        assert!(refusal("").contains("no lock"));
    }
}
