//! The data that a critical section touches, which decides what primitive the section needs. The
//! section's instructions show it, and a trace if there is one.
//!
//! Instructions show what a section may touch; a trace shows what it touched, and which data
//! threads share. If there are two results, the one that requires the weaker primitive counts.

use crate::findings::family::descending;
use crate::model::{Data, Inspected, Process, Section, Site};

/// A section that only changes one word has at most this many instructions. They load the word,
/// compute its new value, store it, and compute two addresses.
const ONE_WORD_INSTRUCTIONS: usize = 16;
/// A section of at most this many instructions, which take a few tens of nanoseconds, ends before a
/// waiter has fallen asleep.
const FEW_INSTRUCTIONS: usize = 48;
/// This many traced sections represent all of a call site: with a probability of 97 %, something
/// that one section in thirty does is among them.
const ENOUGH_SECTIONS: u64 = 100;

/// What a section touches. The variants that require the weakest primitives come first.
#[derive(Clone, Copy, Debug, PartialEq, Eq, PartialOrd, Ord)]
pub enum Touches {
    /// Nothing that other threads can reach.
    Nothing,
    /// Shared data is changed by atomic instructions only.
    Atomics,
    /// One word is read or changed.
    OneWord,
    /// Shared data is read, and none is changed.
    ReadsOnly,
    /// Several words, in a few instructions.
    FewWords,
    /// More than a few instructions, a loop, or calls of functions that may touch anything.
    More,
}

impl Touches {
    /// What a section touches; `None` if not all of its instructions could be read.
    pub fn of(section: &Section) -> Option<Touches> {
        if !section.complete {
            return None;
        }
        let Section { instructions, loops, reads, writes, atomics, words, .. } = *section;
        let calls =
            |harmless: &[&str]| section.calls.iter().all(|call| harmless.contains(&plain(call)));
        let changes = writes + atomics > 0;
        Some(if reads == 0 && !changes && calls(&[]) {
            Touches::Nothing
        } else if writes == 0 && atomics > 0 && !loops && calls(FREES) {
            Touches::Atomics
        } else if words == Some(1)
            && atomics == 0
            && !loops
            && calls(&[])
            && instructions <= ONE_WORD_INSTRUCTIONS
        {
            Touches::OneWord
        } else if !changes && calls(READS) {
            Touches::ReadsOnly
        } else if !loops && calls(&[]) && instructions <= FEW_INSTRUCTIONS {
            Touches::FewWords
        } else {
            Touches::More
        })
    }

    /// The data that traced sections touched; `None` if too few were traced, or if the trace does
    /// not show it.
    pub fn of_inspected(inspected: &Inspected) -> Option<Touches> {
        match inspected.data {
            Data::Local => Some(Touches::Nothing),
            Data::Atomic => Some(Touches::Atomics),
            Data::OneWord => Some(Touches::OneWord),
            Data::Unknown => None,
            _ if inspected.sections < ENOUGH_SECTIONS => None,
            _ if inspected.writing == 0 => Some(Touches::ReadsOnly),
            _ if inspected.calling == 0
                && inspected.most_instructions <= FEW_INSTRUCTIONS as u64 =>
            {
                Some(Touches::FewWords)
            }
            _ => Some(Touches::More),
        }
    }

    /// The data that the sections of a site touch, if known.
    pub fn of_site(site: &Site) -> Option<Touches> {
        let traced = site.inspected.as_ref().and_then(Touches::of_inspected);
        Touches::read_of_site(site).into_iter().chain(traced).min()
    }

    /// The data that the sections of a site touch according to their instructions alone, if known.
    fn read_of_site(site: &Site) -> Option<Touches> {
        site.section.as_ref().and_then(Touches::of)
    }

    /// The last of the variants that apply to these sites. Only sites that make at least the share
    /// `least` of the calls count. `None` if it is unknown for one of these what its sections
    /// touch.
    pub fn of_all(process: &Process, sites: &[usize], least: f64) -> Option<Touches> {
        Touches::most(process, sites, least, Touches::of_site)
    }

