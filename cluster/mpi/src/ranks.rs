//! The ranks that make a window, and how they agree on a scheme.
//!
//! Making a window is a collective call, so the ranks can communicate in it. Each rank sends the
//! name of the scheme that it was given: by the Info key or, without one, by the environment. All
//! ranks see all names, and so come to the same result, which may be an error.

use std::env;
use std::ffi::{CStr, c_char, c_int};
use std::sync::Once;

use syncline::window::Scheme;

use crate::hosts::place::place;
use crate::library::{Constants, SUCCESS, Word, below};
use crate::say::say;
use crate::scheme::{LIBRARY, MOST_RANKS};
use crate::segment::{can_interrupt, position, use_fences};

/// The Info key that names a window's scheme.
pub const KEY: &CStr = c"passive_sync_mode";
/// The Info key that says whether `MPI_Win_allocate` may make shared memory: `false` forbids it.
pub const HOST_MEMORY: &CStr = c"syncline_host_memory";
/// The environment variable that names the scheme for windows without the key.
const VARIABLE: &str = "SYNCLINE_PASSIVE_SYNC_MODE";

/// The size in bytes for a scheme's name. A longer name is cut off, in messages too.
const NAME: usize = 56;

/// The name of the scheme that this rank requests. The key comes first, then the variable; without
/// either it is [`LIBRARY`].
pub fn requested_scheme(mpi: &Constants, info: Word) -> String {
    let by_key = value(mpi, info, KEY).filter(|value| !value.is_empty());
    let by_variable = || env::var_os(VARIABLE).map(|value| value.to_string_lossy().into_owned());
    by_key.or_else(by_variable).filter(|name| !name.is_empty()).unwrap_or_else(|| LIBRARY.into())
}

/// What is wrong with the values of our keys in an Info object; `None` if nothing is.
pub fn wrong(mpi: &Constants, info: Word) -> Option<String> {
    let scheme = value(mpi, info, KEY).filter(|name| !name.is_empty() && !is_scheme(name));
    if let Some(name) = scheme {
        return Some(format!("passive_sync_mode is `{name}`, which is not one of {}", schemes()));
    }
    let memory = value(mpi, info, HOST_MEMORY).filter(|value| host_memory(value).is_none());
    memory
        .map(|value| format!("syncline_host_memory is `{value}`, which is neither true nor false"))
}

/// Whether a name stands for a scheme, or for the MPI library's own locks.
fn is_scheme(name: &str) -> bool {
    name == LIBRARY || Scheme::named(name).is_some()
}

/// The names of all schemes.
fn schemes() -> String {
    format!("{}, {LIBRARY}", Scheme::ALL.map(Scheme::name).join(", "))
}

/// The meaning of a value of [`HOST_MEMORY`]; `None` if it has none.
fn host_memory(value: &str) -> Option<bool> {
    match value {
        "true" => Some(true),
        "false" => Some(false),
        _ => None,
    }
}

/// The value of a key of an Info object, if it has one.
fn value(mpi: &Constants, info: Word, key: &CStr) -> Option<String> {
    if mpi.handle(info) == mpi.info_null {
        return None;
    }
    let mut value = [0u8; NAME];
    let mut found = 0;
    // SAFETY: the key is a string, and the value has room for its length and a zero.
    let code = unsafe {
        let value: *mut c_char = value.as_mut_ptr().cast();
        below::PMPI_Info_get(info, key.as_ptr(), NAME as c_int - 1, value, &raw mut found)
    };
    (code == SUCCESS && found != 0).then(|| text(&value))
}

/// The text before the first zero byte, without spaces around it.
fn text(bytes: &[u8]) -> String {
    let end = bytes.iter().position(|byte| *byte == 0).unwrap_or(bytes.len());
    String::from_utf8_lossy(&bytes[..end]).trim().into()
}

/// The ranks that make a window.
pub struct Ranks {
    /// The constants of the MPI library.
    pub mpi: &'static Constants,
    /// The communicator of these ranks.
    pub comm: Word,
    /// The number of the calling rank.
    pub rank: c_int,
    /// The number of ranks.
    pub count: c_int,
}

/// The number of bytes that each rank sends first: the scheme's name, the position at which the
/// rank can map a segment, the number that identifies the rank's host, and two flags. The flags say
/// whether its memory may be shared, and whether it can execute the rare side of the segment's
/// barrier.
const OFFER: usize = NAME + 18;
/// The byte that a rank sends for "may its memory be shared" if its key has an invalid value.
const WRONG: u8 = 2;

/// The ranks' agreement.
pub struct Agreed {
    /// The scheme.
    pub scheme: Scheme,
    /// The number of the position at which the segment is mapped. No other window of any of these
    /// ranks has it.
    pub position: usize,
    /// Whether the ranks' memory may be shared.
    pub host_memory: bool,
    /// The numbers that identify the ranks' hosts.
    pub places: Vec<u64>,
}

