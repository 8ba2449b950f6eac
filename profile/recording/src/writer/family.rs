//! What the processes of one file share outside of the file. They are the process that created it,
//! and the children that [joined](super::join) it.

use core::ptr::null_mut;
use core::sync::atomic::{AtomicU32, AtomicU64, Ordering};

use rustix::io::Errno;
use rustix::mm::{MapFlags, ProtFlags, mmap_anonymous};
use rustix::process::geteuid;

use super::stack_index::StackIndex;
use super::watermark::Real;
use crate::layout::Header;

/// Memory that all processes of one file share. It begins as all zero.
pub struct Family {
    /// How much of the file has disk space.
    pub(super) real: Real,
    /// Bytes that the threads' logs take.
    pub(super) log_bytes: AtomicU64,
    /// The number of processes for which the file keeps room.
    live: AtomicU32,
    /// The user who made the file.
    user: AtomicU32,
    /// The stacks that are in the file already.
    pub(super) stack_index: StackIndex,
}

impl Family {
    /// Maps this memory, which forked children share.
    pub(super) fn begin() -> Result<&'static Family, Errno> {
        let (access, flags) = (ProtFlags::READ | ProtFlags::WRITE, MapFlags::SHARED);
        let flags = flags | MapFlags::NORESERVE;
        // SAFETY: a new mapping at an address of the kernel's choice, which is never removed; all
        // zero is a valid family.
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

    /// Keeps room for one more process; false if there is none. `fits` says whether the file has
    /// room for a number of processes.
    pub(super) fn make_room(&self, fits: impl Fn(u32) -> bool) -> bool {
        let one_more = |live: u32| Some(live + 1).filter(|&live| fits(live));
        self.live.fetch_update(Ordering::Relaxed, Ordering::Relaxed, one_more).is_ok()
    }

    /// Gives room back that [`Family::make_room`] kept.
    pub(super) fn give_room_back(&self) {
        self.live.fetch_sub(1, Ordering::Relaxed);
    }

    /// Notes that a process has ended. Only the first call for a process, from whichever process,
    /// has an effect.
    ///
    /// # Safety
    /// The header is that of a process of this family.
    pub(super) unsafe fn left(&self, header: *mut Header) {
        // SAFETY: by this function's own condition; the word is only touched atomically.
        let live = unsafe { AtomicU32::from_ptr(&raw mut (*header).live) };
        if live.swap(0, Ordering::Relaxed) != 0 {
            self.give_room_back();
        }
    }
}
