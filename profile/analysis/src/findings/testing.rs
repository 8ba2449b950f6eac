//! Processes made by hand, for the tests of the rules. A few lines give the threads, how long they
//! lived, and what was done to locks at call sites. The sums that a real analysis computes from a
//! recording (rates, contention, waiting by kind) follow from these.
//!
//! ```text
//! let mut drawn = process(10.0, 4);
//! drawn.threads("worker", 4, 10.0);
//! let lock = drawn.lock(Primitive::Mutex, "table_lock");
//! let site = drawn.site(Op::MutexLock, "insert at table.c:40");
//! drawn.uses(lock, site, Use { calls: 714_050, waits: 327_034, waited: 3.0, ..Use::default() });
//! drawn.nested(lock, site, None, 558);
//! ```

pub mod sections;

use std::ops::{Deref, DerefMut};

use syncline_recording::{Class, Op, Primitive};

use crate::model::{
    Activity, Blocker, CriticalPath, Figures, Finding, Frame, Inspected, Kind, Lock, Module,
    Nesting, Outer, Process, Quadrant, QuadrantCounts, Remedy, Rule, Section, Site, SiteUse, Span,
    Stack, State, Thread, Timeline, Times, Waiting,
};
use crate::options::Thresholds;
pub use sections::one_word;

/// A process that a test makes step by step. It dereferences to its [`Process`].
pub struct Drawn(Process);

/// What all threads together did to one lock at one call site.
#[derive(Clone, Copy, Default)]
pub struct Use {
    /// Calls that succeeded.
    pub calls: u64,
    /// Calls that had to wait.
    pub waits: u64,
    /// Tries that were refused.
    pub refused: u64,
    /// Seconds spent polling.
    pub spun: f64,
    /// Waits that ran out of time.
    pub timeouts: u64,
    /// Seconds waited.
    pub waited: f64,
    /// Seconds held.
    pub held: f64,
}

/// A process that ran for `seconds` and could use `processors` processors, with a first thread that
/// lived as long as the process.
pub fn process(seconds: f64, processors: usize) -> Drawn {
    let mut drawn = Drawn(Process {
        pid: 1,
        parent: 0,
        executable: "/bin/drawn".to_owned(),
        arguments: Vec::new(),
        started: 0,
        seconds,
        state: State::Exited { status: Some(0) },
        thread_seconds: 0.0,
        waiting: Waiting::default(),
        times: Times::default(),
        lock_share: 0.0,
        lock_quadrants: QuadrantCounts::default(),
        site_quadrants: QuadrantCounts::default(),
        processors: Some(processors),
        attached: false,
        idle: None,
        stuck: Vec::new(),
        findings: Vec::new(),
        runs: None,
        remaining: Vec::new(),
        critical_path: CriticalPath::default(),
        asleep: Vec::new(),
        inner: Vec::new(),
        unread: None,
        in_kernel: Vec::new(),
        atomics: Vec::new(),
        whatif: Vec::new(),
        locks: Vec::new(),
        sites: Vec::new(),
        blocking: Vec::new(),
        nesting: Vec::new(),
        timeline: Timeline::default(),
        threads: Vec::new(),
        stacks: vec![Stack::default()],
        frames: Vec::new(),
        modules: Vec::new(),
        notes: Vec::new(),
    });
    drawn.thread(None, seconds);
    drawn
}

/// A finding by a rule about some sites, with all other fields empty.
pub fn finding(rule: Rule, sites: &[usize]) -> Finding {
    Finding {
        rule,
        title: String::new(),
        place: String::new(),
        sites: sites.to_vec(),
        locks: Vec::new(),
        evidence: Vec::new(),
        advice: String::new(),
        open_question: None,
        remedy: Remedy::Unknown,
        gain: None,
    }
}

impl Drawn {
    /// Adds `threads` threads with a start function. Each lived for `seconds`, up to the end of the
    /// process. Returns the index of the first.
    pub fn threads(&mut self, start_function: &str, threads: usize, seconds: f64) -> usize {
        for _ in 0..threads {
            self.thread(Some(start_function), seconds);
        }
        self.threads.len() - threads
    }

    fn thread(&mut self, start_function: Option<&str>, seconds: f64) {
        let index = self.threads.len();
        let started = self.seconds - seconds;
        self.threads.push(Thread {
            index: index as u32,
            tid: 1 + index as u32,
            name: "drawn".to_owned(),
            lifetimes: 1,
            start_function: start_function.map(str::to_owned),
            created_at: None,
            creator: (index > 0).then_some(0),
            started,
            seconds,
            ended: true,
            cpu: Some(seconds),
            ready: Some(0.0),
            slices: None,
            mostly: None,
            spun: 0.0,
            times: Times::default(),
            acquisitions: 0,
            waiting: Waiting::default(),
            waited_for: Default::default(),
            waiting_now: None,
            first: None,
        });
        self.thread_seconds += seconds;
    }

