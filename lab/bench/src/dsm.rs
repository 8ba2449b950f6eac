//! Memory that ranks share. The cost of a page is compared with SIGSEGV, `mprotect` and an MPI
//! window for each page, as in the public ArgoDSM. Programs on two ranks are compared with the same
//! programs on two threads, once written for shared memory, and once unmodified.
//!
//! The cost of a page is measured in processor time, since a waiting rank uses its processor too.
//! Between two hosts it is measured in time, since a rank sleeps while a page comes. The hosts are this
//! machine, but their ranks share no memory and reach each other over TCP, and so do the peer's.

use std::fs::Permissions;
use std::os::unix::fs::PermissionsExt;
use std::path::{Path, PathBuf};
use std::process::Command;

use anyhow::Context;
use serde::Serialize;

use crate::compare::{self, Case, Change, Measure, Row, Side};
use crate::lab::{Lab, built};
use crate::process;
use crate::record_overhead::figures;
use crate::size::Size;
use crate::table;

/// The last line of output.
#[derive(Serialize)]
struct Summary {
    miss_ratio: f64,
    upgrade_ratio: f64,
    barrier_ratio: f64,
    clean_barrier_us_per_page: f64,
    line_bandwidth_ratio: f64,
    delegation_ratio: f64,
    programs_worst_ratio: f64,
    unmodified_worst_ratio: f64,
    unmodified_pair_us: f64,
    tcp_miss_ratio: f64,
    tcp_line_miss_ratio: f64,
    tcp_barrier_ratio: f64,
    placed_ratio: f64,
}

/// The fields of the last line, as `--help` describes them.
pub const FIELDS: &str = "
  miss_ratio                processor time of a page's miss over the peer's; no rank has touched it
                            before, so ours includes giving the page its home
  upgrade_ratio             likewise for the first write to a cached page
  barrier_ratio             likewise for a barrier, with 2,000 of 8,192 pages written
  clean_barrier_us_per_page microseconds of a barrier for each cached page that was not written
  line_bandwidth_ratio      bandwidth of misses in lines of 16 pages over that of memcpy
  delegation_ratio          a priority queue's throughput by delegation over the cohort lock's
  programs_worst_ratio      time on 2 ranks over time with 2 threads: the worst of EP, Blackscholes
                            and n-body
  unmodified_worst_ratio    likewise for the programs as they are for threads, run by --unmodified
  unmodified_pair_us        microseconds of a lock and an unlock that no other thread waits for
  tcp_miss_ratio            time of a page's miss over the peer's, if the two ranks reach each other
                            over TCP; half of the pages have their home at the rank that misses
  tcp_line_miss_ratio       likewise for a page of a line of 8 pages
  tcp_barrier_ratio         likewise for a barrier, with 2,000 of 8,192 pages written
  placed_ratio              time of workloads/dsm/heat.c over TCP if each rank's rows have their home
                            at the rank, over the time without that
";

const PAGES: &str = "Pages";
const LINES: &str = "Lines of 16 pages";
const QUEUE: &str = "Priority queue, 2 ranks x 2 threads";
const PROGRAMS: &str = "Programs, 2 ranks";
const UNMODIFIED: &str = "The same, unmodified";
const PAIR: &str = "A lock and an unlock, unmodified";
const TCP: &str = "Pages, over TCP";
const TCP_LINES: &str = "Lines of 8 pages, over TCP";
const PLACED: &str = "A plate of heat, over TCP";

/// The programs, their arguments after the number of threads, and whether the program counts for
/// the worst ratio.
const WORKLOADS: [(&str, [&str; 2], bool); 6] = [
    ("ep", ["W", ""], true),
    ("blackscholes", ["20000", "100"], true),
    ("nbody", ["2048", "10"], true),
    ("lu", ["512", ""], false),
    ("matmul", ["512", ""], false),
    ("cg", ["W", ""], false),
];

