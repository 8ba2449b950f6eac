//! Captures call stacks without frame pointers, from inside a lock function.
//!
//! framehop reads the unwind tables that every program carries for exceptions. It takes no lock
//! and, with caches that were made before, allocates nothing. For every frame, this code asks the
//! loader again which module the address belongs to, so code that was unloaded is never read. It
//! asks by `_dl_find_object` (glibc 2.35), which takes no lock and is safe in signal handlers. With
//! an older C library, only the modules that were loaded at the start are known, and are assumed to
//! stay. The modules that framehop knows are an immutable snapshot, which is replaced as a whole.
//! Old snapshots stay, because another thread may be reading them.

pub mod module;
pub mod tools;
mod word;

use core::ops::Range;
use core::ptr::null_mut;
use core::sync::atomic::{AtomicPtr, AtomicU32, Ordering};

use framehop::x86_64::UnwinderX86_64;
use framehop::{FrameAddress, MustNotAllocateDuringUnwind, Unwinder};
use syncline_interpose::{Object, can_ask, for_each_loaded, object_at};
use syncline_recording::layout::STACK_FRAMES;
use syncline_recording::writer::File;

use crate::tls;
use crate::unwind::module::{Known, forget_written};
use crate::unwind::tools::{Cache, Registers};
use crate::unwind::word::Words;

extern crate alloc;
use alloc::boxed::Box;
use alloc::vec::Vec;

/// The most frames of this library on top of the program's.
const OWN_FRAMES: usize = 16;

/// Where modules that unwinding finds are recorded.
#[derive(Clone, Copy)]
pub struct Modules<'r> {
    /// The file to write them to.
    pub file: &'r File,
    /// Set while a thread adds a module.
    pub busy: &'r AtomicU32,
}

static SNAPSHOT: AtomicPtr<Snapshot> = AtomicPtr::new(null_mut());

#[derive(Clone)]
struct Snapshot {
    unwinder: UnwinderX86_64<&'static [u8], MustNotAllocateDuringUnwind>,
    modules: Vec<Known>,
}

impl Snapshot {
    /// An upper bound of the bytes that one more module takes, with a copy of all others.
    fn size(&self) -> usize {
        const MODULE: usize = 1024;
        (self.modules.len() + 16) * MODULE
    }
}

/// A captured stack, innermost frame first.
pub struct Trace {
    frames: [u64; STACK_FRAMES],
    /// Where each return address lay, in words from the first one; `u32::MAX` if that is unknown.
    slots: [u32; STACK_FRAMES],
    depth: usize,
    /// The address at which the first return address lies.
    caller: usize,
    /// Whether there were more frames.
    pub cut: bool,
    /// Whether unwinding ended before the stack did.
    pub broken: bool,
}

impl Trace {
    /// A stack without frames. Its first return address lies at `caller`.
    pub fn new(caller: usize) -> Trace {
        let (frames, slots) = ([0; STACK_FRAMES], [u32::MAX; STACK_FRAMES]);
        Trace { frames, slots, depth: 0, caller, cut: false, broken: false }
    }

    /// The return addresses, innermost first.
    pub fn frames(&self) -> &[u64] {
        &self.frames[..self.depth]
    }

    /// Where the other return addresses lay, in words from the first one; `None` if one of these
    /// positions is unknown, or if unwinding ended before the stack did.
    pub fn slots(&self) -> Option<&[u32]> {
        let slots = self.slots.get(1..self.depth)?;
        (!self.broken && !slots.contains(&u32::MAX)).then_some(slots)
    }

    /// Adds a frame; `slot` is the address at which its return address lay.
    fn push(&mut self, frame: u64, slot: u64) {
        let from_first = slot.wrapping_sub(self.caller as u64);
        if from_first.is_multiple_of(8) {
            self.slots[self.depth] = u32::try_from(from_first / 8).unwrap_or(u32::MAX);
        }
        self.frames[self.depth] = frame;
        self.depth += 1;
    }
}

/// Prepares a process: readies the tools, and writes the loaded modules to the file, unless it has
/// those of a parent.
pub fn begin(file: &File) {
    tools::prepare();
    let is_first = file.page() == 0;
    if is_first {
        forget_written();
    }
    if let Some(snapshot) = snapshot() {
        // A forked child knows its parent's modules, but a new file of its own does not have them
        // yet.
        let unwritten = if is_first { &snapshot.modules[..] } else { &[] };
        unwritten.iter().for_each(|known| known.write(file));
        return;
    }
    let mut first = Snapshot { unwinder: UnwinderX86_64::new(), modules: Vec::new() };
    for_each_loaded(|object| first.add(file, object));
    SNAPSHOT.store(Box::into_raw(Box::new(first)), Ordering::Release);
}