    /// Makes a thread wait for `seconds` more for an object of the kind `primitive`, instead of
    /// using a processor.
    pub fn waited(&mut self, thread: usize, primitive: Primitive, seconds: f64) {
        let thread = &mut self.threads[thread];
        thread.waiting.add(Kind::of(primitive), seconds);
        *thread.waited_for.entry(primitive).or_default() += seconds;
        thread.cpu = thread.cpu.map(|cpu| cpu - seconds);
    }

    /// Makes a thread ready without a processor for `seconds` more of its life.
    pub fn ready(&mut self, thread: usize, seconds: f64) {
        let thread = &mut self.threads[thread];
        thread.ready = thread.ready.map(|ready| ready + seconds);
        thread.cpu = thread.cpu.map(|cpu| cpu - seconds);
    }

    /// Adds a named lock, or another object that threads wait for. Returns its index.
    pub fn lock(&mut self, primitive: Primitive, name: &str) -> usize {
        let kind = Kind::of(primitive);
        let address = 0x1000 + 0x40 * self.locks.len() as u64;
        self.locks.push(Lock {
            address,
            primitive,
            kind,
            name: name.to_owned(),
            beside: Vec::new(),
            created: 0,
            begins_with: None,
            created_at: None,
            figures: Figures::default(),
            sampled: false,
            wake_ups: 0,
            quadrant: None,
            sites: Vec::new(),
            blockers: Vec::new(),
            threads: Vec::new(),
        });
        self.locks.len() - 1
    }

    /// Adds locks that were created at one call site. Returns their indices.
    pub fn locks_created(&mut self, primitive: Primitive, locks: usize, place: &str) -> Vec<usize> {
        let created_at = self.stack(place);
        let made: Vec<usize> =
            (0..locks).map(|_| self.lock(primitive, &format!("lock created at {place}"))).collect();
        for &lock in &made {
            self.locks[lock].created_at = Some(created_at);
        }
        made
    }

    /// Adds a call site with a name such as `push at queue.c:12`. Returns its index.
    pub fn site(&mut self, op: Op, place: &str) -> usize {
        let stack = self.stack(place);
        let (frame, threads) = (self.stacks[stack].place, self.threads.len());
        self.sites.push(Site {
            op,
            kind: Kind::of(op.primitive()),
            place: place.to_owned(),
            frame,
            stacks: vec![stack],
            ways: Vec::new(),
            locks: 0,
            sampled: false,
            threads,
            by_thread: Vec::new(),
            figures: Figures::default(),
            quadrant: None,
            section: None,
            repeats: None,
            inspected: None,
        });
        self.sites.len() - 1
    }

    /// Adds a stack of one frame. Returns its index.
    pub fn stack(&mut self, place: &str) -> usize {
        let (function, at) = place.split_once(" at ").unwrap_or((place, ""));
        let (file, line) = at.rsplit_once(':').unwrap_or((at, ""));
        self.frames.push(Frame {
            function: function.to_owned(),
            whole: None,
            file: (!file.is_empty()).then(|| file.to_owned()),
            line: line.parse().ok(),
            module: None,
        });
        let frame = self.frames.len() - 1;
        self.stacks.push(Stack {
            addresses: vec![0x40_0000 + frame as u64],
            frames: vec![frame],
            frames_at: vec![1],
            place: Some(frame),
            cut: false,
            broken: false,
        });
        self.stacks.len() - 1
    }

    /// Adds a library that was mapped from `path`. Returns its index.
    pub fn module(&mut self, path: &str) -> usize {
        self.modules.push(Module {
            path: path.to_owned(),
            build_id: String::new(),
            start: 0,
            end: 0,
            bias: 0,
            symbols: None,
        });
        self.modules.len() - 1
    }

    /// Puts functions of a library inside a stack's innermost frame. `functions` begins with the
    /// innermost.
    pub fn calls_into(&mut self, stack: usize, module: usize, functions: &[&str]) {
        for function in functions.iter().rev() {
            let inner = self.stack(function);
            let frame = self.stacks[inner].frames[0];
            self.frames[frame].module = Some(module);
            self.stacks[stack].frames.insert(0, frame);
        }
    }

    /// Puts a function inside the innermost frame of a site's stack.
    pub fn calls_inside(&mut self, site: usize, place: &str) {
        let inner = self.stack(place);
        let frame = self.stacks[inner].frames[0];
        let stack = self.sites[site].stacks[0];
        self.stacks[stack].frames.insert(0, frame);
    }

    /// Adds an outermost caller to a site's stack.
    pub fn called_by(&mut self, site: usize, place: &str) {
        let caller = self.stack(place);
        let frame = self.stacks[caller].frames[0];
        let stack = self.sites[site].stacks[0];
        self.stacks[stack].frames.push(frame);
    }

