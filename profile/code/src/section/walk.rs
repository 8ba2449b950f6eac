//! Follows the instructions of a function along all paths.
//!
//! A point is an address, together with the number of locks that are held there in addition to the
//! section's own. Each point keeps one [`State`]. When paths join, their states are joined, and the
//! point is visited again if that changed its state.

use std::collections::BTreeSet;
use std::ops::Range;

use iced_x86::{FlowControl, Instruction, InstructionInfoFactory, Mnemonic};

use super::code::{Code, Namer, slot};
use super::effects;
use super::names::{Effect, effect};
use super::state::{FRAME, RAX, RDI, State};
use super::value::{Base, Value, Values};
use super::ways::{Acquisition, Point, Ways};

/// A walk visits at most this many points. Instructions say little about a longer section.
const POINTS: usize = 1024;
/// The walk from the beginning of the function, which finds the state at the acquisition, visits at
/// most this many points.
const POINTS_BEFORE: usize = 4096;
/// On one path, at most this many further locks are counted.
const NESTED: u8 = 8;
/// The text for a called function that has instructions but no name.
const UNNAMED: &str = "a function without a name";
/// The text for a called function that is unknown.
pub const UNKNOWN: &str = "an unknown function";

/// Follows the paths through one function.
pub struct Walker<'a, 'b> {
    /// The file.
    pub code: &'a Code<'a>,
    /// Finds the names of the file's functions.
    pub namer: Namer<'b>,
    /// The addresses of the function.
    pub function: Range<u64>,
    /// The values found so far.
    pub values: Values,
    infos: InstructionInfoFactory,
}

impl<'a, 'b> Walker<'a, 'b> {
    /// Creates a walker in a function of the file.
    pub fn new(code: &'a Code<'a>, namer: Namer<'b>, function: Range<u64>) -> Walker<'a, 'b> {
        let infos = InstructionInfoFactory::new();
        Walker { code, namer, function, values: Values::default(), infos }
    }

    /// The state before the instruction at `address`, joined from all paths from the function's
    /// beginning.
    pub fn state_before(&mut self, address: u64) -> State {
        let state = State::new(&mut self.values);
        let mut ways = self.follow((self.function.start, 0), state, None, POINTS_BEFORE);
        if let Some(state) = ways.states.remove(&(address, 0)) {
            return state;
        }
        // No path leads to the address, for example because of a jump that can't be followed. The
        // frame pointer may still be known.
        let mut frames = ways.states.values().map(|state| state.register(FRAME));
        let frame = frames.rfind(|value| value.base == Base::Stack);
        let mut state = State::new(&mut self.values);
        if let Some(frame) = frame {
            state.set(FRAME, frame);
        }
        state
    }

    /// All paths from the acquisition that returns to `start`.
    pub fn section(&mut self, start: u64, state: State, acquisition: &Acquisition) -> Ways {
        self.follow((start, 0), state, Some(acquisition), POINTS)
    }

    fn follow(
        &mut self,
        start: Point,
        state: State,
        acquisition: Option<&Acquisition>,
        limit: usize,
    ) -> Ways {
        let mut ways = Ways::default();
        ways.states.insert(start, state);
        let mut open = BTreeSet::from([start]);
        while let Some(point) = open.pop_first() {
            let mut state = ways.states[&point].clone();
            let Some(instruction) = self.code.instruction(point.0) else {
                ways.lost = true;
                continue;
            };
            let next = self.step(point, &instruction, &mut state, acquisition, &mut ways);
            for &point in &next {
                let state = state.after(&instruction, point.0);
                let changed = match ways.states.get_mut(&point) {
                    Some(known) => known.join(&state, point.0, &mut self.values),
                    None => ways.states.insert(point, state).is_none(),
                };
                if changed {
                    open.insert(point);
                }
            }
            ways.edges.insert(point, next);
            if ways.states.len() > limit {
                ways.lost = true;
                break;
            }
        }
        ways
    }

    /// Applies one instruction to the state, and returns the next points.
    fn step(
        &mut self,
        (at, nested): Point,
        i: &Instruction,
        state: &mut State,
        acquisition: Option<&Acquisition>,
        ways: &mut Ways,
    ) -> Vec<Point> {
        let next = (i.next_ip(), nested);
        match i.flow_control() {
            FlowControl::ConditionalBranch => {
                let lock = acquisition.and_then(|acquisition| acquisition.lock);
                let taken = state.decides(i.condition_code(), lock);
                let mut to = Vec::new();
                if taken != Some(false) {
                    to.extend(self.jump((at, nested), i, state, acquisition, ways));
                }
                if taken != Some(true) {
                    to.push(next);
                }
                to
            }
            FlowControl::UnconditionalBranch => {
                let to = self.jump((at, nested), i, state, acquisition, ways);
                to.into_iter().collect()
            }
            FlowControl::IndirectBranch => {
                let name = self.callee(i);
                self.leave((at, nested), i, name, state, acquisition, ways);
                Vec::new()
            }
            FlowControl::Call | FlowControl::IndirectCall if i.mnemonic() == Mnemonic::Syscall => {
                ways.calls.insert("a system call".to_owned());
                state.call(at, &mut self.values);
                vec![next]
            }
            FlowControl::Call | FlowControl::IndirectCall => {
                let name = self.callee(i);
                self.call((at, nested), i, name, state, acquisition, ways).into_iter().collect()
            }
            FlowControl::Return => {
                ways.returned += usize::from(acquisition.is_some());
                Vec::new()
            }
            // A trap ends the program.
            FlowControl::Exception | FlowControl::Interrupt => Vec::new(),
            FlowControl::Next | FlowControl::XbeginXabortXend => {
                let info = self.infos.info(i).clone();
                state.step(i, &info, &mut self.values);
                vec![next]
            }
        }
    }

