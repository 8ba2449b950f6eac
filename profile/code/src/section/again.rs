//! Sleeps in loops: a function sleeps, checks something, and sleeps again.
//!
//! The function's instructions are followed along all paths from the return address of the sleep.
//! If a path comes back to the same call, the sleep is in a loop. A path with a hand-over does not
//! count, for example one on which a condition is signalled or waited for, or a semaphore is
//! posted. A loop with a hand-over in each round does work, and the sleep may be part of this work
//! or set its pace. A loop that only continues an interrupted sleep
//! (`while (nanosleep(&left, &left) == -1 && errno == EINTR)`) does not count: the path on which an
//! error number was equal to `EINTR` is left out. A function that does nothing but sleep, such as
//! `SDL_Delay`, sleeps for its caller; in that case the caller's loops count.

use std::collections::HashSet;
use std::ops::Range;

use iced_x86::{ConditionCode, FlowControl, Instruction, Mnemonic, OpKind};

use super::code::{Code, slot};
use super::held::common;
use super::names::hands_over;
use super::with_code;
use crate::file::image::Image;

/// The error number of an interrupted sleep.
const EINTR: u64 = 4;
/// At most this many instructions of a function are followed.
const MOST: usize = 20_000;
/// The functions that a function which does nothing but sleep may call.
const SLEEPS: [&str; 11] = [
    "nanosleep",
    "clock_nanosleep",
    "usleep",
    "sleep",
    "select",
    "poll",
    "sched_yield",
    "__errno_location",
    "clock_gettime",
    "gettimeofday",
    "__stack_chk_fail",
];

/// The role of a sleep in the function around it.
#[derive(Clone, Copy, Debug, PartialEq, Eq)]
pub enum Around {
    /// The function sleeps in a loop, without a hand-over in each round.
    Repeats,
    /// The function sleeps once.
    Once,
    /// The function sleeps in a loop that hands something over in each round.
    Works,
    /// The function does nothing but sleep, for its caller.
    Wraps,
    /// The function's instructions are not known.
    Unknown,
}

/// The role of a call that sleeps in the function around it. The call returns to `address` of the
/// file. The function is that of the call's frame with the index `frame`, where 0 is the innermost;
/// it may be inlined.
pub fn around_sleep(image: &Image, address: u64, frame: usize) -> Around {
    let around = |code: &Code| around(image, code, address, frame);
    with_code(image, around).unwrap_or(Around::Unknown)
}

fn around(image: &Image, code: &Code, address: u64, frame: usize) -> Around {
    let call = code.call_before(address);
    let Some((call, range)) = call.and_then(|call| Some((call, code.function(call.ip())?))) else {
        return Around::Unknown;
    };
    let frames = image.frames(call.ip());
    let depth = frames.len().saturating_sub(frame);
    let inside = |at: u64| {
        range.contains(&at) && (depth <= 1 || common(&frames, &image.frames(at)) >= depth)
    };
    let fetch = |at: u64| code.instruction(at).filter(|_| inside(at));
    let goes_on = |call: &Instruction| !exchanges(code, call);
    if comes_back(fetch, goes_on, call.next_ip(), call.ip()) {
        return Around::Repeats;
    }
    if comes_back(fetch, |_| true, call.next_ip(), call.ip()) {
        return Around::Works;
    }
    if only_sleeps(code, range.clone(), inside) { Around::Wraps } else { Around::Once }
}

/// Whether a path leads from one instruction to another. Paths end at calls for which `goes_on` is
/// false, and at branches that are only taken if a sleep was interrupted.
fn comes_back(
    fetch: impl Fn(u64) -> Option<Instruction>,
    goes_on: impl Fn(&Instruction) -> bool,
    from: u64,
    to: u64,
) -> bool {
    let mut open = vec![(from, false)];
    let mut seen = HashSet::new();
    while let Some((at, interrupted)) = open.pop() {
        if at == to {
            return true;
        }
        if seen.len() >= MOST || !seen.insert((at, interrupted)) {
            continue;
        }
        let Some(instruction) = fetch(at) else { continue };
        let compares = compares_with_eintr(&instruction);
        // The comparison's outcome stays in the flags until an instruction changes them.
        let pending = compares || interrupted && !writes_flags(&instruction);
        let (next, target) = (instruction.next_ip(), instruction.near_branch_target());
        match instruction.flow_control() {
            FlowControl::ConditionalBranch => {
                let equal = instruction.condition_code();
                if !(interrupted && equal == ConditionCode::e) {
                    open.push((target, pending));
                }
                if !(interrupted && equal == ConditionCode::ne) {
                    open.push((next, pending));
                }
            }
            FlowControl::UnconditionalBranch => open.push((target, pending)),
            FlowControl::Next => open.push((next, pending)),
            FlowControl::Call | FlowControl::IndirectCall if goes_on(&instruction) => {
                open.push((next, pending));
            }
            _ => {}
        }
    }
    false
}

