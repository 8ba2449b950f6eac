//! The checkers are checked: each mutant of `broken/segments/` must fail over each engine, in the
//! way that its list names. A fault ends the process, so each mutant runs in processes of its own.

use std::env;
use std::os::unix::process::ExitStatusExt;
use std::process::{Command, Output, Stdio};
use std::thread::sleep;
use std::time::{Duration, Instant};

use syncline::lock::RawLock;
use syncline_checkers::cases::{exclusion, near};
use syncline_checkers::{Bounds, Engine, model, random_failure};

/// The environment variable that names the engine to a process that must fail.
const ENGINE: &str = "SYNCLINE_SEGMENTS_ENGINE";
const SIGSEGV: i32 = 11;
/// The time limit of a process; no failing mutant takes a tenth of it.
const LONGEST: Duration = Duration::from_secs(120);

/// Requires that a lock fails over each engine.
macro_rules! reject {
    ($how:ident, $Gate:ident<$Lock:ident<$Policy:ty, E>>) => {
        $crate::mutants::reject!(@ $how, {
            type Tested<M> = $Gate<syncline::lock::$Lock<$Policy, M>>;
        })
    };
    ($how:ident, $Lock:ident<$Policy:ty, E>) => {
        $crate::mutants::reject!(@ $how, {
            type Tested<M> = $Lock<$Policy, M>;
        })
    };
    (@ $how:ident, { $Tested:item }) => {{
        use syncline_checkers::Segments;
        $Tested
        let engines: [(&str, fn()); 3] = [
            ("native", $crate::mutants::play::<Tested<Segments<syncline::memory::Native>>>),
            ("loom", || {
                $crate::mutants::explore($crate::mutants::play::<Tested<Segments<Loom>>>);
            }),
            ("shuttle", || {
                $crate::mutants::draw($crate::mutants::play::<Tested<Segments<syncline_checkers::Shuttle>>>);
            }),
        ];
        $crate::mutants::all_fail(
            concat!(module_path!(), "::is_rejected"), &engines, $crate::mutants::$how,
        );
    }};
}
pub(crate) use reject;

/// The cases that a mutant's process runs.
pub fn play<L: RawLock<Memory: Engine> + 'static>() {
    near::<L>(2);
    near::<L>(4);
    exclusion::<L>(3, 2);
}

pub fn explore(case: fn()) {
    model(Bounds { preemptions: Some(2), executions: Some(500), timed: false }, case);
}

pub fn draw(case: fn()) {
    if let Some(why) = random_failure(case) {
        panic!("{why}");
    }
}

/// Runs the test with this name in separate processes, one for each engine. All must fail in the
/// way that `like_this` recognizes.
pub fn all_fail(name: &str, engines: &[(&str, fn())], like_this: fn(&Output) -> bool) {
    if let Ok(chosen) = env::var(ENGINE) {
        let (_, play) = engines.iter().find(|(engine, _)| *engine == chosen).expect("an engine");
        return play();
    }
    let (_, name) = name.split_once("::").expect("the crate's name comes first");
    for (engine, _) in engines {
        let output = run(name, engine);
        let said = String::from_utf8_lossy(&output.stderr);
        assert!(like_this(&output), "over {engine}: {}\n{said}", output.status);
    }
}

fn run(name: &str, engine: &str) -> Output {
    let mut test = Command::new(env::current_exe().expect("this program"));
    test.args(["--exact", name, "--nocapture"]).env(ENGINE, engine);
    let test = test.stdout(Stdio::null()).stderr(Stdio::piped());
    let mut test = test.spawn().expect("this program runs");
    let start = Instant::now();
    while test.try_wait().expect("a child").is_none() {
        if start.elapsed() > LONGEST {
            test.kill().expect("a child that runs");
        }
        sleep(Duration::from_millis(5));
    }
    test.wait_with_output().expect("a child that has ended")
}

/// Whether the process failed because it accessed an address in a segment.
pub fn faults(output: &Output) -> bool {
    output.status.signal() == Some(SIGSEGV)
}

/// Whether the process failed because it made a reference to a node in another segment.
pub fn elsewhere(output: &Output) -> bool {
    says(output, "a reference was made to a node of another segment")
}

/// Whether the process failed because a node or word lies in no segment.
pub fn nowhere(output: &Output) -> bool {
    says(output, "in no segment")
}

fn says(output: &Output, what: &str) -> bool {
    !output.status.success() && String::from_utf8_lossy(&output.stderr).contains(what)
}
