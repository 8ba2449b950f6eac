//! Several processes that write to one file: the one that made it, and children that were forked
//! since.
//!
//! A forked child has its parent's file mapped. Most children live for a moment and take a few
//! locks. A file of its own would cost such a child more than all its work: the file has to be
//! created, sized, mapped, allocated in four places, and filled with data that the parent's file
//! already has. So a child *joins*: it claims a page of its parent's file for a header, and goes on
//! in the same regions and the same arena, where records are claimed by atomic steps. Unless the
//! header's page needs disk space, that takes no system calls except those that return the numbers
//! of the user, the process and its parent, and the time. Modules and stacks that the parent knew
//! when it forked stay known.
//!
//! A child makes a file of its own if it now runs as another user, if everything is to be logged,
//! or if the file might be too small for all processes that write to it. Each living process needs
//! a share of the file as large as the smallest file that a process may have alone ([`SHARE`]).

use core::sync::atomic::{AtomicU32, Ordering};

use super::file::File;
use super::number::{own_number, parents_number};
use crate::layout::{HEADER_SIZE, Header, PROCESS_RUNNING, UNIT};

/// Bytes of the file that are kept for each living process.
const SHARE: u64 = 16 << 20;
/// Thread records that are kept for each living process.
const THREADS: u32 = 256;

/// The content of a forked child's own header.
#[derive(Clone, Copy, Debug)]
pub struct Child {
    /// [`Header::started`]
    pub started: u64,
    /// [`Header::started_realtime`]
    pub started_realtime: u64,
    /// [`Header::inherited`]
    pub inherited: u32,
}

impl File {
    /// Begins this process, a forked child, in its parent's file; `None` if it needs a file of its
    /// own.
    ///
    /// `arguments` is called to correct the copy of the parent's arguments.
    pub fn join(parent: &File, child: &Child, arguments: impl FnOnce(&mut [u8])) -> Option<File> {
        let family = parent.family();
        if !family.is_of_this_user() || !family.make_room(|live| has_room(parent, live)) {
            return None;
        }
        let Some(unit) = parent.new_pages(HEADER_SIZE as u64) else {
            family.give_room_back();
            return None;
        };
        let own = parent.unit(unit).cast::<Header>();
        let file = File::new(parent.first(), own, family);
        // SAFETY: the page was just claimed, is real, and no other process knows it; the first
        // header is mapped, and its word is only touched atomically.
        unsafe {
            fill_header(own, parent, child, arguments);
            let newest = AtomicU32::from_ptr(&raw mut (*parent.first()).newest);
            // Release pairs with the Acquire in `header_of_child`, and with readers of the file: a
            // process that finds the header finds it filled in, with its link to the header that
            // was the newest before.
            let link = |before: u32| {
                (*own).before = before;
                Some(file.page())
            };
            let _ = newest.fetch_update(Ordering::Release, Ordering::Relaxed, link);
        }
        Some(file)
    }
}

/// Whether a file has room for this many living processes.
fn has_room(file: &File, live: u32) -> bool {
    let (threads, region) = file.threads();
    let (used, capacity) = file.arena();
    let room = (used * UNIT).saturating_add(SHARE * u64::from(live)) <= capacity * UNIT;
    // After a large table found no room, no small one is allocated either.
    room && !file.is_full()
        && threads.saturating_add(live.saturating_mul(THREADS)) <= region.capacity
}

/// # Safety
/// `own` is a page that only this process knows.
unsafe fn fill_header(
    own: *mut Header,
    parent: &File,
    child: &Child,
    arguments: impl FnOnce(&mut [u8]),
) {
    // SAFETY: by this function's own condition. Most of the parent's counters are set to 0 below.
    let h = unsafe {
        own.copy_from_nonoverlapping(parent.header(), 1);
        &mut *own
    };
    for region in [&mut h.modules, &mut h.threads, &mut h.stacks] {
        (region.count, region.dropped) = (0, 0);
    }
    h.started = child.started;
    h.started_realtime = child.started_realtime;
    h.ended = 0;
    h.state = PROCESS_RUNNING;
    h.pid = own_number();
    h.parent = parents_number();
    (h.arena_used, h.dropped_operations, h.dropped_waits) = (0, 0, 0);
    (h.interrupted_operations, h.disk_full, h.seen) = (0, 0, 0);
    h.acquired_before = 0;
    (h.newest, h.own_threads, h.latest_thread) = (0, 0, 0);
    (h.parent_page, h.inherited, h.live) = (parent.page(), child.inherited, 1);
    arguments(&mut h.arguments);
}