struct Made<'a> {
    lab: &'a Lab,
    /// The folder with the command and the library.
    folder: PathBuf,
    /// The root of the source tree.
    root: PathBuf,
}

pub fn run(size: Size) -> anyhow::Result<String> {
    let lab = Lab::new(size)?;
    let files = ["syncline", "libsyncline_dsm.so", "libsyncline_unmodified.so"];
    let folder = built(&files, "-p syncline-cli -p syncline-dsm -p syncline-unmodified")?;
    let root = Path::new(env!("CARGO_MANIFEST_DIR")).join("../..");
    let made = Made { lab: &lab, folder, root };
    let cost = made.root.join("lab/bench/programs/dsm.c");
    let ours = made.compile("cc", &cost, "ours", &[])?;
    let peer = made.compile("mpicc.openmpi", &cost, "peer", &["-DPEER"])?;
    let queue = made.workload("queue", false)?;
    let locks = made.root.join("lab/bench/programs/ranks_pairs.c");
    let locks = made.compile("cc", &locks, "pairs", &["-DPLAIN"])?;
    let heat = made.workload("heat", false)?;
    let hosts = made.hosts()?;
    let over_tcp = |options: &[&str], program: &Path, arguments: &[&str]| {
        let hosts: Vec<&str> = hosts.iter().map(String::as_str).collect();
        made.on_ranks(&[options, &hosts].concat(), program, arguments)
    };
    let pairs = size.pick(1, 3, 15);
    let ratio = |label| Measure { label, change: Change::Ratio, aim: None };
    let mut cases = vec![Case {
        section: PAGES,
        name: "processor time".into(),
        pairs,
        measures: ["miss us", "first write us", "barrier us", "clean us"].map(ratio).into(),
        once: Box::new(|side| {
            let command = match side {
                Side::Baseline => made.by_mpi(&peer),
                Side::Subject => made.on_ranks(&[], &ours, &[]),
            };
            Ok(made.figures(command)?[..4].to_vec())
        }),
    }];
    cases.push(Case {
        section: LINES,
        name: "memcpy, and misses".into(),
        pairs,
        measures: vec![ratio("page us")],
        once: Box::new(|side| {
            let all = made.figures(made.on_ranks(&["--line", "16"], &ours, &["16"]))?;
            Ok(vec![all[if matches!(side, Side::Baseline) { 4 } else { 0 }]])
        }),
    });
    let operations = size.pick("20", "400", "1000");
    cases.push(Case {
        section: QUEUE,
        name: "cohort lock, and delegation".into(),
        pairs,
        measures: vec![ratio("seconds")],
        once: Box::new(|side| {
            let how = if matches!(side, Side::Baseline) { "lock" } else { "with" };
            made.seconds(made.on_ranks(&[], &queue, &["2", operations, how]))
        }),
    });
    for (section, step) in [(TCP, "1"), (TCP_LINES, "8")] {
        let (made, peer, ours, over_tcp) = (&made, &peer, &ours, &over_tcp);
        cases.push(Case {
            section,
            name: "time".into(),
            pairs,
            measures: ["miss us", "first write us", "barrier us"].map(ratio).into(),
            once: Box::new(move |side| {
                let command = match side {
                    Side::Baseline => made.by_mpi_over_tcp(peer),
                    Side::Subject => over_tcp(&["--line", step], ours, &[step, "time"]),
                };
                Ok(made.figures(command)?[..3].to_vec())
            }),
        });
    }
    cases.push(Case {
        section: PLACED,
        name: "interleaved homes, and rows at their ranks".into(),
        pairs,
        measures: vec![ratio("seconds")],
        once: Box::new(|side| {
            let how = if matches!(side, Side::Baseline) { "interleaved" } else { "placed" };
            let words = ["1", "512", size.pick("5", "50", "200"), how];
            made.seconds(over_tcp(&["--cache", "1M"], &heat, &words))
        }),
    });
    for (name, arguments, _) in WORKLOADS {
        let (plain, shared) = (made.workload(name, true)?, made.workload(name, false)?);
        let small = if name == "ep" || name == "cg" { "S" } else { "128" };
        let arguments = match size {
            Size::Smoke => [small, ""],
            _ => arguments,
        };
        let (made, threads) = (&made, plain.clone());
        cases.push(Case {
            section: PROGRAMS,
            name: name.into(),
            pairs: pairs.min(5),
            measures: vec![ratio("seconds")],
            once: Box::new(move |side| {
                let given = arguments.into_iter().filter(|one| !one.is_empty());
                made.seconds(match side {
                    Side::Baseline => {
                        let all: Vec<&str> = std::iter::once("2").chain(given).collect();
                        made.unmodified(side, &threads, &all)
                    }
                    Side::Subject => {
                        let all: Vec<&str> = std::iter::once("1").chain(given).collect();
                        made.on_ranks(&[], &shared, &all)
                    }
                })
            }),
        });
        cases.push(Case {
            section: UNMODIFIED,
            name: name.into(),
            pairs: pairs.min(5),
            measures: vec![ratio("seconds")],
            once: Box::new(move |side| {
                let given = arguments.into_iter().filter(|one| !one.is_empty());
                let all: Vec<&str> = std::iter::once("2").chain(given).collect();
                made.seconds(made.unmodified(side, &plain, &all))
            }),
        });
    }
    cases.push(Case {
        section: PAIR,
        name: "on threads, and on 2 ranks".into(),
        pairs,
        measures: vec![ratio("seconds for 10,000")],
        once: Box::new(|side| made.seconds(made.unmodified(side, &locks, &["10000"]))),
    });
    let rows = compare::run(cases)?;
    println!("Shared memory over ranks: peers (SIGSEGV and MPI, memcpy, lock, threads), and ours");
    table::print("the other", "ours", &rows);
    println!();
    summary(&rows)
}

