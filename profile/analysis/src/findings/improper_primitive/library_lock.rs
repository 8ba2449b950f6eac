//! A lock inside the C library: a function that many threads call, such as `rand` or `malloc`,
//! takes a lock that all its callers share.
//!
//! No recorded call takes such a lock. Threads that wait for it sleep in the C library's own
//! `__lll_lock_wait`, and samples of sleeping threads show that function, the library's function
//! that called it, and the program's call of that function.

use std::collections::{BTreeMap, BTreeSet};

use crate::findings::evidence::{count, seconds, share};
use crate::model::{Finding, InCall, Process, Remedy, Rule};
use crate::options::Thresholds;

/// Threads must sleep in one family of functions for at least this share of all threads' time. Time
/// in which threads are ready and have no processor does not count.
const LEAST: f64 = 0.05;
/// If threads sleep there for fewer seconds than this in all, that says nothing about a run.
const FLOOR: f64 = 0.3;
/// If samples show fewer seconds of sleep than this in all, only one of them shows a sleep.
const TWO_LOOKS: f64 = 0.15;
/// The advice names at most this many call sites in addition to the first.
const MOST_NAMED: usize = 4;
/// The prefix of the name of the C library's file.
const LIBRARY: &str = "libc.so";
/// A part of the names of the C library's functions that sleep until a lock is free.
const WAITS: &str = "lll_lock_wait";

/// Functions that take the same locks, and what to do instead.
struct Family {
    /// Prefixes of the functions' names, without leading underscores.
    functions: &'static [&'static str],
    /// What the lock protects.
    protects: &'static str,
    /// What to do.
    advice: &'static str,
}

const FAMILIES: [Family; 6] = [
    Family {
        functions: &["rand", "random", "srand", "initstate", "setstate"],
        protects: "the state of the random generator",
        advice: "Give each thread a generator of its own: rand_r, random_r, or one of <random>",
    },
    Family {
        functions: &[
            "malloc",
            "free",
            "calloc",
            "realloc",
            "memalign",
            "aligned_alloc",
            "posix_memalign",
            "int_free",
            "int_malloc",
            "libc_malloc",
            "libc_free",
            "cfree",
        ],
        protects: "an arena of the allocator",
        advice: "Allocate less often (keep objects and buffers for reuse), do not limit the number of \
                 arenas (MALLOC_ARENA_MAX, M_ARENA_MAX), or use an allocator with caches for each \
                 thread, such as jemalloc, tcmalloc or mimalloc",
    },
    Family {
        functions: &[
            "localtime",
            "gmtime",
            "mktime",
            "timegm",
            "timelocal",
            "strftime",
            "tzset",
            "ctime",
            "tz_convert",
            "getdate",
        ],
        protects: "the time zone",
        advice: "Convert a time once and keep the result, for each second and thread; or use a library \
                 that keeps its time zones itself",
    },
    Family {
        functions: &[
            "putc",
            "fputc",
            "putchar",
            "getc",
            "fgetc",
            "getchar",
            "ungetc",
            "IO_",
            "fputs",
            "puts",
            "fwrite",
            "fread",
            "fgets",
            "gets",
            "printf",
            "fprintf",
            "vfprintf",
            "vprintf",
            "scanf",
            "fscanf",
            "fflush",
            "getline",
            "getdelim",
            "flockfile",
            "overflow",
            "perror",
            "fseek",
            "ftell",
        ],
        protects: "a stream",
        advice: "Call it less often: collect the output in a buffer of each thread and write it with \
                 one call, or read large blocks; or take the stream's lock once (flockfile) and use \
                 putc_unlocked, getc_unlocked and the like",
    },
    Family {
        functions: &["setenv", "putenv", "unsetenv", "getenv", "clearenv"],
        protects: "the environment",
        advice: "Read the environment once, before threads start, and pass values on otherwise",
    },
    Family {
        functions: &["dl_iterate_phdr", "dlsym", "dlopen", "dlclose", "dladdr", "dl_"],
        protects: "the list of loaded libraries",
        advice: "Look symbols up once and keep them; if exceptions are thrown, throw them less often \
                 (in newer versions of libgcc and the C library, from 13 and 2.35 on, unwinding takes \
                 no lock)",
    },
];

/// The advice for all other functions.
const OTHER: Family = Family {
    functions: &[],
    protects: "what its callers share",
    advice: "Call it less often, and keep its results for each thread",
};

/// How long threads slept in the functions of one family, and where.
#[derive(Default)]
struct Sleeping<'a> {
    /// The call sites, each with the function that it calls.
    calls: Vec<(&'a InCall, &'a str)>,
    seconds: f64,
    threads: BTreeSet<usize>,
}

