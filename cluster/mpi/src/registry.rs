//! The table from MPI's handles to the windows that are under a scheme.
//!
//! A thread remembers the window that it used last, so that a lock needs no look-up. The thread may
//! use the remembered window until a window is made or freed, which changes the number `CHANGES`.

use std::cell::Cell;
use std::collections::HashMap;
use std::ptr::null;
use std::sync::atomic::AtomicU64;
use std::sync::atomic::Ordering::{Acquire, Release};
use std::sync::{Arc, LazyLock, PoisonError, RwLock};

use crate::library::{Word, constants};
use crate::window::Window;

static WINDOWS: LazyLock<RwLock<HashMap<Word, Arc<Window>>>> = LazyLock::new(RwLock::default);

/// The number of additions and removals of windows; 0 before the first window.
static CHANGES: AtomicU64 = AtomicU64::new(0);

thread_local! {
    /// The last look-up of this thread: the value of `CHANGES`, the handle, and the window or null.
    static LAST: Cell<(u64, Word, *const Window)> = const { Cell::new((0, 0, null())) };
}

/// Adds a window.
pub fn add(handle: Word, window: Arc<Window>) {
    let mut windows = WINDOWS.write().unwrap_or_else(PoisonError::into_inner);
    windows.insert(handle, window);
    // Release: pairs with the Acquire in `with`.
    CHANGES.fetch_add(1, Release);
}

/// Removes a window that will be freed now. By MPI's rules, no thread uses it any more.
pub fn remove(handle: Word) -> Option<Arc<Window>> {
    let mut windows = WINDOWS.write().unwrap_or_else(PoisonError::into_inner);
    let window = windows.remove(&handle);
    // Release: as in `add`.
    CHANGES.fetch_add(1, Release);
    window
}

/// Calls `f` with the window of a handle that the program has passed. Returns `None` if the window
/// is under no scheme.
#[inline]
pub fn with<R>(handle: Word, f: impl FnOnce(&Window) -> R) -> Option<R> {
    // Acquire: pairs with the Release of the last change that this thread has to see.
    let changes = CHANGES.load(Acquire);
    if changes == 0 {
        return None;
    }
    let handle = constants()?.handle(handle);
    let (seen, last, mut window) = LAST.get();
    if (seen, last) != (changes, handle) {
        window = find(handle);
        LAST.set((changes, handle, window));
    }
    // SAFETY: the window was in the table when `CHANGES` was read, and has not been removed since.
    // Removal is a part of freeing the window, and the program does not free a window while a
    // thread uses it.
    unsafe { window.as_ref() }.map(f)
}

#[cold]
fn find(handle: Word) -> *const Window {
    let windows = WINDOWS.read().unwrap_or_else(PoisonError::into_inner);
    windows.get(&handle).map_or(null(), Arc::as_ptr)
}