/// The largest ratio of the rows.
fn worst<'a>(rows: impl Iterator<Item = &'a Row>) -> f64 {
    rows.map(|row| row.change().median).fold(0.0, f64::max)
}

fn summary(rows: &[Row]) -> anyhow::Result<String> {
    let rounded = |value: f64| (value * 1e4).round() / 1e4;
    let of = |section: &'static str| rows.iter().filter(move |row| row.section == section);
    let number = |section, at: usize| {
        let row = of(section).nth(at).context("a row for each measure")?;
        anyhow::Ok(rounded(row.change().median))
    };
    let counts = |name: &str| WORKLOADS.iter().any(|known| known.0 == name && known.2);
    let programs = of(PROGRAMS).filter(|row| counts(&row.case));
    let unmodified = of(UNMODIFIED).filter(|row| counts(&row.case));
    let pair = of(PAIR).next().context("a row for the pair")?.subject();
    let clean = of(PAGES).nth(3).context("a row for each measure")?.subject();
    Ok(serde_json::to_string(&Summary {
        miss_ratio: number(PAGES, 0)?,
        upgrade_ratio: number(PAGES, 1)?,
        barrier_ratio: number(PAGES, 2)?,
        clean_barrier_us_per_page: rounded(clean),
        line_bandwidth_ratio: rounded(1.0 / number(LINES, 0)?),
        delegation_ratio: rounded(1.0 / number(QUEUE, 0)?),
        programs_worst_ratio: rounded(worst(programs)),
        unmodified_worst_ratio: rounded(worst(unmodified)),
        unmodified_pair_us: rounded(pair * 1e6 / 1e4),
        tcp_miss_ratio: number(TCP, 0)?,
        tcp_line_miss_ratio: number(TCP_LINES, 0)?,
        tcp_barrier_ratio: number(TCP, 2)?,
        placed_ratio: number(PLACED, 0)?,
    })?)
}

