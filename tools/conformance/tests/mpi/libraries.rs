//! The MPI libraries that the tests run on, and how to run a program on each of them.

use std::process::Command;
use std::thread;
use std::time::Duration;

use syncline_conformance::{
    Outcome, Program, beside_tests, is_root, mpi_library, run_limited, scratch, syncline,
};
use tempfile::TempDir;

/// The longest time that a scene may take while half a dozen scenes run at the same time.
pub const LIMIT: Duration = Duration::from_secs(240);

/// The names of Syncline's schemes, and `library`, which leaves a window's locks to the MPI
/// library.
pub const SCHEMES: [&str; 9] = [
    "full-support",
    "best-effort",
    "writer-precedence",
    "reader-precedence",
    "fair",
    "hierarchical",
    "message-deferred",
    "message-immediate",
    "library",
];

/// An MPI library. `flags` are the arguments that its starter, `mpirun`, always gets. If the
/// library is one of Debian's packages, `name` is the suffix of its commands' names.
pub struct Mpi {
    pub name: &'static str,
    /// The folder of a library that `./x setup --mpi` has fetched, and the name of the compiler in
    /// it; `None` for Debian's packages.
    newer: Option<(&'static str, &'static str)>,
    pub flags: &'static [&'static str],
    /// Arguments that a test adds.
    pub more: &'static [&'static str],
}

/// Open MPI. Without these flags it refuses more ranks than processors, and polls without a pause.
pub const OPEN_MPI: Mpi = Mpi {
    name: "openmpi",
    newer: None,
    flags: &["--oversubscribe", "--bind-to", "none", "--mca", "mpi_yield_when_idle", "1"],
    more: &[],
};
/// Open MPI with windows over messages: the target of an operation has to take part in it.
const BY_MESSAGES: Mpi = Mpi {
    name: "openmpi",
    newer: None,
    flags: &[
        "--oversubscribe",
        "--bind-to",
        "none",
        "--mca",
        "mpi_yield_when_idle",
        "1",
        "--mca",
        "osc",
        "pt2pt",
    ],
    more: &[],
};
const MPICH: Mpi = Mpi { name: "mpich", newer: None, flags: &[], more: &[] };
const NEWER: [Mpi; 3] = [
    Mpi { name: "openmpi 5", newer: Some(("openmpi", "mpicc")), flags: OPEN_MPI.flags, more: &[] },
    Mpi { name: "mpich 5", newer: Some(("mpich", "mpicc")), ..MPICH },
    // MPICH with the binary interface that the MPI standard defines.
    Mpi { name: "mpich 5, libmpi_abi", newer: Some(("mpich", "mpicc_abi")), ..MPICH },
];

thread_local! {
    /// The folder for the starters' session files. If two of Open MPI's starters create the default
    /// folder at the same time, they fail.
    static SESSIONS: TempDir = scratch();
}

/// The libraries that are installed.
pub fn all() -> Vec<Mpi> {
    [OPEN_MPI, BY_MESSAGES, MPICH].into_iter().chain(NEWER).filter(Mpi::is_installed).collect()
}

/// Calls a function for each library.
pub fn on_each(test: impl Fn(&Mpi) + Sync) {
    side_by_side(&all(), test);
}

/// Calls a function for each element, three at a time, since a command that starts ranks sleeps for
/// most of a run.
pub fn side_by_side<T: Sync>(all: &[T], test: impl Fn(&T) + Sync) {
    let test = &test;
    for three in all.chunks(3) {
        thread::scope(|scope| three.iter().for_each(|one| _ = scope.spawn(move || test(one))));
    }
}

impl Mpi {
    fn is_installed(&self) -> bool {
        let compiler = self.compiler();
        let there = Command::new(&compiler).arg("--version").output().is_ok();
        if !there {
            let set_up = if self.newer.is_some() { "./x setup --mpi" } else { "./x setup" };
            eprintln!("skipped: there is no {compiler}; `{set_up}` installs it");
        }
        there
    }

    /// Whether the library is one of Debian's packages.
    pub fn is_packaged(&self) -> bool {
        self.newer.is_none()
    }

    /// The path of a command of a library that `./x setup --mpi` has fetched.
    fn fetched(folder: &str, command: &str) -> String {
        let path = beside_tests("../mpi").join(folder).join("bin").join(command);
        path.to_str().expect("a name").to_owned()
    }

    /// The library's compiler for C.
    pub fn compiler(&self) -> String {
        let packaged = || format!("mpicc.{}", self.name);
        self.newer.map_or_else(packaged, |(folder, compiler)| Mpi::fetched(folder, compiler))
    }

    /// A command that runs `syncline mpi` with these options, and under it the program on `ranks`
    /// ranks.
    pub fn command(&self, options: &[&str], program: &str, ranks: u32, words: &[&str]) -> Command {
        self.command_of(options, &Program::compile_by(&self.compiler(), program), ranks, words)
    }

    /// Like [`Mpi::command`], for a program that is compiled already.
    pub fn command_of(
        &self,
        options: &[&str],
        program: &Program,
        ranks: u32,
        words: &[&str],
    ) -> Command {
        // `syncline mpi` looks for this library beside itself, so the library must have been built
        // from the present sources.
        mpi_library();
        let mut command = Command::new(syncline());
        command.arg("mpi").args(options).arg("--");
        self.start_program(&mut command, program, ranks, words);
        command
    }

    pub fn start(&self, command: &mut Command, program: &str, ranks: u32, words: &[&str]) {
        let program = Program::compile_by(&self.compiler(), program);
        self.start_program(command, &program, ranks, words);
    }

    fn start_program(&self, command: &mut Command, program: &Program, ranks: u32, words: &[&str]) {
        let packaged = || format!("mpirun.{}", self.name);
        let starter =
            self.newer.map_or_else(packaged, |(folder, _)| Mpi::fetched(folder, "mpirun"));
        command.arg(starter).args(self.flags).args(self.more);
        command.args(["-n", &ranks.to_string()]).arg(program.path()).args(words);
        SESSIONS.with(|folder| command.env("TMPDIR", folder.path()));
        if is_root() {
            command.env("OMPI_ALLOW_RUN_AS_ROOT", "1").env("OMPI_ALLOW_RUN_AS_ROOT_CONFIRM", "1");
        }
    }

    /// Runs a scene under a scheme, and returns what it prints.
    pub fn scene(&self, scheme: &str, ranks: u32, words: &[&str]) -> String {
        let mut command = self.command(&["--scheme", scheme], "mpi_scenes.c", ranks, words);
        printed(&mut command)
    }

    /// Whether the library's windows use messages, and so can't share memory.
    pub fn is_by_messages(&self) -> bool {
        self.flags.contains(&"pt2pt")
    }
}

/// Runs a command that has to succeed, and returns what it prints.
pub fn printed(command: &mut Command) -> String {
    let outcome = run_limited(command, LIMIT);
    let printed = String::from_utf8_lossy(&outcome.stdout).into_owned();
    assert_eq!(outcome.status, 0, "{command:?}:\n{printed}\n{}", errors(&outcome));
    printed
}

pub fn errors(outcome: &Outcome) -> String {
    String::from_utf8_lossy(&outcome.stderr).into_owned()
}

/// Runs a scene under each scheme on each library.
pub fn everywhere(ranks: u32, words: &[&str], expected: &str) {
    on_each(|mpi| {
        for scheme in SCHEMES {
            let printed = mpi.scene(scheme, ranks, words);
            assert_eq!(printed, expected, "{words:?} under {scheme} on {}", mpi.name);
        }
    });
}
