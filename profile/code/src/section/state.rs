//! The values of registers and memory at one point of a function.
//!
//! Memory is a map from addresses to values. Addresses that were computed differently count as
//! different words, so a store through a pointer of unknown origin invalidates nothing. A compiler
//! may not assume this, but the assumption is good enough for finding what a lock protects. A call
//! may change all memory that is not the caller's own. It may also change numbers on the caller's
//! stack whose addresses the called function got.

use std::collections::BTreeMap;

use iced_x86::{ConditionCode, OpAccess, Register, UsedMemory};

use super::value::{Base, Origin, Value, Values, Where};

/// The number of general registers.
const REGISTERS: usize = 16;
/// The registers that a called function may change: rax, rcx, rdx, rsi, rdi and r8 to r11.
const CLOBBERED: [usize; 9] = [RAX, 1, 2, 6, RDI, 8, 9, 10, 11];
/// The registers that carry arguments.
const ARGUMENTS: [usize; 6] = [RDI, 6, 2, 1, 8, 9];
/// A function that got an address may write up to this many bytes from that address on.
const REACH: i64 = 256;
/// The register that carries a function's result.
pub const RAX: usize = 0;
/// The register that carries the first argument.
pub const RDI: usize = 7;
/// The register that points to the function's frame in most functions (rbp).
pub const FRAME: usize = 5;
/// The stack pointer.
pub const RSP: usize = 4;

/// Registers and memory.
#[derive(Clone, PartialEq)]
pub struct State {
    registers: [Value; REGISTERS],
    memory: BTreeMap<Value, Value>,
    /// The two values that the last comparison compared for equality; `None` if they are unknown.
    pub compared: Option<(Value, Value)>,
    /// Values that the branches on the path have shown to be 0 (`true`), or not to be 0 (`false`).
    zero: BTreeMap<Value, bool>,
}

impl State {
    /// A state in which only the stack pointer is known.
    pub fn new(values: &mut Values) -> State {
        let mut registers = std::array::from_fn(|r| values.of(Origin::Entry(r)));
        registers[RSP] = Value::stack(0);
        State { registers, memory: BTreeMap::new(), compared: None, zero: BTreeMap::new() }
    }

    /// The value of a register.
    pub fn register(&self, register: usize) -> Value {
        self.registers[register]
    }

    /// Sets a register to a value.
    pub fn set(&mut self, register: usize, value: Value) {
        self.registers[register] = value;
    }

    /// The value of the word at an address.
    pub fn load(&self, address: Value, values: &mut Values) -> Value {
        let known = self.memory.get(&address).copied();
        known.unwrap_or_else(|| match (address.base, address.offset) {
            // Thread-local storage begins with its own address.
            (Base::Thread, 0) => Value::thread(0),
            _ => values.of(Origin::Load(address)),
        })
    }

    /// The value of the word at an address; `None` if it is unknown.
    pub fn word(&self, address: Value) -> Option<Value> {
        self.memory.get(&address).copied()
    }

    /// The address of a memory operand.
    pub fn address(&self, memory: &UsedMemory, values: &mut Values) -> Value {
        let local = matches!(memory.segment(), Register::FS | Register::GS);
        let scaled = (memory.index(), memory.scale());
        let address = self.sum(memory.base(), scaled, memory.displacement(), values);
        if local { Value::thread(address.offset) } else { address }
    }

    /// The sum of a base, a scaled index and a displacement. An address on the stack plus a number
    /// is an address on the stack.
    pub fn sum(
        &self,
        base: Register,
        (index, scale): (Register, u32),
        displacement: u64,
        values: &mut Values,
    ) -> Value {
        let start = self.part(base).unwrap_or(Value::number(0)).plus(displacement as i64);
        let Some(index) = self.part(index) else { return start };
        match index.known() {
            _ if start.is_local() => start,
            Some(number) => start.plus(number.wrapping_mul(i64::from(scale))),
            None if scale == 1 && index.is_local() => index,
            None => {
                let from = Value { base: start.base, offset: 0 };
                values.of(Origin::Computed(scale, vec![from, index])).plus(start.offset)
            }
        }
    }

    /// The value of a general register, given by its name of any width; `None` for other registers.
    pub fn part(&self, register: Register) -> Option<Value> {
        number(register).map(|r| self.registers[r])
    }

