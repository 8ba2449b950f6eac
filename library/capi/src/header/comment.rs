//! The comments on a lock in the headers, from its entry in the catalogue.

use syncline::lock::{About, Order};

use super::types::{Delegating, Type};

const WIDTH: usize = 90;

/// Describes a lock in a few sentences.
pub(super) fn description(lock: &Type) -> String {
    let order = served(lock.entry.parking_order());
    sentences(lock.entry.name, &lock.entry.about, order, lock.size)
}

/// Describes a delegation lock in a few sentences.
pub(super) fn of_delegating(lock: &Delegating) -> String {
    let order = match lock.about.order {
        Order::Fifo => "Sections run in the order of their calls.",
        _ => "Sections of different threads run in no order.",
    };
    sentences(lock.name, &lock.about, order, lock.size)
}

fn sentences(name: &str, about: &About, order: &str, size: usize) -> String {
    let numa = if about.numa { " Keeps the lock among near processors." } else { "" };
    let (idea, advice, source) = (about.idea, sentence(about.advice), about.source);
    format!("{name}: {idea}. {order}{numa} {advice}. {size} bytes. Source: {source}.")
}

fn sentence(text: &str) -> String {
    let mut letters = text.chars();
    letters.next().map_or_else(String::new, |first| first.to_uppercase().chain(letters).collect())
}

fn served(order: Order) -> &'static str {
    match order {
        Order::Any => "Waiters get it in no order.",
        Order::Fifo => "First come, first served.",
        Order::FifoInGroup => "First come, first served among near processors, which take turns.",
        Order::Bounded => "Served in order, but newcomers may overtake for a bounded time.",
        Order::ReadersFirst => "Readers come before writers; a writer may starve.",
        Order::WritersFirst => "Writers come before readers; a reader may starve.",
        Order::NewReadersLast => "Waiters get it in no order; a writer comes before new readers.",
    }
}

/// Wraps a comment into lines, each of which begins with `start`.
pub(super) fn wrapped(text: &str, start: &str) -> Vec<String> {
    let mut lines = vec![start.to_owned()];
    for word in text.split_whitespace() {
        let line = lines.last_mut().expect("there is one");
        if line.len() + 1 + word.len() > WIDTH {
            lines.push(format!("{start} {word}"));
        } else {
            line.push(' ');
            line.push_str(word);
        }
    }
    lines
}
