//! Checks that the native form of a lock executes the same instructions as the lock written by
//! hand.
//!
//! The processor's trap flag stops this thread after each instruction of an uncontended pair, so
//! the comparison is of executed instructions. Ours must access memory by the same instructions in
//! the same order, including prefixes, kinds and sizes of operands; and must not compute, compare
//! or branch more often. So a fence, a bounds check or another load is detected. The comparison
//! ignores which registers and addresses are used, how values get from one register to another, in
//! which order the compiler has placed the pieces of a function and what lies between two accesses,
//! and the function's frame: its contents depend on the paths on which a thread waits, which are
//! not executed.

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

/// A lock that also exists written by hand.
///
/// A lock of the catalogue without a twin does not compile here.
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
            same::<Exclusive<Ours>, <Ours as HasTwin>::Twin>(stringify!($name));
        }
    };
    ($name:ident, $Lock:ident, shared $($feature:ident)*) => {
        #[test]
        fn $name() {
            type Ours = lock::$Lock<Spin>;
            same_shared::<Ours, <Ours as HasTwin>::Twin>(stringify!($name));
        }
    };
}

mod twins {
    use super::*;

    syncline::for_each_lock!(lock);
}

fn same_shared<Ours: RawSharedLock, ByHand: Lock>(name: &str) {
    same::<Shared<Ours>, ByHand>(&format!("{name}, writer"));
    same::<Reader<Shared<Ours>>, Reader<ByHand>>(&format!("{name}, reader"));
}

/// A lock of which only shares are compared.
#[derive(Default)]
struct Reader<L>(L);

impl<L: Lock> Lock for Reader<L> {
    type Thread = L::Thread;

    #[inline(always)]
    fn with<R: Send>(&self, thread: &mut L::Thread, section: impl FnOnce() -> R + Send) -> R {
        self.0.share(thread, section)
    }
}

/// A lock with more work is distinguished from one with less.
#[test]
#[should_panic(expected = "two unlike locks")]
fn a_difference_is_noticed() {
    same::<Exclusive<lock::Tas<Spin>>, by_hand::Futex>("two unlike locks");
}

fn same<Ours: Lock, ByHand: Lock>(name: &str) {
    let (ours, by_hand) = (instructions::<Ours>(), instructions::<ByHand>());
    let accesses = |run: &[Instruction]| -> Vec<Code> {
        run.iter().filter(|run| accesses_memory(run)).map(Instruction::code).collect()
    };
    assert!(accesses(&ours).len() > 1, "{name}: {ours:?} is no acquisition");
    assert_eq!(accesses(&ours), accesses(&by_hand), "{name}: accesses of ours, and by hand");
    let worked = |run: &[Instruction]| run.iter().filter(|run| !clears_a_register(run)).count();
    let (count, by_hand_count) = (worked(&ours), worked(&by_hand));
    println!("{name}: {count} instructions, {by_hand_count} by hand");
    let all = |run: &[Instruction]| run.iter().map(Instruction::code).collect::<Vec<_>>();
    assert!(count <= by_hand_count, "{name}: {:?} are more than {:?}", all(&ours), all(&by_hand));
}

/// Whether the instruction only clears a register, which processors do while renaming, at no cost.
fn clears_a_register(run: &Instruction) -> bool {
    matches!(run.mnemonic(), Mnemonic::Xor | Mnemonic::Xorps)
        && run.op1_kind() == OpKind::Register
        && run.op0_register() == run.op1_register()
}

/// The instructions executed for an uncontended pair.
fn instructions<L: Lock>() -> Vec<Instruction> {
    let (lock, mut thread) = (L::default(), L::Thread::default());
    // First without recording, because the loader may have to look up a function, and locks make
    // their nodes.
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
    // Addresses of functions and variables in other crates are in a table beside the code.
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

/// Whether the instruction belongs to a function's frame, or only reflects where the compiler has
/// placed code.
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
    // SAFETY: it was executed, so it is mapped; beyond it is more of this executable.
    let bytes = unsafe { slice::from_raw_parts(address as *const u8, LONGEST) };
    Decoder::new(64, bytes, DecoderOptions::NONE).decode()
}

/// The addresses of the instructions that this thread runs.
pub fn traced(what: impl FnOnce()) -> Vec<usize> {
    const TRAP: u64 = 1 << 8;
    // SAFETY: the handler does only what handlers may do; the flag is this thread's, and is cleared
    // afterwards.
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
        // SAFETY: the thread is stopped within `what`, which doesn't access it.
        let trace = unsafe { &mut *trace.get() };
        assert!(trace.len() < trace.capacity(), "a handler must not allocate");
        trace.push(address);
    });
}
