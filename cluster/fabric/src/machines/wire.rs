//! Requests, as bytes.
//!
//! ```text
//!   hello     MAGIC | u128 token | u64 role                             the answer is MAGIC
//!   request   u32 call | u32 length | u64 rank | u64 at | u64 a | u64 b | bytes of a put
//!   run       u16 distance from the end of the run before | u16 length | bytes
//! ```
//!
//! All numbers are little-endian. A rank is its number on its machine. An answer is as long as the
//! request says: the bytes of a get, nothing for puts, and else a word.
//!
//! Short puts that follow one another in memory, as the changes of a page do, are the runs of one
//! request.

use std::io;

use crate::fabric::Change;

/// "synnet", and the version of these forms. Agents of other versions are refused.
pub const MAGIC: [u8; 8] = *b"synnet01";
/// Bytes of a hello.
pub const HELLO: usize = 32;
/// Bytes of a request, without the bytes of a put.
pub const REQUEST: usize = 40;

/// Where the length is in a request.
pub const LENGTH: usize = 4;
/// The most bytes of a get or a put. Longer ones are several requests.
pub const LONGEST: usize = 1 << 20;
/// Bytes of a run, without its own.
pub const RUN: usize = 4;
/// The most bytes of all runs of a request.
pub const RUNS: usize = 64 * 1024;

/// Who a caller is.
#[derive(Clone, Copy, Debug, PartialEq, Eq)]
pub enum Role {
    /// A rank.
    Rank,
    /// The launcher of the job. When it leaves, the job is over.
    Launcher,
}

/// A request.
#[derive(Clone, Copy, Debug, PartialEq, Eq)]
pub struct Request {
    /// What to do.
    pub call: Call,
    /// The rank, by its number on its machine.
    pub rank: usize,
    /// Where in the rank's part.
    pub at: usize,
}

/// What a request asks for.
#[derive(Clone, Copy, Debug, PartialEq, Eq)]
pub enum Call {
    /// Read this many bytes.
    Get(u32),
    /// Write this many bytes, which follow.
    Put(u32),
    /// Perform this many requests that follow, up to the first [`CompareAndSwap`](Self::CompareAndSwap)
    /// whose word holds neither value. The others get no answer.
    Chain(u32),
    /// Write runs, which follow and have this many bytes.
    Runs(u32),
    /// Write the second value if the word holds the first one.
    CompareAndSwap(u64, u64),
    /// Change the word.
    FetchAnd(Change, u64),
    /// Answer when all earlier requests of this connection have been performed.
    Flush,
    /// Wake at most this many threads that sleep for the word.
    Wake(u32),
    /// Say whether the rank's process lives: 1 or 0.
    Lives,
    /// Say how the rank has ended: [`ended`] of its status, or 0 if it still runs.
    Ended,
    /// End all ranks of the machine.
    End,
}

/// The answer for a rank that has ended with this status, as `waitpid` reports it.
pub fn ended(status: i32) -> u64 {
    1 << 32 | u64::from(status.cast_unsigned())
}

/// The status in an answer, if the rank has ended.
pub fn status(answer: u64) -> Option<i32> {
    (answer >> 32 != 0).then_some((answer as u32).cast_signed())
}

impl Call {
    /// Its number, the length, and two operands.
    fn parts(self) -> (u32, u32, u64, u64) {
        match self {
            Call::Get(length) => (1, length, 0, 0),
            Call::Put(length) => (2, length, 0, 0),
            Call::CompareAndSwap(old, new) => (3, 0, old, new),
            Call::FetchAnd(change, operand) => (4, 0, number(change), operand),
            Call::Flush => (5, 0, 0, 0),
            Call::Wake(most) => (6, most, 0, 0),
            Call::Lives => (7, 0, 0, 0),
            Call::Ended => (8, 0, 0, 0),
            Call::End => (9, 0, 0, 0),
            Call::Runs(length) => (10, length, 0, 0),
            Call::Chain(requests) => (11, requests, 0, 0),
        }
    }

    fn of(parts: (u32, u32, u64, u64)) -> Option<Call> {
        Some(match parts {
            (1, length, 0, 0) => Call::Get(length),
            (2, length, 0, 0) => Call::Put(length),
            (3, 0, old, new) => Call::CompareAndSwap(old, new),
            (4, 0, change, operand) => Call::FetchAnd(*CHANGES.get(change as usize)?, operand),
            (5, 0, 0, 0) => Call::Flush,
            (6, most, 0, 0) => Call::Wake(most),
            (7, 0, 0, 0) => Call::Lives,
            (8, 0, 0, 0) => Call::Ended,
            (9, 0, 0, 0) => Call::End,
            (10, length, 0, 0) => Call::Runs(length),
            (11, requests, 0, 0) => Call::Chain(requests),
            _ => return None,
        })
    }
}

/// The changes, by their numbers.
const CHANGES: [Change; 5] = [Change::Keep, Change::Replace, Change::Add, Change::And, Change::Or];

fn number(change: Change) -> u64 {
    CHANGES.iter().position(|other| *other == change).expect("all changes are listed") as u64
}

impl Request {
    /// Encodes the request.
    pub fn to_bytes(self) -> [u8; REQUEST] {
        let (call, length, a, b) = self.call.parts();
        let mut bytes = [0; REQUEST];
        bytes[..4].copy_from_slice(&call.to_le_bytes());
        bytes[4..8].copy_from_slice(&length.to_le_bytes());
        for (place, value) in
            bytes[8..].chunks_exact_mut(8).zip([self.rank as u64, self.at as u64, a, b])
        {
            place.copy_from_slice(&value.to_le_bytes());
        }
        bytes
    }

