//! The pool of queue nodes that outlive a call. Each node is on lines of its own, and each thread
//! caches lines.
//!
//! A lock that queues its waiters needs a node for each, at a stable address. `malloc` for every
//! acquisition would cost more than the lock. So each thread has a list of the lines that it has
//! given back, and allocates from this list. A node of any lock takes one line, so one list serves
//! all locks.
//!
//! A thread may give back a line that another thread took; the line then stays with the thread that
//! gave it back. [`KEPT`] bounds how many lines a thread keeps if it gives back more than it takes.
//! When a thread ends, the lines that it keeps are freed. Without `std` there is no thread-local
//! storage, and every node is allocated.

use alloc::alloc::{alloc, dealloc, handle_alloc_error};
use core::alloc::Layout;
use core::ptr::NonNull;

/// The bytes of one of the pool's lines: two cache lines, since processors fetch cache lines in
/// pairs.
const LINE: usize = 128;
const LAYOUT: Layout = match Layout::from_size_align(LINE, LINE) {
    Ok(layout) => layout,
    Err(_) => unreachable!(),
};

/// A new node on a line of its own.
#[inline]
pub(super) fn take<T: Default>() -> NonNull<T> {
    const { assert!(size_of::<T>() <= LINE && align_of::<T>() <= LINE) };
    let node = cache::take().unwrap_or_else(new_line).cast::<T>();
    // SAFETY: a line is ours alone, and large and aligned enough.
    unsafe { node.write(T::default()) };
    node
}

/// Drops a node and keeps its line.
///
/// # Safety
///
/// The node comes from [`take`] and is not used any more.
#[inline]
pub(super) unsafe fn give<T>(node: NonNull<T>) {
    // SAFETY: the node is valid, and this is its last use.
    unsafe { node.drop_in_place() };
    cache::give(node.cast());
}

#[cold]
fn new_line() -> NonNull<Line> {
    // SAFETY: the layout's size is not zero.
    let line = unsafe { alloc(LAYOUT) };
    NonNull::new(line.cast()).unwrap_or_else(|| handle_alloc_error(LAYOUT))
}

#[cold]
fn free_line(line: NonNull<Line>) {
    // SAFETY: all lines come from `new_line`, and its owner gives it up.
    unsafe { dealloc(line.as_ptr().cast(), LAYOUT) };
}

/// A line that is not in use.
struct Line {
    #[cfg(feature = "std")]
    next: Option<NonNull<Line>>,
    #[cfg(feature = "std")]
    length: u32,
}

#[cfg(not(feature = "std"))]
mod cache {
    use super::{Line, NonNull, free_line};

    pub(super) fn take() -> Option<NonNull<Line>> {
        None
    }

    pub(super) fn give(line: NonNull<Line>) {
        free_line(line);
    }
}

#[cfg(feature = "std")]
mod cache {
    use core::cell::Cell;

    use super::{Line, NonNull, free_line};

    /// How many lines a thread keeps at most.
    const KEPT: u32 = 64;

    std::thread_local! {
        // The list has no destructor, so an access costs no check and works until the thread's last
        // moment.
        static LINES: Cell<Option<NonNull<Line>>> = const { Cell::new(None) };
        static END: End = const { End };
    }

    /// Frees the lines at the thread's end.
    struct End;

    impl Drop for End {
        fn drop(&mut self) {
            while let Some(line) = take() {
                free_line(line);
            }
        }
    }

    #[inline]
    pub(super) fn take() -> Option<NonNull<Line>> {
        let line = LINES.get()?;
        // SAFETY: `give` has written each line on the list.
        LINES.set(unsafe { line.as_ref() }.next);
        Some(line)
    }

    /// Whether the list will still be freed, because the thread is not ending yet. `END` is dropped
    /// at the thread's end, and frees the list. Destructors of other thread-local values may run
    /// after that. This function is out of line: otherwise the code that gives a node back would
    /// compute the address of `END` each time.
    #[inline(never)]
    fn will_be_freed() -> bool {
        END.try_with(|_| ()).is_ok()
    }

    #[inline]
    pub(super) fn give(line: NonNull<Line>) {
        let next = LINES.get();
        // SAFETY: this function has written each line on the list.
        let length = next.map_or(0, |next| unsafe { next.as_ref() }.length);
        if length == 0 && !will_be_freed() || length >= KEPT {
            return free_line(line);
        }
        // SAFETY: the line is ours, and large enough.
        unsafe { line.write(Line { next, length: length + 1 }) };
        LINES.set(Some(line));
    }
}
