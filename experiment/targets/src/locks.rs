//! The locks that can replace a program's, by their names in the catalogue, joined by `+`.
//!
//! The catalogue says which of them can ([`Form::replaces_posix`]).
//!
//! Two names are not in the catalogue: `libc`, the C library's own locks, and `libc-spin`, its
//! mutexes with spinning before they sleep.

use std::fmt;
use std::str::FromStr;

use syncline::lock::{Entry, Form, catalogue, forms};

/// The longest line of an error, for terminals of 100 columns.
const LINE: usize = 90;

/// The names of the C library's locks.
const LIBC: [&str; 2] = ["libc", "libc-spin"];

/// A lock for mutexes and spinlocks, one for reader-writer locks, or both.
#[derive(Clone, Debug, PartialEq, Eq)]
pub struct Locks {
    names: Vec<&'static str>,
}

impl Locks {
    /// The names in the form that the library reads.
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
                    "{} and {} replace the same kind of lock: name one of them",
                    one.name, other.name
                ));
            }
        }
        Ok(Locks { names: chosen.iter().map(|(_, form)| form.name).collect() })
    }
}

/// The form with this name. A lock's name stands for its last form, which is the parking one if it
/// has that.
fn find(name: &str) -> Result<(Entry, Form), String> {
    let entries = catalogue();
    let form = forms().into_iter().rfind(|form| form.name == name || form.lock == name);
    let found = form.and_then(|form| {
        let entry = entries.iter().find(|entry| entry.name == form.lock)?;
        Some((*entry, form))
    });
    match found {
        None if LIBC.contains(&name) => {
            Err(format!("`{name}` can't be combined with another lock by `+`"))
        }
        None => Err(format!("there is no lock `{name}`; the locks are:{}", suited(|_| true))),
        Some((entry, form)) if !form.replaces_posix(&entry) => Err(format!(
            "`{}` can't replace the program's locks; these locks of its kind can:{}",
            form.name,
            suited(|other| other.shared == entry.shared)
        )),
        Some(found) => Ok(found),
    }
}

/// The names of all forms that can be chosen and satisfy a condition, broken into lines.
fn suited(condition: impl Fn(&Entry) -> bool) -> String {
    let entries = catalogue();
    let mut text = String::new();
    let mut line = LINE;
    for form in forms() {
        let entry = entries.iter().find(|entry| entry.name == form.lock);
        if !entry.is_some_and(|entry| form.replaces_posix(entry) && condition(entry)) {
            continue;
        }
        let separator = if text.is_empty() { "" } else { "," };
        line += form.name.len() + 2;
        let blank = if line > LINE { "\n  " } else { " " };
        if line > LINE {
            line = form.name.len() + 2;
        }
        text += &[separator, blank, form.name].concat();
    }
    text
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
        assert!(refusal("libc-spin+rw_readers").contains("combined"));
        assert!(refusal("").contains("no lock"));
    }
}