    /// Whether a conditional jump is taken; `None` if unknown. The value `lock` is known not to be
    /// null.
    pub fn decides(&self, jump: ConditionCode, lock: Option<Value>) -> Option<bool> {
        let (a, b) = self.compared?;
        let not_null = |value: Value| value.is_local() || Some(value) == lock;
        let equal = match (a.known(), b.known()) {
            (Some(a), Some(b)) => a == b,
            _ if b != Value::number(0) => return None,
            _ if not_null(a) => false,
            _ if self.zero.contains_key(&a) => self.zero[&a],
            _ => return None,
        };
        match jump {
            ConditionCode::e => Some(equal),
            ConditionCode::ne => Some(!equal),
            _ => None,
        }
    }

    /// What is known after a conditional jump is taken: a value, and whether it is 0. `None` if
    /// nothing is known.
    pub fn tells(&self, jump: ConditionCode) -> Option<(Value, bool)> {
        let (value, zero) = self.compared.filter(|(_, b)| *b == Value::number(0))?;
        match jump {
            _ if value == zero => None,
            ConditionCode::e => Some((value, true)),
            ConditionCode::ne => Some((value, false)),
            _ => None,
        }
    }

    /// Notes that a value is known to be 0, or not to be 0, from here on.
    pub fn learn(&mut self, value: Value, zero: bool) {
        self.zero.insert(value, zero);
    }

    /// Whether it is known that a value is 0, or that it is not.
    pub fn knows(&self, value: Value) -> bool {
        self.zero.contains_key(&value)
    }

    /// Applies the effects of an acquisition. Afterwards it is still known which values are 0, even
    /// those in shared memory, since a program that locks under a condition tests the same
    /// condition when it unlocks.
    pub fn acquire(&mut self, at: u64, values: &mut Values) {
        let zero = self.zero.clone();
        self.call(at, values);
        self.zero = zero;
    }

    /// Applies the effects of a call that has returned.
    pub fn call(&mut self, at: u64, values: &mut Values) {
        let given: Vec<i64> = ARGUMENTS
            .iter()
            .map(|&r| self.registers[r])
            .chain(self.memory.values().copied())
            .filter(|value| value.base == Base::Stack)
            .map(|value| value.offset)
            .collect();
        self.memory.retain(|address, value| {
            let reached = |&from: &i64| (from..from + REACH).contains(&address.offset);
            let changed = value.known().is_some() && given.iter().any(reached);
            address.is_local() && !changed
        });
        self.zero.retain(|&value, _| !values.is_shared(value));
        for register in CLOBBERED {
            self.registers[register] = values.of(Origin::Made(at, register));
        }
        self.compared = None;
    }

    /// Joins this state with that of another path to the point `at`. Returns whether this state
    /// changed.
    pub fn join(&mut self, other: &State, at: u64, values: &mut Values) -> bool {
        let before = self.clone();
        for r in 0..REGISTERS {
            let joined = self.registers[r].or(other.registers[r]);
            self.registers[r] =
                joined.unwrap_or_else(|| values.of(Origin::Joined(at, Where::Register(r))));
        }
        self.memory.retain(|address, value| match other.memory.get(address) {
            Some(same) if same == value => true,
            Some(_) => {
                *value = values.of(Origin::Joined(at, Where::Memory(*address)));
                true
            }
            None => false,
        });
        self.zero.retain(|value, zero| other.zero.get(value) == Some(zero));
        if self.compared != other.compared {
            self.compared = None;
        }
        *self != before
    }

    /// Stores a value of `size` bytes in memory. `value` is `None` if unknown.
    pub fn store(&mut self, address: Value, size: i64, value: Option<Value>) {
        for before in (1 - 8)..size.max(1) {
            self.memory.remove(&address.plus(before));
        }
        if let Some(value) = value.filter(|_| size <= 8) {
            self.memory.insert(address, value);
        }
    }
}

/// Whether an access reads.
pub fn reads(access: OpAccess) -> bool {
    use OpAccess::{CondRead, Read, ReadCondWrite, ReadWrite};
    matches!(access, Read | CondRead | ReadWrite | ReadCondWrite)
}

/// Whether an access writes.
pub fn writes(access: OpAccess) -> bool {
    use OpAccess::{CondWrite, ReadCondWrite, ReadWrite, Write};
    matches!(access, Write | CondWrite | ReadWrite | ReadCondWrite)
}

/// The number of a general register, given by its name of any width; `None` for other registers.
pub fn number(register: Register) -> Option<usize> {
    register.is_gpr().then(|| register.full_register().number())
}
