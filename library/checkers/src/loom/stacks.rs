//! Reuse of the stacks of loom's threads.
//!
//! Loom gives each thread of each execution a stack of its own: a mapping with a guard page, which
//! is unmapped at the execution's end. Executions are short, and three fifths of the tests'
//! processor time went into the kernel for this. So this file replaces two functions of the C
//! library, for the Rust code in this program: a stack that is unmapped is kept, and is used again
//! when a stack of its size is mapped.
//!
//! The stack's guard page stays protected. The stack is not cleared: a thread finds what was
//! written there before, as a function finds what an earlier call has left.

use std::ptr;
use std::sync::{Mutex, PoisonError};

use libc::{MAP_ANONYMOUS, MAP_PRIVATE, MAP_STACK, PROT_READ, PROT_WRITE};
use libc::{c_int, c_void, off_t, size_t};

/// A mapping's address, and its size in bytes.
type Mapped = (usize, size_t);

struct Stacks {
    used: Vec<Mapped>,
    kept: Vec<Mapped>,
}

static STACKS: Mutex<Stacks> = Mutex::new(Stacks { used: Vec::new(), kept: Vec::new() });

fn with<R>(what: impl FnOnce(&mut Stacks) -> R) -> R {
    what(&mut STACKS.lock().unwrap_or_else(PoisonError::into_inner))
}

impl Stacks {
    fn take(&mut self, size: size_t) -> Option<Mapped> {
        let found = self.kept.iter().rposition(|kept| kept.1 == size)?;
        let stack = self.kept.swap_remove(found);
        self.used.push(stack);
        Some(stack)
    }

    /// Keeps a mapping if it is a stack. Returns whether it is one.
    fn keep(&mut self, mapped: Mapped) -> bool {
        let Some(found) = self.used.iter().rposition(|used| *used == mapped) else {
            return false;
        };
        self.used.swap_remove(found);
        self.kept.push(mapped);
        true
    }
}

/// Maps memory, or takes a stack that was kept.
// SAFETY: the C library's function of this name does the same, except that a stack is not cleared.
#[unsafe(no_mangle)]
unsafe extern "C" fn mmap(
    at: *mut c_void,
    size: size_t,
    rights: c_int,
    flags: c_int,
    file: c_int,
    offset: off_t,
) -> *mut c_void {
    let is_stack = at.is_null()
        && rights == PROT_READ | PROT_WRITE
        && flags == MAP_PRIVATE | MAP_ANONYMOUS | MAP_STACK;
    if is_stack && let Some((address, _)) = with(|stacks| stacks.take(size)) {
        return ptr::with_exposed_provenance_mut(address);
    }
    // SAFETY: our caller's promise.
    let result = unsafe { libc::syscall(libc::SYS_mmap, at, size, rights, flags, file, offset) };
    let mapped = ptr::with_exposed_provenance_mut(result.cast_unsigned() as usize);
    if is_stack && mapped != libc::MAP_FAILED {
        with(|stacks| stacks.used.push((mapped.addr(), size)));
    }
    mapped
}

/// Unmaps memory, or keeps it if it is a stack.
// SAFETY: the C library's function of this name does the same, except for stacks, which are not
// used until they are mapped again.
#[unsafe(no_mangle)]
unsafe extern "C" fn munmap(at: *mut c_void, size: size_t) -> c_int {
    if with(|stacks| stacks.keep((at.addr(), size))) {
        return 0;
    }
    // SAFETY: our caller's promise.
    let result = unsafe { libc::syscall(libc::SYS_munmap, at, size) };
    if result == 0 { 0 } else { -1 }
}

#[cfg(test)]
mod tests {
    use super::{Stacks, with};
    use crate::{Bounds, Loom, model};

    fn all(stacks: &mut Stacks) -> usize {
        stacks.kept.len() + stacks.used.len()
    }

    #[test]
    fn executions_share_their_stacks() {
        let bounds = Bounds { executions: Some(50), ..Bounds::default() };
        let explore = || {
            let case = || {
                let word = loom::sync::Arc::new(loom::sync::atomic::AtomicU32::new(0));
                Loom::run(3, move |_| _ = word.fetch_add(1, loom::sync::atomic::Ordering::Relaxed));
            };
            model(bounds, case).executions
        };
        assert!(explore() > 1);
        let stacks = with(all);
        assert_eq!(stacks, 3, "one for each thread of an execution");
        explore();
        assert_eq!(with(all), stacks);
    }
}
