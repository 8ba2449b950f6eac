//! The tools of unwinding: a cache, and a stack.
//!
//! Unwinding takes some 12 KiB of stack. A thread may have less left, and the size of a coroutine's
//! stack is unknown. So the library has stacks of its own, and runs work that may unwind on one of
//! them. Signals are blocked meanwhile, for three reasons: a handler must find the stack that the
//! program gave it; a handler that leaves by `siglongjmp` would never give our stack back; and
//! counts that a handler adds to a table that is being copied would be lost.

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

/// Keeps unwind rules, which makes unwinding the same code again fast.
pub type Cache = CacheX86_64<MustNotAllocateDuringUnwind>;

/// The number of sets of tools, and so of threads that can unwind at a time. A thread that finds no
/// free set does without.
const SETS: usize = 8;
/// Bytes of each stack; only the pages that are used take memory.
const STACK: usize = 256 << 10;

struct Tools {
    cache: Cache,
    stack_end: *mut u8,
}

/// The sets that are not in use. A thread takes the first one, so few are ever made.
static POOL: [AtomicPtr<Tools>; SETS] = [const { AtomicPtr::new(null_mut()) }; SETS];

/// Marks a set in the pool that is only made when it is taken.
const UNMADE: *mut Tools = without_provenance_mut(1);

/// More than the bytes of our memory that a set takes.
const NEEDED: usize = 64 << 10;

/// Fills the pool if it is empty, as it also is in a forked child whose parent was using all sets.
pub fn prepare() {
    if POOL.iter().all(|set| set.load(Ordering::Relaxed).is_null()) {
        POOL.iter().for_each(|set| set.store(UNMADE, Ordering::Release));
    }
}

/// Makes a set; `None` if there is no memory.
fn make() -> Option<*mut Tools> {
    let stack = has_room(NEEDED).then(|| map_anonymous(STACK))??;
    let stack_end = stack.wrapping_add(STACK);
    // Made on the new stack, because the thread's own may have little room.
    let tools = || Box::into_raw(Box::new(Tools { cache: Cache::new_in(), stack_end }));
    // SAFETY: the stack is mapped, and no other thread uses it; signals are blocked.
    Some(unsafe { run_on(stack_end, tools) })
}

/// Empties the pool, and unmaps the stacks of its sets. The caller frees the sets themselves.
pub fn rest() {
    for set in &POOL {
        // Acquire pairs with the Release in `with`: the last thread that used the set is done with
        // it.
        let tools = set.swap(null_mut(), Ordering::Acquire);
        if !tools.is_null() && tools != UNMADE {
            // SAFETY: the set was taken out of the pool, so no other thread has it.
            let stack = unsafe { (*tools).stack_end.wrapping_sub(STACK) };
            // SAFETY: the set's own mapping, which is not in use.
            let _ = unsafe { munmap(stack.cast(), STACK) };
        }
    }
}

/// Runs an action that may unwind, with a cache and on a stack of ours. If all sets are in use, or
/// none can be made, runs it on the current stack, without a cache.
pub fn with<R>(action: impl FnOnce(Option<&mut Cache>) -> R) -> R {
    with_signals_blocked(|| {
        let taken = POOL.iter().enumerate().find_map(|(place, set)| {
            // Acquire pairs with the Release below: the last thread that used the set is done with
            // it.
            let tools = set.swap(null_mut(), Ordering::Acquire);
            (!tools.is_null()).then_some((place, tools))
        });
        let Some((place, tools)) = taken else { return action(None) };
        let tools = if tools == UNMADE { make() } else { Some(tools) };
        let Some(tools) = tools else {
            POOL[place].store(UNMADE, Ordering::Release);
            return action(None);
        };
        // SAFETY: the set was taken out of the pool, so no other thread has it; the stack is
        // mapped.
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
    /// The registers of the calling function, which must not return before they are used.
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

    /// These registers as framehop expects them.
    pub fn for_framehop(&self) -> UnwindRegsX86_64 {
        UnwindRegsX86_64::new(self.ip, self.sp, self.bp)
    }
}
