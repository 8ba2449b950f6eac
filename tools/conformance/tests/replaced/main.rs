//! Programs behave under `syncline exec` as they do without it.
//!
//! For each call that POSIX defines, the C library's own behaviour is the reference: a program
//! prints the outcome of each call, and must print the same outcomes when its locks are replaced.

mod limits;
mod matrix;
mod policy;
mod programs;
mod semantics;
mod servers;
mod slowing;
mod torture;
mod trying;
mod tuning;

use syncline::lock::{catalogue, forms};

/// The names of the lock forms that can replace a mutex or, if `shared`, a reader-writer lock.
fn replacements(shared: bool) -> Vec<&'static str> {
    let entries = catalogue();
    let entry = |lock| entries.iter().find(|entry| entry.name == lock).expect("an entry");
    let mut forms = forms();
    forms.retain(|form| form.replaces_posix(entry(form.lock)) && entry(form.lock).shared == shared);
    forms.iter().map(|form| form.name).collect()
}

/// Like [`replacements`], but only the forms whose waiters sleep.
fn parking(shared: bool) -> Vec<&'static str> {
    let mut names = replacements(shared);
    names.retain(|name| !name.ends_with("-spin") && !name.ends_with("-yield"));
    names
}

/// Every form that can replace a mutex, each with one for reader-writer locks, as `LOCK+SHARED`.
fn pairs() -> Vec<String> {
    let shared = replacements(true);
    let pair = |(lock, shared): (&str, &&str)| format!("{lock}+{shared}");
    replacements(false).into_iter().zip(shared.iter().cycle()).map(pair).collect()
}
