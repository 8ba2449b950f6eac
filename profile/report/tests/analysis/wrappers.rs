//! Which functions took a lock on behalf of their callers, read from programs that the tests
//! compile, without and with optimisation. The function of the call site is known from the source.

use std::process::Command;
use std::slice;

use syncline_analysis::model::Process;
use syncline_code::locate::Locator;
use syncline_recording::Op;

use crate::fixture::SECOND;
use crate::program::{Program, run};

const C: &str = "\
#include <errno.h>
#include <pthread.h>
#include <semaphore.h>
#include <stdio.h>
#include <stdlib.h>
#define OUT __attribute__((noinline, noclone, noipa))
#define IN static inline __attribute__((always_inline))
pthread_mutex_t m = PTHREAD_MUTEX_INITIALIZER, n = PTHREAD_MUTEX_INITIALIZER;
pthread_cond_t c = PTHREAD_COND_INITIALIZER;
long counter, x, y;
struct door { pthread_mutex_t lock; long entered; } doors[2];

OUT void enter(struct door *door) {
    int error = pthread_mutex_lock(&door->lock);
    if (error) { fprintf(stderr, \"enter: %d\\n\", error); abort(); }
    door->entered++;
}
OUT void leave(struct door *door) { door->entered--; pthread_mutex_unlock(&door->lock); }
OUT void enter_first(void) { enter(&doors[0]); }
OUT void visit(void) { enter(&doors[1]); x++; leave(&doors[1]); }
OUT void visit_first(void) { enter_first(); y++; leave(&doors[0]); }

IN void grab(pthread_mutex_t *lock) { while (pthread_mutex_trylock(lock)); }
IN void drop(pthread_mutex_t *lock) { pthread_mutex_unlock(lock); }
OUT void inlined(void) { grab(&m); counter++; drop(&m); }
OUT void grab_for_caller(void) { grab(&n); }
OUT void over_two(void) { grab_for_caller(); x += y; drop(&n); }

OUT void push(struct door *queue, long value) {
    pthread_mutex_lock(&queue->lock);
    queue->entered += value;
    pthread_mutex_unlock(&queue->lock);
}
IN void add(struct door *queue, long value) {
    pthread_mutex_lock(&queue->lock);
    queue->entered += value;
    pthread_mutex_unlock(&queue->lock);
}
OUT void uses_push(void) { push(&doors[0], 3); x++; }
OUT void uses_add(void) { x++; add(&doors[0], 3); y++; }
OUT int take_if(struct door *door) {
    pthread_mutex_lock(&door->lock);
    if (!door->entered) { pthread_mutex_unlock(&door->lock); return 0; }
    return 1;
}
OUT void uses_take_if(void) { if (take_if(&doors[0])) { x++; leave(&doors[0]); } }
OUT void hidden(void (*release)(void)) { pthread_mutex_lock(&m); release(); }
OUT void uses_hidden(void (*release)(void)) { hidden(release); x++; }

void (*hook)(void);
OUT void tell(void) { if (hook) hook(); }
OUT void hooked(struct door *door) { pthread_mutex_lock(&door->lock); tell(); }
OUT void uses_hooked(void) { hooked(&doors[0]); x++; leave(&doors[0]); }

OUT void wait_for_x(void) { while (!x) pthread_cond_wait(&c, &m); }
OUT void waiter(void) { pthread_mutex_lock(&m); wait_for_x(); y++; pthread_mutex_unlock(&m); }
OUT void owner(void) {
    pthread_mutex_lock(&m);
    while (!x) pthread_cond_wait(&c, &m);
    y++;
    pthread_mutex_unlock(&m);
}
OUT void calls_owner(void) { owner(); x++; }
OUT void release(void) { drop(&m); }

OUT void drop_at_end(pthread_mutex_t **lock) { pthread_mutex_unlock(*lock); }
OUT void scoped(void) {
    __attribute__((cleanup(drop_at_end))) pthread_mutex_t *held = &m;
    pthread_mutex_lock(held);
    tell();
    x++;
}
OUT int reads(long *to, long n) { return (*to += n) < 0 ? -1 : 0; }
OUT int scoped_often(long *to, long n) {
    for (; n > 0; n--) {
        __attribute__((cleanup(drop_at_end))) pthread_mutex_t *held = &m;
        if (pthread_mutex_lock(held)) abort();
        if (reads(to, n) == -1) return -1;
    }
    return 0;
}
OUT void calls_scoped(void) { scoped(); y++; scoped_often(&x, 3); }

sem_t jobs;
OUT void await(sem_t *s) { while (sem_wait(s) == -1 && errno == EINTR) {} }
OUT void takes_job(void) { await(&jobs); x++; tell(); }
OUT void works(void) { sem_wait(&jobs); x++; tell(); }
OUT void calls_works(void) { works(); y++; }
int main(void) {
    takes_job(); calls_works();
    visit(); visit_first(); inlined(); over_two(); uses_push(); uses_add(); uses_take_if();
    uses_hidden(release); uses_hooked(); calls_scoped(); waiter(); calls_owner();
    return 0;
}
";

/// Each case has the calls of a stack, the innermost first, and the function of the call site. A
/// call is given as the function that contains it, and the function that it calls.
const CASES: &[(&[(&str, &str)], &str)] = &[
    (&[("enter", "pthread_mutex_lock"), ("visit", "enter"), ("main", "visit")], "visit"),
    (
        &[
            ("enter", "pthread_mutex_lock"),
            ("enter_first", "enter"),
            ("visit_first", "enter_first"),
            ("main", "visit_first"),
        ],
        "visit_first",
    ),
    (&[("inlined", "pthread_mutex_trylock"), ("main", "inlined")], "inlined"),
    (
        &[
            ("grab_for_caller", "pthread_mutex_trylock"),
            ("over_two", "grab_for_caller"),
            ("main", "over_two"),
        ],
        "over_two",
    ),
    (&[("push", "pthread_mutex_lock"), ("uses_push", "push"), ("main", "uses_push")], "push"),
    (&[("uses_add", "pthread_mutex_lock"), ("main", "uses_add")], "add"),
    (
        &[("take_if", "pthread_mutex_lock"), ("uses_take_if", "take_if"), ("main", "uses_take_if")],
        "take_if",
    ),
    (
        &[("hidden", "pthread_mutex_lock"), ("uses_hidden", "hidden"), ("main", "uses_hidden")],
        "hidden",
    ),
    (
        &[("hooked", "pthread_mutex_lock"), ("uses_hooked", "hooked"), ("main", "uses_hooked")],
        "uses_hooked",
    ),
    (
        &[("scoped", "pthread_mutex_lock"), ("calls_scoped", "scoped"), ("main", "calls_scoped")],
        "scoped",
    ),
    (
        &[
            ("scoped_often", "pthread_mutex_lock"),
            ("calls_scoped", "scoped_often"),
            ("main", "calls_scoped"),
        ],
        "scoped_often",
    ),
    (
        &[("wait_for_x", "pthread_cond_wait"), ("waiter", "wait_for_x"), ("main", "waiter")],
        "waiter",
    ),
    (&[("owner", "pthread_cond_wait"), ("calls_owner", "owner"), ("main", "calls_owner")], "owner"),
    (&[("await", "sem_wait"), ("takes_job", "await"), ("main", "takes_job")], "takes_job"),
    (&[("works", "sem_wait"), ("calls_works", "works"), ("main", "calls_works")], "works"),
];

/// A process whose only acquisition has the stack `calls`.
fn acquires(program: &Program, calls: &[(&str, &str)]) -> Process {
    let (mut f, stack) = program.calls(calls);
    let thread = f.thread("main", 0..SECOND);
    let op = match calls[0].1 {
        "pthread_cond_wait" => Op::CondWait,
        "sem_wait" => Op::SemWait,
        _ => Op::MutexLock,
    };
    f.row(thread, op, 0x10, stack, 1);
    f.load().processes.remove(0)
}

#[test]
fn a_call_site_is_in_the_function_of_the_section() {
    for options in ["-O0", "-O1", "-O2", "-O3"] {
        // Tail calls would leave no frame.
        let program = Program::compile(C, "cc", &[options, "-fno-optimize-sibling-calls"]);
        for &(calls, place) in CASES {
            let process = acquires(&program, calls);
            let found = process.function_of(&process.sites[0]).unwrap();
            assert_eq!(found, place, "{calls:?} {options}");
        }
    }
}

/// A stripped program has no names of functions, but takes its locks by the same calls.
#[test]
fn a_stripped_program_has_the_same_call_sites() {
    for options in ["-O0", "-O2"] {
        let program = Program::compile(C, "cc", &[options, "-fno-optimize-sibling-calls"]);
        run(Command::new("strip").arg(&program.path));
        for &(calls, place) in CASES {
            let process = acquires(&program, calls);
            // An inlined function is part of the function that it was inlined into.
            let call = calls.iter().find(|call| call.0 == place).unwrap_or(&calls[0]);
            let at = format!("program+{:#x}", program.back(call) - 1);
            assert_eq!(process.sites[0].place, at, "{calls:?} {options}");
        }
    }
}

#[test]
fn reported_names_locate_their_calls() {
    for options in ["-O1", "-O2"] {
        let program = Program::compile(C, "cc", &[options, "-fno-optimize-sibling-calls"]);
        let names = Locator::new(slice::from_ref(&program.path), &[]).unwrap();
        let covers = |name: &str, call: &(&str, &str)| {
            let found = names.site(name, |_| true).unwrap();
            let address = program.back(call) - 1;
            found.spans.iter().any(|span| span.addresses.contains(&address))
        };
        let inner = ("inlined", "pthread_mutex_trylock");
        assert!(covers("inlined", &inner), "{options}");
        assert!(covers("grab", &inner), "also who takes it can be named, {options}");
        assert!(covers("visit", &("visit", "enter")), "{options}");
        assert!(covers("add", &("uses_add", "pthread_mutex_lock")), "{options}");
        let (wrappers, _) = names.wrappers();
        let wraps = |call: &(&str, &str)| {
            let address = program.back(call) - 1;
            wrappers.iter().any(|place| place.addresses.contains(&address))
        };
        for (function, callee) in [
            ("enter", "pthread_mutex_lock"),
            ("enter_first", "enter"),
            ("grab_for_caller", "pthread_mutex_trylock"),
            ("hooked", "pthread_mutex_lock"),
        ] {
            assert!(wraps(&(function, callee)), "{function} {options}");
        }
        for (function, callee) in [
            ("push", "pthread_mutex_lock"),
            ("take_if", "pthread_mutex_lock"),
            ("hidden", "pthread_mutex_lock"),
            ("visit", "enter"),
        ] {
            assert!(!wraps(&(function, callee)), "{function} {options}");
        }
    }
}
