//! Runs this process as a rank of the table under load: see [`run_if_rank`].

use std::env;

use syncline::wait::Yield;
use syncline::window::BestEffort;
use syncline_dht::{Coarse, Mode, Options, Table};
use syncline_fabric::{Fabric, Host, Position, Window};

use super::load::Load;

/// The environment variable with a rank's work. If it is set, this process is a rank.
pub const LOAD: &str = "SYNCLINE_BENCH_DHT";
/// The table begins after the words for the ranks' barriers.
const OPTIONS: Options = Options { at: 4096, bytes: None, buckets: 64 };
const MET: Position = Position { rank: 0, at: 0 };

/// The lock of the coarse mode, which has the scheme `full-support`.
type Lock = BestEffort<true, Yield, Window<Host>>;

/// The value of [`LOAD`] for a mode and a load.
pub fn words(mode: &str, load: Load) -> String {
    format!("{mode} {} {} {}", load.entries, load.operations, load.percent)
}

/// Does a rank's work if this process was started as a rank. Returns `None` if it was not.
pub fn run_if_rank() -> Option<anyhow::Result<()>> {
    let words = env::var(LOAD).ok()?;
    Some(run(&words))
}

fn run(words: &str) -> anyhow::Result<()> {
    let mut words = words.split(' ');
    let mode = words.next().unwrap_or_default();
    let mut number = || words.next().unwrap_or_default().parse();
    let load = Load { entries: number()?, operations: number()?, percent: number()? };
    let host = Host::from_environment()?;
    if mode == "fine" {
        return measure(&host, &Table::open(host.clone(), OPTIONS)?, load);
    }
    host.enter(Table::<Host, Coarse<Host, Lock>>::nodes(&host, OPTIONS)?);
    measure(&host, &Table::<_, Coarse<Host, Lock>>::open_coarse(host.clone(), OPTIONS)?, load)
}

/// Runs the load on a table. Rank 0 prints the operations of all ranks per second.
fn measure<M: Mode<Host>>(host: &Host, table: &Table<Host, M>, load: Load) -> anyhow::Result<()> {
    load.fill(table, host.rank(), host.ranks());
    meet(host)?;
    let began = host.now();
    load.run(table, host.rank());
    meet(host)?;
    let seconds = (host.now() - began).as_secs_f64();
    if host.rank() == 0 {
        println!("{:.0}", load.operations as f64 * host.ranks() as f64 / seconds);
    }
    Ok(())
}

fn meet(host: &Host) -> anyhow::Result<()> {
    let ranks = host.ranks() as u64;
    let round = host.add(MET, 1)? / ranks + 1;
    let mut looks = 1;
    while host.load(MET)? < round * ranks {
        host.pause(MET, looks);
        looks += 1;
    }
    Ok(())
}
