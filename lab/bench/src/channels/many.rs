//! Two senders and two receivers share one channel: ours, and those of other libraries that support
//! this. Waiters sleep after a while.

use std::ops::Range;
use std::sync::Barrier;
use std::thread;
use std::time::Instant;

use syncline::channel::many;

use crate::locks::processors;
use crate::rounds::{self, Once};
use crate::size::Size;
use crate::statistics::{Spread, median, spread};

/// The capacity of a channel, in messages.
const ROOM: usize = 1024;
const ENDS: u64 = 2;

type Side = (&'static str, fn(u64) -> f64);

macro_rules! side {
    ($name:literal, $bounded:path) => {{
        fn run(messages: u64) -> f64 {
            let (sender, receiver) = $bounded(ROOM);
            let senders: Vec<_> = (0..ENDS).map(|_| sender.clone()).collect();
            let receivers: Vec<_> = (0..ENDS).map(|_| receiver.clone()).collect();
            drop((sender, receiver));
            let send = senders.into_iter().map(|sender| {
                move |mut numbers: Range<u64>| {
                    numbers.try_for_each(|number: u64| sender.send(number)).is_ok()
                }
            });
            let receive = receivers
                .into_iter()
                .map(|receiver| move || std::iter::from_fn(|| receiver.recv().ok()).sum::<u64>());
            throughput(messages, send.collect(), receive.collect())
        }
        ($name, run as fn(u64) -> f64)
    }};
}

/// The compared channels, ours first.
fn sides() -> [Side; 4] {
    [
        side!("syncline, park", many::bounded),
        side!("crossbeam", crossbeam_channel::bounded),
        side!("flume", flume::bounded),
        side!("kanal", kanal::bounded),
    ]
}

/// Messages per second, from the start until all of them have been received.
fn throughput(
    messages: u64,
    senders: Vec<impl FnOnce(Range<u64>) -> bool + Send>,
    receivers: Vec<impl FnOnce() -> u64 + Send>,
) -> f64 {
    let first_sender = receivers.len();
    let start = &Barrier::new(first_sender + senders.len());
    let each = messages / ENDS;
    thread::scope(|scope| {
        let receiving: Vec<_> = receivers
            .into_iter()
            .enumerate()
            .map(|(number, receive)| {
                scope.spawn(move || {
                    processors::keep_apart(number);
                    start.wait();
                    (Instant::now(), receive())
                })
            })
            .collect();
        for (number, send) in senders.into_iter().enumerate() {
            scope.spawn(move || {
                processors::keep_apart(first_sender + number);
                start.wait();
                assert!(send(0..each), "the receivers are there until the run is over");
            });
        }
        let ended = receiving.into_iter().map(|thread| thread.join().expect("it ends"));
        let (begun, sums): (Vec<_>, Vec<u64>) = ended.unzip();
        let sum: u64 = sums.iter().sum();
        // The run begins when the first receiver passes the barrier.
        let began = begun.into_iter().min().expect("there are receivers");
        let rate = (ENDS * each) as f64 / began.elapsed().as_secs_f64();
        assert_eq!(sum, ENDS * (each * each.saturating_sub(1) / 2), "messages were lost");
        rate
    })
}

/// Prints the results of all channels. Returns our throughput over that of the best peer.
pub fn compare(size: Size) -> anyhow::Result<f64> {
    let messages = size.pick(200, 40_000, 400_000);
    let repetitions = size.pick(1, 7, 25);
    let sides = sides();
    let bar = rounds::bar((sides.len() * (repetitions + 1)) as u64)?;
    bar.set_message("two senders, two receivers");
    let mut once: Vec<Once<f64>> = Vec::new();
    for (_, run) in sides {
        once.push(Box::new(move || Ok(run(messages))));
    }
    let results = rounds::run(&mut once, repetitions, &bar, 1)?;
    bar.finish_and_clear();
    println!("\ntwo senders and two receivers of one channel, million messages in a second");
    for ((name, _), results) in sides.iter().zip(&results) {
        let Spread { median, low, high } = spread(results);
        let [median, low, high] = [median, low, high].map(|rate| rate / 1e6);
        println!("  {name:<18}{median:>9.3}   {low:.3} to {high:.3}");
    }
    let peers = 1..sides.len();
    let best = peers
        .max_by(|&one, &other| median(&results[one]).total_cmp(&median(&results[other])))
        .expect("there are peers");
    let ratios: Vec<f64> =
        results[0].iter().zip(&results[best]).map(|(ours, peer)| ours / peer).collect();
    let Spread { median, low, high } = spread(&ratios);
    println!("  ours over {:<12}{median:>5.2}   {low:.2} to {high:.2}", sides[best].0);
    Ok(median)
}
