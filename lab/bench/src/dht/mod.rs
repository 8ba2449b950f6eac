//! Compares the distributed hash table, on ranks of this machine, with:
//!
//! - the same table written plainly in C over MPI, with a window's lock around each operation;
//! - its own coarse mode, which locks in the same way, but with a lock of ours;
//! - the library's table in threads of one process, which is not divided among ranks.
//!
//! There are 4 ranks, keys and values have 8 bytes, and 95 % of the operations are reads, on random
//! keys. The result of each side is the number of operations of all ranks per second. The benchmark
//! says nothing about machines with more processors, or about a network.

mod load;
mod peers;
mod rank;

use std::fs::{self, File};
use std::path::{Path, PathBuf};
use std::process::{Command, Stdio};
use std::sync::Barrier;
use std::thread;
use std::time::Instant;

use anyhow::Context;
use serde::Serialize;
use syncline_fabric::Host;

use self::load::{Flat, Load};
pub use self::rank::run_if_rank;
use crate::lab::Lab;
use crate::process;
use crate::rounds::{self, Once};
use crate::size::Size;
use crate::statistics::{Spread, spread};

const RANKS: usize = 4;
const PERCENT: u64 = 95;
/// The size of each rank's part in bytes.
const BYTES: usize = 64 << 20;

/// The last line of output.
#[derive(Serialize)]
struct Summary {
    plain_ratio: f64,
    coarse_ratio: f64,
    host_table_ratio: f64,
}

/// The fields of the last line, as `--help` describes them.
pub const FIELDS: &str = "
  Ratios are operations a second of 4 ranks, 95 % reads, ours over the other's: more is better. Each
  is the median over rounds in which all sides run in turn; the worse of two sizes.

  plain_ratio       over the same table written plainly in C over MPI (Open MPI), with
                    MPI_Win_lock around each operation
  coarse_ratio      over our own coarse mode, under `full-support`
  host_table_ratio  over the library's FlatTable in 4 threads of one process
";

/// A side of the comparison: its name, and a function that runs it once.
type Side<'a> = (String, Once<'a, f64>);

pub fn run(size: Size) -> anyhow::Result<String> {
    run_with(size, None)
}

/// Runs the benchmark. If `peers` is a folder, the programs that it describes run in turn with
/// ours.
pub fn run_with(size: Size, peers: Option<&Path>) -> anyhow::Result<String> {
    let lab = Lab::new(size)?;
    let plain = compile(&lab)?;
    let described = peers.map(peers::read).transpose()?.unwrap_or_default();
    let rounds = size.pick(1, 5, 21);
    let operations = size.pick(300, 400_000, 2_000_000);
    println!(
        "{RANKS} ranks; million operations a second: median of {rounds} rounds, with its 95 % interval"
    );
    let mut worst = [f64::INFINITY; 3];
    for entries in size.pick(&[100][..], &[10_000, 300_000], &[10_000, 300_000]) {
        let load = Load { entries: *entries, operations, percent: PERCENT };
        // The table over MPI is much slower. It does fewer operations, so that each side takes
        // about a second.
        let slower = Load { operations: size.pick(20, 20_000, 100_000), ..load };
        let mut sides: Vec<Side<'_>> = vec![
            ("syncline-dht".to_owned(), Box::new(|| processes(&lab, "fine", load))),
            ("plain C over Open MPI".to_owned(), Box::new(|| over_mpi(&lab, &plain, slower))),
            ("our coarse mode".to_owned(), Box::new(|| processes(&lab, "coarse", load))),
            ("FlatTable in threads".to_owned(), Box::new(|| Ok(threads(load)))),
        ];
        for peer in &described {
            sides.push((peer.name.clone(), Box::new(|| peer.run(&lab))));
        }
        let ratios = compare(&format!("{entries} entries"), sides, rounds)?;
        for (worst, ratio) in worst.iter_mut().zip(ratios) {
            *worst = ratio.min(*worst);
        }
    }
    println!();
    let [plain_ratio, coarse_ratio, host_table_ratio] = worst.map(|r| (r * 1e4).round() / 1e4);
    Ok(serde_json::to_string(&Summary { plain_ratio, coarse_ratio, host_table_ratio })?)
}

