//! Functions that acquire a lock on behalf of their callers.
//!
//! Programs wrap their locks in functions such as `Mutex::Lock()` or `safe_mutex_lock()`, or in
//! guards, in several levels, some of them inlined. No list of names has all of these, but such
//! functions return with the lock held, which their instructions show. The function of a section is
//! the innermost one in which the lock is also released. It has the call site that distinguishes
//! the program's locks.
//!
//! A function that waits for a condition with a lock that it neither acquired nor releases was
//! called with the lock held. So it is not the call site either, and neither is a function that
//! does nothing but wait for a semaphore.

use std::collections::BTreeSet;
use std::ops::Range;
use std::rc::Rc;

use super::code::{Code, Namer};
use super::names::{Effect, belongs_to_waiting, effect, waits_for_semaphore, waits_with_lock};
use super::walk::{UNKNOWN, Walker};
use super::ways::Ways;
use super::{effects, enter, function_at, with_code};
use crate::file::image::{Found, Image};

/// At most this many nested functions are examined for acquiring a lock on behalf of their callers.
pub const LEVELS: usize = 5;
/// The calls of a whole file are read only if the file has at most this many bytes of code. That
/// many bytes take half a second.
const LARGEST: usize = 64 << 20;

/// A function that only waits for a semaphore has at most this many instructions after the wait.
const FEW_INSTRUCTIONS: usize = 32;

/// Analyses the calls that return to `addresses` of a file, and stores the results in
/// [`Image::returned`].
pub fn look(image: &Image, addresses: &BTreeSet<u64>) {
    let known = |address: &u64| image.returned.borrow().contains_key(address);
    let new: Vec<u64> = addresses.iter().copied().filter(|address| !known(address)).collect();
    if new.is_empty() {
        return;
    }
    if with_code(image, |code| look_at(image, code, &new)).is_none() {
        image.returned.borrow_mut().extend(new.into_iter().map(|address| (address, 0)));
    }
}

fn look_at<'a>(image: &Image, code: &Code, addresses: impl IntoIterator<Item = &'a u64>) {
    for &address in addresses {
        let frames = returned(image, code, address).unwrap_or(0);
        image.returned.borrow_mut().insert(address, frames);
    }
}

/// The functions of a file that acquire a lock on behalf of their callers. All direct calls of the
/// file are read. Empty if the file can't be read, or its code is too large.
pub fn look_everywhere(image: &Image) -> &[Range<u64>] {
    image
        .wrappers
        .get_or_init(|| with_code(image, |code| all_wrappers(image, code)).unwrap_or_default())
}

fn all_wrappers(image: &Image, code: &Code) -> Vec<Range<u64>> {
    let mut wrappers = Vec::new();
    if code.size() > LARGEST {
        return wrappers;
    }
    let mut takes: BTreeSet<u64> = BTreeSet::new();
    let mut back: BTreeSet<u64> = code
        .calls()
        .filter(|(target, _)| {
            code.stub(*target).is_some_and(|name| effect(name) == Effect::Acquire)
        })
        .map(|(_, back)| back)
        .collect();
    for _ in 0..LEVELS {
        look_at(image, code, &back);
        let took = |back: &&u64| {
            let frames = image.frames(**back - 1).len().max(1);
            image.returned.borrow().get(back) == Some(&frames)
        };
        let functions = back.iter().filter(took).filter_map(|&back| code.function(back - 1));
        let new: Vec<Range<u64>> = functions.filter(|f| takes.insert(f.start)).collect();
        if new.is_empty() {
            break;
        }
        let starts: BTreeSet<u64> = new.iter().map(|function| function.start).collect();
        let called = code.calls().filter(|(target, _)| starts.contains(target));
        back = called.map(|(_, back)| back).collect();
        wrappers.extend(new);
    }
    wrappers
}

/// How many of the frames at the return address of an acquisition, counted from the innermost, have
/// returned when the lock is released. `None` if the call can't be read, if it neither acquires a
/// lock nor waits while holding one, or if it waits for a semaphore and the function does more than
/// wait.
fn returned(image: &Image, code: &Code, address: u64) -> Option<usize> {
    let call = code.call_before(address)?;
    let namer: Namer = &mut |address| function_at(image, address);
    let taken = effects::of_call(code, namer, &call) == Effect::Acquire;
    let function = code.function(call.ip())?;
    let mut walker = Walker::new(code, namer, function);
    let name = walker.callee(&call);
    let for_semaphore = name.as_deref().is_some_and(waits_for_semaphore);
    if !taken && !for_semaphore && !name.as_deref().is_some_and(waits_with_lock) {
        return None;
    }
    let tries = name.as_deref().is_some_and(|name| name.contains("try"));
    let (ways, _) = enter(&mut walker, &call, taken, tries);
    if for_semaphore && !only_waits(&ways) {
        return None;
    }
    let frames = image.frames(address - 1);
    Some(count(&ways, &frames, |at| image.frames(at)))
}

/// Whether a function does nothing else after its wait for a semaphore.
fn only_waits(ways: &Ways) -> bool {
    ways.states.len() <= FEW_INSTRUCTIONS && ways.calls.iter().all(|call| belongs_to_waiting(call))
}

/// The number of frames that have returned when the lock is released. A function without a name
/// counts as one frame.
fn count(ways: &Ways, frames: &[Found], at: impl Fn(u64) -> Rc<[Found]>) -> usize {
    if ways.ends.is_empty() {
        let returns = ways.returned > 0 && !ways.lost && !ways.calls.contains(UNKNOWN);
        return if returns { frames.len().max(1) } else { 0 };
    }
    if frames.is_empty() {
        return 0;
    }
    let common = ways.ends.iter().map(|&end| common(frames, &at(end))).max();
    frames.len() - common.unwrap_or(0)
}

/// How many frames two positions in one function have in common, counted from the outermost. An
/// inlined function is the same frame if it is called at the same line of the same caller.
pub(super) fn common(a: &[Found], b: &[Found]) -> usize {
    let (a, b): (Vec<_>, Vec<_>) = (a.iter().rev().collect(), b.iter().rev().collect());
    let is_same = |&n: &usize| a[n].function == b[n].function && a[n - 1].line == b[n - 1].line;
    1 + (1..a.len().min(b.len())).take_while(is_same).count()
}