    /// Like [`Touches::of_all`], but according to the sections' instructions alone.
    pub fn read_of_all(process: &Process, sites: &[usize], least: f64) -> Option<Touches> {
        Touches::most(process, sites, least, Touches::read_of_site)
    }

    fn most(
        process: &Process,
        sites: &[usize],
        least: f64,
        of: impl Fn(&Site) -> Option<Touches>,
    ) -> Option<Touches> {
        let calls = |site: &usize| process.sites[*site].figures.calls as f64;
        let all: f64 = sites.iter().map(calls).sum();
        let mut most = None;
        for site in sites.iter().filter(|site| calls(site) >= least * all) {
            most = most.max(Some(of(&process.sites[*site])?));
        }
        most
    }
}

/// Functions that only free memory, as after an atomic count has reached 0.
const FREES: &[&str] = &["free", "operator delete", "_ZdlPv", "_ZdlPvm", "cfree"];

/// Functions that only read their arguments.
const READS: &[&str] = &[
    "memcmp",
    "bcmp",
    "memchr",
    "strlen",
    "strcmp",
    "strncmp",
    "strcasecmp",
    "strchr",
    "strstr",
    "strnlen",
    "wcslen",
    "wcscmp",
    "wmemcmp",
];

/// Functions that seldom or never belong in a critical section, and about how many seconds a call
/// takes: they read the time, draw random numbers, allocate, format, read, write, or sleep.
const MOVABLE: &[(f64, &[&str])] = &[
    (50e-9, &["rand", "random", "rand_r", "drand48", "clock_gettime", "gettimeofday", "time"]),
    (
        100e-9,
        &[
            "malloc",
            "calloc",
            "realloc",
            "aligned_alloc",
            "posix_memalign",
            "operator new",
            "_Znwm",
            "_Znam",
            "free",
            "operator delete",
            "_ZdlPv",
            "_ZdlPvm",
        ],
    ),
    (
        1e-6,
        &[
            "printf",
            "fprintf",
            "snprintf",
            "sprintf",
            "vsnprintf",
            "vfprintf",
            "puts",
            "fputs",
            "localtime",
            "strftime",
        ],
    ),
    (
        f64::INFINITY,
        &[
            "fwrite",
            "fflush",
            "write",
            "read",
            "pread",
            "pwrite",
            "send",
            "recv",
            "fsync",
            "usleep",
            "nanosleep",
            "sleep",
        ],
    ),
];

/// A call that takes a smaller share of the time held than this does not make a section long.
const SHARE_OF_HELD: f64 = 0.05;
/// A finding names at most this many of the calls that could be outside: those that take most time.
const MOST_NAMED: usize = 5;
/// Calls that together take a smaller share of the time held than this do not make a section long.
const SHARE_OF_ALL: f64 = 0.25;
/// At least this share of a section is assumed to remain after its calls are moved out. Canneal's
/// section kept 28 of 46,979 accesses.
const LEFT: f64 = 0.1;

/// Calls that could mostly be outside of a section.
#[derive(Debug, PartialEq)]
pub struct Movable<'a> {
    /// The functions.
    pub calls: Vec<&'a str>,
    /// The share of the section that is left without them.
    pub left: f64,
}

/// The functions that a section calls, that could mostly be called outside, and that take a
/// relevant part of the section's mean time `held`. If the section has a loop, each function that
/// could be called outside is relevant. `None` if there are none, or if together they take too
/// small a share.
pub fn movable_calls(section: &Section, held: f64) -> Option<Movable<'_>> {
    let takes = |call: &str| {
        let of = MOVABLE.iter().find(|(_, names)| names.contains(&plain(call)));
        of.map(|&(seconds, _)| seconds)
    };
    let matters = |call: &'_ String| {
        takes(call).is_some_and(|seconds| section.loops || seconds >= SHARE_OF_HELD * held)
    };
    let mut calls: Vec<&str> =
        section.calls.iter().filter(|call| matters(call)).map(String::as_str).collect();
    calls.sort_by(|a, b| descending(takes(a).unwrap_or(0.0), takes(b).unwrap_or(0.0)));
    calls.truncate(MOST_NAMED);
    let seconds: f64 = calls.iter().filter_map(|call| takes(call)).sum();
    let share = if section.loops { 1.0 } else { seconds / held.max(1e-12) };
    let left = (1.0 - share).max(LEFT);
    (!calls.is_empty() && share >= SHARE_OF_ALL).then_some(Movable { calls, left })
}

