//! The cost of interposition: `syncline exec` compared with a program that was built with the lock.
//!
//! The baseline is a C program in which a header turns mutexes into the catalogue's lock, through
//! the C interface. The subject is the same source with POSIX mutexes, which `syncline exec`
//! replaces with that lock. So both sides wait in the same way, and differ only in how they reach
//! the lock. The subject reaches it through a symbol of a preloaded library and POSIX' rules, the
//! baseline through the C interface, which records owners. The literature's figure for
//! interposition is 5 %.
//!
//! A program that is linked statically with the lock calls the lock without a detour through the
//! loader's tables, and finds its thread-local words without a call. The benchmark also shows the
//! comparison with such a program, but does not count it, since no interposed function can be
//! called that way. It also shows the cost of leaving a mutex to the C library, relative to the
//! program without Syncline: this is the detour alone, with the same lock on both sides.
//!
//! The memory is that of 300,000 mutexes, each used once, without the bytes of the objects
//! themselves.

use std::os::unix::fs::symlink;
use std::path::{Path, PathBuf};
use std::process::Command;

use anyhow::Context;
use serde::Serialize;

use crate::compare::{self, Case, Change, Measure, Row, Side};
use crate::lab::{Lab, built};
use crate::process;
use crate::record_overhead::figures;
use crate::size::Size;
use crate::statistics::median;
use crate::table;

const LOCK: &str = "gate";
/// The value for no lock: all objects are left to the C library.
const NONE: &str = "libc";
const SHARED: &str = "Compared with the shared library";
const STATIC: &str = "Compared with the static library, for information";
const LEFT: &str = "Compared with the C library's own mutex, and left to it, for information";
const TIME: &str = "ns";
const WALL: &str = "ms";
const LOCKS: u32 = 300_000;
/// The file name under which a program looks for the shared library.
const INSTALLED: &str = "libsyncline.so.0.1";
/// The literature's figure for an interposing library (H. Guiroux, R. Lachaize and V. Quéma,
/// "Multicore Locks: The Case Is Not Closed Yet", ATC 2016).
const AIM: f64 = 1.05;

/// The last line of output.
#[derive(Serialize)]
struct Summary {
    /// The time with interposition over the time of a program built with the lock, as a geometric
    /// mean.
    exec_ratio: f64,
    /// The bytes of memory that a replaced lock adds.
    bytes_per_lock: f64,
}

/// The fields of the last line, as `--help` describes them.
pub const FIELDS: &str = "
  exec_ratio      time under `syncline exec` over the time of the same program built with the
                  lock, geometric mean over all cases
  bytes_per_lock  memory that a replaced lock takes beyond the program's own object, of 300,000
";

pub fn run(size: Size) -> anyhow::Result<String> {
    let lab = Lab::new(size)?;
    let programs = Programs::build(&lab)?;
    let rows = compare::run(programs.cases())?;
    let counted = |row: &&Row| row.section == SHARED;
    let mean = Row::mean("geometric mean", &rows.iter().filter(counted).collect::<Vec<_>>());
    let exec_ratio = mean.change().median;
    println!("Interposing: a program built with {LOCK}, and one whose mutexes are replaced by it");
    let rows: Vec<Row> = rows.into_iter().chain([mean]).collect();
    table::print("built with it", "replaced", &rows);
    let bytes_per_lock = programs.bytes_per_lock()?;
    println!(
        "\n{LOCKS} replaced mutexes take {bytes_per_lock:.2} bytes each in addition to their own\n"
    );
    Ok(serde_json::to_string(&Summary {
        exec_ratio: (exec_ratio * 1e4).round() / 1e4,
        bytes_per_lock: (bytes_per_lock * 1e3).round() / 1e3,
    })?)
}

/// The executables that are built from one source.
struct Compiled {
    shared: PathBuf,
    linked: PathBuf,
    plain: PathBuf,
}

struct Programs<'a> {
    lab: &'a Lab,
    syncline: PathBuf,
    pair: Compiled,
    low_contention: Compiled,
    many: PathBuf,
}

