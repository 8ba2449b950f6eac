//! Rungs whose threads take turns. A word on a line of its own says whose turn it is. The measured
//! time is the time from one turn to the next. So the clock is not read within a turn, and the
//! fence of such a reading does not separate the accesses of a turn.

use std::hint::black_box;
use std::sync::atomic::Ordering::{Acquire, Relaxed, Release};

use syncline::memory::{Link, Memory, Padded, Word};

use super::size::{Size, each};
use crate::world::{Body, Course, Placement, World};

type WordOf<W> = <<W as World>::Memory as Memory>::Word;

/// Nanoseconds of a turn. `threads` threads take turns, and each calls `act` with its number in its
/// turns.
fn turns<W: World>(world: &W, size: &Size, threads: usize, act: impl Fn(u32) + Sync) -> f64 {
    let turn = Padded::<WordOf<W>>::default();
    let warm_up = size.rounds.div_ceil(10);
    let (count, mut took) = (threads as u32, 0);
    let mut timed = Some(&mut took);
    let places = world.places(threads, Placement::Near);
    let bodies = places.into_iter().zip(0..).map(|(place, mine)| {
        let (turn, act, timed) = (&turn, &act, timed.take());
        let body: Body<'_, W> = Box::new(move |_| {
            let mut began = 0;
            for round in 0..warm_up + size.rounds {
                let number = round * count + mine;
                // Acquire: pairs with the Release that ends a turn.
                while turn.load(Acquire) != number {
                    W::Memory::pause(1);
                }
                if round == warm_up {
                    began = W::now();
                }
                act(mine);
                turn.store(number + 1, Release);
            }
            if let Some(timed) = timed {
                *timed = W::now() - began;
            }
        });
        (place, body)
    });
    world.run(&Course::to_the_end(size.seed), bodies.collect());
    each(world, took, size.rounds * count)
}

/// Threads take turns, and do nothing else.
pub fn nothing<W: World>(world: &W, size: &Size, threads: usize) -> f64 {
    turns(world, size, threads, |_| ())
}

/// In its turn, each thread increments a word on a second line, with a load and a store.
pub fn second_line<W: World>(world: &W, size: &Size) -> f64 {
    let second = Padded::<WordOf<W>>::default();
    turns(world, size, 2, |_| second.store(second.load(Relaxed).wrapping_add(1), Relaxed))
}

/// In its turn, each thread increments a word on a line that the other thread has, and then one on
/// a line that no other thread uses.
pub fn after_a_miss<W: World>(world: &W, size: &Size) -> f64 {
    let other = Padded::<WordOf<W>>::default();
    let own: [Padded<WordOf<W>>; 2] = Default::default();
    turns(world, size, 2, |mine| {
        other.fetch_add(1, Relaxed);
        own[mine as usize].fetch_add(1, Relaxed);
    })
}

/// A line that holds the address of the next one.
#[derive(Default)]
struct Knot<M: Memory> {
    next: M::Link<Knot<M>>,
    word: M::Word,
}

/// The second thread changes lines, and the first one loads them. If `dependently`, the first
/// thread gets each address from the line before; otherwise it knows all addresses.
pub fn loads<W: World>(world: &W, size: &Size, lines: usize, dependently: bool) -> f64 {
    let knots: Vec<Padded<Knot<W::Memory>>> = (0..lines).map(|_| Padded::default()).collect();
    for (knot, next) in knots.iter().zip(knots.iter().skip(1)) {
        knot.next.store(Some(W::Memory::refer(&**next)), Relaxed);
    }
    turns(world, size, 2, |mine| {
        if mine == 1 {
            knots.iter().for_each(|knot| knot.word.store(1, Relaxed));
        } else if dependently {
            let mut at = Some(W::Memory::refer(&*knots[0]));
            while let Some(knot) = at {
                // SAFETY: the knots stay in place until the threads have ended.
                at = unsafe { W::Memory::follow(knot) }.next.load(Relaxed);
            }
        } else {
            black_box(knots.iter().map(|knot| knot.word.load(Relaxed)).fold(0, u32::wrapping_add));
        }
    })
}

/// In its turn, each thread writes to lines that the other one has written to. If `exchanged`, it
/// does so with a swap, otherwise with a store.
pub fn writes<W: World>(world: &W, size: &Size, lines: usize, exchanged: bool) -> f64 {
    let words: Vec<Padded<WordOf<W>>> = (0..lines).map(|_| Padded::default()).collect();
    turns(world, size, 2, |mine| {
        for word in &words {
            if exchanged {
                word.swap(mine, Relaxed);
            } else {
                word.store(mine, Relaxed);
            }
        }
    })
}
