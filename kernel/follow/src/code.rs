//! The meaning of each of the kernel's instructions for its locks: a pure function of the
//! instruction's bytes, its address and the plan.
//!
//! The plugin's interface shows no registers, so an instruction's meaning must not depend on them.
//! A call gives the return address and the stack's position. A locked instruction in a lock
//! function gives the lock's address. A return from such a function shows that the acquisition or
//! try is over.

use std::ops::Range;

use iced_x86::{
    Decoder, DecoderOptions, Instruction, InstructionInfoFactory, Mnemonic, OpAccess, OpKind,
    Register,
};

use crate::bits::{self, Attempt};
use crate::plan::Plan;
use crate::role::{Action, Kind, ROLES, Role};

/// The lowest address of kernel code. All kernel code lies in the two gigabytes from there on.
pub const KERNEL_CODE: u64 = 0xffff_ffff_8000_0000;

/// The meaning of an instruction when it is executed, before any of its effects.
#[derive(Clone, Copy, Debug, PartialEq, Eq)]
pub enum Exec {
    /// A lock function begins.
    Begin(Role),
    /// A lock function returns, or ends with a jump to another function that returns for it.
    Done(Role),
    /// A function that waits for a lock begins.
    Slow(Role),
    /// The entry of an exception or interrupt.
    Enter(Source),
    /// An exception or interrupt returns to the kernel.
    Leave,
    /// A system call begins.
    SystemCall,
    /// The kernel returns to user space.
    ToUser,
    /// Softirqs begin to run.
    SoftirqBegin,
    /// Softirqs have run.
    SoftirqEnd,
    /// An instruction that accesses an I/O port.
    Port,
}

/// The source of an entry into the kernel.
#[derive(Clone, Copy, Debug, PartialEq, Eq)]
pub enum Source {
    /// The processor itself, in the middle of an instruction.
    Exception,
    /// A device, the timer or another processor.
    Interrupt,
}

/// The meaning of an instruction's access to memory.
#[derive(Clone, Copy, Debug, PartialEq, Eq)]
pub enum Mem {
    /// Data that a section may access.
    Data {
        /// Whether the instruction is atomic.
        atomic: bool,
    },
    /// A call puts its return address on the stack.
    Call {
        /// The return address.
        returns: u64,
    },
    /// A push onto the stack.
    Push,
    /// The lock that a lock function works on.
    Word(Role),
    /// A lock is released.
    Release(Role),
    /// A bit that may be a lock is set.
    Attempt(Attempt),
    /// A bit is cleared: a release, if it is a lock that is held, and otherwise data.
    Clear {
        /// The bit, counted from the lowest of the first byte that is accessed.
        bit: u8,
        /// Whether the instruction is atomic.
        atomic: bool,
    },
    /// The stack pointer of the outgoing task is stored.
    SwitchOut,
    /// The stack pointer of the incoming task is loaded.
    SwitchIn,
}

/// The meaning of one instruction.
#[derive(Clone, Copy, Debug, Default, PartialEq, Eq)]
pub struct Meaning {
    /// The instruction's meanings when it is executed.
    pub exec: [Option<Exec>; 2],
    /// The instruction's meaning when it accesses memory.
    pub mem: Option<Mem>,
    /// The address that proves a try successful if execution continues there.
    pub proof: Option<(u64, Role)>,
}

/// The lock functions and entries of one kernel.
#[derive(Debug)]
pub struct Code {
    /// Start, end and role of each lock function, by start.
    functions: Vec<(u64, u64, Role)>,
    /// Addresses at which the kernel is entered or left, ascending.
    marks: Vec<(u64, Exec)>,
    softirq: Option<(u64, u64)>,
    /// The thunk to which returns may be compiled as jumps.
    thunk: Option<u64>,
    switch: Option<(u64, u64)>,
}

impl Code {
    /// Collects the functions and marks of a plan.
    pub fn new(plan: &Plan) -> Code {
        let mut functions = Vec::new();
        for (name, role) in ROLES {
            let ranges = plan.ranges(name).iter();
            functions.extend(ranges.map(|&(start, end)| (start, end, role)));
        }
        functions.sort_by_key(|&(start, _, _)| start);
        let mut marks = Vec::new();
        for (name, exec) in [
            ("enter.exception", Exec::Enter(Source::Exception)),
            ("enter.interrupt", Exec::Enter(Source::Interrupt)),
            ("enter.call", Exec::SystemCall),
            ("leave.kernel", Exec::Leave),
            ("leave.user", Exec::ToUser),
        ] {
            marks.extend(plan.ranges(name).iter().map(|&(start, _)| (start, exec)));
        }
        marks.sort_by_key(|&(address, _)| address);
        Code {
            functions,
            marks,
            softirq: plan.ranges("softirq").first().copied(),
            thunk: plan.value("thunk"),
            switch: plan.ranges("switch").first().copied(),
        }
    }

