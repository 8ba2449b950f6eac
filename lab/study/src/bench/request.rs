//! A user's request for tests, and the errors of requests that can't be run.

use crate::stress::Load;

/// A user's request for tests.
#[derive(Clone, Debug)]
pub struct Request {
    /// The load. Its number of threads and `timed` are replaced in each test. Its seed is that of
    /// the first repetition; each further repetition adds 1.
    pub load: Load,
    /// The numbers of threads; if empty, a selection that suits the machine.
    pub threads: Vec<usize>,
    /// The names of the tests, such as locks or channels; if empty, all of them.
    pub names: Vec<String>,
    /// The number of runs of each test.
    pub repetitions: usize,
}

/// The reason why a test can't be run.
#[derive(Debug, thiserror::Error)]
#[allow(missing_docs, reason = "the messages say it")]
pub enum Error {
    #[error("there is no {kind} `{name}`; choose from {known}")]
    Name { kind: &'static str, name: String, known: String },
    #[error("`--memory spread` needs a simulated machine: on this one, the system places memory")]
    Homes,
}

/// The requested names, or all known ones if none is requested.
///
/// # Errors
/// If a requested name is unknown.
pub fn names<'a>(
    request: &Request,
    kind: &'static str,
    known: &[&'a str],
) -> Result<Vec<&'a str>, Error> {
    if request.names.is_empty() {
        return Ok(known.to_vec());
    }
    let find = |name: &String| {
        let unknown = || Error::Name { kind, name: name.clone(), known: known.join(", ") };
        known.iter().copied().find(|known| known == name).ok_or_else(unknown)
    };
    request.names.iter().map(find).collect()
}
