//! What the processes of one file share in addition to the file. They are the process that created
//! the file, and the children that [joined](super::join) it.

use core::ptr::null_mut;
use core::sync::atomic::{AtomicU32, AtomicU64, Ordering};

use rustix::io::Errno;
use rustix::mm::{MapFlags, ProtFlags, mmap_anonymous};
use rustix::process::geteuid;

use super::stack_index::StackIndex;
use super::watermark::Real;
use crate::layout::Header;

/// Memory that all processes of one file share. At first, all bytes are zero.
pub struct Family {
    /// How much of each part of the file has disk space.
    pub(super) real: Real,
    /// How many bytes the logs of all threads take.
    pub(super) log_bytes: AtomicU64,
    /// The number of processes for which room in the file is reserved.
    live: AtomicU32,
    /// The user who made the file.
    user: AtomicU32,
    /// The index of the stacks in the file.
    pub(super) stack_index: StackIndex,
}

impl Family {
    /// Maps this memory so that forked children share it.
    pub(super) fn begin() -> Result<&'static Family, Errno> {
        let (access, flags) = (ProtFlags::READ | ProtFlags::WRITE, MapFlags::SHARED);
        let flags = flags | MapFlags::NORESERVE;
        // SAFETY: this makes a new mapping at an address of the kernel's choice, which is never
        // removed. All zero is a valid family.
        let family: &Family = unsafe {
            let mapped = mmap_anonymous(null_mut(), size_of::<Family>(), access, flags)?;
            &*mapped.cast()
        };
        family.user.store(geteuid().as_raw(), Ordering::Relaxed);
        family.live.store(1, Ordering::Relaxed);
        Ok(family)
    }

    /// Whether this process runs as the user who made the file.
    pub(super) fn is_of_this_user(&self) -> bool {
        self.user.load(Ordering::Relaxed) == geteuid().as_raw()
    }

    /// Reserves room for one more process; false if there is none. `fits` says whether the file has
    /// room for a given number of processes.
    pub(super) fn make_room(&self, fits: impl Fn(u32) -> bool) -> bool {
        let one_more = |live: u32| Some(live + 1).filter(|&live| fits(live));
        self.live.fetch_update(Ordering::Relaxed, Ordering::Relaxed, one_more).is_ok()
    }

    /// Gives back the room that [`Family::make_room`] reserved.
    pub(super) fn give_room_back(&self) {
        self.live.fetch_sub(1, Ordering::Relaxed);
    }

    /// Gives back the room of a process that has ended. Only the first call for a process has an
    /// effect; the caller may be that process or another one.
    ///
    /// # Safety
    /// The header is that of a process of this family.
    pub(super) unsafe fn left(&self, header: *mut Header) {
        // SAFETY: by this function's own condition. The word is only accessed atomically.
        let live = unsafe { AtomicU32::from_ptr(&raw mut (*header).live) };
        if live.swap(0, Ordering::Relaxed) != 0 {
            self.give_room_back();
        }
    }
}
