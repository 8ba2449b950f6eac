//! Begins and ends a recording while the program runs.
//!
//! `syncline record -p PID` loads this library into the process and calls the functions of this
//! file on a thread that it has borrowed from the program ([`syncline_recording::live`]). That
//! thread is at a point where a signal handler could run and call the loader, so slots may be
//! exchanged under the loader's lock. Nothing else here takes a lock, because in a forked child a
//! lock may be held for ever (`docs/internals/live.md`). These functions allocate nothing in the
//! program. The command reads what they return, and the state in [`syncline_live_state`].
//!
//! A slot is exchanged in one step, so the other threads need not be stopped: each call goes either
//! to the C library's function or to ours. While slots of modules that may be unloaded are
//! exchanged, the loader's list is held (`dl_iterate_phdr`), so that no module goes away. A module
//! that has gone, and a slot that has another value by now, are left alone. A read-only page is
//! writable only while its slots are exchanged.
//!
//! After the end, no call of the program reaches our functions: the slots have their old values,
//! and the gates that `dlsym` has given out (`gates.rs`) are closed, so they lead to the C library.
//! Threads that were inside go on with what they have, and find no recorder when they look for one.
//! When the command has seen that no thread runs code of ours, [`rest`](syncline_live_rest) forgets
//! the recording.

use core::ffi::{c_int, c_void};
use core::ptr::null_mut;
use core::slice;
use core::sync::atomic::{AtomicPtr, AtomicU64, Ordering::Relaxed, Ordering::SeqCst};
use core::sync::atomic::{AtomicU32, Ordering};

use rustix::mm::{Advice, MprotectFlags, madvise, mprotect};
use rustix::process::getpid;
use syncline_interpose::{Folder, real};
use syncline_recording::live::{
    ENDED, PRELOADED, RECORDING, REFUSED_BUSY, REFUSED_FILE, REFUSED_VERSION, RESTING, Request,
    Slot, State, VERSION,
};

use crate::alloc::map_anonymous;
use crate::options::{self, Options};
use crate::recorder::{self, create};
use crate::thread::{self, attach};
use crate::{alloc, clock, gates, unwind};

/// The state that commands read, from outside the process.
#[unsafe(no_mangle)]
pub static syncline_live_state: State = State {
    version: VERSION,
    stage: AtomicU32::new(RESTING),
    busy: AtomicU32::new(0),
    pointed: AtomicU32::new(0),
    slots: AtomicPtr::new(null_mut()),
    open: AtomicU64::new(0),
};

use syncline_live_state as STATE;

/// The most slots that fit into our memory for them: far more than programs have.
const MOST: usize = 1 << 16;
const PAGE: u64 = 4096;

real! {
    fn dl_iterate_phdr(each: unsafe extern "C" fn(*mut libc::dl_phdr_info, usize, *mut c_void) -> c_int, data: *mut c_void) -> c_int;
}

/// Notes that the recorder was preloaded, so that no command attaches to this process.
pub fn is_preloaded() {
    gates::are_needless();
    STATE.stage.store(PRELOADED, SeqCst);
}

/// Marks that one of these functions runs in this process.
struct Alone;

impl Alone {
    /// `None` if one of the functions already runs.
    fn enter() -> Option<Alone> {
        // A child that was forked meanwhile finds its parent's number: the thread that ran the
        // function does not exist there.
        let own = getpid().as_raw_nonzero().get() as u32;
        (STATE.busy.swap(own, SeqCst) != own).then_some(Alone)
    }
}

impl Drop for Alone {
    fn drop(&mut self) {
        STATE.busy.store(0, SeqCst);
    }
}

/// Begins a recording.
///
/// # Safety
/// The request may be read. The thread may call the loader.
#[unsafe(no_mangle)]
pub unsafe extern "C" fn syncline_live_begin(request: *const Request) -> c_int {
    // SAFETY: by this function's own condition.
    let request = unsafe { &*request };
    if request.version != VERSION {
        return REFUSED_VERSION;
    }
    let Some(_alone) = Alone::enter() else { return REFUSED_BUSY };
    if STATE.stage.load(SeqCst) != RESTING {
        return REFUSED_BUSY;
    }
    clock::process_starts();
    options::begin(Options {
        folder: Folder::NONE,
        file: Some(request.file),
        clock: request.clock,
        ticks_per_second: request.ticks_per_second,
        max_size: request.max_size,
        timeline: request.timeline == 1,
    });
    attach::prepare();
    let begun = recorder::begin_again();
    // The descriptor is the command's, which closes it now.
    options::forget_file();
    let Some(recorder) = begun else {
        options::end();
        return REFUSED_FILE;
    };
    // SAFETY: the header is mapped, and the word written only here.
    unsafe { (*recorder.file().header()).pointers_missed = request.pointers_missed };
    STATE.stage.store(RECORDING, SeqCst);
    gates::set_open(true);
    0
}