/// Whether a call hands something over: it calls a function of another file that does, or a
/// function of the same file that calls one.
fn exchanges(code: &Code, call: &Instruction) -> bool {
    // A stub must not be read as a function. The unwind information has one entry for all stubs, so
    // each stub would seem to call every function of other files that the program calls.
    if let Some(name) = called(code, call) {
        return hands_over(name);
    }
    let inside = || {
        let range = code.function(call.near_branch_target())?;
        let mut names = code.instructions(range).filter_map(|one| called(code, &one));
        Some(names.any(hands_over))
    };
    call.flow_control() == FlowControl::Call && inside().unwrap_or(false)
}

/// The name of the function of another file that a call, or a jump at a function's end, leads to;
/// `None` for other instructions and functions.
fn called<'a>(code: &'a Code, instruction: &Instruction) -> Option<&'a str> {
    match instruction.flow_control() {
        FlowControl::Call | FlowControl::UnconditionalBranch => {
            code.stub(instruction.near_branch_target())
        }
        FlowControl::IndirectCall | FlowControl::IndirectBranch => {
            slot(instruction).and_then(|slot| code.bound(slot))
        }
        _ => None,
    }
}

fn compares_with_eintr(instruction: &Instruction) -> bool {
    let by_number = || {
        instruction.op_count() == 2
            && !matches!(instruction.op1_kind(), OpKind::Register | OpKind::Memory)
    };
    instruction.mnemonic() == Mnemonic::Cmp && by_number() && instruction.immediate(1) == EINTR
}

fn writes_flags(instruction: &Instruction) -> bool {
    instruction.rflags_modified() != 0
}

/// Whether all calls in a function, or in an inlined copy of it, are in [`SLEEPS`].
fn only_sleeps(code: &Code, range: Range<u64>, inside: impl Fn(u64) -> bool) -> bool {
    let calls = |instruction: &Instruction| match instruction.flow_control() {
        FlowControl::Call | FlowControl::IndirectCall => true,
        FlowControl::UnconditionalBranch => !range.contains(&instruction.near_branch_target()),
        FlowControl::IndirectBranch => slot(instruction).is_some(),
        _ => false,
    };
    let its = code.instructions(range.clone()).filter(|instruction| inside(instruction.ip()));
    let mut names = its.filter(calls).map(|call| called(code, &call));
    names.all(|name| name.is_some_and(|name| SLEEPS.contains(&name)))
}

#[cfg(test)]
mod tests {
    use super::*;
    use crate::section::testing::instructions;

    /// Whether the first indirect call among the instructions is repeated.
    macro_rules! repeats {
        ($($line:literal),* $(,)?) => {{
            let body = instructions!($($line),*);
            let call = body.iter().find(|i| i.flow_control() == FlowControl::IndirectCall);
            let call = call.expect("a call");
            let fetch = |at| body.iter().find(|i| i.ip() == at).copied();
            // A call through `rdx` hands something over.
            let goes_on = |call: &Instruction| call.op0_register() != iced_x86::Register::RDX;
            comes_back(fetch, goes_on, call.next_ip(), call.ip())
        }};
    }

    #[test]
    fn sleeps_in_loops_are_repeated() {
        assert!(repeats!("call rax", "mov ecx, [rdi]", "test ecx, ecx", "je 2b"), "a flag");
        assert!(repeats!("jmp 5f", "4:", "call rax", "5:", "cmp [rdi], esi", "jne 4b"));
        assert!(repeats!("call rax", "inc ebx", "cmp ebx, 4", "jne 2b"), "so many times");
        assert!(repeats!("call rax", "call rcx", "jmp 2b"), "what it looks at is in a call");
        assert!(!repeats!("call rax", "test eax, eax", "je 3f", "call rcx"), "once");
        assert!(!repeats!("test edi, edi", "je 4f", "call rax", "4:", "ret"), "if it has to");
    }

    #[test]
    fn a_loop_that_hands_over_in_each_round_works() {
        assert!(!repeats!("call rax", "call rdx", "jmp 2b"));
        assert!(
            repeats!("call rax", "test ecx, ecx", "je 2b", "call rdx", "jmp 2b"),
            "now and then"
        );
    }

    #[test]
    fn resuming_an_interrupted_sleep_is_no_loop() {
        assert!(!repeats!("call rax", "cmp eax, 4", "je 2b"), "clock_nanosleep");
        assert!(!repeats!(
            "call rax",
            "inc eax",
            "jne 3f",
            "call rcx",
            "cmp dword ptr [rax], 4",
            "je 2b"
        ));
        assert!(!repeats!("call rax", "cmp eax, 4", "jne 3f", "jmp 2b"), "the other way round");
        assert!(
            repeats!("call rax", "cmp eax, 4", "je 2b", "cmp [rdi], esi", "jne 2b"),
            "a loop around it"
        );
        assert!(repeats!("call rax", "cmp eax, 5", "je 2b"), "another error");
        assert!(
            repeats!("call rax", "cmp eax, 4", "mov [rdi], eax", "test ecx, ecx", "je 2b"),
            "a comparison that no branch asks for"
        );
    }
}
