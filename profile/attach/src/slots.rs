//! The words by which modules call the functions that are counted.
//!
//! A slot is replaced if it holds the C library's function (or the function that would be in it if
//! the recorder had been preloaded), or still leads to the resolver of its own module. A slot that
//! holds anything else, such as a function of the program's own, stays as it is. Pointers in data
//! are not changed, only counted: a program may have copied them.

use std::collections::HashMap;

use syncline_recording::live::{DLSYM, Slot};

use crate::maps;
use crate::memory::Memory;
use crate::modules::Module;
use crate::refusal::Error;
use crate::symbols::{Kind, Relocation, Symbols, relocations};

/// Slots that are to point to the recorder, and how many pointers were left alone.
pub struct Found {
    pub slots: Vec<Slot>,
    pub pointers: u64,
}

/// Searches all modules except the recorder, which starts at that address.
pub fn find(memory: Memory, modules: &[Module], recorder: u64) -> Result<Found, Error> {
    let failed = |source| Error::System { what: "read the process's modules", source };
    let maps = maps::of(memory.0).map_err(failed)?;
    let read = |module: &Module| Symbols::of(memory, module).ok();
    let symbols: Vec<Option<Symbols>> = modules.iter().map(read).collect();
    let all = || modules.iter().zip(&symbols).filter_map(|(m, s)| Some((m, s.as_ref()?)));
    let Some((_, own)) = all().find(|(module, _)| module.range.start == recorder) else {
        return Ok(Found { slots: Vec::new(), pointers: 0 });
    };
    let mut ours = own.functions();
    // It is exported by another name: a program that is started by `record` keeps its own.
    if let Some(&dlsym) = ours.get(DLSYM) {
        ours.insert("dlsym", dlsym);
    }
    let mut theirs: HashMap<&str, u64> = HashMap::new();
    for (_, symbols) in all().skip(1).filter(|(module, _)| module.range.start != recorder) {
        for (name, (at, _)) in symbols.functions() {
            if ours.contains_key(name) {
                theirs.entry(name).or_insert(at);
            }
        }
    }
    let programs = all().next().map(|(_, symbols)| symbols.functions()).unwrap_or_default();
    let mut found = Found { slots: Vec::new(), pointers: 0 };
    for (module, symbols) in all() {
        if module.range.start == recorder || module.name.contains("/ld-linux") {
            continue;
        }
        // A module that was unloaded since has none.
        for Relocation { at, symbol, kind } in relocations(memory, module).unwrap_or_default() {
            let Some(name) = symbols.name(symbol) else { continue };
            let (Some(&real), Some(&(our, _))) = (theirs.get(name), ours.get(name)) else {
                continue;
            };
            let Ok(now) = memory.word(at) else { continue };
            let unresolved = kind == Kind::Call
                && module.range.contains(&now)
                && symbols.is_undefined(symbol)
                && !programs.contains_key(name);
            match kind {
                Kind::Pointer => found.pointers += u64::from(now == real),
                _ if now != real && !unresolved => {}
                _ => found.slots.push(Slot {
                    at,
                    theirs: now,
                    ours: our,
                    module: module.range.start,
                    protected: u64::from(!maps::at(&maps, at).is_some_and(|map| map.is_writable)),
                }),
            }
        }
    }
    Ok(found)
}
