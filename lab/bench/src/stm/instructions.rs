//! Tests the number of instructions for reading a cell in a transaction that runs side by side with
//! others.

use syncline::stm::{Engine, Session, Shared, TCell};

use crate::locks::instructions::traced;

const READS: usize = 16;
/// The most instructions per read: those of the loop and the sum, and a few that may depend on the
/// compiler.
const MOST: usize = 24;

#[test]
fn a_read_pays_nothing_for_other_ways_to_run() {
    let engine = Shared::default();
    let cells: Vec<_> = (0..2 * READS as u64).map(|number| engine.cell(number)).collect();
    // Transactions run side by side as long as no pace has been measured. These few transactions
    // are not enough for a measurement of the pace.
    let mut session = Session::new(&engine);
    // The first run is not recorded, since the log grows in it.
    sum(&mut session, &cells);
    let few = traced(|| _ = sum(&mut session, &cells[..READS])).len();
    let many = traced(|| _ = sum(&mut session, &cells)).len();
    let each = (many - few) / READS;
    println!("{each} instructions for each read");
    assert!((10..=MOST).contains(&each), "{each} instructions for each read, not at most {MOST}");
}

#[inline(never)]
fn sum(session: &mut Session<'_, Shared>, cells: &[TCell<u64>]) -> u64 {
    session.atomically(|tx| {
        let mut sum = 0;
        for cell in cells {
            sum += cell.get(tx)?;
        }
        Ok(sum)
    })
}
