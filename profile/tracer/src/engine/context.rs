//! A context has all that is needed to trace a section. It is lent to one thread at a time.
//!
//! ```text
//!   Context     fields, which translated code addresses relative to itself
//!   cache       translated code, which every thread that has the context can run
//!   table       for jumps with computed targets: where the target's translation is
//!   stack       the stack of the engine's own functions
//!   unsure      a byte for each block: 0 if the program's code is known to be unchanged
//!   log         the blocks that ran and their accesses to memory, written downwards
//! ```
//!
//! The code belongs to the context, so no other thread executes it while it is written or recycled.
//! It is in private memory, so a forked child has a copy. A thread that was inside translated code
//! when it forked continues there.

use core::mem::offset_of;
use core::sync::atomic::{AtomicPtr, AtomicU32, Ordering};

use super::Engine;
use super::block::BLOCKS;
use super::emit::Emitter;
use super::processor;
use crate::alloc::map;
use crate::aside;

/// The size of the cache in bytes. When it is full, all of it is discarded. 4 MiB hold about 60,000
/// instructions, more than a program's sections execute repeatedly.
const CACHE: usize = 4 << 20;
/// The number of slots of the table, which is indexed by the low 16 bits of an address.
pub const TABLE: usize = 1 << 16;
const STACK: usize = 256 << 10;
/// The log is read when this many bytes of it are filled. They have about 10,000 accesses, few
/// enough to be still in the processor's cache.
pub const LOG: usize = 1 << 17;
/// A block may run only if this much room is left in the log: more than a block can fill.
const LOG_RESERVE: usize = 1 << 16;
/// The log is aligned to this many bytes, so bits 16 to 23 of an address in it say how many times
/// [`LOG_RESERVE`] bytes are left. These bits can be tested without changing a flag of the
/// processor.
const LOG_ALIGN: usize = 1 << 24;
/// The most contexts of a process, and so the most threads that can be traced at a time.
const MOST: usize = 64;

const HEADER: usize = 16 << 10;
const TABLE_AT: usize = HEADER + CACHE;
const STACK_AT: usize = TABLE_AT + TABLE * 16;
const UNSURE_AT: usize = STACK_AT + STACK;
const WHOLE: usize = UNSURE_AT + BLOCKS;

/// [`Context::state`]: in translated code.
pub const TRACING: u64 = 0;
/// [`Context::state`]: in a function of this library, which the section called.
pub const SUSPENDED: u64 = 1;
/// [`Context::state`]: in the engine.
pub const IN_ENGINE: u64 = 2;

/// A context, as the top of this file describes it. Assembly and translated code use the fields
/// before `engine`.
#[repr(C, align(4096))]
pub struct Context {
    /// The program's values of registers that translated code uses for itself.
    pub spill: [u64; 16],
    /// The program's registers while the engine runs.
    pub registers: [u64; 16],
    /// The program's flags while the engine runs.
    pub flags: u64,
    /// The address at which translated code continues when the engine is done.
    pub next: u64,
    /// The address in the program to which an indirect jump leads.
    pub target: u64,
    /// The address to which translated code jumps after all registers were restored.
    pub jump: u64,
    /// The lowest byte of the log that is in use.
    pub log: u64,
    /// Why the engine was entered.
    pub exit: u64,
    /// The argument of `exit`, such as the number of a block.
    pub argument: u64,
    /// The upper end of the engine's stack.
    pub stack: u64,
    /// The address at which translated code enters the engine, with the context in rdi.
    pub entry: u64,
    /// [`TRACING`], [`SUSPENDED`] or [`IN_ENGINE`].
    pub state: u64,
    /// If the state is [`SUSPENDED`]: the stack pointer at the entry of the function that the
    /// section called.
    pub suspended_at: u64,
    /// The components of vector state that are saved, as a mask for `xsave`.
    pub vector_mask: u64,
    /// Vector state, as `xsave` writes it.
    pub vectors: Vectors,
    /// The parts that only Rust code uses.
    pub engine: *mut Engine,
    log_base: u64,
    owner: AtomicU32,
}

