//! Tests of page faults, with several threads in a rank. The ranks are processes that the test
//! starts.
//!
//! A rank's process runs this test program again, with a variable that makes the test [`rank`] play
//! a scene.

use std::cell::UnsafeCell;
use std::env;
use std::os::unix::process::ExitStatusExt;
use std::process::{Command, ExitStatus, Stdio};
use std::ptr::NonNull;
use std::sync::atomic::{AtomicI32, AtomicUsize, Ordering::Relaxed};
use std::time::{Duration, Instant};

use syncline_dsm::carina::Scheme;
use syncline_dsm::pages::Side;
use syncline_dsm::program::{self, Error, Options, Program};
use syncline_fabric::Host;
use syncline_fabric::host::Job;

/// The environment variable with the name of the scene that a rank plays.
const SCENE: &str = "SYNCLINE_TEST_SCENE";
const MEMORY: usize = 4 << 20;
/// A rank that takes longer than this counts as stuck.
const LATE: Duration = Duration::from_secs(60);

fn ranks(ranks: usize, scene: &str, options: Options) -> Vec<Option<ExitStatus>> {
    let this = env::current_exe().expect("this program");
    let bytes = options.shape(ranks).layout().bytes;
    let started = Host::launch(ranks, bytes, |_| {
        let mut command = Command::new(&this);
        command.args(["--exact", "rank", "--nocapture", "--test-threads=1"]);
        command.env(SCENE, scene).envs(options.variables());
        command.stdout(Stdio::null());
        command
    });
    ended(started.expect("ranks start"), ranks)
}

/// The exit statuses of the ranks. If a rank fails or is late, ranks that still run have none.
fn ended(mut job: Job, ranks: usize) -> Vec<Option<ExitStatus>> {
    let start = Instant::now();
    loop {
        let all: Vec<_> = (0..ranks).map(|rank| job.ended(rank).expect("they end")).collect();
        let failed = all.iter().flatten().any(|status| !status.success());
        if all.iter().all(Option::is_some) || failed || start.elapsed() > LATE {
            return all;
        }
        std::thread::sleep(Duration::from_millis(5));
    }
}

/// Runs a scene under each fault side, with the default options.
fn scene(count: usize, name: &str, scheme: Scheme) {
    with(count, name, Options { memory: MEMORY, scheme, ..Options::default() });
}

/// Runs a scene under each fault side, with these options.
fn with(count: usize, name: &str, options: Options) {
    for side in Side::ALL {
        let statuses = ranks(count, name, Options { side: Some(side), ..options });
        let well = statuses.iter().all(|status| status.is_some_and(|status| status.success()));
        assert!(well, "{name}, {side:?}: {statuses:?}");
    }
}

/// Plays the scene in a rank's process. In other processes it does nothing.
#[test]
fn rank() {
    let Ok(scene) = env::var(SCENE) else { return };
    match scene.as_str() {
        "writers" => writers(),
        "handlers" => handlers(),
        "calls" => calls(),
        "memory" => memory(),
        "crossing" => crossing(),
        "wild" => wild(),
        "signals" => signals(),
        _ => panic!("there is no scene {scene}"),
    }
}

fn begin() -> &'static Program {
    program::start(1 << 20).expect("shared memory")
}

fn words(program: &Program, count: usize) -> *mut u64 {
    program.memory.allocate_together(count * 8).expect("memory").as_ptr().cast()
}

/// An address that threads share.
#[derive(Clone, Copy)]
struct Shared(*mut u64);

// SAFETY: each thread accesses its own words, or words under a lock that it holds.
unsafe impl Send for Shared {}
// SAFETY: as above.
unsafe impl Sync for Shared {}

impl Shared {
    fn load(self, at: usize) -> u64 {
        // SAFETY: a word of the allocation.
        unsafe { self.0.add(at).read_volatile() }
    }

    fn store(self, at: usize, value: u64) {
        // SAFETY: as above.
        unsafe { self.0.add(at).write_volatile(value) };
    }
}

/// Single instructions that write to two pages, or that need four lines at once. The cache is so
/// small that it has only one set.
fn crossing() {
    const LINES: usize = 12;
    let program = begin();
    let bytes = words(program, LINES * 512).cast::<u8>();
    if program.rank() == 0 {
        for border in 1..LINES {
            // SAFETY: bytes of the allocation, on both sides of a page's border.
            unsafe { bytes.add(border * 4096 - 3).cast::<u64>().write_unaligned(border as u64) };
        }
        for (from, to) in [(1, 5), (9, 3), (2, 10), (5, 11)] {
            let [from, to] = [from, to].map(|border| bytes.wrapping_add(border * 4096 - 3));
            copy(from, to);
        }
        for (border, value) in [(1, 1), (5, 1), (3, 9), (10, 2), (11, 1)] {
            // SAFETY: as above.
            let word = unsafe { bytes.add(border * 4096 - 3).cast::<u64>().read_unaligned() };
            assert_eq!(word, value, "at border {border}");
        }
    }
    program.threads.barrier();
    program.finish();
}

