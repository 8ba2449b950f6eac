//! The effects of an instruction on the values of registers and memory.
//!
//! This module follows instructions that move values, compute addresses, and compare. Any other
//! instruction makes a new value. The value is the same for the same operation on the same values,
//! if the operation uses no flags or vector registers.

use iced_x86::{FlowControl, Instruction, InstructionInfo, Mnemonic, OpKind, Register};

use super::state::{FRAME, RSP, State, number, reads, writes};
use super::value::{Origin, Value, Values};

/// Operations are numbered from here on. Lower numbers are scales of addresses, which are 1 to 8.
const OPERATIONS: u32 = 16;

impl State {
    /// The state after an instruction, on the path to `to`. A conditional jump shows something on
    /// either path.
    pub fn after(&self, i: &Instruction, to: u64) -> State {
        let mut after = self.clone();
        let target = i.near_branch_target();
        let branches = i.flow_control() == FlowControl::ConditionalBranch && target != i.next_ip();
        if let Some((value, zero)) = self.tells(i.condition_code()).filter(|_| branches) {
            after.learn(value, zero == (to == target));
        }
        after
    }

    /// Applies an instruction that neither calls nor jumps.
    pub fn step(&mut self, i: &Instruction, info: &InstructionInfo, values: &mut Values) {
        match i.mnemonic() {
            Mnemonic::Mov | Mnemonic::Movzx | Mnemonic::Movsx | Mnemonic::Movsxd => {
                match self.operand(i, 1, info, values) {
                    Some(value) => self.write(i, value, info, values),
                    None => self.compute(i, info, values),
                }
            }
            Mnemonic::Lea => {
                let scaled = (i.memory_index(), i.memory_index_scale());
                let displacement = i.memory_displacement64();
                let address = self.sum(i.memory_base(), scaled, displacement, values);
                self.write(i, address, info, values);
            }
            // This aligns the stack.
            Mnemonic::And if i.op0_register() == Register::RSP => {}
            Mnemonic::Xor | Mnemonic::Sub if i.op0_kind() == i.op1_kind() && same_register(i) => {
                self.write(i, Value::number(0), info, values);
            }
            Mnemonic::Add | Mnemonic::Sub | Mnemonic::And | Mnemonic::Or | Mnemonic::Xor => {
                let (a, b) = (self.operand(i, 0, info, values), self.operand(i, 1, info, values));
                match a.zip(b).and_then(|(a, b)| arithmetic(i.mnemonic(), a, b)) {
                    Some(value) => self.write(i, value, info, values),
                    None => self.compute(i, info, values),
                }
            }
            Mnemonic::Push => {
                let value = self.operand(i, 0, info, values);
                let top = self.register(RSP).plus(-8);
                self.set(RSP, top);
                self.store(top, 8, value);
            }
            Mnemonic::Pop => {
                let top = self.register(RSP);
                let value = self.load(top, values);
                self.set(RSP, top.plus(8));
                self.write(i, value, info, values);
            }
            Mnemonic::Leave => {
                let frame = self.register(FRAME);
                let outer = self.load(frame, values);
                self.set(FRAME, outer);
                self.set(RSP, frame.plus(8));
            }
            Mnemonic::Cmp | Mnemonic::Test => {
                let (a, b) = (self.operand(i, 0, info, values), self.operand(i, 1, info, values));
                self.compared = match (i.mnemonic(), a.zip(b)) {
                    (Mnemonic::Test, Some((a, b))) => match (a.known(), b.known()) {
                        _ if a == b => Some((a, Value::number(0))),
                        (Some(a), Some(b)) => Some((Value::number(a & b), Value::number(0))),
                        _ => None,
                    },
                    (_, compared) => compared,
                };
                return;
            }
            Mnemonic::Sete | Mnemonic::Setne => {
                let condition = i.condition_code();
                match self.decides(condition, None) {
                    Some(set) => self.write(i, Value::number(i64::from(set)), info, values),
                    None => self.compute(i, info, values),
                }
            }
            _ => self.compute(i, info, values),
        }
        if i.rflags_modified() != 0 {
            self.compared = None;
        }
    }

