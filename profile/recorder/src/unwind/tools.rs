//! What unwinding needs and can't make on the spot: a cache, and a stack.
//!
//! Unwinding takes some 12 KiB of stack. A thread may have less left, and the size of a coroutine's
//! stack is unknown. So the library has stacks of its own, and work that may unwind moves to one of
//! them. Meanwhile signals are blocked: a handler must find the stack that the program gave it, one
//! that leaves by `siglongjmp` would never give ours back, and what a handler counts in a table
//! that is being copied would be lost.

use core::arch::asm;
use core::ptr::null_mut;
use core::sync::atomic::{AtomicPtr, Ordering};

use framehop::MustNotAllocateDuringUnwind;
use framehop::x86_64::{CacheX86_64, UnwindRegsX86_64};
use syncline_interpose::{run_on, with_signals_blocked};

use crate::alloc::map_anonymous;

extern crate alloc;
use alloc::boxed::Box;

/// Makes unwinding fast the second time.
pub type Cache = CacheX86_64<MustNotAllocateDuringUnwind>;

/// Sets of tools: as many threads can unwind at once. A thread that finds none goes without.
const SETS: usize = 8;
/// Bytes of each stack; only what is used takes memory.
const STACK: usize = 256 << 10;

struct Tools {
    cache: Cache,
    stack_end: *mut u8,
}

static POOL: [AtomicPtr<Tools>; SETS] = [const { AtomicPtr::new(null_mut()) }; SETS];

/// Makes the tools, if there are none: also in a forked child whose parent was using all.
pub fn prepare() {
    if POOL.iter().any(|set| !set.load(Ordering::Relaxed).is_null()) {
        return;
    }
    for set in &POOL {
        let Some(stack) = map_anonymous(STACK) else { return };
        let tools = Tools { cache: Cache::new_in(), stack_end: stack.wrapping_add(STACK) };
        set.store(Box::into_raw(Box::new(tools)), Ordering::Release);
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
