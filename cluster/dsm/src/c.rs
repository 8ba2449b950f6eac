//! The C interface, as `include/syncline_dsm.h` describes it.
//!
//! A panic ends the process with the panic's message, because a panic must not unwind into C.

use std::ffi::{c_char, c_int, c_void};
use std::ptr::{NonNull, null_mut};

use syncline_fabric::say;

use crate::node::Counts;
use crate::pages::Side;
use crate::program::{self, Error, OutOfMemory, Program, Section};

type Function = unsafe extern "C" fn(*mut c_void);

/// A C function and its argument, which another thread may call.
#[derive(Clone, Copy)]
struct Call(Function, *mut c_void);

// SAFETY: the C interface requires that the function may run in another thread.
unsafe impl Send for Call {}
// SAFETY: as above.
unsafe impl Sync for Call {}

impl Call {
    fn run(self) {
        // SAFETY: the C caller passes a function that takes this argument.
        unsafe { (self.0)(self.1) }
    }
}

fn program() -> &'static Program {
    Program::get().unwrap_or_else(|| {
        say("syncline: call syncline_dsm_init before any other function");
        std::process::abort()
    })
}

fn number_of(error: &Error) -> c_int {
    match error {
        Error::Twice => libc::EALREADY,
        Error::TooSmall { .. } => libc::ENOMEM,
        Error::Options(_) | Error::Size { .. } | Error::Different { .. } => libc::EINVAL,
        Error::Ranks(_) | Error::PageSize(_) | Error::Faults(_) | Error::System(_) => libc::EIO,
    }
}

fn pointer(block: Result<NonNull<u8>, OutOfMemory>) -> *mut c_void {
    match block {
        Ok(block) => block.as_ptr().cast(),
        Err(_) => {
            // SAFETY: the pointer is to this thread's `errno`.
            unsafe { *libc::__errno_location() = libc::ENOMEM };
            null_mut()
        }
    }
}

/// See the header.
#[unsafe(no_mangle)]
pub extern "C" fn syncline_dsm_init(bytes: usize) -> c_int {
    match program::start(bytes) {
        Ok(_) => 0,
        Err(error) => {
            say(&format!("syncline: no shared memory: {error}"));
            number_of(&error)
        }
    }
}

/// See the header.
#[unsafe(no_mangle)]
pub extern "C" fn syncline_dsm_finish() {
    program().finish();
}

/// See the header.
#[unsafe(no_mangle)]
pub extern "C" fn syncline_dsm_rank() -> c_int {
    program().rank() as c_int
}

/// See the header.
#[unsafe(no_mangle)]
pub extern "C" fn syncline_dsm_ranks() -> c_int {
    program().ranks() as c_int
}

/// See the header.
#[unsafe(no_mangle)]
pub extern "C" fn syncline_dsm_run(threads: c_int, body: Function, argument: *mut c_void) {
    let call = Call(body, argument);
    program().threads.run(usize::try_from(threads).unwrap_or(0), || call.run());
}

/// See the header.
#[unsafe(no_mangle)]
pub extern "C" fn syncline_dsm_thread() -> c_int {
    program::thread() as c_int
}

/// See the header.
#[unsafe(no_mangle)]
pub extern "C" fn syncline_dsm_threads() -> c_int {
    program().threads.count() as c_int
}

/// See the header.
#[unsafe(no_mangle)]
pub extern "C" fn syncline_dsm_alloc_all(bytes: usize) -> *mut c_void {
    pointer(program().memory.allocate_together(bytes))
}

/// See the header.
#[unsafe(no_mangle)]
pub extern "C" fn syncline_dsm_alloc(bytes: usize) -> *mut c_void {
    pointer(program().memory.allocate(bytes))
}

/// See the header.
///
/// # Safety
///
/// Same requirements as [`GlobalMemory::free`](program::GlobalMemory::free).
#[unsafe(no_mangle)]
pub unsafe extern "C" fn syncline_dsm_free(block: *mut c_void, bytes: usize) {
    if let Some(block) = NonNull::new(block.cast()) {
        // SAFETY: our caller's promise.
        unsafe { program().memory.free(block, bytes) };
    }
}

/// See the header.
#[unsafe(no_mangle)]
pub extern "C" fn syncline_dsm_place(from: *const c_void, bytes: usize, rank: c_int) -> usize {
    program().memory.place(from.cast(), bytes, usize::try_from(rank).unwrap_or(usize::MAX))
}

