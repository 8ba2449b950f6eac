//! Finds the slots: the words through which modules call the functions that are counted.
//!
//! Two kinds of slots get a new value: those with the address of the function that a preloaded
//! recorder would call, which is usually the C library's, and those that still lead to the resolver
//! of their own module. A slot with any other value, such as a function of the program's own, stays
//! as it is. Pointers in data are only counted and not changed, because the program may have copied
//! them.
//!
//! Modules that the program needs from its start are never unloaded, nor are the recorder and the
//! modules that it needs. So their slots can be exchanged without the loader's lock.

use std::collections::{HashMap, HashSet};

use syncline_recording::live::Slot;

use crate::maps;
use crate::memory::Memory;
use crate::modules::Module;
use crate::pointers;
use crate::refusal::Error;
use crate::symbols::{Kind, Relocation, Symbols, relocations};

const DT_NEEDED: u64 = 1;
const DT_SONAME: u64 = 14;

/// The slots that are to point to the recorder, and the number of pointers to counted functions in
/// data.
pub struct Found {
    pub slots: Vec<Slot>,
    pub pointers: u64,
}

/// Searches all modules except the loader and the recorder. `recorder` is the recorder's first
/// address.
pub fn find(memory: Memory, modules: &[Module], recorder: u64) -> Result<Found, Error> {
    let failed = |source| Error::System { what: "read the process's modules", source };
    let maps = maps::of(memory.0).map_err(failed)?;
    let read = |module: &Module| Symbols::of(module).ok();
    let symbols: Vec<Option<Symbols>> = modules.iter().map(read).collect();
    let all = || modules.iter().zip(&symbols).filter_map(|(m, s)| Some((m, s.as_ref()?)));
    let Some((_, own)) = all().find(|(module, _)| module.range.start == recorder) else {
        return Ok(Found { slots: Vec::new(), pointers: 0 });
    };
    let ours = own.functions();
    let mut theirs: HashMap<&str, u64> = HashMap::new();
    for (_, symbols) in all().skip(1).filter(|(module, _)| module.range.start != recorder) {
        for (name, (at, _)) in symbols.functions() {
            if ours.contains_key(name) {
                theirs.entry(name).or_insert(at);
            }
        }
    }
    let programs = all().next().map(|(_, symbols)| symbols.functions()).unwrap_or_default();
    let stay = never_unloaded(modules, &symbols, recorder);
    let reals: HashSet<u64> = theirs.values().copied().collect();
    let mut found = Found { slots: Vec::new(), pointers: 0 };
    for (module, symbols) in all() {
        if module.range.start == recorder || module.name.contains("/ld-linux") {
            continue;
        }
        let mut relocated = HashSet::new();
        // A module that was unloaded meanwhile has no relocations.
        for Relocation { at, symbol, kind } in relocations(module).unwrap_or_default() {
            relocated.insert(at);
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
                    stays: stay.contains(&module.range.start).into(),
                }),
            }
        }
        for range in module.writable() {
            let is_kept = |&(at, to): &(u64, u64)| {
                reals.contains(&to) && !module.range.contains(&to) && !relocated.contains(&at)
            };
            found.pointers += pointers::of(memory, range).filter(is_kept).count() as u64;
        }
    }
    Ok(found)
}

/// The first addresses of the modules that are never unloaded: the program, the recorder, and all
/// modules that one of them needs.
fn never_unloaded(modules: &[Module], symbols: &[Option<Symbols>], recorder: u64) -> HashSet<u64> {
    let text = |number: usize, offset| symbols[number].as_ref().and_then(|s| s.text(offset));
    let is_called = |number: usize, name: &str| {
        let module = &modules[number];
        let own = module.value(DT_SONAME).and_then(|offset| text(number, offset));
        own.or(module.name.rsplit('/').next()) == Some(name)
    };
    let its_own = modules.iter().position(|module| module.range.start == recorder);
    let mut found: Vec<usize> = [0].into_iter().chain(its_own).collect();
    let mut next = 0;
    while let Some(&number) = found.get(next) {
        let needed = modules[number].dynamic.iter().filter(|entry| entry.0 == DT_NEEDED);
        for name in needed.filter_map(|&(_, offset)| text(number, offset)) {
            let first = (0..modules.len()).find(|&number| is_called(number, name));
            found.extend(first.filter(|number| !found.contains(number)));
        }
        next += 1;
    }
    found.into_iter().map(|number| modules[number].range.start).collect()
}
