//! What all ranks know of the program's threads: a record for each of them, in rank 0's words.
//!
//! ```text
//!   0      each rank's control words
//!   256    the records, on rank 0
//! ```

use crate::words::{ALL, Word};

/// The most threads that there can be at a time, `main` included.
pub const THREADS: usize = 1024;
const RECORD: usize = 256;
const RECORDS: usize = 256;
/// The bytes of all this in a rank's words.
pub const BYTES: usize = RECORDS + THREADS * RECORD;

/// Changes when a rank's server has to look at the records.
fn mail(rank: usize) -> Word {
    Word::of(rank, 0)
}

/// The number of changes to signals' actions that a rank has made.
pub fn applied(rank: usize) -> Word {
    Word::of(rank, 8)
}

/// The number of changes to signals' actions; on all ranks, if their `applied` has this value.
pub fn changes() -> Word {
    Word::of(0, 72)
}

/// Not 0 once the program has ended.
pub fn over() -> Word {
    Word::of(0, 64)
}

/// How many threads have been created.
pub fn created() -> Word {
    Word::of(0, 128)
}

/// The record after the last one that was ever used.
fn end() -> Word {
    Word::of(0, 192)
}

/// The value of a rank's mail; see [`wait_for_mail`].
pub fn mail_seen(rank: usize) -> u64 {
    mail(rank).load()
}

/// Waits until a rank's mail is no longer `seen`.
pub fn wait_for_mail(rank: usize, seen: u64) {
    mail(rank).wait_while(seen, None);
}

/// Makes a rank's server look at the records.
pub fn send_mail(rank: usize) {
    if mail(rank).add(1) >= 0xffff_fff0 {
        mail(rank).store(0);
    }
    mail(rank).wake(ALL);
}

/// The records that were ever used, but `main`'s.
pub fn all() -> impl Iterator<Item = Record> {
    (1..end().load() as usize).map(Record)
}

/// A thread's record, by the thread's number.
#[derive(Clone, Copy, Debug, PartialEq, Eq)]
pub struct Record(pub usize);

/// A word of a record.
#[derive(Clone, Copy, Debug)]
pub enum Field {
    /// A [`State`].
    State = 0,
    /// The rank that runs the thread.
    Rank = 1,
    /// The program's function, its argument, and its result.
    Function = 2,
    Argument = 3,
    Value = 4,
    /// [`DETACHED`] and [`ENDED`].
    Flags = 5,
    /// The bytes of its stack.
    Stack = 6,
    /// A system call that rank 0 makes for the thread: a [`Call`].
    Call = 7,
    Number = 8,
    /// The first of six.
    Arguments = 9,
    Result = 15,
    /// The signals that it blocks at its start.
    Blocked = 19,
    /// The thread's process and its number there, as the system has them.
    Process = 17,
    Thread = 18,
    /// 1 while a thread of rank 0 serves this thread's calls.
    Served = 16,
}

/// No thread joins it.
pub const DETACHED: u64 = 1;
/// The thread has ended.
pub const ENDED: u64 = 2;

/// What a record is used for.
#[derive(Clone, Copy, Debug, PartialEq, Eq)]
pub enum State {
    Free = 0,
    /// A thread fills it in.
    Taken = 1,
    /// The thread's rank has to start it.
    Asked = 2,
    Runs = 3,
    Ended = 4,
}

/// The state of a thread's system call at rank 0.
#[derive(Clone, Copy, Debug, PartialEq, Eq)]
pub enum Call {
    None = 0,
    Asked = 1,
    Answered = 2,
    /// The thread has ended, and makes no more calls.
    Over = 3,
}

impl Record {
    pub fn word(self, field: Field) -> Word {
        Word::of(0, RECORDS + self.0 * RECORD).plus(field as usize)
    }

    pub fn get(self, field: Field) -> u64 {
        self.word(field).load()
    }

    pub fn set(self, field: Field, value: u64) {
        self.word(field).store(value);
    }

    /// Sets a state, and wakes who waits for it.
    pub fn advance(self, state: State) {
        self.set(Field::State, state as u64);
        self.word(Field::State).wake(ALL);
    }

    pub fn is(self, state: State) -> bool {
        self.get(Field::State) == state as u64
    }

    /// Takes a record that is free; `None` if there is none.
    pub fn take() -> Option<Record> {
        let free = |number: &usize| {
            Record(*number).word(Field::State).exchange(State::Free as u64, State::Taken as u64)
        };
        let number = (1..THREADS).find(free)?;
        let last = end();
        let mut seen = last.load();
        while seen <= number as u64 && !last.exchange(seen, number as u64 + 1) {
            seen = last.load();
        }
        Some(Record(number))
    }
}
