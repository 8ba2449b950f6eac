//! The table of one execution: its words, nodes, threads and sleepers.
//!
//! Loom runs the threads of an execution in turn on one system thread, and switches only at
//! accesses to its own atomics and when a thread yields. So the table needs no lock, and everything
//! done to it between two such points is one step.

use std::alloc::Layout;
use std::cell::{Cell, RefCell};
use std::collections::HashMap;
use std::ptr::NonNull;
use std::rc::Rc;
use std::sync::atomic::Ordering::Relaxed;
use std::time::Duration;

use loom::cell::UnsafeCell;
use loom::sync::atomic::{AtomicPtr, AtomicU32};

use crate::nodes::Nodes;

/// The time that the clock may or may not reach.
pub(super) const DEADLINE: Duration = Duration::from_secs(1);

/// A value that no word holds.
const NEVER: u32 = u32::MAX;

/// An atomic and its life: loom reports accesses that do not happen before the atomic's end.
struct Mortal<A> {
    atomic: A,
    life: UnsafeCell<()>,
}

impl<A> Mortal<A> {
    fn new(atomic: A) -> Rc<Self> {
        Rc::new(Self { atomic, life: UnsafeCell::new(()) })
    }
}

#[derive(Default)]
pub(super) struct Execution {
    words: Vec<Rc<Mortal<AtomicU32>>>,
    links: Vec<Rc<Mortal<AtomicPtr<()>>>>,
    nodes: Nodes,
    /// The lives of nodes, by address. Loom reports accesses that do not happen before a node's
    /// end.
    lives: HashMap<usize, Rc<UnsafeCell<()>>>,
    threads: Vec<Thread>,
    /// The sleeping threads, in order of arrival.
    sleepers: Vec<Sleeper>,
    clock: Option<Rc<AtomicU32>>,
    arranging: bool,
}

#[derive(Default)]
struct Thread {
    /// The thread's number in the case.
    number: usize,
    /// The number of pauses since the thread last changed a word or link.
    pauses: u32,
    /// Whether the thread has changed a word with SeqCst, and has executed no fence since.
    owes_fence: bool,
    has_waited: bool,
}

struct Sleeper {
    word: usize,
    key: u32,
    thread: usize,
    handle: loom::thread::Thread,
}

std::thread_local! {
    static CURRENT: RefCell<Execution> = RefCell::default();
}

loom::thread_local! {
    static ME: Cell<Option<usize>> = Cell::new(None);
}

fn with<R>(what: impl FnOnce(&mut Execution) -> R) -> R {
    CURRENT.with_borrow_mut(what)
}

/// This thread's index in the table.
fn me() -> usize {
    ME.with(|me| {
        me.get().unwrap_or_else(|| {
            let index = with(|e| {
                e.threads.push(Thread::default());
                e.threads.len() - 1
            });
            me.set(Some(index));
            index
        })
    })
}

impl Execution {
    /// Begins an execution, with a clock if deadlines may pass.
    pub(super) fn start(timed: bool) {
        CURRENT.set(Self::default());
        if !timed {
            return;
        }
        // Another thread advances the clock right away, but that store is not ordered with
        // anything. So a reading of the clock may return the old or the new time, and loom explores
        // both, although the store itself is made at one point only.
        let clock = Rc::new(AtomicU32::new(0));
        with(|e| e.clock = Some(Rc::clone(&clock)));
        loom::stop_exploring();
        loom::thread::spawn(move || clock.store(1, Relaxed));
        loom::thread::yield_now();
        loom::explore();
    }

    /// Ends an execution, and checks that all nodes were freed.
    pub(super) fn end() {
        let alive = with(|e| e.nodes.alive());
        assert!(alive == 0, "{alive} nodes were never freed");
    }

    pub(super) fn introduce(number: usize) {
        let me = me();
        with(|e| e.threads[me].number = number);
    }

    pub(super) fn number() -> usize {
        let me = me();
        with(|e| e.threads[me].number)
    }

    /// The processor of this thread: the first two threads of a case are in different groups, and
    /// the third is in the first one's group.
    pub(super) fn processor() -> usize {
        let number = Self::number();
        (number % 2) * 2 + number / 2 % 2
    }

    pub(super) fn explore(explore: bool) {
        with(|e| {
            e.arranging = !explore;
            e.threads.iter_mut().for_each(|thread| thread.pauses = 0);
        });
        if explore { loom::explore() } else { loom::stop_exploring() }
    }

    pub(super) fn has_waited(number: usize) -> bool {
        with(|e| e.threads.iter().any(|thread| thread.number == number && thread.has_waited))
    }

    // Words and links.

    pub(super) fn new_word() -> usize {
        let word = Mortal::new(AtomicU32::new(0));
        with(|e| {
            e.words.push(word);
            e.words.len() - 1
        })
    }

    pub(super) fn new_link() -> usize {
        let link = Mortal::new(AtomicPtr::new(std::ptr::null_mut()));
        with(|e| {
            e.links.push(link);
            e.links.len() - 1
        })
    }

