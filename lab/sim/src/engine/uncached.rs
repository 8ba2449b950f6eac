//! Shared memory that caches don't hold: each access goes to the memory at the line's home, which
//! serves one access after another. The only atomic operation is test-and-set, on registers outside
//! of the memory; each core has one register. The SCC is such a machine (Christgau and Schnor on
//! MPI's passive target, section 5).

use super::context::{act, with};
use super::{Engine, Then};
use crate::machine::{Access, Machine, State};

/// The state of all memories and registers.
pub struct Shared {
    /// The cycle until which each node's memory is busy.
    memories: Vec<u64>,
    /// The register of each cache's core.
    registers: Vec<Register>,
    /// The cycles for which an access to a memory keeps the memory busy, and those for which an
    /// access to a register keeps the register busy.
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
    /// Makes an access to uncached memory. The access waits until the memory at the line's home is
    /// free.
    pub(super) fn access_memory(&mut self, access: Access, line: u32) -> Then {
        // Callers split atomic operations into loads and stores.
        debug_assert!(matches!(access, Access::Load | Access::Store));
        let home = self.lines[line as usize].home();
        let class = self.machine.class(self.node(), home);
        let cycles = u64::from(self.machine.cycles(access, State::Invalid, class));
        self.threads[self.current as usize].looks_at = None;
        let begins = self.shared.memories[home].max(self.now);
        self.shared.memories[home] = begins + self.shared.busy[0];
        self.pass_until(begins + cycles)
    }

    /// Makes an access of the current thread to a register. The access waits until the register has
    /// served the accesses before it.
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

/// Tries once to acquire a register, and returns whether the try succeeded. It always succeeds
/// outside of a simulation.
pub(crate) fn test_and_set(register: usize) -> bool {
    act(|engine| engine.reach(register));
    with(|engine| !std::mem::replace(&mut engine.shared.registers[register].taken, true))
        .unwrap_or(true)
}

/// Frees a register. Does nothing outside of a simulation.
pub(crate) fn reset(register: usize) {
    act(|engine| engine.reach(register));
    with(|engine| engine.shared.registers[register].taken = false);
}

/// Acquires the register that guards the line of an address. Retries without a pause until the
/// register is free.
pub(crate) fn take(address: usize) {
    let register = with(|engine| engine.keeper(address)).unwrap_or(0);
    while !test_and_set(register) {}
}

/// Frees the register that guards the line of an address.
pub(crate) fn release(address: usize) {
    let register = with(|engine| engine.keeper(address)).unwrap_or(0);
    reset(register);
}