/// The findings about functions of the C library in which threads wait for one another.
pub fn find(process: &Process, _: &Thresholds) -> Vec<Finding> {
    let mut families: BTreeMap<usize, Sleeping> = BTreeMap::new();
    for asleep in &process.asleep {
        let Some(function) = function(process, asleep) else { continue };
        let sleeping = families.entry(family(function)).or_default();
        sleeping.seconds += asleep.seconds;
        sleeping.threads.extend(&asleep.threads);
        sleeping.calls.push((asleep, function));
    }
    let could_run = (process.thread_seconds - process.ready()).max(f64::MIN_POSITIVE);
    let much = |sleeping: &mut Sleeping| {
        let looked = sleeping.seconds;
        sleeping.seconds = looked.max(in_kernel(process, sleeping));
        looked >= TWO_LOOKS && sleeping.seconds >= (LEAST * could_run).max(FLOOR)
    };
    let mut found = Vec::new();
    for (family, mut sleeping) in families {
        if much(&mut sleeping) {
            found.push(finding(family, sleeping, could_run));
        }
    }
    found
}

/// The seconds for which these threads sleep here, as a part of their time in the kernel. That time
/// is exact, and is divided in the proportions of the samples. (A short run has too few samples to
/// count these alone.)
fn in_kernel(process: &Process, sleeping: &Sleeping) -> f64 {
    let here = |asleep: &&InCall| asleep.threads.iter().any(|t| sleeping.threads.contains(t));
    let looked: f64 = process.asleep.iter().filter(here).map(|asleep| asleep.seconds).sum();
    let kernel: f64 = sleeping.threads.iter().map(|&t| process.threads[t].times.kernel).sum();
    kernel * sleeping.seconds / looked.max(f64::MIN_POSITIVE)
}

/// The function that the program called, if a thread sleeps in it for a lock of the C library;
/// `None` otherwise.
pub fn function<'a>(process: &'a Process, asleep: &InCall) -> Option<&'a str> {
    let frames = process.stacks[asleep.stack].frames.iter().map(|&frame| &process.frames[frame]);
    let inside = frames.take_while(|frame| {
        let module = frame.module.map(|module| process.modules[module].name());
        module.is_some_and(|name| name.starts_with(LIBRARY))
    });
    let functions: Vec<&str> = inside.map(|frame| frame.whole_function()).collect();
    let waits = functions.iter().any(|function| function.contains(WAITS));
    let called = functions.last().filter(|function| !function.contains(WAITS))?;
    (waits && asleep.call == "futex").then_some(*called)
}

/// The index of a function's family.
fn family(function: &str) -> usize {
    let name = function.trim_start_matches('_').trim_start_matches("GI_").trim_start_matches('_');
    let is_of = |family: &Family| family.functions.iter().any(|start| name.starts_with(start));
    FAMILIES.iter().position(is_of).unwrap_or(FAMILIES.len())
}

fn finding(family: usize, sleeping: Sleeping, could_run: f64) -> Finding {
    let Family { protects, advice, .. } = FAMILIES.get(family).unwrap_or(&OTHER);
    // The list of a process begins with the calls that took most time.
    let (first, function) = sleeping.calls[0];
    Finding {
        rule: Rule::LibraryLock,
        title: format!("Threads wait for a lock inside the C library, in {function}"),
        place: first.place.clone(),
        sites: Vec::new(),
        locks: Vec::new(),
        evidence: vec![
            share(
                "share of the threads' time asleep there",
                (sleeping.seconds / could_run).min(1.0),
            ),
            seconds("asleep, all threads", sleeping.seconds),
            count("threads", sleeping.threads.len() as u64),
            count("call sites", sleeping.calls.len() as u64),
        ],
        advice: format!("The lock protects {protects}. {advice}.{}", others(&sleeping.calls)),
        open_question: None,
        remedy: Remedy::Unknown,
        gain: None,
    }
}

/// A sentence with the call sites other than the first; empty if there are none.
fn others(calls: &[(&InCall, &str)]) -> String {
    let mut places: Vec<&str> = Vec::new();
    for (asleep, _) in calls {
        if !places.contains(&asleep.place.as_str()) {
            places.push(&asleep.place);
        }
    }
    let named: Vec<&str> = places.iter().copied().skip(1).take(MOST_NAMED).collect();
    match places.len().saturating_sub(1 + MOST_NAMED) {
        _ if named.is_empty() => String::new(),
        0 => format!(" Other calls that wait for it: {}.", named.join(", ")),
        more => format!(" Other calls that wait for it: {}, and {more} more.", named.join(", ")),
    }
}

#[cfg(test)]
mod tests {
    use super::*;
    use crate::findings::testing::{Drawn, process};

