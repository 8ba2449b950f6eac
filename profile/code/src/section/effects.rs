//! What the program's own functions do to locks, read from their instructions. `enter(door)`
//! acquires a lock if it returns while holding a lock that it acquired. `leave(door)` releases a
//! lock if it releases one that it did not acquire.
//!
//! Values are not followed, so it is not known which lock is meant. A function that does both, on
//! different paths or one after the other, counts as a function that does neither.

use std::collections::BTreeSet;
use std::ops::Range;

use iced_x86::{FlowControl, Instruction, Mnemonic};

use super::code::{Code, Namer, slot};
use super::names::{Effect, effect};

/// At most this many points of a function are read. A point is an instruction, together with the
/// number of locks held there.
const POINTS: usize = 512;
/// Calls of the program's own functions are followed for this many levels.
const LEVELS: u8 = 3;
/// On one path, at most this many held locks are counted.
const NESTED: u8 = 8;

/// What a call, or a jump to another function, does to locks.
pub fn of_call(code: &Code, namer: Namer, i: &Instruction) -> Effect {
    Reader { code, namer }.of_call(i, LEVELS)
}

struct Reader<'a, 'b> {
    code: &'a Code<'a>,
    namer: Namer<'b>,
}

impl Reader<'_, '_> {
    fn of_call(&mut self, i: &Instruction, levels: u8) -> Effect {
        if i.mnemonic() == Mnemonic::Syscall {
            return Effect::Other;
        }
        if let Some(slot) = slot(i) {
            return self.code.bound(slot).map_or(Effect::Other, effect);
        }
        let direct = matches!(
            i.flow_control(),
            FlowControl::Call | FlowControl::UnconditionalBranch | FlowControl::ConditionalBranch
        );
        if !direct {
            return Effect::Other;
        }
        let target = i.near_branch_target();
        if let Some(name) = self.code.stub(target) {
            return effect(name);
        }
        match (self.namer)(target).map_or(Effect::Other, |name| effect(&name)) {
            Effect::Other => self.of_function(target, levels),
            named => named,
        }
    }

    fn of_function(&mut self, start: u64, levels: u8) -> Effect {
        // The levels are part of the key, since with fewer levels left, less of a function is
        // known.
        let key = (start, levels);
        if let Some(&known) = self.code.effects.borrow().get(&key) {
            return known;
        }
        let Some(range) = self.code.function(start).filter(|_| levels > 0) else {
            return Effect::Other;
        };
        let found = self.read(start, &range, levels);
        self.code.effects.borrow_mut().insert(key, found);
        found
    }

    fn read(&mut self, start: u64, function: &Range<u64>, levels: u8) -> Effect {
        let (mut takes, mut lets_go) = (false, false);
        let mut seen = BTreeSet::from([(start, 0u8)]);
        let mut open = vec![(start, 0u8)];
        while let Some((at, held)) = open.pop() {
            if seen.len() > POINTS {
                return Effect::Other;
            }
            let Some(i) = self.code.instruction(at) else { return Effect::Other };
            let mut go = |to: (u64, u8)| {
                if seen.insert(to) {
                    open.push(to);
                }
            };
            let next = i.next_ip();
            let inside = |i: &Instruction| function.contains(&i.near_branch_target());
            match i.flow_control() {
                FlowControl::ConditionalBranch if inside(&i) => {
                    go((next, held));
                    go((i.near_branch_target(), held));
                }
                // The branch leads out of the function to its cold part, which is not followed.
                FlowControl::ConditionalBranch => go((next, held)),
                FlowControl::UnconditionalBranch if inside(&i) => {
                    go((i.near_branch_target(), held));
                }
                FlowControl::UnconditionalBranch | FlowControl::IndirectBranch => {
                    match self.of_call(&i, levels - 1) {
                        Effect::Acquire => takes = true,
                        Effect::Release if held == 0 => lets_go = true,
                        Effect::Release => takes |= held > 1,
                        Effect::NoReturn => {}
                        Effect::Other => takes |= held > 0,
                    }
                }
                FlowControl::Call | FlowControl::IndirectCall => {
                    match self.of_call(&i, levels - 1) {
                        Effect::Acquire => go((next, (held + 1).min(NESTED))),
                        Effect::Release => {
                            lets_go |= held == 0;
                            go((next, held.saturating_sub(1)));
                        }
                        Effect::NoReturn => {}
                        Effect::Other => go((next, held)),
                    }
                }
                FlowControl::Return => takes |= held > 0,
                FlowControl::Exception | FlowControl::Interrupt => {}
                FlowControl::Next | FlowControl::XbeginXabortXend => go((next, held)),
            }
        }
        match (takes, lets_go) {
            (true, false) => Effect::Acquire,
            (false, true) => Effect::Release,
            _ => Effect::Other,
        }
    }
}
