//! The locks of Concurrency Kit, a C library. They are compiled into the loops of
//! `programs/ck_locks.c` when the benchmark starts, and loaded into this process.

use std::alloc::{Layout, alloc_zeroed, handle_alloc_error};
use std::ffi::{CStr, CString, c_char};
use std::os::unix::ffi::OsStrExt;
use std::path::Path;

use anyhow::Context;
use syncline::lock::Waiting;

use super::arena::{Arena, Foreign};
use super::contender::{Contender, Kind, Side};
use super::work::Work;
use crate::lab::Lab;

/// A lock of the library, with the layout of `struct peer` in C.
#[repr(C)]
struct Peer {
    /// The lock's name; null in the entry after the last lock.
    name: *const c_char,
    kind: *const c_char,
    lock_bytes: usize,
    node_bytes: usize,
    cell_bytes: usize,
    fifo: bool,
    shared: bool,
    init: unsafe extern "C" fn(*mut u8, usize),
    pairs: unsafe extern "C" fn(*mut u8, u64),
    read_pairs: unsafe extern "C" fn(*mut u8, u64),
    work: unsafe extern "C" fn(*mut u8, *mut Work),
    counted: unsafe extern "C" fn(*const u8, usize) -> u64,
}

/// Equal to `LINE` in C.
const LINE: usize = 128;

pub fn contenders(lab: &Lab) -> anyhow::Result<Vec<Contender>> {
    anyhow::ensure!(
        Path::new("/usr/include/ck_spinlock.h").is_file(),
        "the headers of Concurrency Kit are not installed; Debian's package libck-dev has them"
    );
    let library = lab.compile_library("ck_locks", include_str!("../../programs/ck_locks.c"))?;
    load(&library)?.map(contender).collect()
}

/// The locks of the library, which is never unloaded.
fn load(library: &Path) -> anyhow::Result<impl Iterator<Item = &'static Peer> + use<>> {
    let path = CString::new(library.as_os_str().as_bytes())?;
    // SAFETY: the library is our own, and loading it runs no code of it.
    let handle = unsafe { libc::dlopen(path.as_ptr(), libc::RTLD_NOW | libc::RTLD_LOCAL) };
    anyhow::ensure!(!handle.is_null(), "{} can't be loaded", library.display());
    // SAFETY: the handle was just opened, and the name is a C string.
    let peers = unsafe { libc::dlsym(handle, c"peers".as_ptr()) }.cast::<Peer>();
    anyhow::ensure!(!peers.is_null(), "{} has no peers", library.display());
    // SAFETY: the table ends with an entry without a name, whose other fields are not read.
    let is_peer = move |i: &usize| unsafe { !(*peers.add(*i)).name.is_null() };
    // SAFETY: the library is never unloaded.
    Ok((0..).take_while(is_peer).map(move |i| unsafe { &*peers.add(i) }))
}

fn contender(peer: &'static Peer) -> anyhow::Result<Contender> {
    // SAFETY: both pointers are to string literals of the library.
    let text = |text: *const c_char| unsafe { CStr::from_ptr(text) }.to_str();
    let kind = text(peer.kind)?;
    Ok(Contender {
        name: text(peer.name)?.to_owned(),
        lock: text(peer.name)?.to_owned(),
        side: Side::Peer,
        kind: Kind::named(kind).with_context(|| format!("no kind {kind}"))?,
        waiting: Waiting::Spins,
        fifo: peer.fifo,
        timed: false,
        bytes: peer.lock_bytes,
        node_bytes: peer.node_bytes,
        row: Box::new(move |locks| row(peer, locks)),
    })
}

fn row(peer: &'static Peer, locks: usize) -> Box<dyn Arena> {
    let layout = Layout::from_size_align(peer.cell_bytes * locks, LINE).expect("it is small");
    // SAFETY: no cell has size 0, and there is at least one.
    let cells = unsafe { alloc_zeroed(layout) };
    if cells.is_null() {
        handle_alloc_error(layout);
    }
    // SAFETY: the memory has room for this many cells.
    unsafe { (peer.init)(cells, locks) };
    let Peer { pairs, read_pairs, work, counted, .. } = *peer;
    Box::new(Foreign { cells, layout, locks, pairs, read_pairs, work, counted })
}
