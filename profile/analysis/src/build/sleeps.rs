//! Whether functions repeat their sleeps in a loop, according to their instructions. The
//! instructions of an interpreter do not show what the interpreted code repeats.

use syncline_code::symbols::Symbols;
use syncline_recording::Op;

use crate::model::{Site, Stack};

/// A call site with fewer sleeps hardly polls for something, and is left out.
const OFTEN: u64 = 20;

/// Prefixes of the names of functions that interpret programs: CPython's, Ruby's, Perl's and Lua's.
const INTERPRETERS: [&str; 4] = ["_PyEval_", "vm_exec", "Perl_runops", "luaV_execute"];

/// For each call site that slept often, fills in whether its function repeats the sleep in a loop.
pub fn fill(sites: &mut [Site], stacks: &[Stack], symbols: &mut Symbols) {
    let often = |site: &&mut Site| site.op == Op::Sleep && site.figures.calls >= OFTEN;
    for site in sites.iter_mut().filter(often) {
        let stack = site.stacks.first().and_then(|&stack| stacks.get(stack));
        site.repeats = stack
            .filter(|stack| !is_interpreted(stack, symbols))
            .and_then(|stack| symbols.sleeps_again(stack));
    }
}

fn is_interpreted(stack: &Stack, symbols: &Symbols) -> bool {
    stack.frames.iter().any(|&frame| {
        let function = &symbols.frame(frame).function;
        INTERPRETERS.iter().any(|start| function.starts_with(start))
    })
}
