//! The hosts file: a host in each line, as MPI's launchers have it.
//!
//! ```text
//!   # comment
//!   one
//!   user@two slots=8
//! ```

use std::fs;
use std::path::Path;

use crate::failure::{Failure, RECORD_FAILED};

/// The most ranks of one host.
const MOST: usize = 1024;

/// A host of the file.
#[derive(Clone, Debug, PartialEq, Eq)]
pub struct Host {
    /// Its name, as the remote shell needs it.
    pub name: String,
    /// How many ranks it gets before ranks go to the next host.
    pub slots: usize,
}

/// Reads a hosts file.
///
/// # Errors
///
/// If it can't be read, or a line is not one of the form above.
pub fn read(file: &Path) -> Result<Vec<Host>, Failure> {
    let failed = |what: String| {
        let message = format!("the hosts file {}: {what}", file.display());
        Failure::message(RECORD_FAILED, message)
            .hint("each line names a host, as in `HOST` or `HOST slots=8`")
    };
    let text = fs::read_to_string(file).map_err(|error| failed(error.to_string()))?;
    parse(&text).map_err(failed)
}

fn parse(text: &str) -> Result<Vec<Host>, String> {
    let lines = text.lines().enumerate().map(|(number, line)| {
        let line = line.split('#').next().unwrap_or_default();
        host(line).map_err(|what| format!("line {}: {what}", number + 1))
    });
    let hosts: Vec<Host> = lines.filter_map(Result::transpose).collect::<Result<_, _>>()?;
    for (number, host) in hosts.iter().enumerate() {
        if hosts[..number].iter().any(|other| other.name == host.name) {
            return Err(format!("{} is named twice", host.name));
        }
    }
    if hosts.is_empty() { Err("it names no host".to_owned()) } else { Ok(hosts) }
}

fn host(line: &str) -> Result<Option<Host>, String> {
    let mut words = line.split_whitespace();
    let Some(name) = words.next() else { return Ok(None) };
    // The remote shell would take it for an option.
    if name.starts_with('-') {
        return Err(format!("`{name}` is not the name of a host"));
    }
    let mut slots = 1;
    for word in words {
        let number = word.strip_prefix("slots=").ok_or_else(|| format!("unknown word `{word}`"))?;
        let number = number.parse().ok().filter(|number| (1..=MOST).contains(number));
        slots =
            number.ok_or_else(|| format!("expected slots=1 to slots={MOST}, found `{word}`"))?;
    }
    Ok(Some(Host { name: name.to_owned(), slots }))
}

/// How many ranks each host gets. Hosts get as many as they have slots, one host after another, until
/// all ranks have a host; if there are more ranks than slots, that begins again.
pub fn share(hosts: &[Host], ranks: usize) -> Vec<usize> {
    let mut shares = vec![0; hosts.len()];
    let mut left = ranks;
    for (number, host) in hosts.iter().enumerate().cycle() {
        let more = host.slots.min(left);
        shares[number] += more;
        left -= more;
        if left == 0 {
            break;
        }
    }
    shares
}

#[cfg(test)]
mod tests {
    use super::*;

    fn host_of(name: &str, slots: usize) -> Host {
        Host { name: name.to_owned(), slots }
    }

    #[test]
    fn hosts_comments_and_slots_are_read() {
        let text = "# all\n\none # the first\nme@two slots=8\n";
        assert_eq!(parse(text), Ok(vec![host_of("one", 1), host_of("me@two", 8)]));
    }

    #[test]
    fn a_wrong_line_is_named() {
        for (text, what) in [
            ("one\n-o two", "line 2: `-o` is not the name of a host"),
            ("one cpus=3", "line 1: unknown word `cpus=3`"),
            ("one slots=0", "line 1: expected slots=1 to slots=1024, found `slots=0`"),
            ("one slots=x", "line 1: expected slots=1 to slots=1024, found `slots=x`"),
            ("one\ntwo\none", "one is named twice"),
            ("# none", "it names no host"),
        ] {
            assert_eq!(parse(text), Err(what.to_owned()));
        }
    }

    #[test]
    fn ranks_are_shared_by_slots() {
        let hosts = [host_of("one", 2), host_of("two", 1), host_of("three", 1)];
        assert_eq!(share(&hosts, 1), [1, 0, 0]);
        assert_eq!(share(&hosts, 3), [2, 1, 0]);
        assert_eq!(share(&hosts, 4), [2, 1, 1]);
        assert_eq!(share(&hosts, 9), [5, 2, 2]);
    }
}
