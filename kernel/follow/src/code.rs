//! What each of the kernel's instructions says of its locks: a pure function of the instruction's
//! bytes, its address and the plan.
//!
//! The plugin's interface shows no registers, so an instruction is asked for what it always means: a
//! call tells the return address and the stack's place, a locked instruction in a lock function tells
//! where the lock is, a return from one that the lock was taken.

use iced_x86::{
    Decoder, DecoderOptions, Instruction, InstructionInfoFactory, Mnemonic, OpAccess, OpKind,
    Register,
};

use crate::plan::Plan;
use crate::role::{Action, Kind, ROLES, Role};

/// Code of the kernel lies at and behind this address; all of it within two gigabytes.
pub const KERNEL_CODE: u64 = 0xffff_ffff_8000_0000;

/// What an instruction means when it is executed, before anything else of it happens.
#[derive(Clone, Copy, Debug, PartialEq, Eq)]
pub enum Exec {
    /// A lock function begins.
    Begin(Role),
    /// A lock function returns.
    Done(Role),
    /// A try has succeeded.
    Proved(Role),
    /// A waiter's function begins.
    Slow(Role),
    /// An exception's or interrupt's entry.
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
    /// An instruction for a port.
    Port,
}

/// What came in.
#[derive(Clone, Copy, Debug, PartialEq, Eq)]
pub enum Source {
    /// The processor's own, in the middle of an instruction.
    Exception,
    /// A device's, the timer's or another processor's.
    Interrupt,
}

/// What an access of an instruction to memory means.
#[derive(Clone, Copy, Debug, PartialEq, Eq)]
pub enum Mem {
    /// Data that a section may touch. Whether the instruction is atomic.
    Data {
        /// Whether it is.
        atomic: bool,
    },
    /// A call puts its return address on the stack.
    Call {
        /// That address.
        returns: u64,
    },
    /// The stack grows.
    Push,
    /// The lock that a function is about.
    Word(Role),
    /// A lock is given back.
    Release(Role),
    /// The stack pointer of the task that goes is stored.
    SwitchOut,
    /// The stack pointer of the task that comes is loaded.
    SwitchIn,
}

/// What is known of one instruction.
#[derive(Clone, Copy, Debug, Default, PartialEq, Eq)]
pub struct Meaning {
    /// When it is executed.
    pub exec: [Option<Exec>; 2],
    /// When it accesses memory.
    pub mem: Option<Mem>,
    /// Where a try has succeeded, if execution comes there next.
    pub proof: Option<(u64, Role)>,
}

/// The code of one kernel.
#[derive(Debug)]
pub struct Code {
    /// Start, end and role of each lock function, by start.
    functions: Vec<(u64, u64, Role)>,
    /// Addresses at which something begins or ends, by address.
    marks: Vec<(u64, Exec)>,
    softirq: Option<(u64, u64)>,
    /// Returns may be written as a jump here.
    thunk: Option<u64>,
    switch: Option<(u64, u64)>,
}

impl Code {
    /// The code that a plan tells of.
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

    /// What the instructions of a block mean, one for each. `block` has their addresses and bytes.
    pub fn meanings<'a>(
        &self,
        block: impl Iterator<Item = (u64, &'a [u8])>,
        info: &mut InstructionInfoFactory,
    ) -> Vec<Meaning> {
        let mut meanings = Vec::new();
        // A locked compare-and-exchange of a try, whose jump is still to come.
        let mut tried: Option<Role> = None;
        for (address, bytes) in block {
            let mut decoder = Decoder::with_ip(64, bytes, address, DecoderOptions::NONE);
            let insn = decoder.decode();
            let mut meaning = self.meaning(address, &insn, info);
            if let Some(Mem::Word(role)) = meaning.mem
                && role.action == Action::Try
                && insn.mnemonic() == Mnemonic::Cmpxchg
            {
                tried = Some(role);
            } else if let Some(role) = tried
                && insn.is_jcc_short_or_near()
            {
                // Equal is where the exchange took place.
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

    fn function(&self, address: u64) -> Option<(u64, Role)> {
        let after = self.functions.partition_point(|&(start, _, _)| start <= address);
        let &(start, end, role) = self.functions.get(after.checked_sub(1)?)?;
        (address < end).then_some((start, role))
    }

    fn meaning(
        &self,
        address: u64,
        insn: &Instruction,
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
        if let Some((start, role)) = function {
            self.of_function(address == start, role, insn, &mut meaning);
        }
        let own = function.is_some_and(|(_, role)| is_own(role));
        meaning.mem = meaning.mem.or_else(|| access(insn, own, info));
        meaning
    }

    fn of_function(&self, first: bool, role: Role, insn: &Instruction, meaning: &mut Meaning) {
        let locked = is_locked(insn);
        match role.action {
            Action::Lock | Action::Try => {
                if first {
                    meaning.exec[0] = Some(Exec::Begin(role));
                } else if self.returns(insn) {
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
                // `mutex_lock_io` leaves all to the waiter's function, which then is the first to say
                // where the mutex is.
                if role.kind == Kind::Mutex && locked && insn.memory_displacement64() == 0 {
                    meaning.mem = Some(Mem::Word(role));
                }
            }
            // A spinlock and a writer's lock are given back by a store of one byte.
            Action::Unlock => {
                let byte = insn.mnemonic() == Mnemonic::Mov
                    && insn.op0_kind() == OpKind::Memory
                    && insn.memory_size().size() == 1
                    && insn.memory_base() != Register::RSP;
                let plain = matches!(role.kind, Kind::Spin | Kind::Rwlock) && !role.shared;
                // What lies behind the word is not the lock, such as a semaphore's owner.
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

    /// Whether a function returns with this instruction.
    fn returns(&self, insn: &Instruction) -> bool {
        match insn.mnemonic() {
            Mnemonic::Ret => true,
            Mnemonic::Jmp if insn.op0_kind() == OpKind::NearBranch64 => {
                Some(insn.near_branch_target()) == self.thunk
            }
            _ => false,
        }
    }
}

/// Whether all that a function accesses is the lock itself.
fn is_own(role: Role) -> bool {
    role.action != Action::Slow || !role.kind.sleeps()
}

/// The two accesses by which the kernel's switch tells which task goes and which comes.
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

/// Whether an instruction is atomic: by its prefix, or as an exchange with memory always is.
fn is_locked(insn: &Instruction) -> bool {
    let in_memory = insn.op0_kind() == OpKind::Memory || insn.op1_kind() == OpKind::Memory;
    in_memory && (insn.has_lock_prefix() || insn.mnemonic() == Mnemonic::Xchg)
}

/// What an instruction accesses that counts: no stack by name, no variable of the processor's own.
fn access(insn: &Instruction, own: bool, info: &mut InstructionInfoFactory) -> Option<Mem> {
    match insn.mnemonic() {
        // One through memory reads where it goes; that is not asked for, as such a word is never
        // written while it is used.
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
    counts.then_some(Mem::Data { atomic: is_locked(insn) })
}

#[cfg(test)]
mod tests;