    /// The meaning of each instruction of a block. `block` has the instructions' addresses and
    /// bytes. `read` gets an address and returns the code there, up to [`bits::LONGEST`] bytes.
    pub fn meanings<'a>(
        &self,
        block: impl Iterator<Item = (u64, &'a [u8])>,
        read: &dyn Fn(u64) -> Option<Vec<u8>>,
        info: &mut InstructionInfoFactory,
    ) -> Vec<Meaning> {
        let mut meanings = Vec::new();
        // The locked compare-and-exchange of a try whose jump is still to come.
        let mut tried: Option<Role> = None;
        for (address, bytes) in block {
            let mut decoder = Decoder::with_ip(64, bytes, address, DecoderOptions::NONE);
            let insn = decoder.decode();
            let mut meaning = self.meaning(address, &insn, read, info);
            if let Some(Mem::Word(role)) = meaning.mem
                && role.action == Action::Try
                && insn.mnemonic() == Mnemonic::Cmpxchg
            {
                tried = Some(role);
            } else if let Some(role) = tried
                && insn.is_jcc_short_or_near()
            {
                // The "equal" branch is taken if the exchange succeeded.
                let at = match insn.mnemonic() {
                    Mnemonic::Je => insn.near_branch_target(),
                    _ => insn.next_ip(),
                };
                meaning.proof = Some((at, role));
                tried = None;
            }
            meanings.push(meaning);
        }
        meanings
    }

    /// The start, end and role of the lock function that contains this address.
    fn function(&self, address: u64) -> Option<(u64, u64, Role)> {
        let after = self.functions.partition_point(|&(start, _, _)| start <= address);
        let &function = self.functions.get(after.checked_sub(1)?)?;
        (address < function.1).then_some(function)
    }

    fn meaning(
        &self,
        address: u64,
        insn: &Instruction,
        read: &dyn Fn(u64) -> Option<Vec<u8>>,
        info: &mut InstructionInfoFactory,
    ) -> Meaning {
        let mut meaning = Meaning::default();
        if let Ok(at) = self.marks.binary_search_by_key(&address, |&(mark, _)| mark) {
            meaning.exec[0] = Some(self.marks[at].1);
        }
        let is_in = |range: Option<(u64, u64)>| {
            range.is_some_and(|(start, end)| (start..end).contains(&address))
        };
        if is_in(self.softirq) {
            if self.softirq.is_some_and(|(start, _)| start == address) {
                meaning.exec[0] = Some(Exec::SoftirqBegin);
            } else if self.returns(insn) {
                meaning.exec[0] = Some(Exec::SoftirqEnd);
            }
        }
        if matches!(insn.mnemonic(), Mnemonic::In | Mnemonic::Out)
            || matches!(insn.mnemonic(), Mnemonic::Insb | Mnemonic::Insw | Mnemonic::Insd)
            || matches!(insn.mnemonic(), Mnemonic::Outsb | Mnemonic::Outsw | Mnemonic::Outsd)
        {
            meaning.exec[1] = Some(Exec::Port);
        }
        if is_in(self.switch) {
            meaning.mem = switch(insn);
            return meaning;
        }
        let function = self.function(address);
        if let Some(function) = function {
            self.of_function(address, function, insn, &mut meaning);
        }
        if function.is_none() {
            meaning.mem = bits::attempt(insn, read).map(Mem::Attempt);
        }
        let own = function.is_some_and(|(_, _, role)| is_own(role));
        meaning.mem = meaning.mem.or_else(|| access(insn, own, info));
        meaning
    }

