//! Python functions that wait: for which lock, or in which call.
//!
//! All Python functions of a program acquire locks and sleep through the same native stack, that of
//! the interpreter, so recorded stacks don't tell them apart. Samples of sleeping threads do: they
//! have the Python functions, and the futex in which a thread sleeps. So the stack of a call by the
//! interpreter is replaced by a sampled one. For a call on a lock, it is the stack with which
//! threads slept most in the lock's futex. For a call without a lock, such as a sleep, it is the
//! stack with which the thread slept most in calls from the same return address.
//!
//! ```text
//!  recorded   lock, return address                  interpreter ... interpreter
//!  sampled    futex, return address, PyThread_...   catalog.py:26 index ...
//! ```
//!
//! If no place has half of the time, the stack stays as it is. A call on a lock gets a Python stack
//! only if threads may sleep in the call, since another function may release the lock.

use std::collections::{BTreeMap, HashMap};

use syncline_code::symbols::Symbols;
use syncline_recording::{ProcessFile, SampledProcess};

use crate::model::Stack;

/// A futex is a word of its lock, so the futex's address is fewer than this many bytes above the
/// lock's address. No lock of the C library is larger.
const LARGEST_LOCK: u64 = 64;

/// What identifies a call of the interpreter.
#[derive(Clone, Copy, PartialEq, Eq, PartialOrd, Ord, Hash)]
enum Key {
    Lock(u64),
    /// A thread's place in the file, and a return address.
    Call(usize, u64),
}

/// The Python stacks of calls. Each stack begins at the recorded call.
#[derive(Default)]
pub struct PythonStacks(HashMap<Key, Found>);

struct Found {
    stack: usize,
    /// The return address of the recorded call, in the interpreter.
    ret: u64,
}

impl PythonStacks {
    /// Finds the stacks, and adds them to `stacks`.
    pub fn find(
        file: &ProcessFile,
        process: &SampledProcess,
        symbols: &mut Symbols,
        stacks: &mut Vec<Stack>,
    ) -> PythonStacks {
        symbols.add_python(&process.python);
        let rows = file.threads.iter().flat_map(|thread| &thread.rows);
        let mut locks: Vec<u64> = rows.map(|row| row.counts.lock).collect();
        locks.sort_unstable();
        let lock_of = |futex: u64| {
            let at = locks.partition_point(|&lock| lock <= futex);
            let lock = *locks.get(at.checked_sub(1)?)?;
            (lock != 0 && futex - lock < LARGEST_LOCK).then_some(lock)
        };
        let mut sums: BTreeMap<Key, BTreeMap<Vec<u64>, u64>> = BTreeMap::new();
        for thread in &process.threads {
            let Some(place) = file.place_of(thread.tid) else { continue };
            for &(frame, _, futex, nanoseconds) in &thread.slept {
                let addresses = process.stack(frame);
                if !addresses.iter().any(|&at| at >= SampledProcess::PYTHON) {
                    continue;
                }
                let Some(stack) = symbols.from_recorded_call(&addresses) else { continue };
                let key = match futex {
                    0 => Some(Key::Call(place, stack[0])),
                    futex => lock_of(futex).map(Key::Lock),
                };
                let Some(key) = key else { continue };
                let sum: &mut u64 = sums.entry(key).or_default().entry(stack.to_vec()).or_default();
                *sum = sum.saturating_add(nanoseconds);
            }
        }
        let mut found = HashMap::new();
        for (key, sums) in sums {
            let Some(stack) = most(sums, symbols) else { continue };
            let ret = stack.addresses[0];
            found.insert(key, Found { stack: stacks.len(), ret });
            stacks.push(stack);
        }
        PythonStacks(found)
    }

    /// The stack of calls with this return address that use a lock; `None` if it is not known, or
    /// if another module makes these calls.
    pub fn of_lock(&self, lock: u64, ret: u64, symbols: &Symbols) -> Option<usize> {
        let known = self.0.get(&Key::Lock(lock))?;
        symbols.same_module(known.ret, ret).then_some(known.stack)
    }

    /// The stack of a thread's calls with this return address.
    pub fn of_thread(&self, thread: usize, ret: u64) -> Option<usize> {
        Some(self.0.get(&Key::Call(thread, ret))?.stack)
    }
}

/// The stack in which threads slept longest, among the stacks with the place at which they slept
/// longest. `None` if that place has less than half of the time. Each stack comes with its
/// nanoseconds.
fn most(sums: BTreeMap<Vec<u64>, u64>, symbols: &mut Symbols) -> Option<Stack> {
    let all = sums.values().fold(0_u64, |all, &time| all.saturating_add(time));
    let named = sums.into_iter().map(|(addresses, time)| (symbols.stack(&addresses), time));
    let mut stacks: Vec<(Stack, u64)> = named.collect();
    let mut places: BTreeMap<Option<usize>, u64> = BTreeMap::new();
    for (stack, time) in &stacks {
        let sum = places.entry(stack.place).or_default();
        *sum = sum.saturating_add(*time);
    }
    let (place, time) = places.into_iter().max_by_key(|&(_, time)| time)?;
    stacks.retain(|(stack, _)| stack.place == place);
    let (stack, _) = stacks.into_iter().max_by_key(|&(_, time)| time)?;
    (time >= all - time).then_some(stack)
}

#[cfg(test)]
mod tests {
    use syncline_code::file::library::Library;
    use syncline_recording::PythonFrame;

    use super::*;

    /// Stacks of one native frame and one of three Python positions: `ask` at two lines, and
    /// `rest`.
    #[test]
    fn a_place_with_half_of_the_time_names_a_call() {
        let at = |function: &str, line| PythonFrame {
            function: function.to_owned(),
            file: "/srv/app.py".to_owned(),
            line: Some(line),
        };
        let mut symbols = Symbols::new(&[], &Library::new(&[]));
        symbols.add_python(&[at("ask", 7), at("ask", 9), at("rest", 20)]);
        let mut named = |times: &[(u64, u64, u64)]| {
            let stack = |&(native, python, time): &(u64, u64, u64)| {
                (vec![native, SampledProcess::PYTHON + python], time)
            };
            let stack = most(times.iter().map(stack).collect(), &mut symbols)?;
            let frame = symbols.frame(stack.place?);
            Some((stack.addresses[0], frame.function.clone(), frame.line?))
        };
        let ask = |native, line| Some((native, "ask".to_owned(), line));
        assert_eq!(named(&[(0x10, 0, 5), (0x10, 2, 4)]), ask(0x10, 7));
        assert_eq!(named(&[(0x10, 0, 4), (0x10, 1, 3), (0x10, 2, 3)]), None, "two lines are two");
        // A place has the time of all its stacks. The result is the longest stack of the place, not
        // the longest of all.
        assert_eq!(named(&[(0x10, 0, 2), (0x20, 0, 3), (0x10, 2, 4)]), ask(0x20, 7));
        assert_eq!(named(&[]), None);
    }
}
