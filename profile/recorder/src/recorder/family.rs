//! Processes that write to one file: one that made it, and children that it forked since.
//!
//! A forked child has its parent's file mapped. Most children live for a moment and take a few locks,
//! and a file of their own would cost them more than all that: it is made, sized, mapped, made real in
//! four places and filled with what the parent has in its own already. So a child *joins*: it claims
//! a page of its parent's file for a header, and counts on in the same regions and the same arena,
//! whose counters are claimed by atomic steps in the file. That takes no system call but those that
//! tell who and when. What the parent knew when it forked, modules and stacks, stays known.
//!
//! A child makes a file of its own where that is better: if it is another user's by now, if all is to
//! be logged, or if the file might be too small for all who write to it. For each process that lives,
//! a file is kept as large as the smallest that one gets alone ([`SHARE`]).
//!
//! What is needed to write and is no part of the file lies in memory that all of them share.

use core::ptr::null_mut;
use core::sync::atomic::{AtomicPtr, AtomicU32, AtomicU64, Ordering};

use rustix::mm::{MapFlags, ProtFlags, mmap_anonymous};
use rustix::process::{geteuid, getppid};
use rustix::time::ClockId;
use syncline_recording::layout::{HEADER_SIZE, Header, PROCESS_RUNNING, UNIT};

use crate::clock;
use crate::options::Options;
use crate::recorder::create::describe_arguments;
use crate::recorder::file::{Mapped, Real};
use crate::recorder::stacks::StackIndex;
use crate::unwind::known_modules;

/// Bytes that a file has for each process that lives.
const SHARE: u64 = 16 << 20;
/// Threads, likewise.
const THREADS: u32 = 256;

/// What processes that write to one file share besides. All zero is the beginning.
pub struct Family {
    /// How far the file is real.
    pub real: Real,
    /// Bytes that the threads' logs take.
    pub log_bytes: AtomicU64,
    /// Processes that room is kept for.
    live: AtomicU32,
    /// The user who made the file.
    user: AtomicU32,
    /// The stacks that are in the file already.
    pub stack_index: StackIndex,
}

/// The file of this process or, in a child that has none yet, of its parent: it is not wiped. Never
/// freed, like all that is allocated here.
static LATEST: AtomicPtr<Mapped> = AtomicPtr::new(null_mut());

/// What a child has of its parent's; none if the parent had no file.
pub fn inherited() -> Option<&'static Mapped> {
    // SAFETY: never freed. Acquire pairs with the Release in `leave_to_children`, in the parent.
    unsafe { LATEST.load(Ordering::Acquire).as_ref() }
}

/// Lets children find this process's file.
pub fn leave_to_children(file: &'static Mapped) {
    LATEST.store((&raw const *file).cast_mut(), Ordering::Release);
}

impl Family {
    /// Memory that stays shared with children; none if it can't be had.
    pub fn begin() -> Option<&'static Family> {
        let (access, flags) = (ProtFlags::READ | ProtFlags::WRITE, MapFlags::SHARED);
        let flags = flags | MapFlags::NORESERVE;
        // SAFETY: a new mapping at an address of the kernel's choice, which is never removed; all zero
        // is a valid family.
        let family: &Family = unsafe {
            let mapped = mmap_anonymous(null_mut(), size_of::<Family>(), access, flags).ok()?;
            &*mapped.cast()
        };
        family.user.store(geteuid().as_raw(), Ordering::Relaxed);
        family.live.store(1, Ordering::Relaxed);
        Some(family)
    }

    /// Keeps room for one more process; false if there is none.
    fn make_room(&self, file: &Mapped) -> bool {
        let (threads, region) = file.threads();
        let (used, capacity) = file.arena();
        let fits = |live: u32| {
            let room = (used * UNIT).saturating_add(SHARE * u64::from(live)) <= capacity * UNIT;
            // Once a large table found no room, nobody is given a small one.
            room && !file.is_full()
                && threads.saturating_add(live.saturating_mul(THREADS)) <= region.capacity
        };
        let one_more = |live: u32| Some(live + 1).filter(|&live| fits(live));
        self.live.fetch_update(Ordering::Relaxed, Ordering::Relaxed, one_more).is_ok()
    }

    /// Notes that a process ended: once, whoever sees it.
    ///
    /// # Safety
    /// The header is that of a process of this family.
    pub unsafe fn left(&self, header: *mut Header) {
        // SAFETY: by this function's own condition; the word is only touched atomically.
        let live = unsafe { AtomicU32::from_ptr(&raw mut (*header).live) };
        if live.swap(0, Ordering::Relaxed) != 0 {
            self.live.fetch_sub(1, Ordering::Relaxed);
        }
    }
}

