//! Whether functions repeat their sleeps, read from programs that the tests compile.

use syncline_recording::Op;

use crate::fixture::SECOND;
use crate::program::Program;

const C: &str = "\
#include <pthread.h>
#include <unistd.h>
#define OUT __attribute__((noinline, noipa))
pthread_mutex_t m = PTHREAD_MUTEX_INITIALIZER;
pthread_cond_t c = PTHREAD_COND_INITIALIZER;
int answers;

OUT int is_answered(int number) {
    pthread_mutex_lock(&m);
    int is = answers >= number;
    pthread_mutex_unlock(&m);
    return is;
}
OUT void tell(void) { answers++; pthread_cond_signal(&c); }
OUT void leave(void) { usleep(50); pthread_mutex_unlock(&m); }
OUT void nap(void) { usleep(50); usleep(50); }

OUT void polls(int number) { while (!is_answered(number)) usleep(1000); }
OUT void locks(int rounds) {
    while (rounds--) { usleep(1000); pthread_mutex_lock(&m); pthread_mutex_unlock(&m); }
}
OUT void tells(int rounds) { while (rounds--) { usleep(1000); tell(); } }
OUT void leaves(int rounds) { while (rounds--) { pthread_mutex_lock(&m); leave(); } }
OUT void naps(int number) { while (!is_answered(number)) nap(); }
int main(void) { polls(0); locks(0); tells(0); leaves(0); naps(0); return 0; }
";

/// Whether the sleep in the first of `functions` is repeated; each function was called by the next
/// one.
fn repeats(program: &Program, functions: &[&str]) -> Option<bool> {
    let callees = ["usleep"].iter().chain(functions);
    let calls: Vec<(&str, &str)> = functions.iter().copied().zip(callees.copied()).collect();
    let (mut f, stack) = program.calls(&calls);
    let thread = f.thread("main", 0..SECOND);
    f.row(thread, Op::Sleep, 0x9000, stack, 100);
    let process = &f.load().processes[0];
    let [site] = &process.sites[..] else { panic!("one site") };
    site.repeats
}

/// At the end of a function, a call may be a jump: to a stub, or, without a stub, through a slot.
#[test]
fn a_loop_of_sleeps_is_recognised_with_every_kind_of_call() {
    for options in [&["-O0"][..], &["-O2"], &["-O2", "-fno-plt"], &["-O2", "-fcf-protection"]] {
        let program = Program::compile(C, "cc", options);
        let repeats = |functions: &[&str]| repeats(&program, functions);
        assert_eq!(repeats(&["polls"]), Some(true), "{options:?}");
        assert_eq!(repeats(&["locks"]), Some(true), "{options:?}");
        assert_eq!(repeats(&["tells"]), None, "{options:?}: it hands something over");
        assert_eq!(repeats(&["leave", "leaves"]), Some(false), "{options:?}: it also unlocks");
        assert_eq!(repeats(&["nap", "naps"]), Some(true), "{options:?}: for its caller");
    }
}
