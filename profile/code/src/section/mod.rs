//! Critical sections, read from the program's instructions.
//!
//! From the return address of an acquisition, the instructions of the function are followed along
//! all paths, until each path comes to the call that releases the lock (`walk`). The instructions
//! on the paths are then examined (`count`): how many there are, whether they loop, how often they
//! read and write memory that other threads can reach, and which functions they call. This
//! distinguishes a counter, for which an atomic would suffice, from a section that computes
//! something, and a section that only reads from one that writes.
//!
//! Calls are not followed. But the names of the called functions are kept, and the program's own
//! functions are examined for what they do to locks (`effects`). Jumps through tables are not
//! followed either, nor is the caller if it releases the lock: such sections are not `complete`. A
//! path ends where an exception is thrown or the program ends; such a section can still be
//! `complete`. A branch on the outcome of the acquisition is followed as if the lock was acquired.
//! A branch on the condition under which the lock was acquired is followed in the same direction as
//! before the acquisition: `if (shared) lock(); ... if (shared) unlock();`.
//!
//! The same paths show which functions acquire a lock on behalf of their callers (`held`). Paths
//! from other calls and loops show which functions sleep again and again (`again`), and which only
//! wait for another thread (`spin`). `doing` says what a thread did where a sample found it, and
//! `python` which Python functions sleep again and again.
//!
//! Only files for x86-64 are read, and only if they are those of the recording.

pub mod again;
mod code;
mod count;
pub mod doing;
mod effects;
pub mod held;
mod names;
pub mod python;
mod spin;
mod state;
mod step;
#[cfg(test)]
mod testing;
mod value;
mod walk;
mod ways;

use std::collections::BTreeSet;

use iced_x86::Instruction;

use crate::file::files;
use crate::file::image::{Acquired, Image};
use crate::model::Section;
use code::{Code, Namer};
use state::State;
use walk::Walker;
use ways::{Acquisition, Ways};

/// Whether a function that a section calls acquires or releases a lock, judged by its name.
pub fn takes_or_releases(call: &str) -> bool {
    matches!(names::effect(call), names::Effect::Acquire | names::Effect::Release)
}

/// The sections of the acquisitions `places` of a file, in the same order; `None` for one whose
/// instructions can't be read. An acquisition that was read before, for another process perhaps, is
/// not read again.
pub fn sections(image: &Image, places: &[Acquired]) -> Vec<Option<Section>> {
    let mut known = image.sections.borrow_mut();
    let is_new = |place: &Acquired| !known.contains_key(place);
    let new: BTreeSet<_> = places.iter().copied().filter(is_new).collect();
    if !new.is_empty() {
        let read = read_all(image, &new).unwrap_or_default();
        known.extend(new.into_iter().map(|place| (place, None)));
        known.extend(read);
    }
    places.iter().map(|place| known[place].clone()).collect()
}

/// Reads the sections of `places`; `None` if the file can't be read.
fn read_all(
    image: &Image,
    places: &BTreeSet<Acquired>,
) -> Option<Vec<(Acquired, Option<Section>)>> {
    with_code(image, |code| {
        let read_one = |&(address, tries): &Acquired| {
            let mut namer = |address| function_at(image, address);
            let section = read(code, &mut namer, address, tries).map(|(mut section, addresses)| {
                let named = addresses.iter().filter_map(|&a| Some(image.variable(a)?.0));
                section.variables = named.collect::<BTreeSet<_>>().into_iter().collect();
                section
            });
            ((address, tries), section)
        };
        places.iter().map(read_one).collect()
    })
}

/// Calls a function with the instructions of a file; `None` if the file can't be read, is not the
/// recorded one, or is not for x86-64.
fn with_code<T>(image: &Image, with: impl FnOnce(&Code) -> T) -> Option<T> {
    let cache = files::open(image.binary()?)?;
    let file = object::File::parse(&cache).ok()?;
    Code::new(&file, image.unwind()).map(|code| with(&code))
}

/// The name of the function that begins at an address of the file. For an address anywhere in a
/// function's cold part (`.cold`), it is the name of that part. `None` for other addresses.
fn function_at(image: &Image, address: u64) -> Option<String> {
    let (name, offset) = image.function(address)?;
    (offset == 0 || name.contains(".cold")).then_some(name)
}

/// The section of the acquisition that returns to `start`, an address of the file, and the
/// addresses of the file that the section reads or writes.
fn read(code: &Code, namer: Namer, start: u64, tries: bool) -> Option<(Section, BTreeSet<u64>)> {
    let call = code.call_before(start)?;
    let mut walker = Walker::new(code, namer, code.function(call.ip())?);
    let (ways, state) = enter(&mut walker, &call, true, tries);
    Some(count::count(ways, &state, code, &mut walker.values))
}

/// All paths from a call that returns with a lock held, and the state at their beginning. `told`
/// says whether the call acquires a lock. In that case its first argument helps to recognise the
/// release.
fn enter(walker: &mut Walker, call: &Instruction, told: bool, tries: bool) -> (Ways, State) {
    let mut state = walker.state_before(call.ip());
    let name = walker.callee(call);
    let acquisition = match told {
        true => Acquisition::of(name.as_deref(), &state),
        false => Acquisition { lock: None, guard: false },
    };
    walker.values.enter_section();
    state.acquire(call.ip(), &mut walker.values);
    if let Some(outcome) = name.and_then(|name| names::success(&name, tries)) {
        state.set(state::RAX, value::Value::number(outcome));
    }
    (walker.section(call.next_ip(), state.clone(), &acquisition), state)
}
