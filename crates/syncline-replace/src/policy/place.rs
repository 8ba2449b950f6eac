//! Where an address is: in which file, and where in it. The loader is asked by a function that
//! takes no lock (`_dl_find_object`, glibc 2.35); without it no place is known.
//!
//! Call stacks are walked by the compiler's own unwinder, which is in every process that this
//! library is in.

use core::ffi::{c_char, c_int, c_void};
use core::mem::MaybeUninit;
use core::sync::atomic::{AtomicPtr, AtomicUsize, Ordering::Relaxed};

use syncline_interpose::{definition, preserving_errno};

/// A place in a file.
#[derive(Clone, Copy)]
pub struct Position {
    /// The file's name without its folders.
    pub module: &'static [u8],
    /// As the file's own tables have it.
    pub address: u64,
}

/// Frames that are looked at: as many wrappers as stand above each other in C++ and GLib, and some.
const DEPTH: usize = 16;
/// A file's name is not longer.
const LONGEST_NAME: usize = 256;

/// Of the C library.
#[repr(C)]
struct LinkMap {
    bias: usize,
    name: *const c_char,
}

/// Of the C library.
#[repr(C)]
struct Found {
    flags: u64,
    start: usize,
    end: usize,
    map: *const LinkMap,
    eh_frame: *const c_void,
    reserved: [u64; 7],
}

type Find = unsafe extern "C" fn(*const c_void, *mut Found) -> c_int;

static FIND: AtomicPtr<c_void> = AtomicPtr::new(core::ptr::null_mut());

/// The program's own name, which the loader doesn't know.
static mut PROGRAM: [u8; LONGEST_NAME] = [0; LONGEST_NAME];
static PROGRAM_LENGTH: AtomicUsize = AtomicUsize::new(0);

unsafe extern "C-unwind" {
    fn _Unwind_Backtrace(
        each: extern "C-unwind" fn(*mut c_void, *mut c_void) -> c_int,
        argument: *mut c_void,
    ) -> c_int;
    fn _Unwind_GetIP(context: *mut c_void) -> usize;
}

const GO_ON: c_int = 0;
const END: c_int = 5;

/// Learns the program's name, and whether the loader can be asked; called once, before all else.
pub fn learn_program() {
    let mut path = [0u8; libc::PATH_MAX as usize];
    // SAFETY: as many bytes as there are; names that end in zero; one thread does this, and others
    // look at the name only after the policy is there.
    unsafe {
        let length = preserving_errno(|| {
            let link = c"/proc/self/exe".as_ptr();
            libc::readlink(link, path.as_mut_ptr().cast(), path.len())
        });
        let path = &path[..usize::try_from(length).unwrap_or(0)];
        let name = last_part(path);
        let length = name.len().min(LONGEST_NAME);
        (&raw mut PROGRAM).cast::<u8>().copy_from_nonoverlapping(name.as_ptr(), length);
        PROGRAM_LENGTH.store(length, Relaxed);
        FIND.store(definition(c"_dl_find_object"), Relaxed);
    }
}

/// Where an address is; none if it is in no file, as what a program allocates.
pub fn position(address: usize) -> Option<Position> {
    let found = find(address)?;
    // SAFETY: the loader's own entry, of a file that is in use.
    let map = unsafe { &*found.map };
    Some(Position { module: name(map), address: (address - map.bias) as u64 })
}

fn find(address: usize) -> Option<Found> {
    let find = FIND.load(Relaxed);
    if find.is_null() {
        return None;
    }
    let mut found = MaybeUninit::<Found>::zeroed();
    // SAFETY: the symbol of this name has this type; it fills in what it knows, which is less than
    // there is room for.
    unsafe {
        let find: Find = core::mem::transmute(find);
        (find(address as *const c_void, found.as_mut_ptr()) == 0).then(|| found.assume_init())
    }
}

fn name(map: &LinkMap) -> &'static [u8] {
    // SAFETY: the loader's name, which is there as long as the file is used; the program's own is
    // never changed after it was learnt.
    unsafe {
        let path = core::ffi::CStr::from_ptr(map.name).to_bytes();
        if path.is_empty() {
            let program = (&raw const PROGRAM).cast::<u8>();
            return core::slice::from_raw_parts(program, PROGRAM_LENGTH.load(Relaxed));
        }
        last_part(path)
    }
}

fn last_part(path: &[u8]) -> &[u8] {
    path.rsplit(|&b| b == b'/').next().unwrap_or(path)
}

struct Walk<'a> {
    each: &'a mut dyn FnMut(Position) -> bool,
    left: usize,
    /// Where this library is.
    own: (usize, usize),
}

/// Goes through the calls that led here, the innermost first and this library's own left out,
/// until `each` says that it has seen enough or the place of one isn't known.
pub fn walk(mut each: impl FnMut(Position) -> bool) {
    let own = find(walk_one as *const () as usize).map_or((0, 0), |own| (own.start, own.end));
    let mut walk = Walk { each: &mut each, left: DEPTH, own };
    // SAFETY: `walk_one` gets what it expects.
    unsafe { _Unwind_Backtrace(walk_one, (&raw mut walk).cast()) };
}

extern "C-unwind" fn walk_one(context: *mut c_void, walk: *mut c_void) -> c_int {
    // SAFETY: `walk` passes both on, and is waiting.
    let (walk, address) = unsafe { (&mut *walk.cast::<Walk>(), _Unwind_GetIP(context)) };
    // The byte before the return address is in the call.
    let call = address.wrapping_sub(1);
    if (walk.own.0..walk.own.1).contains(&call) {
        return GO_ON;
    }
    let Some(position) = position(call) else { return END };
    walk.left -= 1;
    if walk.left > 0 && (walk.each)(position) { GO_ON } else { END }
}
