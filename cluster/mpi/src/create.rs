//! A window that is made: which scheme its ranks want, and whether they can have it.
//!
//! Making a window is collective, so the ranks can talk. Each says which scheme it was told, by the
//! Info key or else by the environment. All see what all have said, and so come to the same
//! conclusion, also where it is an error. Then the first rank makes a segment, the others open it,
//! and all hear whether all could. Where they could, `MPI_Win_allocate` makes a shared window.

use std::env;
use std::ffi::{CStr, c_char, c_int};
use std::ptr;
use std::sync::{Arc, Once};

use syncline::window::Scheme;

use crate::host::{Parts, make_shared};
use crate::library::{Constants, SUCCESS, Word, below, constants, prepare};
use crate::registry;
use crate::say::say;
use crate::scheme::{LIBRARY, MOST_RANKS, locks, size};
use crate::segment::{Area, Ticket, can_interrupt, make, open, position, use_fences};
use crate::window::{Made, Window};

/// The Info key.
pub const KEY: &CStr = c"passive_sync_mode";
/// The Info key that says whether `MPI_Win_allocate` may make shared memory: `false` forbids it.
const HOST_MEMORY: &CStr = c"syncline_host_memory";
/// The variable that says the same for windows without the key.
const VARIABLE: &str = "SYNCLINE_PASSIVE_SYNC_MODE";

/// The room for a scheme's name, and what is told of a longer one.
const NAME: usize = 56;

/// Whose memory a window has.
#[derive(Clone, Copy, Debug, PartialEq, Eq)]
pub enum Kind {
    /// The program's, at each rank for itself.
    Private,
    /// The MPI library's.
    Allocated,
    /// The MPI library's, mapped at all ranks.
    Shared,
}

/// Makes a window of the ranks of `comm` by `make`, which writes its handle to `window`. It is told
/// whether to make a window of shared memory, which may be asked of one of [`Kind::Allocated`], and
/// with which Info.
pub fn create(
    kind: Kind,
    info: Word,
    comm: Word,
    window: Word,
    make: impl Fn(bool, Word) -> c_int,
) -> c_int {
    let Some(mpi) = constants() else { return make(false, info) };
    let mut ranks = Ranks { mpi, comm, rank: 0, count: 0 };
    // SAFETY: both numbers are written to. If it is no communicator they stay, and the library below
    // says so.
    unsafe {
        below::PMPI_Comm_rank(comm, &raw mut ranks.rank);
        below::PMPI_Comm_size(comm, &raw mut ranks.count);
    }
    let agreed = match ranks.agree(info) {
        Err(code) => return code,
        Ok(None) => return make(false, info),
        Ok(Some(agreed)) => agreed,
    };
    let Some(area) = ranks.share(agreed.scheme, agreed.position) else {
        return make(false, info);
    };
    let shared_below = kind == Kind::Allocated
        && agreed.host_memory
        && ranks.all(make_shared(mpi, info, comm, |info| make(true, info)) == SUCCESS);
    let code = if shared_below { SUCCESS } else { make(false, info) };
    if code == SUCCESS {
        prepare();
        // SAFETY: the library below has written the window's handle there.
        let handle = unsafe { mpi.read_handle(window) };
        let (rank, count) = (ranks.rank as usize, ranks.count as usize);
        let locks = locks(agreed.scheme, area, rank, count);
        let is_mapped = shared_below || kind == Kind::Shared;
        let parts = if is_mapped { Parts::of(handle, ranks.count) } else { None };
        let made = Made {
            handle,
            mpi,
            scheme: agreed.scheme,
            locks,
            parts,
            shared_below,
            unified: is_unified(mpi, handle),
            threads: has_threads(mpi),
        };
        registry::add(handle, Arc::new(Window::new(made, rank, count)));
    }
    code
}

/// Whether a window's memory is one for the rank's own accesses and for others'.
fn is_unified(mpi: &Constants, window: Word) -> bool {
    let (mut model, mut found) = (ptr::null(), 0);
    // SAFETY: a live window; where the attribute is found, a number's address is written.
    unsafe {
        below::PMPI_Win_get_attr(window, mpi.win_model, &raw mut model, &raw mut found);
        found != 0 && model.as_ref() == Some(&mpi.win_unified)
    }
}

/// Whether threads may call MPI at once; where that can't be told, they may.
fn has_threads(mpi: &Constants) -> bool {
    let mut level = mpi.thread_multiple;
    // SAFETY: the level is written to.
    unsafe { below::PMPI_Query_thread(&raw mut level) };
    level == mpi.thread_multiple
}

/// What a rank was told: the value of the key, or the variable, or nothing.
pub fn told(mpi: &Constants, info: Word) -> String {
    let by_key = value(mpi, info, KEY).filter(|value| !value.is_empty());
    let by_variable = || env::var_os(VARIABLE).map(|value| value.to_string_lossy().into_owned());
    by_key.or_else(by_variable).filter(|name| !name.is_empty()).unwrap_or_else(|| LIBRARY.into())
}

