//! What a user asks for, and why that can't be run.

use crate::stress::Load;

/// What is asked for.
#[derive(Clone, Debug)]
pub struct Request {
    /// The load; threads and seed are set test by test.
    pub load: Load,
    /// Numbers of threads; none stands for those that are worth it on the machine.
    pub threads: Vec<usize>,
    /// Names of locks or of operations; none stands for all.
    pub names: Vec<String>,
    /// How often each test is run, each time with another seed.
    pub repetitions: usize,
}

/// Why a test can't be run.
#[derive(Debug, thiserror::Error)]
#[allow(missing_docs, reason = "the messages say it")]
pub enum Error {
    #[error("there is no {kind} `{name}`: there are {known}")]
    Name { kind: &'static str, name: String, known: String },
    #[error("here memory is where the system has put it: only a simulated machine can spread it")]
    Homes,
}

/// The names that are asked for, all of which must be known.
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