    /// Decodes a request.
    ///
    /// # Errors
    ///
    /// If the bytes are not a request.
    pub fn from_bytes(bytes: &[u8; REQUEST]) -> io::Result<Request> {
        let words = bytes.as_chunks::<8>().0;
        let word = |number: usize| u64::from_le_bytes(words[number]);
        let parts = (word(0) as u32, (word(0) >> 32) as u32, word(3), word(4));
        let call = Call::of(parts).ok_or(io::ErrorKind::InvalidData)?;
        Ok(Request { call, rank: word(1) as usize, at: word(2) as usize })
    }
}

/// The head of a run; `None` if the numbers are too large for one.
pub fn run(distance: usize, length: usize) -> Option<[u8; RUN]> {
    let [distance, length] = [distance, length].map(|number| u16::try_from(number).ok());
    let ([a, b], [c, d]) = (distance?.to_le_bytes(), length?.to_le_bytes());
    Some([a, b, c, d])
}

/// Calls `act` with each run of a request: its position, if the first one begins at `at`, and its
/// bytes.
///
/// # Errors
///
/// If the bytes are not whole runs.
pub fn each_run(
    mut at: usize,
    mut runs: &[u8],
    mut act: impl FnMut(usize, &[u8]) -> io::Result<()>,
) -> io::Result<()> {
    while !runs.is_empty() {
        let cut = || io::Error::from(io::ErrorKind::InvalidData);
        let ([a, b, c, d], rest) = runs.split_first_chunk::<RUN>().ok_or_else(cut)?;
        let [distance, length] =
            [[*a, *b], [*c, *d]].map(|two| usize::from(u16::from_le_bytes(two)));
        let (bytes, rest) = rest.split_at_checked(length).ok_or_else(cut)?;
        at = at.checked_add(distance).ok_or_else(cut)?;
        act(at, bytes)?;
        (at, runs) = (at.checked_add(length).ok_or_else(cut)?, rest);
    }
    Ok(())
}

/// Encodes a hello.
pub fn hello(token: u128, role: Role) -> [u8; HELLO] {
    let mut bytes = [0; HELLO];
    bytes[..8].copy_from_slice(&MAGIC);
    bytes[8..24].copy_from_slice(&token.to_le_bytes());
    bytes[24..].copy_from_slice(&u64::from(role == Role::Launcher).to_le_bytes());
    bytes
}

/// Who says this hello; `None` if it is not one, or has another token.
pub fn greeted(bytes: &[u8; HELLO], token: u128) -> Option<Role> {
    [Role::Rank, Role::Launcher].into_iter().find(|role| *bytes == hello(token, *role))
}

#[cfg(test)]
mod tests {
    use super::*;

    #[test]
    fn every_request_survives_being_sent() {
        let mut all = vec![
            Call::Get(7),
            Call::Put(u32::MAX),
            Call::Runs(5),
            Call::Chain(3),
            Call::CompareAndSwap(u64::MAX, 3),
            Call::Flush,
            Call::Wake(9),
            Call::Lives,
            Call::Ended,
            Call::End,
        ];
        all.extend(CHANGES.map(|change| Call::FetchAnd(change, 1 << 63)));
        for call in all {
            let request = Request { call, rank: 3, at: usize::MAX };
            assert_eq!(Request::from_bytes(&request.to_bytes()).expect("a request"), request);
        }
    }

    #[test]
    fn other_bytes_are_refused() {
        let mut random = fastrand::Rng::with_seed(1);
        for _ in 0..10_000 {
            let mut bytes = [0; REQUEST];
            random.fill(&mut bytes);
            assert!(Request::from_bytes(&bytes).is_err(), "{bytes:?}");
        }
        let no_change = Call::FetchAnd(Change::Or, 1);
        let mut bytes = Request { call: no_change, rank: 0, at: 0 }.to_bytes();
        bytes[24] = 5;
        assert!(Request::from_bytes(&bytes).is_err(), "there is no such change");
    }

    #[test]
    fn runs_are_taken_apart() {
        let mut runs = Vec::new();
        for (distance, bytes) in [(0, &b"abc"[..]), (5, b"d"), (0, b"")] {
            runs.extend(run(distance, bytes.len()).expect("short"));
            runs.extend(bytes);
        }
        let taken = |at, runs: &[u8]| {
            let mut all = Vec::new();
            let each = each_run(at, runs, |at, bytes| {
                all.push((at, bytes.to_vec()));
                Ok(())
            });
            each.map(|()| all)
        };
        let all = taken(100, &runs).expect("runs");
        assert_eq!(all, [(100, b"abc".to_vec()), (108, b"d".to_vec()), (109, vec![])]);
        for length in 1..runs.len() {
            let whole = [7, 12].contains(&length);
            assert_eq!(taken(100, &runs[..length]).is_ok(), whole, "{length}");
        }
        assert!(taken(usize::MAX - 2, &runs).is_err(), "beyond all memory");
        assert_eq!((run(1 << 16, 1), run(1, 1 << 16)), (None, None));
    }

    #[test]
    fn a_hello_needs_the_token_and_the_version() {
        for role in [Role::Rank, Role::Launcher] {
            let bytes = hello(7, role);
            assert_eq!(greeted(&bytes, 7), Some(role));
            for at in 0..HELLO {
                let mut other = bytes;
                other[at] ^= 2;
                assert_eq!(greeted(&other, 7), None, "{at}");
            }
        }
    }

    #[test]
    fn a_status_is_told_from_a_rank_that_runs() {
        assert_eq!(status(0), None);
        assert_eq!([0, 9, 256].map(|raw| status(ended(raw))), [Some(0), Some(9), Some(256)]);
    }
}
