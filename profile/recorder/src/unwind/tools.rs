//! What unwinding needs: a cache, and a stack.
//!
//! Unwinding takes some 12 KiB of stack. A thread may have less left, and the size of a coroutine's
//! stack is unknown. So the library has stacks of its own, and work that may unwind moves to one of
//! them. Meanwhile signals are blocked: a handler must find the stack that the program gave it, one
//! that leaves by `siglongjmp` would never give ours back, and what a handler counts in a table
//! that is being copied would be lost.

use core::arch::asm;
use core::ptr::{null_mut, without_provenance_mut};
use core::sync::atomic::{AtomicPtr, Ordering};

use framehop::MustNotAllocateDuringUnwind;
use framehop::x86_64::{CacheX86_64, UnwindRegsX86_64};
use rustix::mm::munmap;
use syncline_interpose::{run_on, with_signals_blocked};

use crate::alloc::{has_room, map_anonymous};

extern crate alloc;
use alloc::boxed::Box;

/// Makes unwinding fast the second time.
pub type Cache = CacheX86_64<MustNotAllocateDuringUnwind>;

/// The number of sets of tools: this many threads can unwind at once. A thread that finds none goes
/// without.
const SETS: usize = 8;
/// Bytes of each stack; only what is used takes memory.
const STACK: usize = 256 << 10;

struct Tools {
    cache: Cache,
    stack_end: *mut u8,
}

/// The sets that no thread uses. A thread takes the first, so few are ever made.
static POOL: [AtomicPtr<Tools>; SETS] = [const { AtomicPtr::new(null_mut()) }; SETS];

/// Stands in the pool for a set that is made when it is taken.
const UNMADE: *mut Tools = without_provenance_mut(1);

/// More than a set takes of our memory.
const NEEDED: usize = 64 << 10;

/// Fills the pool, if there is nothing in it: also in a forked child whose parent was using all.
pub fn prepare() {
    if POOL.iter().all(|set| set.load(Ordering::Relaxed).is_null()) {
        POOL.iter().for_each(|set| set.store(UNMADE, Ordering::Release));
    }
}

/// Makes a set; `None` if there is no room.
fn make() -> Option<*mut Tools> {
    let stack = has_room(NEEDED).then(|| map_anonymous(STACK))??;
    let stack_end = stack.wrapping_add(STACK);
    // On the new stack, since the thread may have little room on its own.
    let tools = || Box::into_raw(Box::new(Tools { cache: Cache::new_in(), stack_end }));
    // SAFETY: the stack is mapped, and no other thread uses it; signals are blocked.
    Some(unsafe { run_on(stack_end, tools) })
}

/// Empties the pool, and unmaps the stacks of its sets. The sets themselves are freed by the caller.
pub fn rest() {
    for set in &POOL {
        // Acquire pairs with the Release in `with`: the last owner is done with it.
        let tools = set.swap(null_mut(), Ordering::Acquire);
        if !tools.is_null() && tools != UNMADE {
            // SAFETY: the thread that took the set out of the pool has it alone.
            let stack = unsafe { (*tools).stack_end.wrapping_sub(STACK) };
            // SAFETY: the set's own mapping, with nothing of use in it.
            let _ = unsafe { munmap(stack.cast(), STACK) };
        }
    }
}

/// Runs something that may unwind: with a cache and on a stack of ours or, if all are in use,
/// here and without.
pub fn with<R>(action: impl FnOnce(Option<&mut Cache>) -> R) -> R {
    with_signals_blocked(|| {
        let taken = POOL.iter().enumerate().find_map(|(place, set)| {
            // Acquire pairs with the Release below: the last owner is done with it.
            let tools = set.swap(null_mut(), Ordering::Acquire);
            (!tools.is_null()).then_some((place, tools))
        });
        let Some((place, tools)) = taken else { return action(None) };
        let tools = if tools == UNMADE { make() } else { Some(tools) };
        let Some(tools) = tools else {
            POOL[place].store(UNMADE, Ordering::Release);
            return action(None);
        };
        // SAFETY: the thread that took tools out of the pool has them alone; the stack is mapped.
        let result = unsafe {
            let tools = &mut *tools;
            let cache = &mut tools.cache;
            run_on(tools.stack_end, || action(Some(cache)))
        };
        POOL[place].store(tools, Ordering::Release);
        result
    })
}

/// The registers from which unwinding starts.
#[derive(Clone, Copy)]
pub struct Registers {
    ip: u64,
    sp: u64,
    bp: u64,
}

impl Registers {
    /// Those of the calling function. It must not return before they are used.
    #[inline(always)]
    pub fn here() -> Registers {
        let (ip, sp, bp): (u64, u64, u64);
        // SAFETY: reads three registers.
        unsafe {
            asm!(
                "lea {ip}, [rip]",
                "mov {sp}, rsp",
                "mov {bp}, rbp",
                ip = out(reg) ip, sp = out(reg) sp, bp = out(reg) bp,
                options(nomem, nostack, preserves_flags),
            );
        }
        Registers { ip, sp, bp }
    }

    /// The instruction pointer.
    pub fn ip(&self) -> u64 {
        self.ip
    }

    /// The stack pointer.
    pub fn sp(&self) -> u64 {
        self.sp
    }

    /// As framehop takes them.
    pub fn for_framehop(&self) -> UnwindRegsX86_64 {
        UnwindRegsX86_64::new(self.ip, self.sp, self.bp)
    }
}
