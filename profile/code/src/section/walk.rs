//! Follows the instructions of a function along all paths.
//!
//! A point is an address, and how many locks were taken on the path to it besides the one whose
//! section it is. Each point keeps one [`State`]. Where paths join, their states are joined, and
//! the point is visited again if that changed anything.

use std::collections::BTreeSet;
use std::ops::Range;

use iced_x86::{FlowControl, Instruction, InstructionInfoFactory, Mnemonic};

use super::code::{Code, Namer, slot};
use super::effects;
use super::names::{Effect, effect};
use super::state::{FRAME, RAX, RDI, State};
use super::value::{Base, Value, Values};
use super::ways::{Acquisition, Point, Ways};

/// The number of points of one walk. Reading says little of a longer section.
const POINTS: usize = 1024;
/// The number of points of the walk from the beginning of the function to its acquisition.
const POINTS_BEFORE: usize = 4096;
/// The number of locks taken on one way beyond the first.
const NESTED: u8 = 8;
/// The name of a called function of which only the instructions are known.
const UNNAMED: &str = "a function without a name";
/// The name of an unknown called function.
pub const UNKNOWN: &str = "an unknown function";

/// Follows ways through one function.
pub struct Walker<'a, 'b> {
    /// The file.
    pub code: &'a Code<'a>,
    /// Names of its functions.
    pub namer: Namer<'b>,
    /// The function.
    pub function: Range<u64>,
    /// Values so far.
    pub values: Values,
    infos: InstructionInfoFactory,
}

impl<'a, 'b> Walker<'a, 'b> {
    /// In this function of the file.
    pub fn new(code: &'a Code<'a>, namer: Namer<'b>, function: Range<u64>) -> Walker<'a, 'b> {
        let infos = InstructionInfoFactory::new();
        Walker { code, namer, function, values: Values::default(), infos }
    }

    /// The state before the instruction at this address, on all ways from the beginning.
    pub fn state_before(&mut self, address: u64) -> State {
        let state = State::new(&mut self.values);
        let mut ways = self.follow((self.function.start, 0), state, None, POINTS_BEFORE);
        if let Some(state) = ways.states.remove(&(address, 0)) {
            return state;
        }
        // For a point after a jump that can't be followed. The frame pointer is still known.
        let mut frames = ways.states.values().map(|state| state.register(FRAME));
        let frame = frames.rfind(|value| value.base == Base::Stack);
        let mut state = State::new(&mut self.values);
        if let Some(frame) = frame {
            state.set(FRAME, frame);
        }
        state
    }

    /// All ways from the acquisition that returns to `start`.
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

    /// Carries out one instruction and says where it leads.
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
            // A trap: the program ends here.
            FlowControl::Exception | FlowControl::Interrupt => Vec::new(),
            FlowControl::Next | FlowControl::XbeginXabortXend => {
                let info = self.infos.info(i).clone();
                state.step(i, &info, &mut self.values);
                vec![next]
            }
        }
    }

    /// Jumps within the function, into a part of it that stands elsewhere, or to another
    /// function instead of calling it last.
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
        // A cold part. In a stripped file its name is lost, and it is recognised by a conditional
        // jump to it, which compilers rarely make to another function.
        let part = name.as_deref().map_or(conditional, |name| name.contains(".cold"));
        if part {
            return Some((target, nested));
        }
        self.leave((at, nested), i, name, state, acquisition, ways);
        None
    }

    /// The way ends with a jump to another function.
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
            Effect::Release if acquisition.ends(&name, state.register(RDI), nested) => {
                ways.ends.insert(at);
                ways.released += 1;
            }
            Effect::NoReturn => {}
            // A tail call returns for this function.
            Effect::Other => ways.returned += 1,
            Effect::Release | Effect::Acquire => ways.lost = true,
        }
    }

    /// The path goes through a call; `None` if it ends there.
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
                if acquisition.ends(&name, argument, nested) {
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
        // A function that doesn't return may be called last.
        let inside = self.function.contains(&i.next_ip()) || !self.function.contains(&at);
        inside.then_some((i.next_ip(), depth))
    }

    /// A function of a stripped file has no name. Its effect on locks can be read nevertheless,
    /// unlike that of a function that is called through a pointer.
    fn unnamed(&self, i: &Instruction) -> Option<String> {
        let target = i.near_branch_target();
        let is_direct =
            matches!(i.flow_control(), FlowControl::Call | FlowControl::UnconditionalBranch);
        (is_direct && self.code.function(target).is_some()).then(|| UNNAMED.to_owned())
    }

    /// What the function of this name does to locks, that is called or jumped to.
    fn effect(&mut self, i: &Instruction, name: &str) -> Effect {
        match effect(name) {
            Effect::Other => effects::of_call(self.code, self.namer, i),
            named => named,
        }
    }

    /// The name of the function that is called or jumped to.
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