impl Ranks {
    /// Exchanges the ranks' requests, and returns what the ranks agree on. Returns `None` if the
    /// window keeps the MPI library's own locks.
    pub fn agree(&self, info: Word) -> Result<Option<Agreed>, c_int> {
        let name = requested_scheme(self.mpi, info);
        let mut offer = [0; OFFER];
        let length = name.len().min(NAME - 1);
        offer[..length].copy_from_slice(&name.as_bytes()[..length]);
        offer[NAME..NAME + 8].copy_from_slice(&(position() as u64).to_ne_bytes());
        offer[NAME + 8..NAME + 16].copy_from_slice(&place().to_ne_bytes());
        let may_share = value(self.mpi, info, HOST_MEMORY).map_or(Some(true), |v| host_memory(&v));
        offer[NAME + 16] = may_share.map_or(WRONG, u8::from);
        offer[NAME + 17] = can_interrupt().into();
        let offers = self.gather(&offer)?;
        let names: Vec<String> = offers.chunks(OFFER).map(|offer| text(&offer[..NAME])).collect();
        let Some(first) = names.first() else { return Ok(None) };
        let scheme = Scheme::named(first);
        let other = names.iter().position(|name| name != first);
        if other.is_some() || !is_scheme(first) {
            let other = other.unwrap_or(names.len() - 1);
            return Err(self.refuse(&format!(
                "passive_sync_mode is `{first}` at rank 0 and `{}` at rank {other}: all ranks of a \
                 window must give the same scheme, which is one of {}",
                names[other],
                schemes()
            )));
        }
        let wrong = offers.chunks(OFFER).position(|offer| offer[NAME + 16] == WRONG);
        if let Some(rank) = wrong {
            return Err(self.refuse(&format!(
                "syncline_host_memory is neither true nor false at rank {rank}"
            )));
        }
        let Some(scheme) = scheme else { return Ok(None) };
        let numbers = |from| {
            offers.chunks(OFFER).map(move |offer| {
                let mut bytes = [0; 8];
                bytes.copy_from_slice(&offer[from..from + 8]);
                u64::from_ne_bytes(bytes)
            })
        };
        let (lowest, highest) =
            numbers(NAME).fold((u64::MAX, 0), |(low, high), at| (at.min(low), at.max(high)));
        let places = numbers(NAME + 8).collect();
        if lowest == 0 {
            self.keep("a process has no room for a terabyte of addresses");
            return Ok(None);
        }
        if names.len() > MOST_RANKS {
            self.keep(&format!("the locks are made for at most {MOST_RANKS} ranks"));
            return Ok(None);
        }
        if offers.chunks(OFFER).any(|offer| offer[NAME + 17] == 0) {
            use_fences();
        }
        let host_memory = offers.chunks(OFFER).all(|offer| offer[NAME + 16] == 1);
        Ok(Some(Agreed { scheme, position: highest as usize, host_memory, places }))
    }

    /// Whether `own` is true at all ranks. Returns `false` also if the ranks can't communicate.
    pub fn all(&self, own: bool) -> bool {
        self.gather(&[own.into()]).is_ok_and(|answers| answers.iter().all(|answer| *answer == 1))
    }

    /// Exchanges bytes: returns the bytes of all ranks, in the order of the ranks. All ranks must
    /// pass the same number of bytes.
    pub fn gather(&self, own: &[u8]) -> Result<Vec<u8>, c_int> {
        let each = own.len() as c_int;
        let mut all = vec![0; own.len() * self.count as usize];
        // SAFETY: each rank sends this many bytes, and there is room for the bytes of all ranks.
        let code = unsafe {
            below::PMPI_Allgather(
                own.as_ptr(),
                each,
                self.mpi.byte,
                all.as_mut_ptr(),
                each,
                self.mpi.byte,
                self.comm,
            )
        };
        if code == SUCCESS { Ok(all) } else { Err(code) }
    }

    /// Prints at rank 0 what is wrong, reports the error to the communicator's error handler, and
    /// returns it.
    fn refuse(&self, why: &str) -> c_int {
        if self.rank == 0 {
            say(why);
        }
        // SAFETY: the communicator exists.
        unsafe { below::PMPI_Comm_call_errhandler(self.comm, self.mpi.err_info_value) };
        self.mpi.err_info_value
    }

    /// Prints at rank 0, only once, why windows keep the MPI library's own locks.
    pub fn keep(&self, why: &str) {
        static SAID: Once = Once::new();
        if self.rank == 0 {
            SAID.call_once(|| say(&format!("windows keep the MPI library's own locks: {why}")));
        }
    }
}
