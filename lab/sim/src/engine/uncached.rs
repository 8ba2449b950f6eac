//! Shared memory that no cache may have: each access goes to the memory at the line's home, which
//! serves one after the other. The only atomic operation is test-and-set, on registers that are
//! not memory; each cache's core has one (the SCC, section 5 of the paper on MPI's passive
//! target).

use super::context::{act, with};
use super::{Engine, Then};
use crate::machine::{Access, Machine, State};

/// Until when memories and registers are busy, and which registers are taken.
pub struct Shared {
    /// By node.
    memories: Vec<u64>,
    /// By cache.
    registers: Vec<Register>,
    /// Cycles for which a memory, and a register, is busy with one access.
    busy: [u64; 2],
}

#[derive(Clone, Default)]
struct Register {
    free_at: u64,
    taken: bool,
}

impl Shared {
    pub fn of(machine: &Machine) -> Shared {
        let busy = machine.description.busy.map_or([0.0; 2], |busy| [busy.memory, busy.register]);
        let registers = if machine.is_uncached() { machine.caches() } else { 0 };
        Shared {
            memories: vec![0; machine.description.nodes],
            registers: vec![Register::default(); registers],
            busy: busy.map(|cycles| cycles.round() as u64),
        }
    }
}

impl Engine<'_> {
    /// An access to uncached memory: it waits until the memory is free.
    pub(super) fn access_memory(&mut self, access: Access, line: u32) -> Then {
        // Atomic operations come as the loads and stores that they are made of.
        debug_assert!(matches!(access, Access::Load | Access::Store));
        let home = self.lines[line as usize].home();
        let class = self.machine.class(self.node(), home);
        let cycles = u64::from(self.machine.cycles(access, State::Invalid, class));
        self.threads[self.current as usize].looks_at = None;
        let begins = self.shared.memories[home].max(self.now);
        self.shared.memories[home] = begins + self.shared.busy[0];
        self.pass_until(begins + cycles)
    }

    /// A way to a register and back.
    fn reach(&mut self, register: usize) -> Then {
        let there = self.shared.registers.len();
        assert!(register < there, "no register {register}: the machine has {there}");
        self.accesses += 1;
        let class = self.machine.class(self.node(), self.machine.node_of(register));
        let cycles = self.machine.cycles(Access::TestAndSet, State::Invalid, class);
        self.threads[self.current as usize].looks_at = None;
        let state = &mut self.shared.registers[register];
        let begins = state.free_at.max(self.now);
        state.free_at = begins + self.shared.busy[1];
        self.pass_until(begins + u64::from(cycles))
    }

    fn keeper(&mut self, address: usize) -> usize {
        let line = self.line_of(address);
        self.lines[line as usize].keeper()
    }
}

/// Tries once to take a register. Outside of a simulation it is always free.
pub(crate) fn test_and_set(register: usize) -> bool {
    act(|engine| engine.reach(register));
    with(|engine| !std::mem::replace(&mut engine.shared.registers[register].taken, true))
        .unwrap_or(true)
}

/// Frees a register.
pub(crate) fn reset(register: usize) {
    act(|engine| engine.reach(register));
    with(|engine| engine.shared.registers[register].taken = false);
}

/// Takes the register that guards the line of an address; tries until it is free, without a pause.
pub(crate) fn take(address: usize) {
    let register = with(|engine| engine.keeper(address)).unwrap_or(0);
    while !test_and_set(register) {}
}

/// Gives the register back that guards the line of an address.
pub(crate) fn release(address: usize) {
    let register = with(|engine| engine.keeper(address)).unwrap_or(0);
    reset(register);
}