/// Points slots to our functions; returns how many were exchanged.
///
/// # Safety
/// `count` slots may be read, and their new values are functions of this library. The thread may
/// call the loader.
#[unsafe(no_mangle)]
pub unsafe extern "C" fn syncline_live_point(slots: *const Slot, count: usize) -> c_int {
    let Some(_alone) = Alone::enter() else { return 0 };
    if STATE.stage.load(SeqCst) != RECORDING {
        return 0;
    }
    // SAFETY: by this function's own condition.
    exchange_all(unsafe { slice::from_raw_parts(slots, count) }, |slot| {
        let noted = STATE.pointed.load(Relaxed) as usize;
        let Some(place) = place_of_note(noted) else { return false };
        // The note comes first: if the thread is killed in between, there is a note of a slot that
        // still has its old value. SAFETY: memory of our own, which no command reads before the
        // note is counted.
        unsafe { place.write(*slot) };
        STATE.pointed.store(noted as u32 + 1, SeqCst);
        exchange(slot.at, slot.theirs, slot.ours)
    })
}

/// Restores the old values of the slots, unless the command has done so; returns how many it
/// restored.
///
/// # Safety
/// The thread may call the loader, if the slots are to be restored.
#[unsafe(no_mangle)]
pub unsafe extern "C" fn syncline_live_unpoint(restored: c_int) -> c_int {
    let Some(_alone) = Alone::enter() else { return 0 };
    // This process may have been forked while its parent had a page open.
    close_page();
    gates::set_open(false);
    let slots = STATE.slots.load(SeqCst);
    let count = STATE.pointed.load(SeqCst) as usize;
    if count == 0 {
        return 0;
    }
    let mut exchanged = 0;
    if restored == 0 {
        // SAFETY: this many slots are noted, and stay as they are while this function runs alone.
        let slots = unsafe { slice::from_raw_parts(slots, count) };
        exchanged = exchange_all(slots, |slot| exchange(slot.at, slot.ours, slot.theirs));
    }
    STATE.pointed.store(0, SeqCst);
    exchanged
}

/// Ends the recording, unless slots still point to our functions. A thread that is inside keeps
/// what it has.
#[unsafe(no_mangle)]
pub extern "C" fn syncline_live_end() -> c_int {
    let Some(_alone) = Alone::enter() else { return 0 };
    if STATE.stage.load(SeqCst) == RECORDING && STATE.pointed.load(SeqCst) == 0 {
        attach::rest();
        recorder::process_is_left();
        options::end();
        create::leave_nothing();
        STATE.stage.store(ENDED, SeqCst);
    }
    0
}

/// Forgets the recording.
///
/// # Safety
/// No thread runs code of this library. Threads may wait in system calls that the C library makes
/// for it.
#[unsafe(no_mangle)]
pub unsafe extern "C" fn syncline_live_rest() -> c_int {
    let Some(_alone) = Alone::enter() else { return 0 };
    if STATE.stage.load(SeqCst) == ENDED {
        // The borrowed thread waits in a system call when it is released, and must not find its
        // state later.
        thread::set_state(None);
        // SAFETY: by this function's own condition.
        unsafe {
            recorder::rest();
            unwind::rest();
            alloc::free_all();
        }
        let notes = STATE.slots.load(SeqCst);
        if !notes.is_null() {
            let bytes = MOST * size_of::<Slot>();
            // SAFETY: our own memory; none of the notes in it is in use.
            let _ = unsafe { madvise(notes.cast(), bytes, Advice::LinuxDontNeed) };
        }
        STATE.stage.store(RESTING, SeqCst);
    }
    0
}