/// Room for x87, SSE, AVX and AVX-512 state (2,688 bytes in the standard form).
#[repr(C, align(64))]
pub struct Vectors([u8; 3072]);

static POOL: [AtomicPtr<Context>; MOST] = [const { AtomicPtr::new(core::ptr::null_mut()) }; MOST];

impl Context {
    /// Takes a context for a thread; `None` if all are in use, or none can be made.
    pub fn take(thread: u32) -> Option<&'static mut Context> {
        for place in &POOL {
            let context = place.load(Ordering::Acquire);
            if context.is_null() {
                let fresh = aside::work(|| Context::create(thread))??;
                // Release, with the Acquire above: the context's fields are visible.
                let (order, old) = (Ordering::AcqRel, core::ptr::null_mut());
                if place.compare_exchange(old, fresh, order, Ordering::Relaxed).is_ok() {
                    // SAFETY: this thread is its owner.
                    return Some(unsafe { &mut *fresh });
                }
                // SAFETY: another thread took the slot, so no other thread knows this context.
                unsafe { Context::discard(fresh) };
                continue;
            }
            // SAFETY: contexts in the pool stay mapped; `owner` is only touched atomically.
            let owner = unsafe { &(*context).owner };
            // Acquire, with the Release of `give_back`: the writes of the context's last owner are
            // visible.
            let free = owner.compare_exchange(0, thread, Ordering::Acquire, Ordering::Relaxed);
            if free.is_ok() {
                // SAFETY: this thread is its owner now.
                return Some(unsafe { &mut *context });
            }
        }
        None
    }

    /// Makes the context free for the next thread.
    pub fn give_back(&mut self) {
        // Release: see `take`.
        self.owner.store(0, Ordering::Release);
    }

    fn create(thread: u32) -> Option<*mut Context> {
        let base = map(WHOLE, 4096);
        let log = map(LOG + LOG_RESERVE, LOG_ALIGN);
        let access = libc::PROT_READ | libc::PROT_WRITE | libc::PROT_EXEC;
        // SAFETY: the cache is part of what was just mapped.
        let makes_executable =
            || unsafe { libc::mprotect(base.add(HEADER).cast(), CACHE, access) } == 0;
        if base.is_null() || log.is_null() || !makes_executable() {
            for (start, bytes) in [(base, WHOLE), (log, LOG + LOG_RESERVE)] {
                if !start.is_null() {
                    // SAFETY: the memory was mapped above, and no other thread knows it.
                    unsafe { libc::munmap(start.cast(), bytes) };
                }
            }
            return None;
        }
        let context: *mut Context = base.cast();
        // SAFETY: zeroed memory of the right size is a valid context except for its engine, which
        // is set here.
        unsafe {
            (*context).stack = base.add(STACK_AT + STACK - 64).addr() as u64;
            (*context).log_base = log.addr() as u64;
            (*context).vector_mask = processor::vector_mask();
            (*context).owner = AtomicU32::new(thread);
            (*context).engine = Box::into_raw(Box::new(Engine::new()));
            (*context).empty_log();
            (*context).recycle();
        }
        Some(context)
    }

    /// # Safety
    /// No other thread knows the context.
    unsafe fn discard(context: *mut Context) {
        // SAFETY: by this function's own condition; made by `create`.
        unsafe {
            drop(Box::from_raw((*context).engine));
            libc::munmap((*context).log_base as *mut _, LOG + LOG_RESERVE);
            libc::munmap(context.cast(), WHOLE);
        }
    }

    /// The parts that only Rust code uses.
    pub fn engine(&mut self) -> &mut Engine {
        // SAFETY: made with the context, and used by its owner only.
        unsafe { &mut *self.engine }
    }

    /// The end of the log, below which the first entry is written.
    pub fn log_top(&self) -> u64 {
        self.log_base + (LOG + LOG_RESERVE) as u64
    }

    /// Whether there is room in the log for an event. A block may use part of the reserve, but
    /// always leaves more than this.
    pub fn has_room(&self) -> bool {
        self.log - self.log_base > LOG_RESERVE as u64 / 4
    }

    /// Discards all entries of the log.
    pub fn empty_log(&mut self) {
        self.log = self.log_top();
    }

    /// An emitter at the beginning of the cache.
    pub fn cache(&self) -> Emitter {
        let context = (&raw const *self).addr() as u64;
        Emitter { context, at: context + HEADER as u64 }
    }

    /// One past the cache's last byte.
    pub fn cache_end(&self) -> u64 {
        (&raw const *self).addr() as u64 + TABLE_AT as u64
    }

    /// The table's slots. Each has an address of the program, and that of its translation.
    pub fn table(&mut self) -> &mut [[u64; 2]; TABLE] {
        // SAFETY: the table is part of the mapping, and only this context uses it.
        unsafe { &mut *((&raw mut *self).byte_add(TABLE_AT).cast()) }
    }
}

