//! How forked children write to the file that their parent has made.
//!
//! A forked child has its parent's file mapped. Most children live only for a moment and acquire a
//! few locks. Making a file of its own would cost such a child more than all its work: a file has
//! to be created, sized, mapped, given disk space in four places, and filled with data that the
//! parent's file already has. So a child *joins* its parent's file: it claims a page of it for a
//! header, and goes on in the same regions and the same arena, where records are claimed by atomic
//! operations. The only system calls for this return the time and the numbers of the user, the
//! process and its parent. One more is made if the header's page needs disk space. Modules and
//! stacks that the parent knew when it forked stay known.
//!
//! A child makes a file of its own if it runs as another user by now, if everything is to be
//! logged, or if the file might be too small for all processes that write to it. For each living
//! process, the file must have as much room as the smallest file of a single process ([`SHARE`]).

use core::sync::atomic::{AtomicU32, Ordering};

use super::file::File;
use super::number::{own_number, parents_number};
use crate::layout::{HEADER_SIZE, Header, PROCESS_RUNNING, UNIT};

/// For each living process, this many bytes of the file are reserved.
const SHARE: u64 = 16 << 20;
/// For each living process, this many thread records are reserved.
const THREADS: u32 = 256;

/// Fields of a forked child's own header.
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
    /// Makes this process, a forked child, join its parent's file; `None` if it needs a file of its
    /// own.
    ///
    /// `arguments` is called with the copy of the parent's arguments, which it may correct.
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
        // SAFETY: the page was just claimed and has disk space, and no other process knows it. The
        // first header is mapped, and its word is only accessed atomically.
        unsafe {
            fill_header(own, parent, child, arguments);
            let newest = AtomicU32::from_ptr(&raw mut (*parent.first()).newest);
            // Release pairs with the Acquire in `header_of_child`, and with readers of the file: a
            // process that finds the header finds it filled in, together with its link to the
            // previously newest header.
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
    // After there was no room for a large table, no small one is allocated either.
    room && !file.is_full()
        && threads.saturating_add(live.saturating_mul(THREADS)) <= region.capacity
}

/// # Safety
/// `own` is a mapped page that only this process knows.
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
