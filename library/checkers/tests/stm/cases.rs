//! The cases: requirements of an engine, as small functions over any engine in any checker's
//! memory.
//!
//! Closures assert what must hold in every attempt, even in attempts that fail later.

use std::array;
use std::marker::PhantomData;
use std::sync::atomic::{AtomicBool, AtomicUsize, Ordering::SeqCst};
use std::sync::{Arc, Mutex};
use std::time::Duration;

use syncline::memory::{Data, LongMemory, Memory};
use syncline::stm::pace::Pace;
use syncline::stm::{Engine, Served, Session, TCell};
use syncline::wait::Wait;
use syncline_checkers::Engine as Checker;

use crate::history::{CELLS, Recorder, Step, Time};

/// Plain data that the checkers watch.
struct Plain<S: Setup>(<<S::Engine as Engine>::Memory as Memory>::Data<u32>);

// SAFETY: a number that threads use in turn, which the checkers verify.
unsafe impl<S: Setup> Sync for Plain<S> {}
// SAFETY: as above.
unsafe impl<S: Setup> Send for Plain<S> {}

impl<S: Setup> Plain<S> {
    /// # Safety
    ///
    /// Same requirements as [`Data::with`].
    unsafe fn with<R>(&self, access: impl FnOnce(*mut u32) -> R) -> R {
        // SAFETY: our caller's promise.
        unsafe { self.0.with(access) }
    }
}

/// A way to make an engine with everything that it needs.
pub trait Setup: 'static {
    type Engine: Engine<Memory: Checker + LongMemory> + Send;

    /// Makes an engine for `sessions` sessions. Also returns the functions that the engine's own
    /// threads run.
    fn start(sessions: usize) -> (Self::Engine, Vec<Helper>);

    /// Ends the engine's threads after the last session.
    fn end(_: &Self::Engine) {}
}

pub type Helper = Box<dyn FnOnce() + Send>;

/// An engine without threads of its own.
pub struct Alone<E>(PhantomData<E>);

impl<E: Engine<Memory: Checker + LongMemory> + Default + Send> Setup for Alone<E> {
    type Engine = E;

    fn start(_: usize) -> (E, Vec<Helper>) {
        (E::default(), Vec::new())
    }
}

/// Like [`Alone`], but the engine has already run one transaction, and has consulted its [`Pace`]
/// afterwards.
pub struct Begun<E>(PhantomData<E>);

impl<E: Engine<Memory: Checker + LongMemory> + Default + Send> Setup for Begun<E> {
    type Engine = E;

    fn start(_: usize) -> (E, Vec<Helper>) {
        let engine = E::default();
        Session::new(&engine).atomically(|_| Ok(()));
        (engine, Vec::new())
    }
}

/// A pace under which all transactions after the first run one after the other.
#[derive(Debug, Default)]
pub struct Serial;

impl Pace for Serial {
    const EVERY: u32 = 1;

    fn next(&self, _: impl FnOnce() -> Duration, run: impl FnOnce(bool)) {
        run(true);
    }
}

/// A pace that changes after each transaction: transactions run side by side, then one after the
/// other, and so on.
#[derive(Debug, Default)]
pub struct Alternating {
    /// Checkers don't see this ordinary atomic, so for them it orders nothing.
    serial: AtomicBool,
}

impl Pace for Alternating {
    const EVERY: u32 = 1;

    fn next(&self, _: impl FnOnce() -> Duration, run: impl FnOnce(bool)) {
        run(!self.serial.fetch_xor(true, SeqCst));
    }
}

/// An engine with `SERVERS` lock servers.
pub struct WithServers<W, M, const SERVERS: usize>(PhantomData<(W, M)>);

/// Implements [`Setup`] for an engine, perhaps a mutant, with `$servers` lock servers.
macro_rules! with_servers {
    ([$($generics:tt)*] $Setup:ty, $Engine:ty, $servers:expr) => {
        impl<$($generics)*> $crate::cases::Setup for $Setup {
            type Engine = $Engine;

            fn start(sessions: usize) -> ($Engine, Vec<$crate::cases::Helper>) {
                let (engine, servers) = <$Engine>::new(sessions, $servers);
                let helpers = servers.into_iter().map(|server| {
                    let helper: $crate::cases::Helper = Box::new(|| server.serve());
                    helper
                });
                (engine, helpers.collect())
            }

            fn end(engine: &$Engine) {
                engine.close();
            }
        }
    };
}
pub(crate) use with_servers;

