//! A work pipeline over channels: one thread reads, several work, one writes.
//!
//! ```text
//!              +--> worker --+
//!   reader ----+--> worker --+--> writer
//!              +--> worker --+
//! ```
//!
//! The reader deals lines out to the workers in turn, each over a channel of its own. The writer
//! collects what they found from an inbox. No message says that the work is done: an end that is
//! dropped disconnects, so the disconnection travels down the pipeline after the last message. If a
//! stage panics, its neighbours find out in the same way, and end too.
//!
//! Run it with `cargo run --release -p syncline --example pipeline [FILE]`.

use std::collections::BTreeMap;
use std::error::Error;
use std::thread;

use syncline::channel::{self, Inbox, Receiver, Sender};

const WORKERS: usize = 3;
/// The number of messages that may be under way between two stages. It is so large that no stage
/// waits when the next one is slow for a moment. It is so small that a slow stage holds up the
/// stages before it, and that memory doesn't fill.
const ROOM: usize = 64;

/// What a worker has found in a line.
struct Found {
    words: usize,
    longest: String,
}

fn main() -> Result<(), Box<dyn Error>> {
    let text = match std::env::args().nth(1) {
        Some(file) => std::fs::read_to_string(file)?,
        None => include_str!("pipeline.rs").to_owned(),
    };
    let (words, longest) = count(&text);
    println!("{words} words; the longest: {longest}");
    Ok(())
}

/// How many words a text has, and its longest one.
fn count(text: &str) -> (usize, String) {
    let mut inbox = Inbox::new(WORKERS, ROOM);
    thread::scope(|scope| {
        let mut workers = Vec::new();
        for _ in 0..WORKERS {
            let (lines, line) = channel::bounded(ROOM);
            let (_, results) = inbox.connect().expect("there is a slot for each worker");
            scope.spawn(|| work(line, results));
            workers.push(lines);
        }
        scope.spawn(|| read(text, workers));
        write(inbox)
    })
}

/// Sends each line to the next worker.
fn read<'a>(text: &'a str, mut workers: Vec<Sender<&'a str>>) {
    for (number, line) in text.lines().enumerate() {
        // An error means that the worker is gone: it has panicked, or found the writer gone. So
        // there is no reason to continue.
        if workers[number % WORKERS].send(line).is_err() {
            return;
        }
    }
}

/// Looks at lines until there are no more.
fn work(mut lines: Receiver<&str>, mut results: Sender<Found>) {
    for line in lines.iter() {
        let words = || line.split(|letter: char| !letter.is_alphabetic()).filter(|w| !w.is_empty());
        let longest = words().max_by_key(|word| word.len()).unwrap_or_default().to_owned();
        if results.send(Found { words: words().count(), longest }).is_err() {
            return;
        }
    }
}

/// Adds up what the workers find, in whatever order it comes.
fn write(mut results: Inbox<Found>) -> (usize, String) {
    let mut words = 0;
    let mut longest = BTreeMap::new();
    while let Ok((_, found)) = results.recv() {
        words += found.words;
        longest.insert(found.longest.len(), found.longest);
    }
    (words, longest.pop_last().map(|(_, word)| word).unwrap_or_default())
}

#[test]
fn it_counts_what_is_there() {
    assert_eq!(count("one two\n\nthree, four five"), (5, "three".to_owned()));
    assert_eq!(count(""), (0, String::new()));
    let many = "some words\n".repeat(10_000);
    assert_eq!(count(&many).0, 20_000);
}
