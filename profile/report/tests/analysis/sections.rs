//! Critical sections read from programs that the tests compile, without and with optimisation. The
//! content of each section is known from its source.

use std::process::Command;

use syncline_analysis::model::Section;
use syncline_recording::Op;

use crate::fixture::{Fixture, SECOND};
use crate::program::{BIAS, Program, run};

const C: &str = "\
#include <pthread.h>
#include <stdlib.h>
#define OUT __attribute__((noinline))
pthread_mutex_t m = PTHREAD_MUTEX_INITIALIZER, n = PTHREAD_MUTEX_INITIALIZER;
pthread_rwlock_t rw = PTHREAD_RWLOCK_INITIALIZER;
pthread_cond_t c = PTHREAD_COND_INITIALIZER;
int off;
long counter, x, y, array[100], from[100];
_Atomic long atomic;
__thread long mine;
struct node { struct node *next; pthread_mutex_t lock; long value; } *head;
OUT void work(void) { __asm__ volatile(\"\"); }

OUT void count(void) { pthread_mutex_lock(&m); counter++; pthread_mutex_unlock(&m); }
OUT void branch(int a) {
    pthread_mutex_lock(&m);
    if (x > a) y = a;
    pthread_mutex_unlock(&m);
}
OUT void loop(int k) {
    pthread_mutex_lock(&m);
    for (int i = 0; i < k; i++) array[i] += from[i] * k;
    pthread_mutex_unlock(&m);
}
OUT void *call(void) {
    pthread_mutex_lock(&m);
    void *p = malloc(x);
    pthread_mutex_unlock(&m);
    return p;
}
OUT long reader(void) {
    pthread_rwlock_wrlock(&rw);
    long sum = x + y;
    pthread_rwlock_unlock(&rw);
    return sum;
}
OUT long local(long a) {
    long kept[4];
    pthread_mutex_lock(&m);
    for (int i = 0; i < 4; i++) ((volatile long *)kept)[i] = a * i;
    mine += a;
    pthread_mutex_unlock(&m);
    return kept[a & 3];
}
OUT long walk(unsigned long a) {
    char text[64];
    int n = 0;
    long sum = 0;
    pthread_mutex_lock(&m);
    do {
        text[n++] = a % 3;
        __asm__ volatile(\"\" : : \"r\"(text) : \"memory\");
        a /= 3;
    } while (a > 0);
    for (int i = n - 1; i >= 0; i--) sum += text[i];
    pthread_mutex_unlock(&m);
    return sum;
}
OUT void atomics(void) { pthread_mutex_lock(&m); atomic += 2; pthread_mutex_unlock(&m); }
OUT int early(int a) {
    pthread_mutex_lock(&m);
    if (a) { pthread_mutex_unlock(&m); return 1; }
    y = 2;
    pthread_mutex_unlock(&m);
    return 0;
}
OUT int missing(int a) {
    pthread_mutex_lock(&m);
    if (a) return 1;
    y = 2;
    pthread_mutex_unlock(&m);
    work();
    return 0;
}
OUT int try(void) {
    if (pthread_mutex_trylock(&m)) { work(); return 0; }
    counter++;
    pthread_mutex_unlock(&m);
    return 1;
}
OUT void nested(void) {
    pthread_mutex_lock(&m);
    x++;
    pthread_mutex_lock(&n);
    y++;
    pthread_mutex_unlock(&n);
    counter++;
    pthread_mutex_unlock(&m);
}
OUT void hand_over(struct node *a, struct node *b) {
    pthread_mutex_lock(&a->lock);
    pthread_mutex_lock(&b->lock);
    a->value++;
    pthread_mutex_unlock(&a->lock);
    b->value++;
    pthread_mutex_unlock(&b->lock);
}
OUT void in_loop(int k) {
    for (int i = 0; i < k; i++) {
        pthread_mutex_lock(&m);
        counter += i;
        pthread_mutex_unlock(&m);
    }
}
OUT void fatal(int a) {
    pthread_mutex_lock(&m);
    if (a > 7) abort();
    counter++;
    pthread_mutex_unlock(&m);
}
OUT void optional(int k) {
    if (!off) pthread_mutex_lock(&m);
    counter += k;
    if (!off) pthread_mutex_unlock(&m);
}
OUT void waits(void) {
    pthread_mutex_lock(&m);
    while (x == 0) pthread_cond_wait(&c, &m);
    y++;
    pthread_mutex_unlock(&m);
}
struct shared { pthread_mutex_t lock; long numbers; struct node *list; } *all;
int which;
OUT long number(void) {
    pthread_mutex_lock(&all[which].lock);
    long number = all[which].numbers++;
    pthread_mutex_unlock(&all[which].lock);
    return number;
}
OUT void number_into(struct node *a) {
    pthread_mutex_lock(&all->lock);
    a->value = all->numbers++;
    pthread_mutex_unlock(&all->lock);
}
OUT struct node *pop(void) {
    pthread_mutex_lock(&all->lock);
    struct node *first = all->list;
    all->list = first->next;
    pthread_mutex_unlock(&all->lock);
    return first;
}
OUT void two_counters(struct node *a) {
    pthread_mutex_lock(&all->lock);
    a->value++;
    all->numbers++;
    pthread_mutex_unlock(&all->lock);
}
OUT void take(void) { pthread_mutex_lock(&m); work(); __asm__ volatile(\"\"); }
OUT void give(void) { pthread_mutex_unlock(&m); }
OUT void indirect(void (*f)(void)) {
    pthread_mutex_lock(&m);
    f();
    pthread_mutex_unlock(&m);
}
int main(int argc, char **v) {
    int c = argc;
    count(); branch(c); loop(c); free(call()); local(c); walk(c); atomics(); early(c); missing(c);
    nested(); in_loop(c); fatal(c); take(); give(); optional(c); waits(); indirect(work); hand_over(head, head + 1);
    number(); number_into(head); pop(); two_counters(head);
    return reader() + try();
}
";

pub const CPP: &str = "\
#include <mutex>
#include <shared_mutex>
#define OUT __attribute__((noinline))
std::mutex m;
std::shared_mutex s;
long counter;
struct Queue {
    std::mutex lock;
    long last = 0;
    OUT void push(long value) {
        std::lock_guard<std::mutex> guard(lock);
        last += value;
    }
};
OUT void count() { std::lock_guard<std::mutex> guard(m); counter++; }
OUT bool early(int a) {
    std::unique_lock<std::mutex> guard(m);
    if (a > 3) return false;
    counter += a;
    return true;
}
OUT void by_hand(long a) { m.lock(); counter = a; m.unlock(); }
OUT long shared() { std::shared_lock<std::shared_mutex> guard(s); return counter; }
Queue queue;
int main(int c, char **) { count(); early(c); by_hand(c); queue.push(c); return shared(); }
";

/// The section that begins with the first acquisition in a function.
fn section(program: &Program, function: &str, op: Op) -> Section {
    let (mut f, stack) = program.acquires(function);
    let thread = f.thread("main", 0..SECOND);
    f.row(thread, op, 0x10, stack, 1);
    let process = f.load().processes.remove(0);
    process.sites[0].section.clone().unwrap_or_else(|| panic!("{function} is not read"))
}

/// Checks the C program in each form: optimised or not, stripped or not, and with calls that avoid
/// the PLT.
fn each_form(check: impl Fn(&Program, &str)) {
    for options in [&["-O0"][..], &["-O1"], &["-O2"], &["-O3", "-fno-plt", "-fcf-protection"]] {
        let program = Program::compile(C, "cc", options);
        check(&program, &options.join(" "));
        run(Command::new("strip").arg(&program.path));
        check(&program, &format!("{} and stripped", options.join(" ")));
    }
}

fn mutex(program: &Program, function: &str) -> Section {
    section(program, function, Op::MutexLock)
}

#[test]
fn a_counter_is_one_word() {
    each_form(|program, form| {
        for function in ["count>", "in_loop>"] {
            let section = mutex(program, function);
            assert!(section.complete, "{function} {form}: {section:?}");
            assert_eq!(section.words, Some(1), "{function} {form}: {section:?}");
            assert_eq!((section.reads, section.writes, section.atomics), (1, 1, 0), "{form}");
            assert!(!section.loops && section.calls.is_empty(), "{form}: {section:?}");
            assert!((1..=12).contains(&section.instructions), "{form}: {section:?}");
        }
    });
}

#[test]
fn branches_count_their_reads_and_writes() {
    each_form(|program, form| {
        let section = mutex(program, "branch>");
        assert!(section.complete && !section.loops, "{form}: {section:?}");
        assert_eq!((section.reads, section.writes), (1, 1), "{form}: {section:?}");
        assert_eq!(section.words, Some(2), "{form}");
    });
}

#[test]
fn pointers_and_copies_on_the_stack_are_not_counted_as_words() {
    each_form(|program, form| {
        let words = |function| mutex(program, function).words;
        // Without optimisation, addresses pass through the stack in these functions too.
        assert_eq!(words("number>"), Some(1), "{form}");
        assert_eq!(words("number_into>"), Some(1), "{form}");
        assert_eq!(words("pop>"), Some(2), "{form}");
        assert_eq!(words("two_counters>"), Some(2), "{form}");
    });
}

#[test]
fn a_loop_over_an_array_has_words_that_cant_be_told_apart() {
    each_form(|program, form| {
        let section = mutex(program, "loop>");
        assert!(section.complete && section.loops, "{form}: {section:?}");
        assert!(section.reads >= 2 && section.writes >= 1, "{form}: {section:?}");
        assert_eq!(section.words, None, "{form}");
    });
}

#[test]
fn calls_have_names() {
    each_form(|program, form| {
        let section = mutex(program, "call>");
        assert!(section.complete, "{form}: {section:?}");
        assert_eq!(section.calls, ["malloc"], "{form}");
        assert_eq!((section.reads, section.writes), (1, 0), "{form}");
        let section = mutex(program, "indirect>");
        assert_eq!(section.calls, ["an unknown function"], "{form}: {section:?}");
        assert!(section.complete, "{form}");
    });
}

#[test]
fn a_reading_section_has_no_writes() {
    each_form(|program, form| {
        let section = section(program, "reader>", Op::RwlockWrite);
        assert!(section.complete, "{form}: {section:?}");
        assert_eq!((section.reads, section.writes, section.atomics), (2, 0, 0), "{form}");
        assert_eq!(section.words, Some(2), "{form}");
    });
}

#[test]
fn stack_and_thread_local_data_do_not_count() {
    each_form(|program, form| {
        let section = mutex(program, "local>");
        assert!(section.complete, "{form}: {section:?}");
        assert_eq!((section.reads, section.writes, section.words), (0, 0, Some(0)), "{form}");
    });
}

#[test]
fn a_pointer_that_walks_over_the_stack_stays_on_it() {
    each_form(|program, form| {
        let section = mutex(program, "walk>");
        assert!(section.complete && section.loops, "{form}: {section:?}");
        assert_eq!((section.reads, section.writes, section.words), (0, 0, Some(0)), "{form}");
    });
}

#[test]
fn an_atomic_is_neither_read_nor_write() {
    each_form(|program, form| {
        let section = mutex(program, "atomics>");
        assert!(section.complete, "{form}: {section:?}");
        assert_eq!((section.reads, section.writes, section.atomics), (0, 0, 1), "{form}");
        assert_eq!(section.words, Some(1), "{form}");
    });
}

#[test]
fn every_path_must_lead_to_the_release() {
    each_form(|program, form| {
        let early = mutex(program, "early>");
        assert!(early.complete && early.writes == 1, "{form}: {early:?}");
        let fatal = mutex(program, "fatal>");
        assert!(fatal.complete && fatal.words == Some(1), "{form}: {fatal:?}");
        for function in ["missing>", "take>"] {
            assert!(!mutex(program, function).complete, "{function} {form}");
        }
        let missing = mutex(program, "missing>");
        assert_eq!((missing.writes, missing.calls.len()), (1, 0), "{form}: {missing:?}");
    });
}

#[test]
fn only_the_successful_path_of_a_try_counts() {
    each_form(|program, form| {
        let section = section(program, "try>", Op::MutexTrylock);
        assert!(section.complete, "{form}: {section:?}");
        assert!(section.calls.is_empty(), "what is done without it: {form}: {section:?}");
        assert_eq!((section.reads, section.writes, section.words), (1, 1, Some(1)), "{form}");
    });
}

#[test]
fn a_repeated_condition_around_locking_is_recognised() {
    each_form(|program, form| {
        let section = mutex(program, "optional>");
        assert!(section.complete, "{form}: {section:?}");
        assert_eq!((section.reads, section.writes, section.words), (1, 1, Some(1)), "{form}");
    });
}

#[test]
fn a_loop_around_a_condition_wait_is_followed() {
    each_form(|program, form| {
        let section = mutex(program, "waits>");
        assert!(section.complete && section.loops, "{form}: {section:?}");
        assert_eq!(section.calls, ["pthread_cond_wait"], "{form}");
        assert_eq!((section.writes, section.words), (1, Some(2)), "{form}: {section:?}");
    });
}

#[test]
fn an_inner_lock_does_not_end_the_outer_section() {
    each_form(|program, form| {
        let section = mutex(program, "nested>");
        assert!(section.complete, "{form}: {section:?}");
        assert_eq!((section.reads, section.writes, section.words), (3, 3, Some(3)), "{form}");
        assert_eq!(section.calls, ["pthread_mutex_lock", "pthread_mutex_unlock"], "{form}");
        let section = mutex(program, "hand_over>");
        assert!(section.complete && section.writes == 1, "{form}: {section:?}");
    });
}

#[test]
fn guards_of_cpp_are_followed_to_their_ends() {
    for options in [&["-O0"][..], &["-O1"], &["-O2"], &["-O3", "-fno-plt"]] {
        let program = Program::compile(CPP, "c++", options);
        for (function, words) in
            [("count()", 1), ("by_hand(", 1), ("early(", 1), ("Queue::push(", 1)]
        {
            let section = mutex(&program, function);
            assert!(section.complete, "{function} {options:?}: {section:?}");
            assert_eq!(section.words, Some(words), "{function} {options:?}: {section:?}");
            assert_eq!(section.writes, 1, "{function} {options:?}");
            assert!(section.calls.is_empty(), "{function} {options:?}: {section:?}");
        }
        let section = section(&program, "shared()", Op::RwlockRead);
        assert!(section.complete, "{options:?}: {section:?}");
        assert_eq!((section.reads, section.writes), (1, 0), "{options:?}: {section:?}");
    }
}

#[test]
fn unreadable_code_has_no_section() {
    let program = Program::compile(C, "cc", &["-O2"]);
    let mut f = Fixture::new(&["program"], 1);
    f.module(program.path.to_str().unwrap(), BIAS..BIAS + 0x10_0000, BIAS, &[1; 20]);
    let thread = f.thread("main", 0..SECOND);
    let count = program.lines.iter().position(|line| line.contains("<count>:")).unwrap();
    let inside = Program::address(&program.lines[count + 2]);
    let stack = f.stack(&[BIAS + inside]);
    f.row(thread, Op::MutexLock, 0x10, stack, 1);
    assert_eq!(f.load().processes[0].sites[0].section, None, "another file of this name");
    f.modules[0].build_id_len = program.build_id.len() as u32;
    f.modules[0].build_id[..program.build_id.len()].copy_from_slice(&program.build_id);
    assert_eq!(f.load().processes[0].sites[0].section, None, "no call is before this address");
}