/// Copies a word by a single instruction that reads and writes memory, on processors that have one.
#[cfg(target_arch = "x86_64")]
fn copy(from: *mut u8, to: *mut u8) {
    // SAFETY: the caller's words. The calling convention keeps the direction flag clear.
    unsafe {
        std::arch::asm!("movsq", inout("rsi") from => _, inout("rdi") to => _, options(nostack));
    }
}

#[cfg(not(target_arch = "x86_64"))]
fn copy(from: *mut u8, to: *mut u8) {
    // SAFETY: the caller's words.
    unsafe { to.cast::<u64>().write_unaligned(from.cast::<u64>().read_unaligned()) };
}

#[test]
fn an_instruction_that_crosses_pages_gets_every_page() {
    let cramped = Options { cache: Some(4096), write_buffer: Some(1), ..Options::default() };
    for scheme in [Scheme::Shared, Scheme::Writers] {
        with(2, "crossing", Options { memory: MEMORY, scheme, ..cramped });
    }
}

/// All threads write words of their own in pages that they share. Meanwhile one thread of each rank
/// takes a lock now and then, which drops these pages. No write may be lost.
fn writers() {
    const PAGES: usize = 6;
    const ROUNDS: u64 = 3000;
    let program = begin();
    let shared = Shared(words(program, PAGES * 512));
    let sum = Shared(words(program, 1));
    // Outside of `Threads::run`, each rank counts as one thread.
    let numbers = || (program::thread(), std::thread::spawn(program::thread).join().ok());
    let outside = (program.rank(), Some(program.rank()));
    assert_eq!((numbers(), program.threads.count()), (outside, program.ranks()));
    program.threads.run(3, || {
        let (me, threads) = (program::thread(), program.threads.count());
        for round in 1..=ROUNDS {
            for page in 0..PAGES {
                let word = page * 512 + me;
                assert_eq!(shared.load(word), round - 1, "page {page}, thread {me}");
                shared.store(word, round);
            }
            if me % 3 == 0 && round % 16 == 0 {
                program.locks.lock(0);
                sum.store(0, sum.load(0) + 1);
                // SAFETY: taken above.
                unsafe { program.locks.unlock(0) };
            }
        }
        program.threads.barrier();
        for page in 0..PAGES {
            assert!((0..threads).all(|n| shared.load(page * 512 + n) == ROUNDS), "page {page}");
        }
        assert_eq!(sum.load(0), ROUNDS / 16 * program.ranks() as u64);
    });
    assert_eq!(numbers(), outside);
    let panics = || program.threads.run(2, || panic!("on purpose"));
    assert!(std::panic::catch_unwind(std::panic::AssertUnwindSafe(panics)).is_err());
    assert_eq!((numbers(), program.threads.count()), (outside, program.ranks()), "after a panic");
    program.finish();
}

#[test]
fn no_write_is_lost_while_another_thread_invalidates() {
    scene(2, "writers", Scheme::Shared);
    scene(2, "writers", Scheme::Writers);
}

static CAUGHT: AtomicUsize = AtomicUsize::new(0);

/// The saved state to which the handler jumps back.
struct Back(UnsafeCell<[u64; 64]>);

// SAFETY: one thread uses it.
unsafe impl Sync for Back {}

static BACK: Back = Back(UnsafeCell::new([0; 64]));

unsafe extern "C" {
    #[link_name = "__sigsetjmp"]
    fn sigsetjmp(buffer: *mut u64, save: libc::c_int) -> libc::c_int;
    fn siglongjmp(buffer: *mut u64, value: libc::c_int) -> !;
}

extern "C" fn own_handler(signal: libc::c_int, info: *mut libc::siginfo_t, _: *mut libc::c_void) {
    // SAFETY: the kernel passes these arguments; the function to which it jumps has not returned
    // yet.
    unsafe {
        CAUGHT.store((*info).si_addr().addr() ^ signal as usize, Relaxed);
        siglongjmp(BACK.0.get().cast(), 1);
    }
}