with_servers! {
    [W: Wait, M: Checker + LongMemory, const SERVERS: usize]
    WithServers<W, M, SERVERS>, Served<W, M>, SERVERS
}

type Cell<S> = TCell<u32, <<S as Setup>::Engine as Engine>::Memory>;

/// An engine with data to work on.
struct Stage<S: Setup, T> {
    engine: S::Engine,
    helpers: Vec<Mutex<Option<Helper>>>,
    props: T,
}

impl<S: Setup, T: Send + Sync + 'static> Stage<S, T> {
    fn new(threads: usize, props: impl FnOnce(&S::Engine) -> T) -> Self {
        let (engine, helpers) = S::start(threads);
        let props = props(&engine);
        let helpers = helpers.into_iter().map(|helper| Mutex::new(Some(helper))).collect();
        Self { engine, helpers, props }
    }

    /// Runs threads, each with a session, and returns the data that they worked on.
    fn play(
        self,
        threads: usize,
        act: impl Fn(&T, &mut Session<'_, S::Engine>, usize) + Send + Sync + 'static,
    ) -> T {
        let all = threads + self.helpers.len();
        let stage = Arc::new(self);
        let played = Arc::clone(&stage);
        // Checkers don't see this ordinary atomic, so for them it orders nothing.
        let left = AtomicUsize::new(threads);
        <S::Engine as Engine>::Memory::run(all, move |thread| {
            if thread >= threads {
                let helper = &played.helpers[thread - threads];
                let helper = helper.lock().expect("nobody panics here").take();
                return helper.expect("it runs once")();
            }
            let mut session = Session::new(&played.engine);
            act(&played.props, &mut session, thread);
            drop(session);
            if left.fetch_sub(1, SeqCst) == 1 {
                S::end(&played.engine);
            }
        });
        Arc::into_inner(stage).expect("all threads have ended").props
    }
}

/// Some cells.
struct Scene<S: Setup> {
    cells: [Cell<S>; CELLS],
}

impl<S: Setup> Scene<S> {
    fn set(threads: usize) -> Stage<S, Self> {
        Stage::new(threads, |engine: &S::Engine| Self { cells: array::from_fn(|_| engine.cell(0)) })
    }

