//! Gives a process its file: a new one, or its parent's.

use core::ffi::{CStr, c_char};
use core::ptr::null_mut;
use core::slice;
use core::sync::atomic::{AtomicPtr, AtomicUsize, Ordering};

use rustix::fd::BorrowedFd;
use rustix::time::ClockId;
use syncline_interpose::read_arguments;
use syncline_recording::writer::sampling::SAMPLE_PERIOD;
use syncline_recording::writer::{Child, File, Start};

use crate::clock;
use crate::options;
use crate::unwind::module::known_modules;

/// The address of the program's arguments in its memory, and their length in bytes.
static ARGUMENTS: AtomicPtr<u8> = AtomicPtr::new(null_mut());
static ARGUMENTS_LENGTH: AtomicUsize = AtomicUsize::new(0);

/// The file of this process or, in a child that has none yet, of its parent: this word is not
/// wiped. The file's memory is freed only after the word was cleared ([`leave_nothing`]).
static LATEST: AtomicPtr<File> = AtomicPtr::new(null_mut());

/// Lets children find this process's file.
pub fn leave_to_children(file: &'static File) {
    LATEST.store((&raw const *file).cast_mut(), Ordering::Release);
}

/// Lets children find no file, because recording has ended.
pub fn leave_nothing() {
    LATEST.store(null_mut(), Ordering::Release);
}

/// The parent's file, for a child to begin in; `None` if the parent had no file.
fn inherited() -> Option<&'static File> {
    // SAFETY: not freed while it is found here. Acquire pairs with the Release in
    // `leave_to_children`, in the parent.
    unsafe { LATEST.load(Ordering::Acquire).as_ref() }
}

/// Remembers where the program's arguments lie.
///
/// # Safety
/// The arguments are those of `main`, which lie one behind the other.
pub unsafe fn remember_arguments(count: usize, arguments: *const *const c_char) {
    // SAFETY: by this function's own condition.
    unsafe {
        if count > 0 {
            let (first, last) = (*arguments, *arguments.wrapping_add(count - 1));
            let end = last.addr() + CStr::from_ptr(last).to_bytes_with_nul().len();
            ARGUMENTS_LENGTH.store(end.saturating_sub(first.addr()), Ordering::Relaxed);
            ARGUMENTS.store(first.cast_mut().cast(), Ordering::Relaxed);
        }
    }
}

/// Corrects a field that has a copy of the parent's arguments. Most children have the same ones,
/// but a server may overwrite them with a child's task.
fn describe_arguments(field: &mut [u8]) {
    let (at, length) = (&ARGUMENTS, ARGUMENTS_LENGTH.load(Ordering::Relaxed));
    let at = at.load(Ordering::Relaxed);
    let compared = length.min(field.len() - 1);
    // SAFETY: the arguments of `main` lay there, and this memory stays mapped as the stack does.
    let is_same =
        !at.is_null() && unsafe { slice::from_raw_parts(at, compared) } == &field[..compared];
    if !is_same {
        field.fill(0);
        read_arguments(field);
    }
}

/// Makes and maps this process's file, or begins in its parent's; `None` if nothing is to be
/// recorded, or if the file can't be made. A child that logs every acquisition makes a file of its
/// own.
pub fn create() -> Option<File> {
    let options = options::get()?;
    let started = clock::process_started();
    if let Some(parent) = inherited().filter(|_| !options.timeline) {
        let child = Child {
            started,
            started_realtime: clock::nanoseconds(ClockId::Realtime),
            inherited: known_modules(),
        };
        let joined = File::join(parent, &child, describe_arguments);
        if joined.is_some() {
            return joined;
        }
    }
    let age = clock::to_nanoseconds(clock::now() - started);
    let start = Start {
        folder: &options.folder,
        // SAFETY: the command that opened it keeps it open until the recorder is made.
        file: options.file.map(|file| unsafe { BorrowedFd::borrow_raw(file) }),
        max_size: options.max_size,
        clock: options.clock,
        ticks_per_second: options.ticks_per_second,
        started,
        started_realtime: clock::nanoseconds(ClockId::Realtime) - age,
        sample_period: if options.timeline { 1 } else { SAMPLE_PERIOD },
        timeline: options.timeline,
        attached: options.file.is_some(),
    };
    File::create(&start).ok()
}