    /// Four threads of ten seconds that sleep for `seconds` in all in the system call `call`. The
    /// functions `inside` of the C library make the call, the innermost first.
    fn sleeping(call: &str, seconds: f64, inside: &[&str]) -> Drawn {
        let mut drawn = process(10.0, 2);
        let first = drawn.threads("draw", 4, 10.0);
        let stack = drawn.stack("draw at casino.c:10");
        let library = drawn.module("/lib/libc.so.6");
        drawn.calls_into(stack, library, inside);
        drawn.asleep.push(InCall {
            call: call.to_owned(),
            place: "draw at casino.c:10".to_owned(),
            seconds,
            threads: (first..first + 4).collect(),
            stack,
        });
        drawn
    }

    fn found(drawn: &Drawn) -> Vec<Finding> {
        find(drawn, &Thresholds::default())
    }

    #[test]
    fn threads_that_wait_for_the_random_generator() {
        let drawn = sleeping("futex", 20.0, &["__GI___lll_lock_wait_private", "__random", "rand"]);
        let findings = found(&drawn);
        assert_eq!(findings.len(), 1);
        assert_eq!(findings[0].place, "draw at casino.c:10");
        assert!(findings[0].advice.contains("rand_r"), "{}", findings[0].advice);
    }

    #[test]
    fn all_calls_that_wait_are_named() {
        let advice = |lines: std::ops::Range<u32>| {
            let mut drawn = sleeping("futex", 20.0, &["__lll_lock_wait_private", "random"]);
            for line in lines {
                let place = format!("deal at casino.c:{line}");
                let other = InCall { place, seconds: 1.0, ..drawn.asleep[0].clone() };
                drawn.asleep.push(other);
            }
            found(&drawn)[0].advice.clone()
        };
        assert!(advice(0..0).ends_with("<random>."), "the finding's own place says it");
        let one = advice(30..31);
        assert!(one.ends_with(" Other calls that wait for it: deal at casino.c:30."), "{one}");
        assert!(advice(30..36).ends_with("deal at casino.c:33, and 2 more."));
    }

    #[test]
    fn little_of_the_time_is_no_finding() {
        let functions = ["__lll_lock_wait_private", "random"];
        assert_eq!(found(&sleeping("futex", 2.6, &functions)).len(), 1, "5.2 % of 50 seconds");
        assert!(found(&sleeping("futex", 2.4, &functions)).is_empty(), "4.8 %");
        let mut short = sleeping("futex", 0.29, &functions);
        short.thread_seconds = 0.5;
        assert!(found(&short).is_empty(), "a short run");
    }

    #[test]
    fn few_samples_divide_the_time_in_the_kernel() {
        let drawn = |looked: f64, elsewhere: f64| {
            let mut drawn = sleeping("futex", looked, &["__lll_lock_wait_private", "random"]);
            let other =
                InCall { call: "read".to_owned(), seconds: elsewhere, ..drawn.asleep[0].clone() };
            drawn.asleep.push(other);
            for thread in 1..5 {
                drawn.threads[thread].times.kernel = 1.0;
            }
            found(&drawn).len()
        };
        assert_eq!(drawn(0.2, 0.1), 1, "2.7 of 50 seconds");
        assert_eq!(drawn(0.2, 0.2), 0, "2 seconds");
        assert_eq!(drawn(0.1, 0.0), 0, "one look");
    }

    #[test]
    fn other_sleeps_in_the_library_are_no_lock_waits() {
        assert!(
            found(&sleeping("futex", 20.0, &["syscall"])).is_empty(),
            "the program's own futex"
        );
        assert!(found(&sleeping("read", 20.0, &["__lll_lock_wait", "read"])).is_empty());
        assert!(found(&sleeping("futex", 20.0, &["__lll_lock_wait"])).is_empty(), "who called it?");
        assert!(found(&sleeping("futex", 20.0, &["futex_wait", "sem_wait"])).is_empty());
    }

    #[test]
    fn a_function_names_what_its_lock_protects() {
        let protects = |function| {
            let found = found(&sleeping("futex", 20.0, &["__lll_lock_wait_private", function]));
            let text = found[0].advice.clone();
            text.split('.').next().unwrap_or_default().to_owned()
        };
        assert_eq!(protects("_int_free"), "The lock protects an arena of the allocator");
        assert_eq!(protects("__libc_malloc"), "The lock protects an arena of the allocator");
        assert_eq!(protects("__tz_convert"), "The lock protects the time zone");
        assert_eq!(protects("_IO_putc"), "The lock protects a stream");
        assert_eq!(protects("iconv_open"), "The lock protects what its callers share");
    }
}