    /// Returns a word's atomic for an access. Loom reports the access unless it happens before the
    /// word's end.
    pub(super) fn access(word: usize) -> impl std::ops::Deref<Target = AtomicU32> {
        let word = with(|e| e.words.get(word).cloned());
        let word = word.expect("a word that was never made was accessed");
        word.life.with(|_| ());
        Atomic(word)
    }

    pub(super) fn access_link(link: usize) -> impl std::ops::Deref<Target = AtomicPtr<()>> {
        let link = with(|e| e.links.get(link).cloned());
        let link = link.expect("a link that was never made was accessed");
        link.life.with(|_| ());
        Atomic(link)
    }

    pub(super) fn end_of_word(word: usize) {
        let word = with(|e| Rc::clone(&e.words[word]));
        word.life.with_mut(|_| ());
    }

    pub(super) fn end_of_link(link: usize) {
        let link = with(|e| Rc::clone(&e.links[link]));
        link.life.with_mut(|_| ());
    }

    /// Sets whether this thread owes a fence, and returns whether it did.
    pub(super) fn owes_fence(from_now_on: bool) -> bool {
        let me = me();
        with(|e| std::mem::replace(&mut e.threads[me].owes_fence, from_now_on))
    }

    // Nodes.

    pub(super) fn allocate<T>() -> NonNull<T> {
        let place = with(|e| e.nodes.place::<T>());
        Self::begin_life(place.addr().get());
        place
    }

    /// Allocates memory for a row of blocks. All blocks share one life, at the address of the
    /// first.
    pub(super) fn allocate_row(layout: Layout) -> NonNull<u8> {
        let place = with(|e| e.nodes.place_for(layout));
        Self::begin_life(place.addr().get());
        place
    }

    fn begin_life(place: usize) {
        let life = Rc::new(UnsafeCell::new(()));
        with(|e| e.lives.insert(place, life));
    }

    pub(super) fn follow(node: NonNull<()>) {
        let life = with(|e| {
            assert!(e.nodes.may_be_followed(node), "a reference to a freed node was followed");
            e.lives.get(&node.addr().get()).cloned()
        });
        if let Some(life) = life {
            life.with(|_| ());
        }
    }

    pub(super) fn free(node: NonNull<()>) {
        let life = with(|e| {
            e.nodes.kill(node);
            e.lives.get(&node.addr().get()).cloned()
        });
        life.expect("nodes have lives").with_mut(|_| ());
    }

    // Waiting.

    /// Records that this thread has changed a word or link.
    pub(super) fn moved_on() {
        let me = me();
        with(|e| e.threads[me].pauses = 0);
    }

    /// Lets other threads run. If this thread has changed nothing since its last pause, loom stops
    /// branching in this execution, except during a setup.
    pub(super) fn pause() {
        let me = me();
        let skip = with(|e| {
            let thread = &mut e.threads[me];
            thread.has_waited = true;
            thread.pauses += 1;
            thread.pauses > 1 && !e.arranging
        });
        if skip {
            loom::skip_branch();
        }
        loom::thread::yield_now();
    }

    /// Reads a word's latest value, in a step that loom orders with all other steps on this word. A
    /// failing exchange reads the latest value and stores nothing.
    fn look(word: usize) -> u32 {
        let word = with(|e| Rc::clone(&e.words[word]));
        word.atomic.compare_exchange(NEVER, NEVER, Relaxed, Relaxed).unwrap_or_else(|value| value)
    }

    pub(super) fn park(word: usize, expected: u32, key: u32, timed: bool) {
        let me = me();
        if Self::look(word) != expected {
            return;
        }
        let handle = loom::thread::current();
        with(|e| {
            e.threads[me].has_waited = true;
            e.sleepers.push(Sleeper { word, key, thread: me, handle });
        });
        if timed {
            // A thread that is not woken before its next turn has slept until the deadline. With
            // this read, loom tries every order of this turn and other threads' steps on the word.
            loom::thread::yield_now();
            Self::look(word);
            with(|e| e.sleepers.retain(|sleeper| sleeper.thread != me));
            return;
        }
        // If all threads block, loom reports a deadlock.
        while with(|e| e.sleepers.iter().any(|sleeper| sleeper.thread == me)) {
            loom::thread::park();
        }
    }

    pub(super) fn unpark(word: usize, key: Option<u32>, count: u32) {
        Self::look(word);
        let wakes = |sleeper: &mut Sleeper| {
            sleeper.word == word && key.is_none_or(|key| key == sleeper.key)
        };
        let woken: Vec<_> =
            with(|e| e.sleepers.extract_if(.., wakes).take(count as usize).collect());
        woken.iter().for_each(|sleeper| sleeper.handle.unpark());
    }

    pub(super) fn now() -> Duration {
        let clock = with(|e| e.clock.clone());
        clock.map_or(Duration::ZERO, |clock| DEADLINE * clock.load(Relaxed))
    }
}

/// Keeps an atomic's table entry while it is accessed.
struct Atomic<A>(Rc<Mortal<A>>);

impl<A> std::ops::Deref for Atomic<A> {
    type Target = A;

    fn deref(&self) -> &A {
        &self.0.atomic
    }
}