    fn of_function(
        &self,
        address: u64,
        (start, end, role): (u64, u64, Role),
        insn: &Instruction,
        meaning: &mut Meaning,
    ) {
        let first = address == start;
        let locked = is_locked(insn);
        match role.action {
            Action::Lock | Action::Try => {
                if first {
                    meaning.exec[0] = Some(Exec::Begin(role));
                } else if self.returns(insn) || self.is_left_by(insn, start..end) {
                    meaning.exec[0] = Some(Exec::Done(role));
                }
                if locked {
                    meaning.mem = Some(Mem::Word(role));
                }
            }
            Action::Slow => {
                if first {
                    meaning.exec[0] = Some(Exec::Slow(role));
                } else if self.returns(insn) {
                    meaning.exec[0] = Some(Exec::Done(role));
                }
                // In some kernels, `mutex_lock_io` leaves everything to the waiter's function, so
                // this function is the first to access the mutex.
                if role.kind == Kind::Mutex && locked && insn.memory_displacement64() == 0 {
                    meaning.mem = Some(Mem::Word(role));
                }
            }
            // A spinlock and a writer's lock are released by a store of one byte.
            Action::Unlock => {
                let byte = insn.mnemonic() == Mnemonic::Mov
                    && insn.op0_kind() == OpKind::Memory
                    && insn.memory_size().size() == 1
                    && insn.memory_base() != Register::RSP;
                let plain = matches!(role.kind, Kind::Spin | Kind::Rwlock) && !role.shared;
                // Words after the first, such as a semaphore's owner, are not the lock.
                if (locked || plain && byte) && insn.memory_displacement64() == 0 {
                    meaning.mem = Some(Mem::Release(role));
                }
            }
            Action::Downgrade => {
                if locked && insn.memory_displacement64() == 0 {
                    meaning.mem = Some(Mem::Release(role));
                }
            }
        }
    }

    /// Whether this instruction returns from the function.
    fn returns(&self, insn: &Instruction) -> bool {
        match insn.mnemonic() {
            Mnemonic::Ret => true,
            Mnemonic::Jmp if insn.op0_kind() == OpKind::NearBranch64 => {
                Some(insn.near_branch_target()) == self.thunk
            }
            _ => false,
        }
    }

    /// Whether this instruction leaves the function in this range with a tail call: a jump to a
    /// function that does nothing with the lock and then returns to the caller. For example,
    /// `mutex_lock_io` ends with a jump to `io_schedule_finish` once it has the lock. A jump to a
    /// function that waits for the lock does not count.
    fn is_left_by(&self, insn: &Instruction, function: Range<u64>) -> bool {
        let target = insn.near_branch_target();
        insn.mnemonic() == Mnemonic::Jmp
            && insn.op0_kind() == OpKind::NearBranch64
            && !function.contains(&target)
            && self.function(target).is_none()
    }
}

/// Whether a function accesses nothing but the lock itself.
fn is_own(role: Role) -> bool {
    role.action != Action::Slow || !role.kind.sleeps()
}

/// The two accesses by which the kernel's switch shows the outgoing and the incoming task.
fn switch(insn: &Instruction) -> Option<Mem> {
    if insn.mnemonic() != Mnemonic::Mov || insn.memory_base() == Register::RSP {
        return None;
    }
    match (insn.op0_kind(), insn.op1_kind()) {
        (OpKind::Memory, OpKind::Register) if insn.op1_register() == Register::RSP => {
            Some(Mem::SwitchOut)
        }
        (OpKind::Register, OpKind::Memory) if insn.op0_register() == Register::RSP => {
            Some(Mem::SwitchIn)
        }
        _ => None,
    }
}

/// Whether an instruction is atomic: it has the prefix, or is an exchange with memory, which is
/// always atomic.
fn is_locked(insn: &Instruction) -> bool {
    let in_memory = insn.op0_kind() == OpKind::Memory || insn.op1_kind() == OpKind::Memory;
    in_memory && (insn.has_lock_prefix() || insn.mnemonic() == Mnemonic::Xchg)
}

/// The access of an instruction to memory; `None` if it makes no access that counts. Calls and
/// pushes always count. Other accesses don't count if they are relative to the stack pointer, if
/// they are to per-processor variables, or if the instruction is in a function that accesses only
/// the lock itself (`own`).
fn access(insn: &Instruction, own: bool, info: &mut InstructionInfoFactory) -> Option<Mem> {
    match insn.mnemonic() {
        // A call through memory also reads its target. That access is not recorded, since such a
        // word is never written while it is used.
        Mnemonic::Call => return Some(Mem::Call { returns: insn.next_ip() }),
        Mnemonic::Push | Mnemonic::Pushfq => return Some(Mem::Push),
        Mnemonic::Pop | Mnemonic::Popfq | Mnemonic::Ret | Mnemonic::Iretq | Mnemonic::Leave => {
            return None;
        }
        _ if own => return None,
        _ => {}
    }
    let counts = info.info(insn).used_memory().iter().any(|used| {
        let accesses = !matches!(used.access(), OpAccess::None | OpAccess::NoMemAccess);
        let of_processor = matches!(used.segment(), Register::GS | Register::FS);
        accesses && !of_processor && used.base() != Register::RSP
    });
    let atomic = is_locked(insn);
    counts.then(|| match bits::cleared(insn) {
        Some(bit) => Mem::Clear { bit, atomic },
        None => Mem::Data { atomic },
    })
}

#[cfg(test)]
mod tests;
