//! A hand-made analysis with examples of most of what the page shows, and the functions that make
//! its parts.

mod findings;
mod server;

use std::collections::BTreeMap;
use std::fs;
use std::path::Path;

use syncline_analysis::model::*;
use syncline_analysis::{Analysis, Thresholds};
use syncline_recording::{Op, Primitive};

pub use server::server;

/// The HTML page of an analysis.
pub fn page(analysis: &Analysis) -> String {
    let mut out = Vec::new();
    syncline_report::html(analysis, &mut out).expect("a page");
    String::from_utf8(out).expect("text")
}

/// An analysis of one process.
pub fn analysis(process: Process) -> Analysis {
    let thresholds = Thresholds::default();
    Analysis { session: None, thresholds, processes: vec![process], notes: vec![] }
}

/// A process without locks, threads or waits.
pub fn empty(arguments: &[&str]) -> Process {
    Process {
        pid: 4711,
        parent: 1,
        executable: arguments[0].to_owned(),
        arguments: arguments.iter().map(|&a| a.to_owned()).collect(),
        started: 0,
        seconds: 8.0,
        state: State::Exited { status: Some(0) },
        thread_seconds: 80.4,
        waiting: Waiting { locks: 16.7, futexes: 0.0, events: 31.0 },
        times: Times::default(),
        lock_share: 0.208,
        lock_quadrants: QuadrantCounts::default(),
        site_quadrants: QuadrantCounts::default(),
        processors: Some(8),
        attached: false,
        idle: None,
        stuck: vec![],
        asleep: vec![],
        inner: Vec::new(),
        unread: None,
        in_kernel: vec![],
        atomics: vec![],
        findings: vec![],
        runs: None,
        remaining: vec![],
        critical_path: CriticalPath::default(),
        whatif: vec![],
        locks: vec![],
        sites: vec![],
        blocking: vec![],
        nesting: vec![],
        timeline: Timeline::default(),
        threads: vec![],
        stacks: vec![Stack::default()],
        frames: vec![],
        modules: vec![],
        notes: vec![],
    }
}

/// A frame at this line of the source, in the first module.
pub fn frame(function: &str, file: &str, line: u32) -> Frame {
    Frame {
        function: function.into(),
        whole: None,
        file: Some(file.into()),
        line: Some(line),
        module: Some(0),
    }
}

/// Figures with this waiting time in seconds, this contention as a share, and this rate per second.
pub fn figures(waited: f64, contention: f64, rate: f64) -> Figures {
    let calls = (rate * 8.0) as u64;
    let waits = (calls as f64 * contention) as u64;
    let bucket = |n: i32, waits| Bucket {
        from: 128e-9 * 2f64.powi(n),
        to: Some(256e-9 * 2f64.powi(n)),
        waits,
    };
    let peak = |n: i32| (waits as f64 * (-f64::from((n - 7) * (n - 7)) / 9.0).exp() / 5.3) as u64;
    let buckets = (0..16).map(|n| bucket(n, peak(n))).filter(|b| b.waits > 0).collect();
    Figures {
        calls,
        waits,
        contention,
        calls_per_second: rate,
        waited,
        waited_max: waited / 900.0,
        held: waited * 0.3 + rate * 1e-6,
        held_max: 0.002,
        held_timed: calls / 128,
        histogram: Histogram { buckets },
        ..Figures::default()
    }
}

/// A lock that is used at the call sites with these indices.
pub fn lock(
    address: u64,
    name: &str,
    primitive: Primitive,
    figures: Figures,
    sites: &[usize],
) -> Lock {
    let used = |&site: &usize| SiteUse {
        site,
        op: Op::MutexLock,
        calls: figures.calls / sites.len() as u64,
        waits: figures.waits / sites.len() as u64,
        refused: 0,
        waited: figures.waited / sites.len() as f64,
        held: 0.0,
        by_thread: Vec::new(),
    };
    Lock {
        sampled: false,
        address,
        primitive,
        kind: Kind::of(primitive),
        name: name.to_owned(),
        beside: vec![],
        created: 1,
        begins_with: None,
        created_at: None,
        sites: sites.iter().map(used).collect(),
        figures,
        wake_ups: 0,
        quadrant: Some(Quadrant::Q3),
        blockers: vec![],
        threads: vec![],
    }
}

/// A thread that lived until the end of the run.
pub fn thread(index: u32, name: &str, start: Option<&str>, waiting: Waiting) -> Thread {
    let known = Thread {
        index,
        tid: 4711 + index,
        name: name.into(),
        lifetimes: 1,
        start_function: start.map(str::to_owned),
        created_at: None,
        creator: (index > 0).then_some(0),
        started: 0.02 * f64::from(index),
        seconds: 8.0 - 0.02 * f64::from(index),
        ended: true,
        cpu: Some(8.0 - waiting.locks - waiting.events),
        ready: Some(0.0),
        slices: None,
        mostly: None,
        spun: 0.0,
        times: Times::default(),
        acquisitions: 600_000,
        waiting,
        waited_for: BTreeMap::new(),
        waiting_now: None,
        first: None,
    };
    Thread { times: known.divided(), ..known }
}

/// Writes a source file for each frame of a process, and a file for the program, to a folder.
/// Returns the process with the paths of these files, so that the page finds them.
pub fn with_sources(mut process: Process, folder: &Path) -> Process {
    fs::create_dir_all(folder.join("src")).expect("a folder");
    for frame in &mut process.frames {
        let Some(file) = &mut frame.file else { continue };
        let name = file.rsplit('/').next().expect("a name").to_owned();
        let path = folder.join("src").join(&name);
        let lines = (1..=400).map(|n| format!("line {n} of <{name}>\n"));
        fs::write(&path, lines.collect::<String>()).expect("a source");
        *file = path.display().to_string();
    }
    let program = folder.join("server");
    fs::write(&program, "").expect("a program");
    process.modules[0].path = program.display().to_string();
    process
}
