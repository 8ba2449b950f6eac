//! The names of variables on a stack, each in its frame.
//!
//! A part of the stack is given, as it was while the frame was live. At the upper end of a frame is
//! its return address, T. There are two ways to find T:
//!
//! ```text
//!        ...
//!     T  return address of the frame       the call before this address may name the function
//!        locals, saved registers           among them the variable
//!     S  an address in the function        to which one of the function's calls returns;
//!                                             from it, the unwind table tells how far up T is
//!        frames of what the function called
//! ```
//!
//! The way from below, through S, is tried first. Its result counts if the unwind table leads to a
//! T with an address after a call. But words on a stack may be left over from earlier frames: an
//! array without values yet, among the locals, may contain an S of a function that has returned. So
//! all S below the variable are followed, each as far as the frame that contains the variable, and
//! the frame to which most of them lead gives the name. An S that is left over has lost the frames
//! below it, over which other calls have written since.
//!
//! The variable's name in the frame comes from the debug information, if that gives the variable a
//! fixed offset.

use std::collections::BTreeMap;

use iced_x86::FlowControl;

use super::Symbols;
use crate::file::unwind::FrameEnd;

/// The size of a word of a stack, in bytes.
const WORD: u64 = 8;

/// A part of a stack, as it was at some time.
#[derive(Clone, Copy, Debug)]
pub struct Part<'a> {
    /// The part's first address.
    pub start: u64,
    /// The part's words, in the order of their addresses.
    pub words: &'a [u64],
}

impl Part<'_> {
    /// Whether the part contains an address.
    pub fn covers(&self, address: u64) -> bool {
        address.wrapping_sub(self.start) < WORD * self.words.len() as u64
    }

    fn word(&self, address: u64) -> Option<u64> {
        let place = address.checked_sub(self.start)? / WORD;
        self.words.get(usize::try_from(place).ok()?).copied()
    }

    fn end(&self) -> u64 {
        self.start + WORD * self.words.len() as u64
    }
}

/// A call: its module, its return address, and its target if that is fixed.
struct Call {
    module: usize,
    /// The return address in the file.
    at: u64,
    target: Option<u64>,
}

/// A frame: its module, an address of its function in the file, and the canonical frame address,
/// which is just above the return address.
struct Frame {
    module: usize,
    at: u64,
    cfa: u64,
}

impl Symbols {
    /// The variable on a stack that contains an address: `total+0x8 on the stack of main (app)`, or
    /// its offset in the frame if the variable has no name. `None` if the frame is not found, or
    /// its function has no name.
    pub fn stack_variable(&mut self, address: u64, part: Part<'_>) -> Option<String> {
        let frame =
            self.frame_by_callees(address, part).or_else(|| self.frame_by_caller(address, part))?;
        let image = self.image_of(frame.module);
        let (function, _) = image.function(frame.at)?;
        let module = self.modules[frame.module].name();
        let below = frame.cfa.wrapping_sub(address);
        let place = match image.local(frame.at, below) {
            Some((name, 0)) => name,
            Some((name, offset)) => format!("{name}+{offset:#x}"),
            None => format!("{below:#x} below the return"),
        };
        Some(format!("{place} on the stack of {function} ({module})"))
    }

    /// Finds the frame by the calls that its function and the functions below it made. If several
    /// frames seem to contain the variable, this takes the one to which most return addresses lead.
    fn frame_by_callees(&mut self, address: u64, part: Part<'_>) -> Option<Frame> {
        let word = address & !(WORD - 1);
        let mut found: Vec<(Frame, usize)> = Vec::new();
        // For each return address seen so far, the index of the frame to which it leads.
        let mut leads: BTreeMap<u64, usize> = BTreeMap::new();
        let mut at = word;
        while let Some(value) = at.checked_sub(WORD).and_then(|below| part.word(below)) {
            at -= WORD;
            let Some(call) = self.call_before(value) else { continue };
            let image = self.image_of(call.module);
            let end = image.unwind().and_then(|unwind| unwind.frame_end(call.at - 1));
            let nearest = leads.first_key_value().map(|(&at, _)| at);
            let returns = match end {
                None => continue,
                // After the return, the stack pointer is one word higher.
                Some(FrameEnd::FromStack(offset)) => at.wrapping_add_signed(offset),
                // The frame pointer is unknown, so the next return address is taken.
                Some(FrameEnd::FromFrame) => match nearest {
                    Some(nearest) => nearest,
                    None => self.return_above(word, part)?.0,
                },
            };
            let frame = if returns < word {
                leads.get(&returns).copied()
            } else {
                let is_call = part.word(returns).is_some_and(|at| self.call_before(at).is_some());
                is_call.then(|| {
                    let (module, at) = (call.module, call.at - 1);
                    found.push((Frame { module, at, cfa: returns + WORD }, 0));
                    found.len() - 1
                })
            };
            if let Some(frame) = frame {
                found[frame].1 += 1;
                leads.insert(at, frame);
            }
        }
        // If several frames have equally many, this takes the first one found: that of the return
        // address nearest to the variable.
        found.into_iter().rev().max_by_key(|&(_, count)| count).map(|(frame, _)| frame)
    }

    /// Finds the frame by the call of its function, if that call has a fixed target.
    fn frame_by_caller(&mut self, address: u64, part: Part<'_>) -> Option<Frame> {
        let (at, call) = self.return_above(address & !(WORD - 1), part)?;
        Some(Frame { module: call.module, at: call.target?, cfa: at + WORD })
    }

    /// The position of the first return address above an address, and the call that returns to it.
    fn return_above(&mut self, address: u64, part: Part<'_>) -> Option<(u64, Call)> {
        let places = (address + WORD..part.end()).step_by(WORD as usize);
        places.into_iter().find_map(|at| Some((at, self.call_before(part.word(at)?)?)))
    }

    /// The call that returns to an address; `None` if there is no call before it.
    fn call_before(&mut self, address: u64) -> Option<Call> {
        let (module, at) = self.call_in_file(address)?;
        let image = self.image_of(module);
        let call = image.calls()?.before(at)?;
        let direct = call.flow_control() == FlowControl::Call;
        Some(Call { module, at, target: direct.then(|| call.near_branch_target()) })
    }
}
