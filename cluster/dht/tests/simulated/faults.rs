//! Tables with one fault, each of which must be found.
//!
//! A fault is a layer between the table and its fabric. The table's code is the shipped one, but
//! the layer performs one of the table's operations differently, as if the table had forgotten the
//! operation. The layer recognizes an operation by the words that the operation accesses. The
//! position of a version is a multiple of 64. The lowest 17 bits of a version say which rank holds
//! the bucket, and whether the bucket is being split.

use std::cell::Cell;
use std::panic::{AssertUnwindSafe, catch_unwind};
use std::time::Duration;

use syncline_dht::Table;
use syncline_fabric::{Change, Dead, Fabric, Position, Simulated};

use crate::scene::{self, Scene};

const HOLDER: u64 = 0xffff;
const SPLIT: u64 = 1 << 16;
const ONE: u64 = 1 << 17;

#[derive(Clone, Copy, Debug, PartialEq, Eq)]
enum Fault {
    /// A reader's second read of a version returns the first one again.
    NoSecondLook,
    /// A writer changes the version after it has freed the old entry.
    VersionAfterData,
    /// A writer leaves the version unchanged.
    SameVersion,
    /// An entry may be written after the slot that refers to it.
    NoFlush,
    /// Writers do not lock the bucket.
    Unlocked,
    /// The slots of a new bucket are not written.
    LostResize,
    /// A split is not marked as one.
    SplitUnsaid,
    /// A living rank is reported as dead.
    TakenForDead,
    /// A dead rank is reported as alive.
    TakenToLive,
}

/// A fabric that acts as if its table had forgotten one operation.
struct Faulty {
    fabric: Simulated,
    fault: Fault,
    looked: Cell<Option<(Position, u64)>>,
    late: Cell<Option<(Position, u64)>>,
}

impl Faulty {
    fn new(fabric: Simulated, fault: Fault) -> Faulty {
        Faulty { fabric, fault, looked: Cell::new(None), late: Cell::new(None) }
    }

    fn is_version(at: Position) -> bool {
        at.at.is_multiple_of(64)
    }

    /// Whether this store releases a bucket that was changed, in this operation or before.
    fn lets_go(at: Position, change: Change, value: u64) -> bool {
        let free = value & (HOLDER | SPLIT) == 0 && value >= ONE;
        Faulty::is_version(at) && change == Change::Replace && free
    }

    fn be_late(&self) -> Result<(), Dead> {
        match self.late.take() {
            Some((at, value)) => self.fabric.store(at, value),
            None => Ok(()),
        }
    }
}

impl Fabric for Faulty {
    fn rank(&self) -> usize {
        self.fabric.rank()
    }
    fn ranks(&self) -> usize {
        self.fabric.ranks()
    }
    fn bytes(&self) -> usize {
        self.fabric.bytes()
    }
    fn put(&self, to: Position, bytes: &[u8]) {
        if self.fault == Fault::LostResize && to.at % 64 == 16 && bytes.len() == 48 {
            return;
        }
        self.fabric.put(to, bytes);
    }
    fn get(&self, from: Position, into: &mut [u8]) -> Result<(), Dead> {
        self.fabric.get(from, into)
    }
    fn compare_and_swap(&self, at: Position, old: u64, new: u64) -> Result<u64, Dead> {
        let holds = Faulty::is_version(at) && new & HOLDER == self.rank() as u64 + 1;
        match self.fault {
            Fault::Unlocked if holds => return Ok(old),
            Fault::SplitUnsaid if holds => {
                return self.fabric.compare_and_swap(at, old & !SPLIT, new & !SPLIT);
            }
            _ => {}
        }
        let was = self.fabric.compare_and_swap(at, old, new)?;
        self.be_late()?;
        Ok(was)
    }
    fn fetch_and(&self, at: Position, change: Change, operand: u64) -> Result<u64, Dead> {
        match self.fault {
            Fault::SameVersion if Faulty::lets_go(at, change, operand) => {
                return self.fabric.fetch_and(at, change, operand - ONE);
            }
            Fault::VersionAfterData if Faulty::lets_go(at, change, operand) => {
                self.be_late()?;
                self.late.set(Some((at, operand)));
                return Ok(0);
            }
            Fault::NoSecondLook if Faulty::is_version(at) && change == Change::Keep => {
                if let Some((place, value)) = self.looked.take()
                    && place == at
                {
                    return Ok(value);
                }
                let value = self.fabric.load(at)?;
                self.looked.set(Some((at, value)));
                return Ok(value);
            }
            _ => {}
        }
        self.fabric.fetch_and(at, change, operand)
    }
    fn flush(&self, rank: usize) -> Result<(), Dead> {
        if self.fault == Fault::NoFlush { Ok(()) } else { self.fabric.flush(rank) }
    }
    fn flush_all(&self) {
        self.fabric.flush_all();
    }
    fn pause(&self, at: Position, looks: u32) {
        // An operation that waits for the delayed word would otherwise wait for itself.
        let _ = self.be_late();
        self.fabric.pause(at, looks);
    }
    fn rest(&self, time: Duration) {
        let _ = self.be_late();
        self.looked.take();
        self.fabric.rest(time);
    }
    fn is_alive(&self, rank: usize) -> bool {
        match self.fault {
            Fault::TakenForDead => false,
            Fault::TakenToLive => true,
            _ => self.fabric.is_alive(rank),
        }
    }
    fn machine(&self, rank: usize) -> usize {
        self.fabric.machine(rank)
    }
    fn now(&self) -> Duration {
        self.fabric.now()
    }
}

/// Runs with one seed after another until the fault is found, with at most `MOST` seeds, and prints
/// the seed.
fn finds(fault: Fault) {
    const MOST: u64 = 3000;
    for seed in 0..MOST {
        let scene = Scene::of(seed, fault == Fault::TakenToLive);
        let open =
            |fabric, options| Table::open(Faulty::new(fabric, fault), options).expect("a table");
        let outcome = catch_unwind(AssertUnwindSafe(|| scene::run(scene, open)));
        if !matches!(outcome, Ok(Ok(()))) {
            let how = outcome.map_or("it waits, or panics".to_owned(), |told| {
                let told = told.expect_err("it was found");
                told.lines().next().unwrap_or_default().to_owned()
            });
            println!("{fault:?}: seed {seed}: {how}");
            return;
        }
    }
    panic!("{fault:?} is not found with {MOST} seeds");
}

macro_rules! faults {
    ($($name:ident $fault:ident)*) => { $(
        #[test]
        fn $name() {
            finds(Fault::$fault);
        }
    )* };
}

faults! {
    a_missing_second_look_is_found NoSecondLook
    a_version_after_the_data_is_found VersionAfterData
    a_version_that_stays_is_found SameVersion
    a_missing_flush_is_found NoFlush
    an_unlocked_writer_is_found Unlocked
    a_lost_resize_is_found LostResize
    a_split_that_is_not_said_is_found SplitUnsaid
    a_rank_taken_for_dead_is_found TakenForDead
    a_rank_taken_to_live_is_found TakenToLive
}