    /// Runs threads on new cells, and returns the cells' final values.
    fn play(
        threads: usize,
        act: impl Fn(&Self, &mut Session<'_, S::Engine>, usize) + Send + Sync + 'static,
    ) -> [u32; CELLS] {
        Self::set(threads).play(threads, act).cells.map(TCell::into_inner)
    }

    fn add_one(&self, session: &mut Session<'_, S::Engine>, cell: usize) {
        let cell = &self.cells[cell];
        session.atomically(|tx| {
            let before = cell.get(tx)?;
            cell.set(tx, before + 1);
            Ok(())
        });
    }
}

/// Threads add to one cell: no addition is lost. A thread that has failed often enough to request a
/// turn also waits for its turn.
pub fn counted<S: Setup>(threads: usize, rounds: u32) {
    let values = Scene::<S>::play(threads, move |scene, session, _| {
        (0..rounds).for_each(|_| scene.add_one(session, 0));
    });
    assert_eq!(values[0], threads as u32 * rounds);
}

/// One thread adds one to two cells, and the others read: every attempt sees both cells as they
/// were at one moment.
pub fn opaque<S: Setup>(threads: usize) {
    let values = Scene::<S>::play(threads, |scene, session, thread| {
        let [first, second, ..] = &scene.cells;
        session.atomically(|tx| {
            if thread == 0 {
                let (one, two) = (first.get(tx)?, second.get(tx)?);
                first.set(tx, one + 1);
                second.set(tx, two + 1);
            } else {
                let (one, two) = (first.get(tx)?, second.get(tx)?);
                assert_eq!(one, two, "an attempt saw half of a transaction");
            }
            Ok(())
        });
    });
    assert_eq!(values[..2], [1, 1]);
}

/// Like `opaque`, but the reader first reads a cell whose version is ahead of the clock, and so
/// advances the clock while the other thread commits.
pub fn ahead<S: Setup>(threads: usize) {
    let stage = Scene::<S>::set(threads);
    stage.props.add_one(&mut Session::new(&stage.engine), 2);
    stage.play(threads, |scene, session, thread| {
        let [first, second, third, ..] = &scene.cells;
        session.atomically(|tx| {
            if thread == 0 {
                first.set(tx, 1);
                second.set(tx, 1);
            } else {
                assert_eq!(third.get(tx)?, 1);
                let (one, two) = (first.get(tx)?, second.get(tx)?);
                assert_eq!(one, two, "an attempt saw half of a transaction");
            }
            Ok(())
        });
    });
}

/// Like `ahead`, but the writer first runs another transaction. If that transaction changes the
/// engine's pace, the writer then runs alone and writes in place, although the readers may have
/// begun while transactions ran side by side. `before` is the number of transactions that run
/// before the threads begin.
pub fn in_place<S: Setup>(threads: usize, before: u32) {
    let stage = Scene::<S>::set(threads);
    let mut session = Session::new(&stage.engine);
    (0..before).for_each(|_| stage.props.add_one(&mut session, 2));
    drop(session);
    let scene = stage.play(threads, |scene, session, thread| {
        let [first, second, third, ..] = &scene.cells;
        if thread == 0 {
            // Without a read, which would advance the clock.
            session.atomically(|tx| {
                third.set(tx, 7);
                Ok(())
            });
            session.atomically(|tx| {
                first.set(tx, 1);
                second.set(tx, 1);
                Ok(())
            });
        } else {
            session.atomically(|tx| {
                third.get(tx)?;
                let (one, two) = (first.get(tx)?, second.get(tx)?);
                assert_eq!(one, two, "an attempt saw half of a transaction");
                Ok(())
            });
        }
    });
    assert_eq!(scene.cells.map(TCell::into_inner)[..3], [1, 1, 7]);
}

/// Like `opaque`, but the writer doesn't read, and another thread advances the clock.
pub fn blind<S: Setup>(threads: usize) {
    Scene::<S>::play(threads, |scene, session, thread| {
        let [first, second, third, ..] = &scene.cells;
        match thread {
            0 => session.atomically(|tx| {
                first.set(tx, 1);
                second.set(tx, 1);
                Ok(())
            }),
            1 => session.atomically(|tx| {
                let (one, two) = (first.get(tx)?, second.get(tx)?);
                assert_eq!(one, two, "an attempt saw half of a transaction");
                Ok(())
            }),
            _ => {
                scene.add_one(session, 2);
                session.atomically(|tx| third.get(tx).map(|_| ()));
            }
        }
    });
}

/// Two threads write the same cells, in opposite orders. Neither reads, so neither ever fails. If
/// each had locked one of the cells and waited for the other one, they would deadlock.
pub fn crossed<S: Setup>(rounds: u32) {
    let values = Scene::<S>::play(2, move |scene, session, thread| {
        let [cell, other] = [&scene.cells[thread], &scene.cells[1 - thread]];
        for round in 0..rounds {
            let mut attempts = 0;
            session.atomically(|tx| {
                attempts += 1;
                cell.set(tx, 2 * round + thread as u32);
                other.set(tx, 2 * round + thread as u32);
                Ok(())
            });
            assert_eq!(attempts, 1, "it has failed, although it has read nothing");
        }
    });
    assert_eq!(values[0], values[1], "half of a transaction");
}

/// Each of two threads writes its cell if the other's is not written yet: only one of them may.
pub fn skewed<S: Setup>() {
    let values = Scene::<S>::play(2, |scene, session, thread| {
        let (mine, other) = (&scene.cells[thread], &scene.cells[1 - thread]);
        session.atomically(|tx| {
            if other.get(tx)? == 0 {
                mine.set(tx, 1);
            }
            Ok(())
        });
    });
    assert_eq!(values[0] + values[1], 1, "neither saw what the other wrote");
}

/// Everything that happened before a transaction is visible to threads that read what it wrote.
pub fn published<S: Setup>() {
    let data = Arc::new(Plain::<S>(Data::new(0)));
    Scene::<S>::play(2, move |scene, session, thread| {
        let flag = &scene.cells[0];
        if thread == 0 {
            // SAFETY: no thread reads it before the flag is set, which the checker verifies.
            unsafe { data.with(|data| *data = 7) };
            session.atomically(|tx| {
                flag.set(tx, 1);
                Ok(())
            });
        } else if session.atomically(|tx| flag.get(tx)) == 1 {
            // SAFETY: as above.
            let seen = unsafe { data.with(|data| *data) };
            assert_eq!(seen, 7);
        }
    });
}

/// A thread waits, by spinning or sleeping, for what the others write. A lost wake-up would be a
/// deadlock.
pub fn awaited<S: Setup>(threads: usize) {
    let enough = threads as u32 - 1;
    Scene::<S>::play(threads, move |scene, session, thread| {
        let cell = &scene.cells[0];
        if thread != 0 {
            return scene.add_one(session, 0);
        }
        session.atomically(|tx| if cell.get(tx)? < enough { tx.retry() } else { Ok(()) });
    });
}

/// Two threads take turns, and each waits for its turn in an alternative of `or_else`.
pub fn handed_over<S: Setup>() {
    let values = Scene::<S>::play(2, |scene, session, thread| {
        let [full, count, ..] = &scene.cells;
        let mine = thread as u32;
        session.atomically(|tx| {
            tx.or_else(
                |tx| {
                    count.set(tx, 9);
                    if full.get(tx)? == mine { Ok(()) } else { tx.retry() }
                },
                |tx| tx.retry(),
            )?;
            full.set(tx, mine + 1);
            let before = count.get(tx)?;
            assert_eq!(before, 9, "the alternative's write is lost");
            Ok(())
        });
    });
    assert_eq!(values[..2], [2, 9]);
}

/// Values of any type are replaced while others read them; none is lost or dropped twice.
pub fn shared<S: Setup>(threads: usize) {
    let first = Arc::new(0);
    let stage = Stage::<S, _>::new(threads, |engine: &S::Engine| engine.var(Arc::clone(&first)));
    let variable = stage.play(threads, |variable, session, _| {
        session.atomically(|tx| {
            let before = variable.share(tx)?;
            variable.set(tx, Arc::new(**before + 1));
            Ok(())
        });
    });
    assert_eq!(Arc::strong_count(&first), 1, "the first value was replaced");
    let last = variable.into_inner();
    assert_eq!((*last, Arc::strong_count(&last)), (threads as u32, 1));
}

/// A long transaction runs against short ones: all end.
pub fn long_and_short<S: Setup>(threads: usize, rounds: u32) {
    let values = Scene::<S>::play(threads, move |scene, session, thread| {
        if thread != 0 {
            return (0..rounds).for_each(|round| scene.add_one(session, round as usize % 2));
        }
        let [first, second, third, ..] = &scene.cells;
        session.atomically(|tx| {
            let sum = first.get(tx)? + second.get(tx)?;
            third.set(tx, sum + 1);
            Ok(())
        });
    });
    assert!(values[2] > 0);
}

/// Each thread reads and writes cells that follow from its number and the round. The operations are
/// recorded, and the history must be opaque.
pub fn recorded<S: Setup>(threads: usize, rounds: usize, time: Time) {
    let recorder = Arc::new(Recorder::new(time, threads));
    let record = Arc::clone(&recorder);
    Scene::<S>::play(threads, move |scene, session, thread| {
        for round in 0..rounds {
            record.begin(thread);
            session.atomically(|tx| {
                record.attempt(thread);
                let (first, second) = ((thread + round) % 3, (thread + 2 * round + 1) % 3);
                for cell in [first, second, (first + 2) % 3] {
                    let value = scene.cells[cell].get(tx)?;
                    record.step(thread, Step::Read(cell, value));
                    // The third thread only reads.
                    if cell == second && thread != 2 {
                        let value = 1 + (thread * rounds + round) as u32;
                        scene.cells[first].set(tx, value);
                        record.step(thread, Step::Write(first, value));
                    }
                }
                Ok(())
            });
            record.committed(thread);
        }
    });
    recorder.check();
}
