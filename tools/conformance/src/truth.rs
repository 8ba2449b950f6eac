//! Reads the facts that a program states about itself.

use std::collections::{BTreeMap, BTreeSet};

use syncline_recording::{Op, Primitive};

use crate::recording::{Counter, Recording};

/// A fact that a line of the output states: the number of operations of one kind that a process, or
/// one of its threads, has made.
#[derive(Clone, Copy, Debug, PartialEq, Eq)]
pub struct Fact {
    /// The process.
    pub pid: u32,
    /// The thread, or 0 for all threads.
    pub tid: u32,
    /// The operation.
    pub op: Op,
    /// Which of the operations are counted: those that succeeded, that were refused, or that timed
    /// out.
    pub counter: Counter,
    /// The lock, or `None` for all locks.
    pub lock: Option<u64>,
    /// The number of these operations.
    pub count: u64,
    /// Whether the recording may have a larger number.
    pub at_least: bool,
}

/// All facts that the processes of a run have stated.
#[derive(Clone, Debug, Default)]
pub struct Truth {
    /// The numbers of operations.
    pub facts: Vec<Fact>,
    /// Other values, by their names, from lines `@name value`.
    pub values: BTreeMap<String, u64>,
}

impl Truth {
    /// Reads the lines that begin with `@`; `programs/truth.h` describes them.
    ///
    /// # Panics
    /// If such a line can't be read.
    pub fn read(stdout: &[u8]) -> Truth {
        let mut truth = Truth::default();
        for line in String::from_utf8_lossy(stdout).lines() {
            let Some(line) = line.strip_prefix('@') else { continue };
            let words: Vec<&str> = line.split_whitespace().collect();
            match words[..] {
                [pid, tid, op, lock, count] => {
                    truth.facts.push(fact(pid, tid, op, lock, count));
                }
                [name, value] => {
                    truth.values.insert(name.to_owned(), number(value));
                }
                _ => panic!("not a fact: @{line}"),
            }
        }
        truth
    }

    /// A value that the program has printed, by its name.
    ///
    /// # Panics
    /// If the program has not printed it.
    #[track_caller]
    pub fn value(&self, name: &str) -> u64 {
        *self.values.get(name).unwrap_or_else(|| panic!("the program printed no @{name}"))
    }

    /// Checks that the program has stated at least one fact.
    ///
    /// # Panics
    /// If the program has stated no fact, since then any comparison would succeed.
    #[track_caller]
    pub fn assert_not_empty(&self) {
        assert!(!self.facts.is_empty(), "the program states no facts");
    }

    /// Compares each fact with the recording. If a fact names a lock, every recorded operation on
    /// this lock must be in a fact, except for futex operations.
    ///
    /// # Panics
    /// If there are differences. The message lists all of them.
    #[track_caller]
    pub fn assert_counted(&self, recording: &Recording) {
        let mut wrong: Vec<String> =
            self.facts.iter().filter_map(|f| difference(f, recording)).collect();
        let named: BTreeSet<_> = self.facts.iter().filter_map(|f| Some((f.pid, f.lock?))).collect();
        let stated: BTreeSet<_> =
            self.facts.iter().filter_map(|f| Some((f.pid, f.op, f.counter, f.lock?))).collect();
        for ((pid, op, counter, lock), count) in recording.sums() {
            let known = !named.contains(&(pid, lock)) || stated.contains(&(pid, op, counter, lock));
            if !known && op.primitive() != Primitive::Futex {
                wrong.push(format!("{op:?} {counter:?} of {lock:#x}: {count}, and none was done"));
            }
        }
        assert!(wrong.is_empty(), "{} counts are wrong:\n{}", wrong.len(), wrong.join("\n"));
    }
}

fn difference(fact: &Fact, recording: &Recording) -> Option<String> {
    let Fact { pid, tid, op, counter, lock, count, at_least } = *fact;
    let seen = recording.count(pid, tid, op, counter, lock);
    if seen == count || at_least && seen > count {
        return None;
    }
    let lock = lock.map_or("all locks".to_owned(), |l| format!("{l:#x}"));
    Some(format!("{op:?} {counter:?} of {lock} by {pid}/{tid}: {seen} recorded, {count} done"))
}

fn fact(pid: &str, tid: &str, op: &str, lock: &str, count: &str) -> Fact {
    let (name, counter) = match op.split_once('.') {
        None => (op, Counter::Calls),
        Some((name, "refused")) => (name, Counter::Refused),
        Some((name, "timeouts")) => (name, Counter::Timeouts),
        Some(_) => panic!("not a counter: {op}"),
    };
    let known = Op::ALL.iter().copied().find(|op| format!("{op:?}") == name);
    Fact {
        pid: number(pid) as u32,
        tid: number(tid) as u32,
        op: known.unwrap_or_else(|| panic!("not an operation: {name}")),
        counter,
        lock: (lock != "*").then(|| number(lock)),
        count: number(count.trim_end_matches('+')),
        at_least: count.ends_with('+'),
    }
}

fn number(text: &str) -> u64 {
    let number = match text.strip_prefix("0x") {
        Some(digits) => u64::from_str_radix(digits, 16),
        None => text.parse(),
    };
    number.unwrap_or_else(|_| panic!("not a number: {text}"))
}

#[cfg(test)]
mod tests {
    use super::*;

    #[test]
    fn facts_and_values_are_read_and_other_lines_are_not() {
        let truth = Truth::read(b"hello\n@7 0 MutexTrylock.refused 0x10 3+\n@waited 12\n");
        let expected = Fact {
            pid: 7,
            tid: 0,
            op: Op::MutexTrylock,
            counter: Counter::Refused,
            lock: Some(16),
            count: 3,
            at_least: true,
        };
        assert_eq!(truth.facts, [expected]);
        assert_eq!(truth.value("waited"), 12);
    }

    #[test]
    #[should_panic(expected = "not an operation")]
    fn an_operation_that_does_not_exist_is_an_error() {
        Truth::read(b"@1 0 MutexHug 0x10 3\n");
    }

    #[test]
    #[should_panic(expected = "states no facts")]
    fn a_program_without_facts_fails_the_test() {
        Truth::default().assert_not_empty();
    }
}