/// The address of the note with this number; `None` if there is no room.
fn place_of_note(number: usize) -> Option<*mut Slot> {
    if STATE.slots.load(SeqCst).is_null() {
        STATE.slots.store(map_anonymous(MOST * size_of::<Slot>())?.cast(), SeqCst);
    }
    (number < MOST).then(|| STATE.slots.load(SeqCst).wrapping_add(number))
}

/// Exchanges a word, if it has the expected value.
fn exchange(at: u64, from: u64, to: u64) -> bool {
    // SAFETY: a slot of a loaded module, aligned, and writable now; the program reads it in one
    // step. Release: whatever the function needs was made before the slot leads to it.
    let word = unsafe { AtomicU64::from_ptr(at as *mut u64) };
    word.compare_exchange(from, to, Ordering::AcqRel, Relaxed).is_ok()
}

/// Makes the page of a slot writable, and makes the one that was writable before read-only again.
fn open_page(at: u64) -> bool {
    let page = at & !(PAGE - 1);
    if STATE.open.load(SeqCst) == page {
        return true;
    }
    close_page();
    // The page is noted first: a process that is forked in between then only closes a page that is
    // closed already.
    STATE.open.store(page, SeqCst);
    let access = MprotectFlags::READ | MprotectFlags::WRITE;
    // SAFETY: a page of a loaded module, which gets its protection back.
    unsafe { mprotect(page as *mut c_void, PAGE as usize, access) }.is_ok()
}

fn close_page() {
    let page = STATE.open.load(SeqCst);
    if page != 0 {
        // SAFETY: a page of a loaded module, which was read-only before.
        let _ = unsafe { mprotect(page as *mut c_void, PAGE as usize, MprotectFlags::READ) };
        STATE.open.store(0, SeqCst);
    }
}

/// Calls a function with each of these slots while its page is writable. Returns for how many slots
/// the function returned `true`.
fn in_pages<'a>(
    slots: impl Iterator<Item = &'a Slot>,
    each: &mut impl FnMut(&Slot) -> bool,
) -> c_int {
    let writable = slots.filter(|slot| slot.protected == 0 || open_page(slot.at));
    let done = writable.filter(|slot| each(slot)).count();
    close_page();
    done as c_int
}

/// Calls a function with each slot whose module is loaded, while no module can go away: under the
/// loader's lock, if any could. Returns for how many slots the function returned `true`.
fn exchange_all(slots: &[Slot], mut each: impl FnMut(&Slot) -> bool) -> c_int {
    let done = in_pages(slots.iter().filter(|slot| slot.stays == 1), &mut each);
    if slots.iter().all(|slot| slot.stays == 1) {
        return done;
    }
    struct Work<'a, F> {
        slots: &'a [Slot],
        each: F,
        done: c_int,
    }
    unsafe extern "C" fn in_module<F: FnMut(&Slot) -> bool>(
        info: *mut libc::dl_phdr_info,
        _: usize,
        data: *mut c_void,
    ) -> c_int {
        // SAFETY: the loader passes the description of a loaded module, and the pointer that it was
        // given below.
        let (info, work) = unsafe { (&*info, &mut *data.cast::<Work<'_, F>>()) };
        // SAFETY: as above.
        let headers = unsafe { slice::from_raw_parts(info.dlpi_phdr, info.dlpi_phnum.into()) };
        let loads = || headers.iter().filter(|header| header.p_type == libc::PT_LOAD);
        let bias = info.dlpi_addr;
        let start = loads().map(|header| (bias + header.p_vaddr) & !(PAGE - 1)).min();
        let is_here = |slot: &&Slot| {
            let is_inside = |header: &libc::Elf64_Phdr| {
                let from = bias + header.p_vaddr;
                from <= slot.at && slot.at + 8 <= from + header.p_memsz
            };
            slot.stays == 0 && Some(slot.module) == start && loads().any(is_inside)
        };
        work.done += in_pages(work.slots.iter().filter(is_here), &mut work.each);
        0
    }
    fn callback<F: FnMut(&Slot) -> bool>(
        _: &Work<'_, F>,
    ) -> unsafe extern "C" fn(*mut libc::dl_phdr_info, usize, *mut c_void) -> c_int {
        in_module::<F>
    }
    let mut work = Work { slots, each, done };
    // SAFETY: the callback gets the data of its own type; the thread may call the loader.
    unsafe { dl_iterate_phdr(callback(&work), (&raw mut work).cast()) };
    work.done
}