impl Made<'_> {
    fn compile(
        &self,
        compiler: &str,
        source: &Path,
        name: &str,
        flags: &[&str],
    ) -> anyhow::Result<PathBuf> {
        let program = self.lab.path(name);
        let mut command = Command::new(compiler);
        command.args(["-std=gnu11", "-O2", "-o"]).arg(&program).arg(source).args(flags);
        if flags.is_empty() {
            command.arg("-I").arg(self.root.join("cluster/dsm/include"));
            command.arg("-L").arg(&self.folder).arg("-lsyncline_dsm");
            command.arg(format!("-Wl,-rpath,{}", self.folder.display()));
        }
        command.args(["-lpthread", "-lm"]);
        process::run(command, self.lab.folder(), "compiler")
            .with_context(|| format!("{compiler}; `./x setup` installs what it takes"))?;
        Ok(program)
    }

    fn workload(&self, name: &str, plain: bool) -> anyhow::Result<PathBuf> {
        let source = self.root.join("workloads/dsm").join(name).with_extension("c");
        match plain {
            true => self.compile("cc", &source, &format!("plain-{name}"), &["-DPLAIN"]),
            false => self.compile("cc", &source, name, &[]),
        }
    }

    fn on_ranks(&self, options: &[&str], program: &Path, arguments: &[&str]) -> Command {
        let mut command = Command::new(self.folder.join("syncline"));
        command.args(["cluster", "-n", "2", "--memory", "64M"]).args(options);
        command.arg("--").arg(program).args(arguments);
        command
    }

    /// The program on threads, or unmodified on ranks.
    fn unmodified(&self, side: Side, program: &Path, arguments: &[&str]) -> Command {
        match side {
            Side::Baseline => {
                let mut command = Command::new(program);
                command.args(arguments);
                command
            }
            Side::Subject => self.on_ranks(&["--unmodified"], program, arguments),
        }
    }

    fn by_mpi(&self, program: &Path) -> Command {
        let mut command = Command::new("mpirun.openmpi");
        command.args(["--oversubscribe", "--bind-to", "none", "-n", "2"]).arg(program);
        command.env("OMPI_ALLOW_RUN_AS_ROOT", "1").env("OMPI_ALLOW_RUN_AS_ROOT_CONFIRM", "1");
        command
    }

    /// Like [`by_mpi`](Self::by_mpi), but with messages over TCP only, and the peer prints figures of time.
    fn by_mpi_over_tcp(&self, program: &Path) -> Command {
        let mut command = self.by_mpi(program);
        command.args(["1", "time"]).env("OMPI_MCA_btl", "tcp,self").env("OMPI_MCA_osc", "pt2pt");
        command
    }

    /// Options of `syncline cluster` for two hosts that are this machine.
    fn hosts(&self) -> anyhow::Result<[String; 4]> {
        let (file, shell) = (self.lab.path("hosts"), self.lab.path("rsh"));
        std::fs::write(&file, "localhost\nother\n")?;
        // It takes the place of `ssh`, and runs the command here.
        std::fs::write(&shell, "#!/bin/sh\nexec sh -c \"$2\"\n")?;
        std::fs::set_permissions(&shell, Permissions::from_mode(0o755))?;
        let name = |path: PathBuf| path.to_string_lossy().into_owned();
        Ok(["--hosts".into(), name(file), "--rsh".into(), name(shell)])
    }

    fn figures(&self, command: Command) -> anyhow::Result<Vec<f64>> {
        let all = figures(&process::run(command, self.lab.folder(), "dsm")?.stdout)?;
        anyhow::ensure!(all.len() == 5, "five figures were expected: {all:?}");
        Ok(all)
    }

    /// The seconds that a workload prints, as in `name: verified, 0.5 s`.
    fn seconds(&self, command: Command) -> anyhow::Result<Vec<f64>> {
        let finished = process::run(command, self.lab.folder(), "dsm")?;
        let said = std::fs::read_to_string(&finished.stdout)?;
        let time = said.split_once(": verified, ").and_then(|said| said.1.strip_suffix(" s\n"));
        let time = time.with_context(|| format!("not verified: {said}"))?;
        Ok(vec![time.parse()?])
    }
}
