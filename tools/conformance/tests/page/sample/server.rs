//! The sample server's process.

use syncline_analysis::Thresholds;
use syncline_analysis::model::*;
use syncline_recording::{Op, Primitive};

use super::findings::findings;
use super::{empty, figures, frame, lock, thread};

/// A server with a hot table, a busy counter, a queue, quiet buckets, and a pipeline whose
/// groups of threads are unequal.
pub fn server() -> Process {
    let mut p = empty(&["/opt/shop/bin/server", "--port", "4711", "--workers", "8"]);
    p.modules = vec![Module {
        path: "/opt/shop/bin/server".into(),
        build_id: "07".into(),
        start: 0x1000,
        end: 0x90000,
        bias: 0,
        symbols: Some(SymbolSource::Debug),
    }];
    let places = [
        ("shop::Table::insert(Order const&)", "/opt/shop/src/table.cpp", 118),
        ("shop::Table::lookup(int) const", "/opt/shop/src/table.cpp", 64),
        ("shop::Table::resize()", "/opt/shop/src/table.cpp", 201),
        ("shop::Counter::add(long)", "/opt/shop/src/counter.h", 23),
        ("shop::Queue<shop::Order>::pop()", "/opt/shop/src/queue.h", 77),
        (
            "shop::Bucket::take(std::vector<shop::Item, std::allocator<shop::Item> >&)",
            "/opt/shop/src/bucket.cpp",
            310,
        ),
        ("log_line", "/opt/shop/src/log.c", 41),
        ("shop::worker(void*)", "/opt/shop/src/main.cpp", 88),
    ];
    p.frames = places.iter().map(|&(function, file, line)| frame(function, file, line)).collect();
    p.stacks = vec![Stack::default()];
    for place in 0..7 {
        let addresses = vec![0x1000 + place as u64, 0x2000];
        let frames = vec![place, 7];
        p.stacks.push(Stack { addresses, frames, place: Some(place), ..Stack::default() });
    }
    p.sites = vec![
        site(0, Op::MutexLock, 1, 9.42, 0.41, 181_000.0, Quadrant::Q2),
        site(1, Op::MutexLock, 1, 6.31, 0.22, 420_000.0, Quadrant::Q2),
        site(2, Op::MutexLock, 1, 0.84, 0.31, 12.0, Quadrant::Q1),
        site(6, Op::MutexLock, 1, 0.12, 0.012, 9_400.0, Quadrant::Q4),
        site(5, Op::MutexLock, 912, 0.02, 0.0004, 78_000.0, Quadrant::Q4),
        site(3, Op::SpinLock, 1, 0.0, 0.0, 4_100_000.0, Quadrant::Q4),
        Site {
            quadrant: None,
            kind: Kind::Event,
            ..site(4, Op::CondWait, 1, 31.0, 0.0, 220.0, Quadrant::Q3)
        },
    ];
    p.locks = vec![
        lock(
            0x7f10,
            "orders (server)",
            Primitive::Mutex,
            figures(16.57, 0.29, 601_000.0),
            &[0, 1, 2],
        ),
        lock(0x7f80, "log_mutex (server)", Primitive::Mutex, figures(0.12, 0.012, 9_400.0), &[3]),
        lock(
            0x7fc0,
            "total+0x8 (server)",
            Primitive::Spinlock,
            figures(0.0, 0.0, 4_100_000.0),
            &[5],
        ),
        lock(
            0x8000,
            "condvar created at queue.h:31",
            Primitive::Condvar,
            figures(31.0, 0.0, 220.0),
            &[6],
        ),
    ];
    p.locks[3].kind = Kind::Event;
    for n in 0..912u64 {
        let waited = if n < 40 { 0.02 / (n + 1) as f64 / 4.0 } else { 0.0 };
        let contention = if n < 40 { 0.002 / (n + 1) as f64 } else { 0.0 };
        let figures = figures(waited, contention, 40.0 + (n * 37 % 90) as f64);
        let name = "mutex created at bucket.cpp:122".to_owned();
        p.locks.push(lock(0x10_0000 + 64 * n, &name, Primitive::Mutex, figures, &[4]));
    }
    p.locks[0].blockers = vec![Blocker {
        waiter: 1,
        holder_stack: 1,
        holder: Some(0),
        thread: Some(2),
        waits: 92_000,
        waited: 8.1,
    }];
    p.locks[0].beside = vec!["total".into()];
    let standing = |lock: &mut Lock| {
        lock.quadrant = (lock.kind == Kind::Lock).then(|| {
            Quadrant::of(
                lock.figures.contention,
                lock.figures.calls_per_second,
                &Thresholds::default(),
            )
        });
    };
    p.locks.iter_mut().for_each(standing);
    p.lock_quadrants = p.locks.iter().filter_map(|lock| lock.quadrant).collect();
    p.blocking = [
        (1, 0, 6.1),
        (0, 0, 5.2),
        (0, 1, 2.9),
        (0, 2, 1.6),
        (1, 2, 0.4),
        (2, 0, 0.6),
        (3, 3, 0.1),
        (4, 1, 0.01),
    ]
    .map(|(waiter, holder, waited)| Blocking {
        waiter,
        holder_stack: holder + 1,
        holder: Some(holder),
        holder_place: p.sites[holder].place.clone(),
        locks: 1,
        waits: (waited * 11_000.0) as u64,
        waited,
    })
    .to_vec();
    threads(&mut p);
    p.findings = findings();
    let orders = Remaining {
        what: "mutex orders (server)".to_owned(),
        kind: Kind::Lock,
        place: p.sites[1].place.clone(),
        sites: vec![1],
        seconds: 2.1,
        share: 0.026,
        idle: false,
        why: "1,204 waits of 1.74 ms on average; 3.1 % found it taken.".to_owned(),
        open_question: None,
    };
    let asleep = Remaining {
        what: "asleep in fsync".to_owned(),
        kind: Kind::Event,
        sites: vec![],
        why: "About 2.1 s of sleep, by 1 thread, not counting recorded waits.".to_owned(),
        ..orders.clone()
    };
    p.remaining = vec![orders, asleep];
    timeline(&mut p);
    p.notes =
        vec![Note::FutexesOnly, Note::MissingModule { path: "/opt/shop/lib/libold.so".into() }];
    p
}

