//! Whether functions repeat their sleeps in a loop, according to their instructions. For
//! interpreted code, the interpreter's instructions do not show that.

use syncline_code::symbols::Symbols;
use syncline_recording::Op;

use crate::model::{Site, Stack};

/// A sleep that happens less often is not repeated to look for something.
const OFTEN: u64 = 20;

/// How the names begin of functions that interpret programs: CPython's, Ruby's, Perl's and Lua's.
const INTERPRETERS: [&str; 4] = ["_PyEval_", "vm_exec", "Perl_runops", "luaV_execute"];

/// Fills in whether the sleeps that happened often are repeated by their own functions.
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