/// A function's name without arguments, a symbol's version or `@plt`, and the `__` and `_chk` of
/// checked variants.
fn plain(call: &str) -> &str {
    let call = call.split(['(', '@']).next().unwrap_or(call);
    call.strip_prefix("__").unwrap_or(call).trim_end_matches("_chk")
}

#[cfg(test)]
mod tests {
    use super::*;

    fn section(instructions: usize, reads: usize, writes: usize, words: usize) -> Section {
        let words = Some(words);
        Section { complete: true, instructions, reads, writes, words, ..Section::default() }
    }

    #[test]
    fn sections_are_graded_by_what_they_touch() {
        let of = |section: &Section| Touches::of(section);
        assert_eq!(of(&section(5, 0, 0, 0)), Some(Touches::Nothing));
        let counter = Section { atomics: 1, ..section(5, 1, 0, 2) };
        assert_eq!(of(&counter), Some(Touches::Atomics));
        assert_eq!(of(&section(3, 1, 1, 1)), Some(Touches::OneWord));
        assert_eq!(of(&section(3, 1, 0, 1)), Some(Touches::OneWord));
        assert_eq!(of(&section(9, 3, 0, 3)), Some(Touches::ReadsOnly));
        assert_eq!(of(&section(20, 3, 2, 3)), Some(Touches::FewWords));
        assert_eq!(of(&section(200, 30, 20, 30)), Some(Touches::More));
    }

    #[test]
    fn unknown_calls_may_touch_anything() {
        let calling = |call: &str, section: Section| {
            Touches::of(&Section { calls: vec![call.to_owned()], ..section })
        };
        assert_eq!(calling("update", section(5, 0, 0, 0)), Some(Touches::More));
        assert_eq!(calling("update", section(3, 1, 1, 1)), Some(Touches::More));
        assert_eq!(calling("strcmp@plt", section(9, 3, 0, 3)), Some(Touches::ReadsOnly));
        let counter = Section { atomics: 1, ..section(5, 1, 0, 2) };
        assert_eq!(calling("free", counter.clone()), Some(Touches::Atomics));
        assert_eq!(calling("update", counter), Some(Touches::More));
    }

    #[test]
    fn an_atomic_beside_a_plain_store_is_not_all_atomic() {
        let both = Section { atomics: 1, ..section(9, 1, 1, 2) };
        assert_eq!(Touches::of(&both), Some(Touches::FewWords));
    }

    #[test]
    fn an_incompletely_read_section_is_unknown() {
        let cut = Section { complete: false, ..section(3, 1, 1, 1) };
        assert_eq!(Touches::of(&cut), None);
    }

    #[test]
    fn calls_that_could_be_outside() {
        let calls = ["find_item", "__printf_chk@plt", "operator new(unsigned long)"];
        let section =
            Section { calls: calls.map(str::to_owned).to_vec(), ..section(90, 30, 20, 30) };
        let movable = |section: &Section, held| {
            movable_calls(section, held).map(|m| (m.calls.len(), (m.left * 100.0).round()))
        };
        assert_eq!(movable_calls(&section, 1e-6).unwrap().calls, [calls[1], calls[2]]);
        assert_eq!(movable(&section, 1e-6), Some((2, 10.0)), "they are all of it");
        assert_eq!(movable(&section, 2e-6), Some((2, 45.0)));
        assert_eq!(movable(&section, 4e-6), Some((1, 75.0)), "an allocation is a fortieth");
        assert_eq!(movable(&section, 5e-6), None, "all together they are a fifth");
        let looping = Section { loops: true, ..section };
        assert_eq!(movable(&looping, 100e-6), Some((2, 10.0)));
        let writing = Section { calls: vec!["write".to_owned()], ..looping };
        assert_eq!(movable(&writing, 1.0), Some((1, 10.0)));
    }
}
