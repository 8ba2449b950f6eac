//! Which sleeps their functions repeat, by their instructions.

use syncline_code::symbols::Symbols;
use syncline_recording::Op;

use crate::model::{Site, Stack};

/// A sleep that happens less often is not repeated to look for something.
const OFTEN: u64 = 20;

/// Fills in whether the sleeps that happened often are repeated by their own functions.
pub fn fill(sites: &mut [Site], stacks: &[Stack], symbols: &mut Symbols) {
    let often = |site: &&mut Site| site.op == Op::Sleep && site.figures.calls >= OFTEN;
    for site in sites.iter_mut().filter(often) {
        let stack = site.stacks.first().and_then(|&stack| stacks.get(stack));
        site.repeats = stack.and_then(|stack| symbols.sleeps_again(stack));
    }
}