    /// Sets how often each thread called at a call site. Each lock that is used there gets the same
    /// numbers.
    pub fn by_thread(&mut self, site: usize, calls: impl IntoIterator<Item = (usize, u64)>) {
        let calls: Vec<(usize, u64)> = calls.into_iter().collect();
        let Process { locks, sites, .. } = &mut self.0;
        for used in locks.iter_mut().flat_map(|lock| &mut lock.sites) {
            if used.site == site {
                used.by_thread.clone_from(&calls);
            }
        }
        sites[site].by_thread = calls;
    }

    /// Adds what was done to a lock at a call site.
    pub fn uses(&mut self, lock: usize, site: usize, done: Use) {
        let seconds = self.seconds;
        let op = self.sites[site].op;
        let Process { locks, sites, .. } = &mut self.0;
        if op.class() == Class::Notify {
            locks[lock].wake_ups += done.calls;
        } else {
            add(&mut locks[lock].figures, &done, op, seconds);
        }
        add(&mut sites[site].figures, &done, op, seconds);
        sites[site].locks += 1;
        locks[lock].sites.push(SiteUse {
            site,
            op,
            calls: done.calls,
            waits: done.waits,
            refused: done.refused,
            waited: done.waited,
            held: done.held,
            by_thread: sites[site].by_thread.clone(),
        });
        let quadrant = |figures: &Figures| {
            let Figures { contention, calls_per_second, .. } = *figures;
            (locks[lock].kind == Kind::Lock)
                .then(|| Quadrant::of(contention, calls_per_second, &Thresholds::default()))
        };
        let (of_lock, of_site) = (quadrant(&locks[lock].figures), quadrant(&sites[site].figures));
        locks[lock].quadrant = of_lock;
        sites[site].quadrant = of_site;
        let kind = locks[lock].kind;
        self.waiting.add(kind, done.waited);
        self.lock_share = self.waiting.locks / self.thread_seconds;
    }

    /// Adds waits for a lock at the site `waiter`, while a thread held the lock that had taken it
    /// at the site `holder`.
    pub fn blocked(&mut self, lock: usize, waiter: usize, holder: usize, waits: u64, waited: f64) {
        let holder_stack = self.sites[holder].stacks[0];
        self.locks[lock].blockers.push(Blocker {
            waiter,
            holder_stack,
            holder: Some(holder),
            thread: None,
            waits,
            waited,
        });
    }

    /// Adds sampled acquisitions of a lock at a site, with the lock that was already held and the
    /// site where that one was taken.
    pub fn nested(&mut self, lock: usize, site: usize, outer: Option<(usize, usize)>, seen: u64) {
        let outer = outer.map(|(outer, at)| Outer {
            address: self.locks[outer].address,
            lock: Some(outer),
            stack: self.sites[at].stacks[0],
            site: Some(at),
        });
        let stack = self.sites[site].stacks[0];
        self.nesting.push(Nesting { lock, site, stack, outer, seen });
    }

    /// Sets what the instructions of a site's critical section do.
    pub fn section(&mut self, site: usize, section: Section) {
        self.sites[site].section = Some(section);
    }

    /// Sets what a trace shows about a site.
    pub fn inspected(&mut self, site: usize, inspected: Inspected) {
        self.sites[site].inspected = Some(inspected);
    }
}

fn add(figures: &mut Figures, done: &Use, op: Op, seconds: f64) {
    let wanted = |f: &Figures| (f.calls + f.timeouts + f.refused) as f64;
    let taken_before = figures.contention * wanted(figures);
    figures.calls += done.calls;
    figures.waits += done.waits;
    figures.refused += done.refused;
    figures.spun += done.spun;
    figures.timeouts += done.timeouts;
    figures.waited += done.waited;
    figures.held += done.held;
    figures.held_timed = figures.calls.div_ceil(128);
    figures.calls_per_second = figures.calls as f64 / seconds;
    if matches!(op.class(), Class::Acquire | Class::Try) && wanted(figures) > 0.0 {
        let taken = taken_before + (done.waits + done.refused) as f64;
        figures.contention = taken / wanted(figures);
    }
}

/// A wait between two moments.
pub fn wait(op: Op, began: f64, ended: f64) -> Span {
    Span {
        began,
        ended,
        activity: Activity::Wait,
        op,
        lock: None,
        site: None,
        stack: 0,
        by: None,
        interrupted: false,
    }
}

impl Deref for Drawn {
    type Target = Process;

    fn deref(&self) -> &Process {
        &self.0
    }
}

impl DerefMut for Drawn {
    fn deref_mut(&mut self) -> &mut Process {
        &mut self.0
    }
}
