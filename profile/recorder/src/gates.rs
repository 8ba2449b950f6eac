//! Intercepts `dlsym`, for programs that ask for a function which we interpose.
//!
//! A program that asks in the search order of all modules gets our function anyway if the recorder
//! was preloaded. It does not if it asks a certain library, as programs do that open the C library's
//! threads themselves (those of Free Pascal, for example). Then it gets our function from here.
//!
//! If the recorder was attached to a running process, the program gets a gate: a few instructions
//! that lead to our function, or after the end of the recording to the function that the program
//! would have got. The program may keep the gate and call it at any time, but no thread may enter
//! our functions after the end ([`crate::live`]).

use core::ffi::{CStr, c_char, c_void};
use core::ptr::null_mut;
use core::sync::atomic::{AtomicBool, AtomicPtr, AtomicU32, Ordering};

use syncline_interpose::{Symbol, next_definition, own_definition};

/// More than the number of functions that we export.
const GATES: usize = 128;
const GATE_BYTES: usize = 32;

/// 1 while the gates lead to our functions.
static OPEN: AtomicU32 = AtomicU32::new(0);
/// Whether the recorder records this process from its start to its end, so that no gates are needed.
///
/// Relaxed: it is written before the program's threads exist, and says nothing about other data.
static NEEDLESS: AtomicBool = AtomicBool::new(false);
/// Targets of each gate: our function, and the one that the program would have got.
static OURS: [AtomicPtr<c_void>; GATES] = [const { AtomicPtr::new(null_mut()) }; GATES];
static THEIRS: [AtomicPtr<c_void>; GATES] = [const { AtomicPtr::new(null_mut()) }; GATES];
/// The C library's `dlsym`.
static DLSYM: Symbol = Symbol::new(c"dlsym", None);

/// All gates, one behind the other. Each only jumps, so the function finds the stack and the
/// registers as its caller left them.
#[unsafe(naked)]
extern "C" fn gates() {
    core::arch::naked_asm!(
        ".set .Lsyncline_gate, 0",
        ".rept {gates}",
        ".p2align 5",
        "cmp dword ptr [rip + {open}], 0",
        "je 2f",
        "jmp qword ptr [rip + {ours} + .Lsyncline_gate * 8]",
        "2:",
        "jmp qword ptr [rip + {theirs} + .Lsyncline_gate * 8]",
        ".set .Lsyncline_gate, .Lsyncline_gate + 1",
        ".endr",
        ".p2align 5",
        gates = const GATES,
        open = sym OPEN,
        ours = sym OURS,
        theirs = sym THEIRS,
    )
}

/// From now on gives the program our functions themselves. Called in a process that is recorded from
/// its start to its end.
pub fn are_needless() {
    NEEDLESS.store(true, Ordering::Relaxed);
}

/// Opens or closes all gates.
pub fn set_open(open: bool) {
    OPEN.store(open.into(), Ordering::SeqCst);
}

/// The gate to a function of ours, which the program gets instead of `theirs`; `None` if all gates
/// are taken.
fn gate(ours: *mut c_void, theirs: *mut c_void) -> Option<*mut c_void> {
    let is_its = |ours_of_gate: &AtomicPtr<c_void>| {
        // Relaxed: the gate is given out only after both words are written, and the program's own
        // synchronization orders its use by other threads.
        match ours_of_gate.compare_exchange(null_mut(), ours, Ordering::Relaxed, Ordering::Relaxed)
        {
            Ok(_) => true,
            Err(taken) => taken == ours,
        }
    };
    let number = OURS.iter().position(is_its)?;
    THEIRS[number].store(theirs, Ordering::Relaxed);
    Some((gates as *mut c_void).wrapping_byte_add(number * GATE_BYTES))
}

/// Tells [`dlsym`] to return `answer` or, if that is null, to go on to `real`.
#[repr(C)]
struct Decision {
    answer: *mut c_void,
    real: *mut c_void,
}

/// Decides what `dlsym` returns. The answer for `RTLD_NEXT` depends on which module asks, so the C
/// library gives it. Its answer also stays if it is not the function that we would call: a library
/// that interposes the same functions may ask for the C library's, and ours would call that library
/// again.
unsafe extern "C" fn decide(handle: *mut c_void, name: *const c_char) -> Decision {
    let real = DLSYM.get();
    let answer = || {
        let needless = NEEDLESS.load(Ordering::Relaxed);
        if !needless && OPEN.load(Ordering::SeqCst) == 0 || handle == libc::RTLD_NEXT {
            return None;
        }
        // SAFETY: the name that the program asks for ends in a zero byte.
        let text = unsafe { CStr::from_ptr(name) };
        let ours = own_definition(text);
        if ours.is_null() {
            return None;
        }
        let theirs = next_definition(text, None);
        // SAFETY: the symbol of this name has this type, and the arguments are the program's own.
        let found = unsafe {
            let dlsym: unsafe extern "C" fn(*mut c_void, *const c_char) -> *mut c_void =
                core::mem::transmute(real);
            dlsym(handle, name)
        };
        if found.is_null() || found != theirs {
            return None;
        }
        if needless { Some(ours) } else { gate(ours, theirs) }
    };
    Decision { answer: answer().unwrap_or(null_mut()), real }
}

/// Stands in front of the C library's `dlsym`.
///
/// # Safety
/// Same requirements as `dlsym`.
#[unsafe(no_mangle)]
#[unsafe(naked)]
pub unsafe extern "C" fn dlsym(handle: *mut c_void, name: *const c_char) -> *mut c_void {
    core::arch::naked_asm!(
        "push rdi",
        "push rsi",
        "sub rsp, 8",
        "call {decide}",
        "add rsp, 8",
        "pop rsi",
        "pop rdi",
        "test rax, rax",
        "jne 2f",
        // From here on it is the caller's own call: the C library sees which module asks.
        "jmp rdx",
        "2:",
        "ret",
        decide = sym decide,
    )
}
