//! What interposing costs: `syncline exec` against a program that was built with the lock.
//!
//! The baseline is a C program whose mutexes are, by a header, the catalogue's lock through the C
//! interface; the subject is the same text with POSIX mutexes, which `syncline exec` replaces by
//! that lock. So both sides wait in the same way, and what differs is how they get to it: the
//! subject through a symbol of a preloaded library and POSIX' rules, the baseline through the C
//! interface, which notes owners. The literature's figure for interposing is 5 %.
//!
//! Memory is that of 300,000 mutexes, used once each, beyond the objects' own bytes.

use std::path::{Path, PathBuf};
use std::process::Command;

use anyhow::Context;
use serde::Serialize;

use crate::Size;
use crate::compare::{self, Case, Change, Measure, Row, Side};
use crate::lab::{Lab, executables};
use crate::process;
use crate::record_overhead::figures;
use crate::statistics::median;
use crate::table;

const LOCK: &str = "gate";
const TIME: &str = "ns";
const WALL: &str = "ms";
const LOCKS: u32 = 300_000;
/// The literature's figure: V. Trigonakis' and others' libraries that interpose cost up to 5 %
/// (H. Guiroux, R. Lachaize and V. Quéma, "Multicore Locks: The Case Is Not Closed Yet", ATC 2016).
const AIM: f64 = 1.05;

/// The last line of output.
#[derive(Serialize)]
struct Summary {
    /// Time with interposing over time of a program built with the lock; geometric mean.
    exec_ratio: f64,
    /// Bytes of memory that a replaced lock adds.
    bytes_per_lock: f64,
}

/// The same for `--help`.
pub const FIELDS: &str = "
  exec_ratio      time under `syncline exec` over the time of the same program built with the
                  lock, geometric mean over all cases
  bytes_per_lock  memory that a replaced lock takes beyond the program's own object, of 300,000
";

pub fn run(size: Size) -> anyhow::Result<String> {
    let lab = Lab::new(size)?;
    let programs = Programs::build(&lab)?;
    let rows = compare::run(programs.cases())?;
    let mean = Row::mean("geometric mean", &rows.iter().collect::<Vec<_>>());
    let exec_ratio = mean.change().median;
    println!("Interposing: a program built with {LOCK}, and one whose mutexes are replaced by it");
    let rows: Vec<Row> = rows.into_iter().chain([mean]).collect();
    table::print("built with it", "replaced", &rows);
    let bytes_per_lock = programs.bytes_per_lock()?;
    println!("\n{LOCKS} replaced mutexes take {bytes_per_lock:.2} bytes each beside their own\n");
    Ok(serde_json::to_string(&Summary {
        exec_ratio: (exec_ratio * 1e4).round() / 1e4,
        bytes_per_lock: (bytes_per_lock * 1e3).round() / 1e3,
    })?)
}

/// A text, compiled both ways.
struct Both {
    built: PathBuf,
    plain: PathBuf,
}

struct Programs<'a> {
    lab: &'a Lab,
    syncline: PathBuf,
    pair: Both,
    low_contention: Both,
    many: PathBuf,
}

impl Programs<'_> {
    fn build(lab: &Lab) -> anyhow::Result<Programs<'_>> {
        let folder = executables()?;
        for name in ["syncline", "libsyncline_replace.so", "libsyncline_c.so"] {
            anyhow::ensure!(
                folder.join(name).is_file(),
                "{name} is not in {}; build it with the same profile as this benchmark: cargo \
                 build [--release] -p syncline-cli -p syncline-replace -p syncline-capi",
                folder.display()
            );
        }
        let both = |name: &str, text: &str| -> anyhow::Result<Both> {
            let plain = lab.compile(name, text)?;
            Ok(Both { built: built_with_the_lock(lab, &folder, name, text)?, plain })
        };
        Ok(Programs {
            lab,
            syncline: folder.join("syncline"),
            pair: both("pair", include_str!("../../programs/pair.c"))?,
            low_contention: both(
                "low_contention",
                include_str!("../../programs/low_contention.c"),
            )?,
            many: lab.compile("many_locks", include_str!("../../programs/many_locks.c"))?,
        })
    }

    fn cases(&self) -> Vec<Case<'_>> {
        let size = self.lab.size;
        let batches: u32 = size.pick(5, 500, 2000);
        let rounds: u32 = size.pick(1000, 1_000_000, 10_000_000);
        let pair = |threads: u32| vec!["lock".into(), threads.to_string(), batches.to_string(), "2000".into()];
        let cases: [(&str, &Both, Vec<String>, &'static str, f64); 3] = [
            ("lock + unlock, one thread", &self.pair, pair(1), TIME, 1.0),
            ("lock + unlock, two threads", &self.pair, pair(2), TIME, 1.0),
            ("256 locks, low contention", &self.low_contention, vec![rounds.to_string()], WALL, 1e6),
        ];
        let case = |(name, both, arguments, label, scale): (&str, _, _, _, f64)| Case {
            section: "Time",
            name: name.to_owned(),
            pairs: size.pick(1, 9, 31),
            measures: vec![Measure { label, change: Change::Ratio, aim: Some(AIM) }],
            once: Box::new(move |side| {
                let numbers = self.numbers(side, both, &arguments)?;
                Ok(numbers.into_iter().take(1).map(|number| number / scale).collect())
            }),
        };
        cases.into_iter().map(case).collect()
    }

    fn numbers(&self, side: Side, both: &Both, arguments: &[String]) -> anyhow::Result<Vec<f64>> {
        let mut command = match side {
            Side::Baseline => Command::new(&both.built),
            Side::Subject => self.exec(&both.plain),
        };
        command.args(arguments);
        figures(&process::run(command, self.lab.folder(), "case")?.stdout)
    }

    fn exec(&self, program: &Path) -> Command {
        let mut command = Command::new(&self.syncline);
        command.args(["exec", "--lock", LOCK, "--"]).arg(program);
        command
    }

    /// By how much the memory of the program grows more than with the C library's own locks.
    fn bytes_per_lock(&self) -> anyhow::Result<f64> {
        let growth = |mut command: Command| -> anyhow::Result<f64> {
            command.arg(LOCKS.to_string());
            let printed = process::run(command, self.lab.folder(), "many")?.stdout;
            figures(&printed)?.first().copied().context("a number of bytes")
        };
        let rounds = self.lab.size.pick(1, 3, 9);
        let added: anyhow::Result<Vec<f64>> = (0..rounds)
            .map(|_| Ok(growth(self.exec(&self.many))? - growth(Command::new(&self.many))?))
            .collect();
        Ok(median(&added?) / f64::from(LOCKS))
    }
}

fn built_with_the_lock(
    lab: &Lab,
    libraries: &Path,
    name: &str,
    text: &str,
) -> anyhow::Result<PathBuf> {
    let include = Path::new(env!("CARGO_MANIFEST_DIR")).join("../syncline-capi/include");
    let header = lab.path("with_syncline.h");
    std::fs::write(&header, include_str!("../../programs/with_syncline.h"))?;
    // The library comes after the text that needs it; as one argument each, options may not.
    let (include, header) = (include.display().to_string(), header.display().to_string());
    let library = libraries.join("libsyncline_c.so").display().to_string();
    let run_path = format!("-Wl,-rpath,{}", libraries.display());
    let options = ["-I", &include, "-include", &header, "-Wl,--no-as-needed", &library, &run_path];
    lab.compile_with(&options, &format!("{name}_built"), text)
}