/// Runs all sides in turn, and prints the results. Returns the ratios of the first side's results
/// to those of the other sides.
fn compare(title: &str, sides: Vec<Side<'_>>, rounds: usize) -> anyhow::Result<Vec<f64>> {
    let (names, mut sides): (Vec<_>, Vec<_>) = sides.into_iter().unzip();
    let bar = rounds::bar((sides.len() * (rounds + 1)) as u64)?.with_message(title.to_owned());
    let results = rounds::run(&mut sides, rounds, &bar, 1)?;
    bar.finish_and_clear();
    println!("\n{title:<36}{:>9}{:>20}{:>12}{:>18}", "M/s", "95 %", "ours over it", "95 %");
    let mut ratios = Vec::new();
    for (name, speeds) in names.iter().zip(&results) {
        let Spread { median, low, high } = spread(speeds);
        let speeds_line = format!("{:.2} .. {:.2}", low / 1e6, high / 1e6);
        let each: Vec<f64> = results[0].iter().zip(speeds).map(|(ours, it)| ours / it).collect();
        let ratio = spread(&each);
        let ratio_line = format!("{:.2} .. {:.2}", ratio.low, ratio.high);
        println!(
            "  {name:<34}{:>9.2}{speeds_line:>20}{:>12.2}{ratio_line:>18}",
            median / 1e6,
            ratio.median
        );
        ratios.push(ratio.median);
    }
    ratios.remove(0);
    Ok(ratios)
}

/// Runs the ranks as processes of this program.
fn processes(lab: &Lab, mode: &str, load: Load) -> anyhow::Result<f64> {
    let program = std::env::current_exe().context("this executable has no path")?;
    let output = lab.path("rank.out");
    let file = File::create(&output)?;
    let mut job = Host::launch(RANKS, BYTES, |rank| {
        let mut command = Command::new(&program);
        command.arg("dht").env(rank::LOAD, rank::words(mode, load)).stdin(Stdio::null());
        match file.try_clone() {
            Ok(file) if rank == 0 => command.stdout(file),
            _ => command.stdout(Stdio::null()),
        };
        command
    })?;
    let statuses = job.wait()?;
    anyhow::ensure!(statuses.iter().all(|status| status.success()), "a rank failed: {statuses:?}");
    first_number(&output)
}

fn compile(lab: &Lab) -> anyhow::Result<PathBuf> {
    fs::write(lab.path("common.h"), include_str!("../../programs/common.h"))?;
    let (text, result) = (lab.path("dht.c"), lab.path("dht"));
    fs::write(&text, include_str!("../../programs/dht.c"))?;
    let mut compiler = Command::new("mpicc.openmpi");
    compiler.args(["-std=gnu11", "-O2", "-o"]).arg(&result).arg(&text);
    process::run(compiler, lab.folder(), "mpicc")
        .context("compiling dht.c; `./x setup` installs what it takes")?;
    Ok(result)
}

fn over_mpi(lab: &Lab, program: &Path, load: Load) -> anyhow::Result<f64> {
    let mut command = Command::new("mpirun.openmpi");
    command.args(["--oversubscribe", "--bind-to", "none", "--mca", "mpi_yield_when_idle", "1"]);
    command.args(["-n", &RANKS.to_string()]).arg(program);
    command.args([load.entries, load.operations, load.percent].map(|number| number.to_string()));
    command.env("OMPI_ALLOW_RUN_AS_ROOT", "1").env("OMPI_ALLOW_RUN_AS_ROOT_CONFIRM", "1");
    first_number(&process::run(command, lab.folder(), "dht")?.stdout)
}

fn first_number(file: &Path) -> anyhow::Result<f64> {
    let text = fs::read_to_string(file)?;
    let number = text.split_whitespace().next().and_then(|word| word.parse().ok());
    number.with_context(|| format!("no number of operations in `{}`", text.trim_end()))
}

/// Runs as many threads as there are ranks, on one shared table.
fn threads(load: Load) -> f64 {
    let (table, barrier) = (Flat::default(), Barrier::new(RANKS + 1));
    let seconds = thread::scope(|scope| {
        let (table, barrier) = (&table, &barrier);
        let threads: Vec<_> = (0..RANKS)
            .map(|rank| {
                scope.spawn(move || {
                    load.fill(table, rank, RANKS);
                    barrier.wait();
                    load.run(table, rank);
                })
            })
            .collect();
        barrier.wait();
        let began = Instant::now();
        threads.into_iter().for_each(|thread| thread.join().expect("a table panics"));
        began.elapsed().as_secs_f64()
    });
    load.operations as f64 * RANKS as f64 / seconds
}