/// See the header.
#[unsafe(no_mangle)]
pub extern "C" fn syncline_dsm_barrier() {
    program().threads.barrier();
}

/// See the header.
#[unsafe(no_mangle)]
pub extern "C" fn syncline_dsm_reset() {
    program().threads.reset();
}

/// See the header.
#[unsafe(no_mangle)]
pub extern "C" fn syncline_dsm_new_lock() -> u32 {
    program().locks.new_lock() as u32
}

/// See the header.
#[unsafe(no_mangle)]
pub extern "C" fn syncline_dsm_lock(lock: u32) {
    program().locks.lock(lock as usize);
}

/// See the header.
///
/// # Safety
///
/// This thread holds the lock.
#[unsafe(no_mangle)]
pub unsafe extern "C" fn syncline_dsm_unlock(lock: u32) {
    // SAFETY: our caller's promise.
    unsafe { program().locks.unlock(lock as usize) };
}

/// See the header.
#[unsafe(no_mangle)]
pub extern "C" fn syncline_dsm_with(lock: u32, section: Function, argument: *mut c_void) {
    let call = Call(section, argument);
    program().locks.with(lock as usize, move || call.run());
}

/// See the header.
#[unsafe(no_mangle)]
pub extern "C" fn syncline_dsm_delegate(
    lock: u32,
    section: Function,
    argument: *mut c_void,
) -> *mut Section {
    let call = Call(section, argument);
    Box::into_raw(Box::new(program().locks.delegate(lock as usize, move || call.run())))
}

/// See the header.
///
/// # Safety
///
/// The section was delegated, and was neither waited for nor released.
#[unsafe(no_mangle)]
pub unsafe extern "C" fn syncline_dsm_wait_section(section: *mut Section) {
    // SAFETY: our caller's promise.
    unsafe { Box::from_raw(section) }.wait();
}

/// See the header.
///
/// # Safety
///
/// Same requirements as [`syncline_dsm_wait_section`].
#[unsafe(no_mangle)]
pub unsafe extern "C" fn syncline_dsm_let_go(section: *mut Section) {
    // SAFETY: our caller's promise.
    drop(unsafe { Box::from_raw(section) });
}

/// See the header.
#[unsafe(no_mangle)]
pub extern "C" fn syncline_dsm_count(counter: u32, add: u64) -> u64 {
    program().locks.count(counter as usize, add)
}

/// See the header.
#[unsafe(no_mangle)]
pub extern "C" fn syncline_dsm_signal(counter: u32, add: u64) {
    program().locks.signal(counter as usize, add);
}

/// See the header.
#[unsafe(no_mangle)]
pub extern "C" fn syncline_dsm_wait(counter: u32, least: u64) {
    program().locks.wait(counter as usize, least);
}

/// See the header.
#[unsafe(no_mangle)]
pub extern "C" fn syncline_dsm_acquire() {
    program().acquire();
}

/// See the header.
#[unsafe(no_mangle)]
pub extern "C" fn syncline_dsm_release() {
    program().release();
}

/// See the header.
///
/// # Safety
///
/// Same requirements as [`GlobalMemory::touch`](program::GlobalMemory::touch).
#[unsafe(no_mangle)]
pub unsafe extern "C" fn syncline_dsm_touch(from: *mut c_void, bytes: usize, write: c_int) {
    // SAFETY: our caller's promise.
    unsafe { program().memory.touch(from.cast(), bytes, write != 0) };
}

/// See the header.
///
/// # Safety
///
/// `counts` is valid for a write.
#[unsafe(no_mangle)]
pub unsafe extern "C" fn syncline_dsm_counts(counts: *mut CountsOfC) {
    let named = program().counts().named();
    // SAFETY: our caller's promise.
    unsafe { counts.write(CountsOfC(named.map(|(_, count)| count))) };
}

/// `syncline_dsm_counts_t`: the counts, in the order of [`Counts::named`].
#[repr(C)]
#[derive(Clone, Copy, Debug)]
pub struct CountsOfC([u64; COUNTS]);

const COUNTS: usize = size_of::<Counts>() / size_of::<u64>();

/// See the header.
#[unsafe(no_mangle)]
pub extern "C" fn syncline_dsm_faults() -> *const c_char {
    match program().side() {
        Side::Tracked => c"uffd",
        Side::Guarded => c"uffd-handler",
        Side::Mapped => c"sigsegv",
    }
    .as_ptr()
}