    /// The value of an operand that is a general register, a number, or a word in memory; `None`
    /// for other operands.
    fn operand(
        &self,
        i: &Instruction,
        place: u32,
        info: &InstructionInfo,
        values: &mut Values,
    ) -> Option<Value> {
        let kind = i.op_kind(place);
        if is_immediate(kind) {
            return Some(Value::number(i.immediate(place) as i64));
        }
        if kind == OpKind::Register {
            return self.part(i.op_register(place));
        }
        // The instructions handled here have one operand in memory.
        let address = self.address(info.used_memory().first()?, values);
        Some(self.load(address, values))
    }

    /// Stores a value in the first operand.
    fn write(
        &mut self,
        i: &Instruction,
        value: Value,
        info: &InstructionInfo,
        values: &mut Values,
    ) {
        if i.op0_kind() == OpKind::Register {
            if let Some(r) = number(i.op0_register()) {
                self.set(r, value);
            }
            return;
        }
        for memory in info.used_memory().iter().filter(|m| writes(m.access())) {
            let address = self.address(memory, values);
            self.store(address, memory.memory_size().size() as i64, Some(value));
        }
    }

    /// Applies an operation that makes new values. If no flag is read and no vector register is
    /// used, the first written register gets a value that depends only on the inputs. Otherwise it
    /// gets a value of this instruction's own, as all further registers do. Memory gets an unknown
    /// value.
    fn compute(&mut self, i: &Instruction, info: &InstructionInfo, values: &mut Values) {
        let mut inputs = Vec::new();
        for used in info.used_registers().iter().filter(|used| reads(used.access())) {
            inputs.extend(self.part(used.register()));
        }
        for place in (0..i.op_count()).filter(|&place| is_immediate(i.op_kind(place))) {
            inputs.push(Value::number(i.immediate(place) as i64));
        }
        for memory in info.used_memory().iter().filter(|m| reads(m.access())) {
            let address = self.address(memory, values);
            inputs.push(self.load(address, values));
        }
        let vectors = info.used_registers().iter().any(|used| number(used.register()).is_none());
        let follows = i.rflags_read() == 0 && !vectors;
        let written: Vec<usize> = info
            .used_registers()
            .iter()
            .filter(|used| writes(used.access()))
            .filter_map(|used| number(used.register()))
            .filter(|&r| r != RSP)
            .collect();
        for (n, &r) in written.iter().enumerate() {
            let origin = match follows && n == 0 {
                true => Origin::Computed(OPERATIONS + i.code() as u32, inputs.clone()),
                false => Origin::Made(i.ip(), r),
            };
            let value = values.of(origin);
            self.set(r, value);
        }
        for memory in info.used_memory().iter().filter(|m| writes(m.access())) {
            let address = self.address(memory, values);
            self.store(address, memory.memory_size().size() as i64, None);
        }
    }
}

/// The result of an operation, if it is a number, a value plus a number, or an address on the stack
/// or in thread-local storage; otherwise `None`.
fn arithmetic(operation: Mnemonic, a: Value, b: Value) -> Option<Value> {
    match (operation, a.known(), b.known()) {
        (Mnemonic::Add, _, Some(b)) => Some(a.plus(b)),
        (Mnemonic::Add, Some(a), _) => Some(b.plus(a)),
        (Mnemonic::Add | Mnemonic::Sub, _, None) if a.is_local() => Some(a),
        (Mnemonic::Add, _, None) if b.is_local() => Some(b),
        (Mnemonic::Sub, _, Some(b)) => Some(a.plus(b.wrapping_neg())),
        (Mnemonic::And, Some(a), Some(b)) => Some(Value::number(a & b)),
        (Mnemonic::Or, Some(a), Some(b)) => Some(Value::number(a | b)),
        (Mnemonic::Xor, Some(a), Some(b)) => Some(Value::number(a ^ b)),
        _ => None,
    }
}

fn same_register(i: &Instruction) -> bool {
    i.op0_kind() == OpKind::Register && i.op0_register() == i.op1_register()
}

fn is_immediate(kind: OpKind) -> bool {
    use OpKind::*;
    matches!(
        kind,
        Immediate8
            | Immediate16
            | Immediate32
            | Immediate64
            | Immediate8to16
            | Immediate8to32
            | Immediate8to64
            | Immediate32to64
    )
}