/// Begins this process, a forked child, in its parent's file; none if it needs one of its own.
pub fn join(parent: &'static Mapped, options: &Options) -> Option<Mapped> {
    let family = parent.family();
    let is_same_user = family.user.load(Ordering::Relaxed) == geteuid().as_raw();
    if options.timeline || !is_same_user || !family.make_room(parent) {
        return None;
    }
    let Some(unit) = parent.new_pages(HEADER_SIZE as u64) else {
        family.live.fetch_sub(1, Ordering::Relaxed);
        return None;
    };
    let own = parent.unit(unit).cast::<Header>();
    let file = Mapped::new(parent.first(), own, family);
    // SAFETY: the page was just claimed, is real, and known to nobody else; the first header is mapped,
    // and its word is only touched atomically.
    unsafe {
        fill_header(own, parent);
        let newest = AtomicU32::from_ptr(&raw mut (*parent.first()).newest);
        // Release pairs with the Acquire in `find`, and with readers of the file: whoever finds the
        // header finds it filled in, and what was there before behind it.
        let link = |before: u32| {
            (*own).before = before;
            Some(file.page())
        };
        let _ = newest.fetch_update(Ordering::Release, Ordering::Relaxed, link);
    }
    Some(file)
}

/// # Safety
/// `own` is a page of this process's alone.
unsafe fn fill_header(own: *mut Header, parent: &Mapped) {
    // SAFETY: by this function's own condition. What the parent's counters are meanwhile is not taken.
    let h = unsafe {
        own.copy_from_nonoverlapping(parent.header(), 1);
        &mut *own
    };
    for region in [&mut h.modules, &mut h.threads, &mut h.stacks] {
        (region.count, region.dropped) = (0, 0);
    }
    h.started = clock::process_started();
    h.started_realtime = clock::nanoseconds(ClockId::Realtime);
    h.ended = 0;
    h.state = PROCESS_RUNNING;
    h.pid = clock::process();
    h.parent = getppid().map_or(0, |p| p.as_raw_nonzero().get() as u32);
    (h.arena_used, h.dropped_operations, h.dropped_waits) = (0, 0, 0);
    (h.interrupted_operations, h.disk_full, h.seen) = (0, 0, 0);
    (h.newest, h.own_threads, h.latest_thread) = (0, 0, 0);
    (h.parent_page, h.inherited, h.live) = (parent.page(), known_modules(), 1);
    describe_arguments(&mut h.arguments);
}

/// The header of this process's child of this number, if it writes to this process's file and its end
/// is not noted yet: numbers are given again.
pub fn find(file: &Mapped, pid: u32) -> Option<*mut Header> {
    let own = clock::process();
    // SAFETY: the first header is mapped, and its word is only touched atomically.
    let newest = unsafe { AtomicU32::from_ptr(&raw mut (*file.first()).newest) };
    let mut page = newest.load(Ordering::Acquire);
    while page != 0 {
        let header = file.at(u64::from(page) * HEADER_SIZE as u64).cast::<Header>();
        // SAFETY: a header that is linked is mapped. Of these words only one changes, atomically.
        let (is_it, before) = unsafe {
            let seen = AtomicU32::from_ptr(&raw mut (*header).seen).load(Ordering::Relaxed);
            (((*header).pid, (*header).parent, seen) == (pid, own, 0), (*header).before)
        };
        if is_it {
            return Some(header);
        }
        page = before;
    }
    None
}