fn site(
    place: usize,
    op: Op,
    locks: usize,
    waited: f64,
    contention: f64,
    rate: f64,
    quadrant: Quadrant,
) -> Site {
    Site {
        op,
        sampled: false,
        kind: Kind::Lock,
        place: format!("place {place}"),
        frame: Some(place),
        stacks: vec![place + 1],
        ways: vec![],
        locks,
        threads: 8,
        by_thread: vec![],
        figures: figures(waited, contention, rate),
        quadrant: Some(quadrant),
        section: None,
        repeats: None,
        inspected: None,
    }
}

fn threads(p: &mut Process) {
    p.threads.push(thread(0, "server", None, Waiting { events: 7.9, ..Waiting::default() }));
    for n in 1..9 {
        let waiting = Waiting { locks: 1.4 + 0.12 * f64::from(n), futexes: 0.0, events: 0.3 };
        p.threads.push(thread(n, "worker", Some("shop::worker(void*)"), waiting));
    }
    for n in 9..13 {
        let events = if n == 9 { 0.2 } else { 6.8 };
        let waiting = Waiting { locks: 0.1, futexes: 0.0, events };
        p.threads.push(thread(n, "printer", Some("shop::printer(void*)"), waiting));
    }
}

fn timeline(p: &mut Process) {
    let mut random = 1u64;
    let mut next = move || {
        random =
            random.wrapping_mul(6_364_136_223_846_793_005).wrapping_add(1_442_695_040_888_963_407);
        (random >> 33) as f64 / (1u64 << 31) as f64
    };
    let span = |began: f64, length: f64, activity, op, lock, site: usize, by| Span {
        began,
        ended: began + length,
        activity,
        op,
        lock: Some(lock),
        site: Some(site),
        stack: site + 1,
        by,
        interrupted: false,
    };
    p.timeline = Timeline {
        holds: true,
        windows: vec![(0.0, 2.5), (2.9, 8.0)],
        to: 8.0,
        threads: vec![Vec::new(); 13],
    };
    p.timeline.threads[0].push(span(0.1, 7.8, Activity::Wait, Op::ThreadJoin, 3, 6, Some(1)));
    for thread in 1..9 {
        let mut at = 0.4 + 0.02 * thread as f64;
        while at < 7.8 {
            let (wait, hold) = (0.03 * next(), 0.008 * next());
            let site = if next() < 0.5 { 0 } else { 1 };
            let by = Some(1 + (thread + 3) % 8);
            let spans = &mut p.timeline.threads[thread];
            spans.push(span(at, wait, Activity::Wait, Op::MutexLock, 0, site, by));
            spans.push(span(at + wait, hold, Activity::Hold, Op::MutexLock, 0, site, None));
            at += wait + hold + 0.05 * next();
        }
    }
    for thread in 9..13 {
        for step in 0..14 {
            let at = 0.5 + 0.5 * f64::from(step);
            let length = if thread == 9 { 0.02 } else { 0.45 };
            let wait = span(at, length, Activity::Wait, Op::CondWait, 3, 6, Some(2));
            p.timeline.threads[thread].push(wait);
        }
    }
}