    /// Follows a jump within the function, into its cold part, or to another function as a tail
    /// call; `None` if the path ends with the jump.
    fn jump(
        &mut self,
        (at, nested): Point,
        i: &Instruction,
        state: &State,
        acquisition: Option<&Acquisition>,
        ways: &mut Ways,
    ) -> Option<Point> {
        let target = i.near_branch_target();
        let conditional = i.flow_control() == FlowControl::ConditionalBranch;
        if self.function.contains(&target) {
            return Some((target, nested));
        }
        let name = self.name(target);
        // The target may be a cold part. In a stripped file the part has no name, so each
        // conditional jump counts as one to a cold part: compilers rarely emit a conditional jump
        // to another function.
        let part = name.as_deref().map_or(conditional, |name| name.contains(".cold"));
        if part {
            return Some((target, nested));
        }
        self.leave((at, nested), i, name, state, acquisition, ways);
        None
    }

    /// Ends a path with a jump to another function.
    fn leave(
        &mut self,
        (at, nested): Point,
        i: &Instruction,
        name: Option<String>,
        state: &State,
        acquisition: Option<&Acquisition>,
        ways: &mut Ways,
    ) {
        let Some(acquisition) = acquisition else { return };
        let Some(name) = name.or_else(|| self.unnamed(i)) else {
            ways.lost = true;
            return;
        };
        match self.effect(i, &name) {
            Effect::Release if acquisition.ends(&name, state, nested) => {
                ways.ends.insert(at);
                ways.released += 1;
            }
            Effect::NoReturn => {}
            // The function to which the jump leads returns to this function's caller.
            Effect::Other => ways.returned += 1,
            Effect::Release | Effect::Acquire => ways.lost = true,
        }
    }

    /// Follows a path through a call; `None` if the path ends there.
    fn call(
        &mut self,
        (at, nested): Point,
        i: &Instruction,
        name: Option<String>,
        state: &mut State,
        acquisition: Option<&Acquisition>,
        ways: &mut Ways,
    ) -> Option<Point> {
        let name = name.or_else(|| self.unnamed(i)).unwrap_or_else(|| UNKNOWN.to_owned());
        let argument = state.register(RDI);
        let mut depth = nested;
        match (self.effect(i, &name), acquisition) {
            (Effect::NoReturn, _) => return None,
            (Effect::Release, Some(acquisition)) => {
                if acquisition.ends(&name, state, nested) {
                    ways.ends.insert(at);
                    ways.released += 1;
                    return None;
                }
                depth = nested.saturating_sub(1);
            }
            (Effect::Acquire, Some(_)) => depth = (nested + 1).min(NESTED),
            _ => {}
        }
        state.call(at, &mut self.values);
        if name == "__tls_get_addr" {
            state.set(RAX, Value::thread(argument.offset));
        } else {
            ways.calls.insert(name);
        }
        // The call may be the function's last instruction, because the called function doesn't
        // return.
        let inside = self.function.contains(&i.next_ip()) || !self.function.contains(&at);
        inside.then_some((i.next_ip(), depth))
    }

    /// The text for a function of a stripped file, whose instructions still show what it does to
    /// locks. `None` for a function that is called through a pointer, since its instructions are
    /// not known.
    fn unnamed(&self, i: &Instruction) -> Option<String> {
        let target = i.near_branch_target();
        let is_direct =
            matches!(i.flow_control(), FlowControl::Call | FlowControl::UnconditionalBranch);
        (is_direct && self.code.function(target).is_some()).then(|| UNNAMED.to_owned())
    }

    /// What a function that is called or jumped to does to locks, by its name or by its
    /// instructions.
    fn effect(&mut self, i: &Instruction, name: &str) -> Effect {
        match effect(name) {
            Effect::Other => effects::of_call(self.code, self.namer, i),
            named => named,
        }
    }

    /// The name of the function that is called or jumped to; `None` if it is unknown.
    pub fn callee(&mut self, i: &Instruction) -> Option<String> {
        if i.flow_control() == FlowControl::Call {
            return self.name(i.near_branch_target());
        }
        slot(i).and_then(|slot| self.code.bound(slot)).map(str::to_owned)
    }

    fn name(&mut self, address: u64) -> Option<String> {
        let stub = self.code.stub(address).map(str::to_owned);
        stub.or_else(|| (self.namer)(address))
    }
}
