//! Checks that the native form of a lock executes the same instructions as the hand-written lock.
//!
//! The processor's trap flag stops this thread after each instruction of an uncontended pair, so
//! executed instructions are compared. Our lock must access memory with the same instructions in
//! the same order, including prefixes, kinds and sizes of operands. Our lock must not compute,
//! compare or branch more often. So the comparison detects a fence, a bounds check or another load.
//! It ignores registers and addresses, moves of values between registers, and the order in which
//! the compiler has placed the pieces of a function and the code between two accesses. It also
//! ignores the function's frame: the frame's contents depend on the paths on which a thread waits,
//! which are not executed.

use std::arch::asm;
use std::cell::UnsafeCell;
use std::iter;
use std::ptr;
use std::slice;

use iced_x86::{
    Code, Decoder, DecoderOptions, FlowControl, Instruction, Mnemonic, OpKind, Register,
};
use syncline::lock::{self, RawSharedLock};
use syncline::wait::Spin;

use super::arena::{Lock, barrier};
use super::handwritten::{self as by_hand, near, preferences, queues, shared, trees};
use super::ours::{Exclusive, Shared};

/// A lock of the library that also exists as a hand-written lock.
///
/// A lock of the catalogue without a twin does not compile in this file.
trait HasTwin {
    type Twin: Lock;
}

macro_rules! twins {
    ($($ours:ident: $by_hand:ty,)*) => {
        $(impl HasTwin for lock::$ours<Spin> {
            type Twin = $by_hand;
        })*
    };
}

twins! {
    Tas: by_hand::Tas,
    Ttas: by_hand::Ttas,
    Ticket: by_hand::Ticket,
    PrefetchingTicket: queues::PrefetchingTicket,
    Anderson: queues::Anderson,
    Mcs: by_hand::Mcs,
    TimedMcs: queues::TimedMcs,
    Clh: queues::Clh,
    TimedClh: queues::TimedClh,
    Futex: by_hand::Futex,
    GatedClh: queues::Gate,
    HierarchicalTicket: near::HierarchicalTicket,
    CohortMcs: near::CohortMcs,
    CohortTtasMcs: near::CohortTtasMcs,
    TimedCohort: near::TimedCohort,
    Hmcs: trees::Hmcs,
    TimedHmcs: trees::TimedHmcs,
    Hclh: trees::Hclh,
    FairRw: shared::FairRw,
    ReadersFirst: preferences::ReadersFirst,
    WritersFirst: preferences::WritersFirst,
    FlagRw: by_hand::FlagRw,
    CompactRw: shared::CompactRw,
}

/// One test for each lock of the catalogue.
macro_rules! lock {
    ($name:ident, $Lock:ident, exclusive $($feature:ident)*) => {
        #[test]
        fn $name() {
            type Ours = lock::$Lock<Spin>;
            assert_same_instructions::<Exclusive<Ours>, <Ours as HasTwin>::Twin>(stringify!($name));
        }
    };
    ($name:ident, $Lock:ident, shared $($feature:ident)*) => {
        #[test]
        fn $name() {
            type Ours = lock::$Lock<Spin>;
            assert_same_instructions_shared::<Ours, <Ours as HasTwin>::Twin>(stringify!($name));
        }
    };
}

mod twins {
    use super::*;

    syncline::for_each_lock!(lock);
}

fn assert_same_instructions_shared<Ours: RawSharedLock, ByHand: Lock>(name: &str) {
    assert_same_instructions::<Shared<Ours>, ByHand>(&format!("{name}, writer"));
    assert_same_instructions::<Reader<Shared<Ours>>, Reader<ByHand>>(&format!("{name}, reader"));
}

/// A lock whose acquisitions as a reader are compared.
#[derive(Default)]
struct Reader<L>(L);

impl<L: Lock> Lock for Reader<L> {
    type Thread = L::Thread;

    #[inline(always)]
    fn with<R: Send>(&self, thread: &mut L::Thread, section: impl FnOnce() -> R + Send) -> R {
        self.0.share(thread, section)
    }
}

/// The comparison fails for two locks that do different amounts of work.
#[test]
#[should_panic(expected = "two unlike locks")]
fn locks_that_do_unequal_work_differ() {
    assert_same_instructions::<Exclusive<lock::Tas<Spin>>, by_hand::Futex>("two unlike locks");
}

fn assert_same_instructions<Ours: Lock, ByHand: Lock>(name: &str) {
    let (ours, by_hand) = (instructions::<Ours>(), instructions::<ByHand>());
    let accesses = |run: &[Instruction]| -> Vec<Code> {
        run.iter().filter(|run| accesses_memory(run)).map(Instruction::code).collect()
    };
    assert!(accesses(&ours).len() > 1, "{name}: {ours:?} is not an acquisition");
    assert_eq!(accesses(&ours), accesses(&by_hand), "{name}: accesses of ours, and by hand");
    let worked = |run: &[Instruction]| run.iter().filter(|run| !clears_a_register(run)).count();
    let (count, by_hand_count) = (worked(&ours), worked(&by_hand));
    println!("{name}: {count} instructions, {by_hand_count} by hand");
    let all = |run: &[Instruction]| run.iter().map(Instruction::code).collect::<Vec<_>>();
    assert!(count <= by_hand_count, "{name}: {:?} are more than {:?}", all(&ours), all(&by_hand));
}

