//! The native form of a lock runs the instructions of the same lock written by hand.
//!
//! The processor's trap flag stops this thread after each instruction of an uncontended pair, so
//! what is compared is what was run: the operations in their order, each with its prefix and the
//! kinds and sizes of its operands. So a fence, a check of bounds or another load shows. Left out
//! are which registers and addresses are used, and the function's frame: what it keeps on the
//! stack is decided by the paths on which a thread waits, which are not run.

use std::arch::asm;
use std::cell::UnsafeCell;
use std::iter;
use std::ptr;
use std::slice;

use iced_x86::{Code, Decoder, DecoderOptions, Instruction, Mnemonic, Register};
use syncline::lock;
use syncline::wait::Spin;

use super::arena::{Lock, barrier};
use super::handwritten as by_hand;
use super::ours::{Exclusive, Shared};

#[test]
fn native_forms_run_the_instructions_of_handwritten_locks() {
    same::<Exclusive<lock::Tas<Spin>>, by_hand::Tas>("tas");
    same::<Exclusive<lock::Ttas<Spin>>, by_hand::Ttas>("ttas");
    same::<Exclusive<lock::Ticket<Spin>>, by_hand::Ticket>("ticket");
    same::<Exclusive<lock::Mcs<Spin>>, by_hand::Mcs>("mcs");
    same::<Exclusive<lock::Futex>, by_hand::Futex>("futex");
    same::<Shared<lock::FlagRw<Spin>>, by_hand::FlagRw>("rw_flag, writer");
    same::<Reader<Shared<lock::FlagRw<Spin>>>, Reader<by_hand::FlagRw>>("rw_flag, reader");
}

/// A lock whose shares are looked at.
#[derive(Default)]
struct Reader<L>(L);

impl<L: Lock> Lock for Reader<L> {
    type Thread = L::Thread;

    #[inline(always)]
    fn with<R: Send>(&self, thread: &mut L::Thread, section: impl FnOnce() -> R + Send) -> R {
        self.0.share(thread, section)
    }
}

/// A lock with more to do is told from one with less.
#[test]
#[should_panic(expected = "two unlike locks")]
fn a_difference_is_noticed() {
    same::<Exclusive<lock::Tas<Spin>>, by_hand::Futex>("two unlike locks");
}

fn same<Ours: Lock, ByHand: Lock>(name: &str) {
    let (ours, by_hand) = (instructions::<Ours>(), instructions::<ByHand>());
    assert!(ours.len() > 3, "{name}: {ours:?} is no acquisition");
    assert_eq!(ours, by_hand, "{name}: ours, and by hand");
    println!("{name}: {} instructions", ours.len());
}

/// What is run for an uncontended pair: operations, with the kinds and sizes of operands.
fn instructions<L: Lock>() -> Vec<Code> {
    let (lock, mut thread) = (L::default(), L::Thread::default());
    // Twice, as a loader may have to look a function up at first.
    pair(&lock, &mut thread);
    let mut addresses = traced(|| pair(&lock, &mut thread)).into_iter();
    let first = pair::<L> as fn(&L, &mut L::Thread) as usize;
    addresses.by_ref().find(|&address| address == first).expect("the pair was run");
    let run = iter::once(first).chain(addresses).map(decoded);
    let run = run.take_while(|instruction| instruction.mnemonic() != Mnemonic::Ret);
    run.filter(|instruction| !is_of_frame(instruction)).map(|i| operation(&i)).collect()
}

fn operation(instruction: &Instruction) -> Code {
    // Which of two ways goes straight on, and how far away the other one is, makes no difference.
    let code = instruction.code().as_near_branch();
    code.min(code.negate_condition_code())
}

fn is_of_frame(instruction: &Instruction) -> bool {
    matches!(instruction.mnemonic(), Mnemonic::Push | Mnemonic::Pop)
        || instruction.op0_register() == Register::RSP
}

#[inline(never)]
fn pair<L: Lock>(lock: &L, thread: &mut L::Thread) {
    lock.with(thread, barrier);
}

fn decoded(address: usize) -> Instruction {
    const LONGEST: usize = 15;
    // SAFETY: it was run, so it is mapped; beyond it is more of this executable.
    let bytes = unsafe { slice::from_raw_parts(address as *const u8, LONGEST) };
    Decoder::new(64, bytes, DecoderOptions::NONE).decode()
}

/// The addresses of the instructions that this thread runs.
fn traced(what: impl FnOnce()) -> Vec<usize> {
    const TRAP: u64 = 1 << 8;
    // SAFETY: the handler does only what it may; the flag is this thread's, and is taken back.
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

/// Comes before each instruction.
extern "C" fn note(_: i32, _: *mut libc::siginfo_t, context: *mut libc::c_void) {
    // SAFETY: the kernel gives the context of the thread that it has stopped.
    let context = unsafe { &*context.cast::<libc::ucontext_t>() };
    let address = context.uc_mcontext.gregs[libc::REG_RIP as usize] as usize;
    TRACE.with(|trace| {
        // SAFETY: the thread is stopped within `what`, which doesn't touch it.
        let trace = unsafe { &mut *trace.get() };
        assert!(trace.len() < trace.capacity(), "a handler must not allocate");
        trace.push(address);
    });
}