impl Context {
    /// Notes that the program's code may have changed, so that each block compares it again when it
    /// next runs.
    pub fn doubt_code(&mut self) {
        let blocks = self.engine().count();
        // SAFETY: the bytes are part of the mapping, and only this context uses them; there are no
        // more blocks than bytes.
        unsafe { (&raw mut *self).cast::<u8>().add(UNSURE_AT).write_bytes(1, blocks) };
    }
}

/// The distance from the context to a block's byte in the array of unsure blocks.
pub fn unsure_offset(block: u32) -> usize {
    UNSURE_AT + block as usize
}

/// The distance of the table from the context.
pub const TABLE_OFFSET: usize = TABLE_AT;
/// The offset of the byte of [`Context::log`] that becomes 0 when there is no room for a block.
pub const LOG_ROOM: usize = offset_of!(Context, log) + 2;
const _: () = assert!(size_of::<Context>() <= HEADER && LOG + LOG_RESERVE <= LOG_ALIGN);
const _: () = assert!(LOG_RESERVE == 1 << 16);

/// The distance of a register's spilled value from the context.
pub fn spill_offset(register: u8) -> usize {
    offset_of!(Context, spill) + usize::from(register) * 8
}

#[cfg(test)]
mod tests {
    use super::*;

    /// The size of this process's address space in bytes.
    fn mapped() -> usize {
        let text = std::fs::read_to_string("/proc/self/statm").expect("its size");
        let pages = text.split(' ').next().and_then(|pages| pages.parse::<usize>().ok());
        pages.expect("a number") * 4096
    }

    /// The limit of the address space suffices for the first mapping, but not for the log.
    #[test]
    fn a_context_that_can_not_be_made_leaves_nothing_mapped() {
        let child = || {
            let before = mapped();
            let limit = (before + 2 * WHOLE) as u64;
            let limit = libc::rlimit { rlim_cur: limit, rlim_max: limit };
            // SAFETY: a plain system call.
            let limited = unsafe { libc::setrlimit(libc::RLIMIT_AS, &raw const limit) } == 0;
            limited && Context::create(1).is_none() && mapped() < before + WHOLE
        };
        const { assert!(2 * WHOLE < LOG_ALIGN) };
        // SAFETY: the child uses only this library's memory, which needs no lock, and ends at once.
        let pid = unsafe { libc::fork() };
        if pid == 0 {
            let status = i32::from(!child());
            // SAFETY: ends the child.
            unsafe { libc::_exit(status) };
        }
        let mut status = 0;
        // SAFETY: the kernel writes the status.
        assert_eq!(unsafe { libc::waitpid(pid, &raw mut status, 0) }, pid);
        assert_eq!(status, 0);
    }
}