/// Whether the instruction only clears a register. Processors clear registers while renaming them,
/// at no cost.
fn clears_a_register(run: &Instruction) -> bool {
    matches!(run.mnemonic(), Mnemonic::Xor | Mnemonic::Xorps)
        && run.op1_kind() == OpKind::Register
        && run.op0_register() == run.op1_register()
}

/// The instructions that an uncontended pair executes.
fn instructions<L: Lock>() -> Vec<Instruction> {
    let (lock, mut thread) = (L::default(), L::Thread::default());
    // The first pairs are not recorded, because the loader may have to look up a function, and
    // locks create their nodes.
    (0..4).for_each(|_| pair(&lock, &mut thread));
    let mut addresses = traced(|| pair(&lock, &mut thread)).into_iter();
    let first = pair::<L> as fn(&L, &mut L::Thread) as usize;
    addresses.by_ref().find(|&address| address == first).expect("the pair was run");
    let mut depth = 0;
    let run = iter::once(first).chain(addresses).map(decoded).take_while(|instruction| {
        match instruction.flow_control() {
            FlowControl::Call | FlowControl::IndirectCall => depth += 1,
            FlowControl::Return => depth -= 1,
            _ => {}
        }
        depth >= 0
    });
    run.filter(|instruction| !is_of_frame(instruction) && !is_move(instruction)).collect()
}

/// Whether the instruction only moves a constant, an address or another register's value into a
/// register.
fn is_move(instruction: &Instruction) -> bool {
    let is_zeroing = instruction.op0_kind() == OpKind::Register
        && instruction.op1_kind() == OpKind::Register
        && instruction.op0_register() == instruction.op1_register();
    // The addresses of functions and variables in other crates are in a table next to the code.
    let is_from_table = instruction.is_ip_rel_memory_operand();
    match instruction.mnemonic() {
        Mnemonic::Lea => true,
        Mnemonic::Mov => !accesses_memory(instruction) || is_from_table,
        Mnemonic::Xor => is_zeroing,
        _ => false,
    }
}

fn accesses_memory(instruction: &Instruction) -> bool {
    let loads_an_address = instruction.mnemonic() == Mnemonic::Lea;
    !loads_an_address && instruction.op_kinds().any(|kind| kind == OpKind::Memory)
}

/// Whether the instruction belongs to a function's frame, or depends only on the compiler's
/// placement of code.
fn is_of_frame(instruction: &Instruction) -> bool {
    let on_stack = [instruction.memory_base(), instruction.op0_register()].contains(&Register::RSP);
    on_stack
        || matches!(instruction.mnemonic(), Mnemonic::Push | Mnemonic::Pop | Mnemonic::Nop)
        || instruction.flow_control() == FlowControl::UnconditionalBranch
}

#[inline(never)]
fn pair<L: Lock>(lock: &L, thread: &mut L::Thread) {
    lock.with(thread, barrier);
}

fn decoded(address: usize) -> Instruction {
    const LONGEST: usize = 15;
    // SAFETY: the instruction was executed, so it is mapped; more of this executable follows it.
    let bytes = unsafe { slice::from_raw_parts(address as *const u8, LONGEST) };
    Decoder::new(64, bytes, DecoderOptions::NONE).decode()
}

/// The addresses of the instructions that this thread executes in `what`.
pub fn traced(what: impl FnOnce()) -> Vec<usize> {
    const TRAP: u64 = 1 << 8;
    // SAFETY: the handler does only what handlers may do. The flag affects only this thread, and is
    // cleared afterwards.
    unsafe {
        let mut action: libc::sigaction = std::mem::zeroed();
        action.sa_sigaction = note as *const () as usize;
        action.sa_flags = libc::SA_SIGINFO;
        assert_eq!(libc::sigaction(libc::SIGTRAP, &raw const action, ptr::null_mut()), 0);
        TRACE.with(|trace| (*trace.get()).clear());
        asm!("pushfq", "or qword ptr [rsp], {}", "popfq", const TRAP);
        what();
        asm!("pushfq", "and qword ptr [rsp], {}", "popfq", const !TRAP as i64);
        TRACE.with(|trace| (*trace.get()).clone())
    }
}

thread_local! {
    static TRACE: UnsafeCell<Vec<usize>> = UnsafeCell::new(Vec::with_capacity(1 << 10));
}

/// The signal handler, which runs before each instruction.
extern "C" fn note(_: i32, _: *mut libc::siginfo_t, context: *mut libc::c_void) {
    // SAFETY: the kernel passes the context of the thread that it has stopped.
    let context = unsafe { &*context.cast::<libc::ucontext_t>() };
    let address = context.uc_mcontext.gregs[libc::REG_RIP as usize] as usize;
    TRACE.with(|trace| {
        // SAFETY: the thread is stopped within `what`, which doesn't access the trace.
        let trace = unsafe { &mut *trace.get() };
        assert!(trace.len() < trace.capacity(), "a handler must not allocate");
        trace.push(address);
    });
}
