//! What unwinding needs and can't make on the spot: a cache, and a stack.
//!
//! Unwinding takes some 12 KiB of stack. A thread may have less left, and of a coroutine's
//! stack nobody knows the size. So the library has stacks of its own, and work that may
//! unwind moves to one of them. Meanwhile signals are blocked: a handler must find the stack
//! that the program gave it, one that leaves by `siglongjmp` would never give ours back, and
//! what a handler counts in a table that is being copied would be lost.

use core::arch::asm;
use core::ffi::c_void;
use core::ptr::null_mut;
use core::sync::atomic::{AtomicPtr, Ordering};

use framehop::MustNotAllocateDuringUnwind;
use framehop::x86_64::{CacheX86_64, UnwindRegsX86_64};

use crate::alloc::map_anonymous;

extern crate alloc;
use alloc::boxed::Box;

/// Makes unwinding fast the second time.
pub type Cache = CacheX86_64<MustNotAllocateDuringUnwind>;

/// Sets of tools: as many threads can unwind at once. Who finds none goes without.
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
    let taken = POOL.iter().enumerate().find_map(|(place, set)| {
        // Acquire pairs with the Release below: whoever had it last is done with it.
        let tools = set.swap(null_mut(), Ordering::Acquire);
        (!tools.is_null()).then_some((place, tools))
    });
    let Some((place, tools)) = taken else { return with_signals_blocked(|| action(None)) };
    // SAFETY: whoever took tools out of the pool has them alone; the stack is mapped.
    let result = unsafe {
        let tools = &mut *tools;
        let cache = &mut tools.cache;
        with_signals_blocked(|| run_on(tools.stack_end, || action(Some(cache))))
    };
    POOL[place].store(tools, Ordering::Release);
    result
}

fn with_signals_blocked<R>(action: impl FnOnce() -> R) -> R {
    /// All but the two that the C library keeps for itself, 32 and 33.
    const ALL: u64 = !(0b11 << 31);
    let before = exchange_mask(ALL);
    let result = action();
    exchange_mask(before);
    result
}

/// Sets the calling thread's mask of signals. Returns what it was.
fn exchange_mask(mask: u64) -> u64 {
    let mut before = 0u64;
    // SAFETY: the kernel reads the first word and writes the second.
    unsafe {
        asm!(
            "syscall",
            inlateout("rax") libc::SYS_rt_sigprocmask => _,
            in("rdi") libc::SIG_SETMASK,
            in("rsi") &raw const mask,
            in("rdx") &raw mut before,
            in("r10") size_of::<u64>(),
            lateout("rcx") _, lateout("r11") _,
            options(nostack),
        );
    }
    before
}

/// Runs something on another stack.
///
/// # Safety
/// Below `stack_end` there is a stack that nobody else uses.
unsafe fn run_on<R, F: FnOnce() -> R>(stack_end: *mut u8, action: F) -> R {
    struct Job<R, F> {
        action: Option<F>,
        result: Option<R>,
    }
    // A panic can't leave a function of this ABI, so nothing unwinds across the stacks.
    unsafe extern "C" fn run<R, F: FnOnce() -> R>(job: *mut c_void) {
        // SAFETY: the job below.
        let job = unsafe { &mut *job.cast::<Job<R, F>>() };
        job.result = job.action.take().map(|action| action());
    }
    let mut job = Job { action: Some(action), result: None };
    let function: unsafe extern "C" fn(*mut c_void) = run::<R, F>;
    // SAFETY: by this function's own condition. `r12` is one of the registers that the
    // called function leaves as they were, and brings our own stack back.
    unsafe {
        asm!(
            "mov r12, rsp",
            "mov rsp, {stack_end}",
            "call {function}",
            "mov rsp, r12",
            stack_end = in(reg) stack_end,
            function = in(reg) function,
            in("rdi") &raw mut job,
            out("r12") _,
            clobber_abi("C"),
        );
    }
    match job.result {
        Some(result) => result,
        None => unreachable!("the job has run"),
    }
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
