//! Memory for nodes that simulated threads allocate and free.
//!
//! A thread gets back the memory that it freed last, as from an allocator with a cache for each
//! thread. With the system's allocator, addresses would depend on everything else that this process
//! does. A node's address determines whether its line is in a simulated cache, so two runs with one
//! seed would differ.

use std::alloc::{Layout, alloc, dealloc, handle_alloc_error};
use std::cell::RefCell;
use std::ptr::NonNull;

use rustc_hash::FxHashMap;

/// Free memory, by the simulated thread that freed it and by its layout. The thread is `None` if
/// code outside of a simulation freed the memory.
#[derive(Default)]
struct Pool(FxHashMap<(Option<u32>, Layout), Vec<NonNull<u8>>>);

thread_local! {
    static POOL: RefCell<Pool> = RefCell::default();
}

impl Drop for Pool {
    fn drop(&mut self) {
        for ((_, layout), free) in self.0.drain() {
            for memory in free {
                // SAFETY: the memory was allocated with this layout, and no thread uses it.
                unsafe { dealloc(memory.as_ptr(), layout) };
            }
        }
    }
}

/// Returns memory of this layout, for a simulated thread or (`None`) for code outside of a
/// simulation.
pub fn take(thread: Option<u32>, layout: Layout) -> NonNull<u8> {
    let freed = POOL.with_borrow_mut(|pool| pool.0.get_mut(&(thread, layout))?.pop());
    freed.unwrap_or_else(|| {
        // SAFETY: the layout of a padded node does not have size 0.
        NonNull::new(unsafe { alloc(layout) }).unwrap_or_else(|| handle_alloc_error(layout))
    })
}

/// Gives memory back to the pool, for later calls of [`take`] with this thread and layout.
///
/// # Safety
///
/// The memory comes from [`take`] with this layout, its contents have been dropped, and nothing
/// uses it any more.
pub unsafe fn give(thread: Option<u32>, layout: Layout, memory: NonNull<u8>) {
    let kept = POOL.try_with(|pool| {
        pool.borrow_mut().0.entry((thread, layout)).or_default().push(memory);
    });
    if kept.is_err() {
        // The real thread ends, and its pool is gone.
        // SAFETY: our caller's promise.
        unsafe { dealloc(memory.as_ptr(), layout) };
    }
}