/// The program's own handlers get the signals for addresses outside of the shared memory. Shared
/// memory works afterwards.
fn handlers() {
    for signal in [libc::SIGBUS, libc::SIGSEGV] {
        // SAFETY: installs a handler.
        unsafe {
            let mut action: libc::sigaction = std::mem::zeroed();
            let handler: extern "C" fn(_, *mut libc::siginfo_t, *mut libc::c_void) = own_handler;
            action.sa_sigaction = handler as usize;
            action.sa_flags = libc::SA_SIGINFO | libc::SA_NODEFER;
            assert_eq!(libc::sigaction(signal, &action, std::ptr::null_mut()), 0);
        }
    }
    let program = begin();
    let shared = Shared(words(program, 4096));
    let elsewhere = 0x10_usize;
    // SAFETY: this function does not return before the jump comes back to it.
    if unsafe { sigsetjmp(BACK.0.get().cast(), 1) } == 0 {
        // SAFETY: this faults on purpose, and the handler jumps away.
        unsafe { std::ptr::with_exposed_provenance::<u8>(elsewhere).read_volatile() };
        unreachable!("nothing is mapped there");
    }
    assert_eq!(CAUGHT.load(Relaxed), elsewhere ^ libc::SIGSEGV as usize);
    shared.store(512 * program.rank(), 1 + program.rank() as u64);
    program.threads.barrier();
    assert!((0..program.ranks()).all(|rank| shared.load(512 * rank) == 1 + rank as u64));
    program.finish();
}

#[test]
fn faults_elsewhere_reach_the_programs_handlers() {
    scene(2, "handlers", Scheme::Writers);
}

/// System calls fail with EFAULT on absent pages, and succeed on pages that `touch` has made
/// present.
fn calls() {
    let program = begin();
    let shared = Shared(words(program, 4 * 512));
    if program.rank() == 0 {
        let mut pipe = [0; 2];
        let (at, bytes) = (shared.0.cast::<u8>(), 4 * 4096);
        // SAFETY: a pipe, and memory that is allocated.
        unsafe {
            assert_eq!(libc::pipe(pipe.as_mut_ptr()), 0);
            assert_eq!(libc::write(pipe[1], at.cast(), bytes), -1);
            assert_eq!(*libc::__errno_location(), libc::EFAULT);
            program.memory.touch(at, bytes, false);
            assert_eq!(libc::write(pipe[1], at.cast(), bytes), bytes as isize);
            // The pages are present now. The writes of a system call to these pages go home like
            // any other write.
            program.memory.touch(at, bytes, true);
            assert_eq!(libc::write(pipe[1], c"written".as_ptr().cast(), 8), 8);
            let mut rest = bytes;
            while rest > 0 {
                let came = libc::read(pipe[0], at.cast(), rest);
                rest -= usize::try_from(came).expect("touched pages can be written");
            }
            assert_eq!(libc::read(pipe[0], at.cast(), 8), 8);
        }
    }
    program.threads.barrier();
    assert_eq!(&shared.load(0).to_ne_bytes(), b"written\0");
    program.finish();
}

/// An allocation that requests too much returns an error, and the program goes on.
fn memory() {
    let program = begin();
    assert!(matches!(program::start(1), Err(Error::Twice)));
    let error = program.memory.allocate(MEMORY + 1).expect_err("too much");
    assert_eq!((error.bytes, error.all), (MEMORY + 1, MEMORY));
    let mut taken: Vec<NonNull<u8>> =
        vec![program.memory.allocate(64 << 10).expect("a block for each")];
    program.threads.barrier();
    while let Ok(block) = program.memory.allocate(64 << 10) {
        taken.push(block);
    }
    program.threads.barrier();
    assert!(program.memory.allocate_together(MEMORY / 2).is_err());
    while program.memory.allocate(4096).is_ok() {}
    let error = program.memory.allocate(8).expect_err("no page for small blocks");
    assert_eq!(error.bytes, 8);
    // A block is used again by the rank that frees it.
    let last = taken.pop().expect("blocks");
    // SAFETY: no thread uses it.
    unsafe { program.memory.free(last, 64 << 10) };
    assert_eq!(program.memory.allocate(64 << 10), Ok(last));
    program.finish();
}

#[test]
fn allocating_too_much_is_an_error() {
    scene(3, "memory", Scheme::Writers);
}

/// An access outside of all allocations ends the rank, as without shared memory.
fn wild() {
    let program = begin();
    words(program, 512);
    let (base, bytes) = program.memory.addresses();
    program.threads.barrier();
    // SAFETY: it faults on purpose.
    unsafe { base.add(bytes - 1).write_volatile(1) };
}

#[test]
fn an_access_outside_of_all_allocations_ends_the_rank() {
    for side in Side::ALL {
        let options = Options { memory: MEMORY, side: Some(side), ..Options::default() };
        let statuses = ranks(2, "wild", options);
        let signals: Vec<_> = statuses.iter().flatten().map(|status| status.signal()).collect();
        assert!(!signals.is_empty(), "{side:?}: it goes on");
        assert!(
            signals.iter().all(|signal| *signal == Some(libc::SIGSEGV)),
            "{side:?}: {signals:?}"
        );
    }
}