/// The value of a key.
pub fn value(mpi: &Constants, info: Word, key: &CStr) -> Option<String> {
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

/// The text before the first zero.
fn text(bytes: &[u8]) -> String {
    let end = bytes.iter().position(|byte| *byte == 0).unwrap_or(bytes.len());
    String::from_utf8_lossy(&bytes[..end]).trim().into()
}

/// The ranks that make a window.
struct Ranks {
    mpi: &'static Constants,
    comm: Word,
    rank: c_int,
    count: c_int,
}

/// What each rank says first: the scheme's name, where it can map a segment, whether its memory may
/// be shared, and whether it can interrupt others for a barrier.
const OFFER: usize = NAME + 10;

/// What all ranks want.
struct Agreed {
    scheme: Scheme,
    /// Where to map the segment.
    position: usize,
    /// Their memory may be shared.
    host_memory: bool,
}

impl Ranks {
    /// What all ranks want; `None` for the library's own locks.
    fn agree(&self, info: Word) -> Result<Option<Agreed>, c_int> {
        let name = told(self.mpi, info);
        let mut offer = [0; OFFER];
        let length = name.len().min(NAME - 1);
        offer[..length].copy_from_slice(&name.as_bytes()[..length]);
        offer[NAME..NAME + 8].copy_from_slice(&(position() as u64).to_ne_bytes());
        offer[NAME + 8] = (value(self.mpi, info, HOST_MEMORY).as_deref() != Some("false")).into();
        offer[NAME + 9] = can_interrupt().into();
        let offers = self.gather(&offer)?;
        let names: Vec<String> = offers.chunks(OFFER).map(|offer| text(&offer[..NAME])).collect();
        let Some(first) = names.first() else { return Ok(None) };
        let scheme = Scheme::named(first);
        let other = names.iter().position(|name| name != first);
        if other.is_some() || scheme.is_none() && first != LIBRARY {
            return Err(self.refuse(&names, other.unwrap_or(names.len() - 1)));
        }
        let Some(scheme) = scheme else { return Ok(None) };
        let positions = offers.chunks(OFFER).map(|offer| {
            let mut bytes = [0; 8];
            bytes.copy_from_slice(&offer[NAME..NAME + 8]);
            u64::from_ne_bytes(bytes) as usize
        });
        let (lowest, highest) =
            positions.fold((usize::MAX, 0), |(low, high), at| (at.min(low), at.max(high)));
        if lowest == 0 {
            self.keep("a process has no room for a terabyte of addresses");
            return Ok(None);
        }
        if names.len() > MOST_RANKS {
            self.keep(&format!("the locks are made for at most {MOST_RANKS} ranks"));
            return Ok(None);
        }
        if offers.chunks(OFFER).any(|offer| offer[NAME + 9] == 0) {
            use_fences();
        }
        let host_memory = offers.chunks(OFFER).all(|offer| offer[NAME + 8] == 1);
        Ok(Some(Agreed { scheme, position: highest, host_memory }))
    }

    /// The segment, if all ranks could open it.
    fn share(&self, scheme: Scheme, position: usize) -> Option<Area> {
        let size = size(scheme, self.count as usize);
        let first = self.rank == 0;
        let made = if first { make(position, size) } else { None };
        let mut bytes = made.as_ref().map(|made| made.ticket).unwrap_or_default().to_bytes();
        // SAFETY: so many bytes at all ranks.
        let code = unsafe {
            let bytes_of = bytes.as_mut_ptr();
            let count = bytes.len() as c_int;
            below::PMPI_Bcast(bytes_of, count, self.mpi.byte, 0, self.comm)
        };
        let ticket = Ticket::from_bytes(bytes);
        let opened = if first { None } else { open(ticket, position, size) };
        let has = opened.is_some() || made.is_some();
        let answers = self.gather(&[u8::from(has && code == SUCCESS)]).ok()?;
        if answers.iter().all(|answer| *answer == 1) {
            // Here the first rank's file is closed: the others have it.
            return opened.or(made.map(|made| made.area));
        }
        match answers.iter().position(|answer| *answer != 1) {
            Some(0) | None => self.keep("the first rank could not make shared memory"),
            Some(other) => self.keep(&format!(
                "rank {other} can't reach the memory of rank 0, as on another host or in another \
                 container"
            )),
        }
        None
    }

    /// Whether all ranks say yes.
    fn all(&self, own: bool) -> bool {
        self.gather(&[own.into()]).is_ok_and(|answers| answers.iter().all(|answer| *answer == 1))
    }

    /// What all ranks say, in their order.
    fn gather(&self, own: &[u8]) -> Result<Vec<u8>, c_int> {
        let each = own.len() as c_int;
        let mut all = vec![0; own.len() * self.count as usize];
        // SAFETY: each rank sends so many bytes, and there is room for those of all.
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

    /// Says what the first rank and another one were told, and that it can't be.
    fn refuse(&self, names: &[String], other: usize) -> c_int {
        if self.rank == 0 {
            let known = Scheme::ALL.map(Scheme::name);
            say(&format!(
                "passive_sync_mode is `{}` at rank 0 and `{}` at rank {other}: all ranks of a window \
                 must give the same, which is one of {}, {LIBRARY}",
                names[0],
                names[other],
                known.join(", ")
            ));
        }
        // SAFETY: a live communicator.
        unsafe { below::PMPI_Comm_call_errhandler(self.comm, self.mpi.err_info_value) };
        self.mpi.err_info_value
    }

    /// Says once why windows keep the library's own locks.
    fn keep(&self, why: &str) {
        static SAID: Once = Once::new();
        if self.rank == 0 {
            SAID.call_once(|| say(&format!("windows keep the MPI library's own locks: {why}")));
        }
    }
}