/// Forgets the modules and the tools. The caller frees the memory that they have allocated.
///
/// # Safety
/// No thread unwinds.
pub unsafe fn rest() {
    SNAPSHOT.store(null_mut(), Ordering::Release);
    tools::rest();
}

fn snapshot() -> Option<&'static Snapshot> {
    // SAFETY: snapshots are freed only while no thread unwinds. Acquire pairs with the Release of
    // the store.
    unsafe { SNAPSHOT.load(Ordering::Acquire).as_ref() }
}

impl Snapshot {
    fn add(&mut self, file: &File, object: Object) {
        for gone in self.modules.extract_if(.., |known| known.overlaps(&object)) {
            self.unwinder.remove_module(gone.start());
            file.modules_changed();
        }
        let known = Known::of(&object, file);
        known.write(file);
        self.unwinder.add_module(module::framehop(&object));
        self.modules.push(known);
    }
}

/// The snapshot that has the module at this address; `None` if there is no code there, or if the
/// module can't be added now.
fn knowing(modules: Modules<'_>, pc: u64) -> Option<&'static Snapshot> {
    let known = snapshot()?;
    if !can_ask() {
        return known.modules.iter().any(|m| m.covers(pc)).then_some(known);
    }
    let object = object_at(pc)?;
    if known.modules.iter().any(|m| m.is(&object)) {
        return Some(known);
    }
    // No thread waits: if another thread is adding a module, this one does without the frame.
    if modules.busy.swap(1, Ordering::Acquire) != 0 {
        return None;
    }
    let next = snapshot().filter(|s| crate::alloc::has_room(s.size())).cloned();
    if let Some(mut next) = next {
        next.add(modules.file, object);
        SNAPSHOT.store(Box::into_raw(Box::new(next)), Ordering::Release);
    }
    modules.busy.store(0, Ordering::Release);
    snapshot().filter(|s| s.modules.iter().any(|m| m.is(&object)))
}

/// Captures the stack from the frame that `ret` returns to; `from` are registers inside a function
/// of ours.
pub fn trace(
    modules: Modules<'_>,
    from: Registers,
    ret: usize,
    cache: Option<&mut Cache>,
    trace: &mut Trace,
) {
    let walked = cache.and_then(|cache| walk(modules, from, ret as u64, cache, trace));
    trace.broken = walked.is_none();
    if trace.depth == 0 {
        trace.push(ret as u64, trace.caller as u64);
    }
}

/// Returns `None` if the walk ended before the stack did.
fn walk(
    modules: Modules<'_>,
    from: Registers,
    ret: u64,
    cache: &mut Cache,
    trace: &mut Trace,
) -> Option<()> {
    let mut regs = from.for_framehop();
    let mut address = FrameAddress::from_instruction_pointer(from.ip());
    let (low, sp, high) = (tls::stack_low() as u64, from.sp(), tls::stack_high() as u64);
    let on_stack = low <= sp && sp < high;
    let mut elsewhere = Words::default();
    let mut read = |at: u64| {
        if on_stack && at >= sp && at < high && at.is_multiple_of(8) {
            // SAFETY: from the stack pointer up to its end, a thread's stack is mapped.
            Ok(unsafe { *(at as *const u64) })
        } else {
            elsewhere.read(at)
        }
    };
    let own = own_code();
    let mut found = false;
    for step in 0..OWN_FRAMES + STACK_FRAMES {
        let snapshot = knowing(modules, address.address_for_lookup())?;
        let next = snapshot.unwinder.unwind_frame(address, &mut regs, cache, &mut read);
        let Some(pc) = next.ok()? else { return found.then_some(()) };
        if found && own.contains(&pc) {
            // The thread began in a function of ours, which called the program's.
            return Some(());
        }
        found |= pc == ret;
        if found {
            if trace.depth == STACK_FRAMES {
                trace.cut = true;
                return Some(());
            }
            // The return address was the last word of the callee's frame.
            trace.push(pc, regs.sp().wrapping_sub(8));
        } else if step == OWN_FRAMES {
            return None;
        }
        address = FrameAddress::from_return_address(pc)?;
    }
    trace.cut = true;
    Some(())
}

/// The addresses of this library's code.
fn own_code() -> Range<u64> {
    unsafe extern "C" {
        /// Defined by the linker, at the start of the library.
        #[link_name = "__ehdr_start"]
        static START: u8;
        /// Defined by the linker, at the end of the library's code.
        #[link_name = "etext"]
        static END: u8;
    }
    (&raw const START).addr() as u64..(&raw const END).addr() as u64
}