static TICKS: AtomicUsize = AtomicUsize::new(0);
static PAGE: AtomicUsize = AtomicUsize::new(0);

/// The kernel's number of the rank's thread.
static RANKS_THREAD: AtomicI32 = AtomicI32::new(0);

/// The handler of the timer's signal, which any thread of the process may get. The test harness has
/// a thread of its own, which is not a thread of the rank; that thread sends the signal on.
extern "C" fn tick(_: libc::c_int) {
    let thread = RANKS_THREAD.load(Relaxed);
    // SAFETY: numbers, and a signal to a thread of this process.
    unsafe {
        if libc::gettid() != thread {
            libc::syscall(libc::SYS_tgkill, libc::getpid(), thread, libc::SIGALRM);
            return;
        }
    }
    let page = std::ptr::with_exposed_provenance_mut::<u64>(PAGE.load(Relaxed));
    // SAFETY: a word that only this handler uses.
    unsafe { page.write_volatile(page.read_volatile() + 1) };
    TICKS.fetch_add(1, Relaxed);
}

/// A signal handler of the program may access shared memory, no matter what it has interrupted.
fn signals() {
    let program = begin();
    let shared = Shared(words(program, 1024));
    PAGE.store(shared.0.expose_provenance() + 4096 + program.rank() * 8, Relaxed);
    // SAFETY: a number, a handler and a timer.
    unsafe {
        RANKS_THREAD.store(libc::gettid(), Relaxed);
        let mut action: libc::sigaction = std::mem::zeroed();
        let handler: extern "C" fn(libc::c_int) = tick;
        action.sa_sigaction = handler as usize;
        action.sa_flags = libc::SA_RESTART;
        assert_eq!(libc::sigaction(libc::SIGALRM, &action, std::ptr::null_mut()), 0);
        let often = libc::timeval { tv_sec: 0, tv_usec: 300 };
        let timer = libc::itimerval { it_interval: often, it_value: often };
        libc::setitimer(libc::ITIMER_REAL, &timer, std::ptr::null_mut());
    }
    let mut rounds = 0;
    while TICKS.load(Relaxed) < 200 || rounds < 300 {
        program.locks.lock(0);
        shared.store(0, shared.load(0) + 1);
        // SAFETY: taken above.
        unsafe { program.locks.unlock(0) };
        rounds += 1;
    }
    // SAFETY: ends the timer.
    unsafe {
        let timer: libc::itimerval = std::mem::zeroed();
        libc::setitimer(libc::ITIMER_REAL, &timer, std::ptr::null_mut());
    }
    program.locks.count(1, rounds);
    let ticks = TICKS.load(Relaxed) as u64;
    program.threads.barrier();
    assert_eq!(shared.load(0), program.locks.count(1, 0));
    assert_eq!(shared.load(512 + program.rank()), ticks);
    program.finish();
}

#[test]
fn signal_handlers_of_the_program_may_access_shared_memory() {
    scene(2, "signals", Scheme::Shared);
}

#[test]
fn ranks_of_another_program_are_refused() {
    let this = env::current_exe().expect("this program");
    let scratch = tempfile::tempdir().expect("a folder");
    let other = scratch.path().join("other");
    let mut bytes = std::fs::read(&this).expect("this program");
    bytes.push(0);
    std::fs::write(&other, bytes).expect("a copy");
    let executable = std::os::unix::fs::PermissionsExt::from_mode(0o755);
    std::fs::set_permissions(&other, executable).expect("executable");
    let options = Options { memory: MEMORY, ..Options::default() };
    let mut job = Host::launch(2, options.shape(2).layout().bytes, |rank| {
        let mut command = Command::new(if rank == 0 { &this } else { &other });
        command.args(["--exact", "rank", "--nocapture", "--test-threads=1"]);
        command.env(SCENE, "memory").envs(options.variables());
        command
            .stdout(Stdio::null())
            .stderr(std::fs::File::create(scratch.path().join(rank.to_string())).expect("a file"));
        command
    })
    .expect("ranks start");
    while job.ended(1).expect("it ends").is_none() {
        std::thread::sleep(std::time::Duration::from_millis(5));
    }
    drop(job);
    let said = std::fs::read_to_string(scratch.path().join("1")).expect("what it said");
    assert!(said.contains("Different { rank: 1 }"), "{said}");
}

#[test]
fn system_calls_fail_on_absent_pages() {
    scene(2, "calls", Scheme::Writers);
}