impl Programs<'_> {
    fn build(lab: &Lab) -> anyhow::Result<Programs<'_>> {
        let files = ["syncline", "libsyncline_replace.so", "libsyncline_c.so", "libsyncline_c.a"];
        let folder = built(&files, "-p syncline-cli -p syncline-replace -p syncline-capi")?;
        let compiled = |name: &str, text: &str| -> anyhow::Result<Compiled> {
            let with = |library: &str| built_with_the_lock(lab, &folder.join(library), name, text);
            let (shared, linked) = (with("libsyncline_c.so")?, with("libsyncline_c.a")?);
            Ok(Compiled { shared, linked, plain: lab.compile(name, text)? })
        };
        Ok(Programs {
            lab,
            syncline: folder.join("syncline"),
            pair: compiled("pair", include_str!("../../programs/pair.c"))?,
            low_contention: compiled(
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
        let pair = |threads: u32| format!("lock {threads} {batches} 2000");
        let seldom = ("256 locks, seldom met", rounds.to_string(), (WALL, 1e6));
        let mut cases = Vec::new();
        for section in [SHARED, STATIC, LEFT] {
            for (threads, name) in
                [(1, "lock + unlock, one thread"), (2, "lock + unlock, two threads")]
            {
                let what = (name, pair(threads), (TIME, 1.0));
                cases.push(self.case(section, &self.pair, what));
            }
            cases.push(self.case(section, &self.low_contention, seldom.clone()));
        }
        cases
    }

    /// A case for the program with these arguments. The first number that the program prints is
    /// nanoseconds; `unit` is the number of nanoseconds in the measure's unit.
    fn case<'a>(
        &'a self,
        section: &'static str,
        compiled: &'a Compiled,
        (name, arguments, (label, unit)): (&str, String, (&'static str, f64)),
    ) -> Case<'a> {
        let aim = (section == SHARED).then_some(AIM);
        let (built, lock) = match section {
            SHARED => (&compiled.shared, LOCK),
            STATIC => (&compiled.linked, LOCK),
            _ => (&compiled.plain, NONE),
        };
        Case {
            section,
            name: name.to_owned(),
            pairs: self.lab.size.pick(1, 9, 31),
            measures: vec![Measure { label, change: Change::Ratio, aim }],
            once: Box::new(move |side| {
                let mut command = match side {
                    Side::Baseline => Command::new(built),
                    Side::Subject => self.exec(lock, &compiled.plain),
                };
                command.args(arguments.split(' '));
                let numbers = self.numbers(command)?;
                Ok(numbers.into_iter().take(1).map(|number| number / unit).collect())
            }),
        }
    }

    fn numbers(&self, command: Command) -> anyhow::Result<Vec<f64>> {
        figures(&process::run(command, self.lab.folder(), "case")?.stdout)
    }

    fn exec(&self, lock: &str, program: &Path) -> Command {
        let mut command = Command::new(&self.syncline);
        command.args(["exec", "--lock", lock, "--"]).arg(program);
        command
    }

    /// The bytes for each lock by which the program's memory grows more than with the C library's
    /// locks.
    fn bytes_per_lock(&self) -> anyhow::Result<f64> {
        let growth = |mut command: Command| -> anyhow::Result<f64> {
            command.arg(LOCKS.to_string());
            let printed = process::run(command, self.lab.folder(), "many")?.stdout;
            figures(&printed)?.first().copied().context("a number of bytes")
        };
        let rounds = self.lab.size.pick(1, 3, 9);
        let added: anyhow::Result<Vec<f64>> = (0..rounds)
            .map(|_| Ok(growth(self.exec(LOCK, &self.many))? - growth(Command::new(&self.many))?))
            .collect();
        Ok(median(&added?) / f64::from(LOCKS))
    }
}

/// The executable of a source that is compiled with this library's lock, from a shared or a static
/// library.
fn built_with_the_lock(
    lab: &Lab,
    library: &Path,
    name: &str,
    text: &str,
) -> anyhow::Result<PathBuf> {
    let include = Path::new(env!("CARGO_MANIFEST_DIR")).join("../../library/capi/include");
    let header = lab.path("with_syncline.h");
    std::fs::write(&header, include_str!("../../programs/with_syncline.h"))?;
    let is_shared = library.extension().is_some_and(|ending| ending == "so");
    if is_shared && !lab.path(INSTALLED).exists() {
        symlink(library, lab.path(INSTALLED))?;
    }
    let [include, header, library, folder] = [include.as_path(), &header, library, lab.folder()]
        .map(|path: &Path| path.display().to_string());
    let run_path = format!("-Wl,-rpath,{folder}");
    // Without `--no-as-needed`, the linker drops a library that precedes the source that needs it.
    let (before, after) = ("-Wl,--no-as-needed,--whole-archive", "-Wl,--no-whole-archive,-lm");
    let options = ["-I", &include, "-include", &header, before, &library, after, &run_path];
    lab.compile_with(
        &options,
        &format!("{name}_{}", if is_shared { "shared" } else { "static" }),
        text,
    )
}
