//! The program's threads. A new thread runs on the next rank.

use std::cell::Cell;
use std::ffi::{c_int, c_void};
use std::mem::MaybeUninit;
use std::ptr::{NonNull, null_mut, without_provenance, without_provenance_mut};
use std::sync::atomic::{AtomicU32, AtomicUsize, Ordering::Relaxed, Ordering::SeqCst};

use libc::{EAGAIN, ESRCH, pthread_attr_t, pthread_key_t, pthread_t};
use syncline_interpose::real;

use crate::fail::{cannot, refuse};
use crate::fence;
use crate::gate::{self, Function, in_program, ours};
use crate::keys;
use crate::records::{self, Call, DETACHED, ENDED, Field, Record, State};
use crate::words::{program, rank};
use crate::{signals, system};

/// The size of a thread's stack in global memory, if the program does not set it.
const STACK: usize = 1 << 20;
/// The stack of a thread of this library's own: the program's last functions (`atexit`) may run on it.
pub const HOME_STACK: usize = 8 << 20;
/// The size of a thread's other stack.
const OWN_STACK: usize = 512 << 10;
/// The high half of the program's `pthread_t`. The low half is a thread's number plus 1.
const MARK: pthread_t = 0x5359_4e43 << 32;

thread_local! {
    /// The number of the program's thread plus 1; 0 in a thread of this library.
    static ME: Cell<u64> = const { Cell::new(0) };
    /// The thread's stack in global memory: where it begins, and its size.
    static ON: Cell<(usize, usize)> = const { Cell::new((0, 0)) };
}

/// The threads of this rank that access global memory.
static HERE: AtomicUsize = AtomicUsize::new(0);
/// The key whose destructor notices a thread's end.
static KEY: AtomicU32 = AtomicU32::new(0);

mod own {
    use super::*;

    real! {
        fn pthread_create(thread: *mut pthread_t, attributes: *const pthread_attr_t, function: Function, argument: *mut c_void) -> c_int;
        fn pthread_kill(thread: pthread_t, signal: c_int) -> c_int;
        fn pthread_self() -> pthread_t;
        fn pthread_exit(value: *mut c_void) -> !;
    }
}

unsafe extern "C" {
    fn pthread_attr_getdetachstate(attributes: *const pthread_attr_t, state: *mut c_int) -> c_int;
}

/// The number of the calling thread plus 1.
pub fn me() -> u64 {
    ME.get()
}

/// The calling thread's record.
pub fn record() -> Record {
    Record(ME.get() as usize - 1)
}

fn id(record: Record) -> pthread_t {
    MARK | (record.0 as pthread_t + 1)
}

/// The record that a `pthread_t` of the program stands for.
pub fn of(thread: pthread_t) -> Option<Record> {
    let number = (thread & 0xffff_ffff) as usize;
    (thread >> 32 == MARK >> 32 && number > 0 && number <= records::THREADS)
        .then(|| Record(number - 1))
}

/// Makes the key for the ends of threads.
pub fn prepare() {
    let mut key: pthread_key_t = 0;
    // SAFETY: the destructor is ours.
    if unsafe { libc::pthread_key_create(&raw mut key, Some(leaves)) } != 0 {
        cannot("there is no key for the ends of threads");
    }
    KEY.store(key, Relaxed);
}

/// The calling thread is this thread of the program, from now on, with a stack of this size in
/// global memory. Returns the stack's end.
pub fn become_thread(record: Record, stack: usize) -> *mut u8 {
    ME.set(record.0 as u64 + 1);
    record.set(Field::Process, std::process::id().into());
    // SAFETY: a query.
    record.set(Field::Thread, unsafe { libc::gettid() } as u64);
    // The line below a stack: a thread that needs more stack ends the program there.
    let bytes = stack.next_multiple_of(program().memory.line()) + program().memory.line();
    let Ok(start) = program().memory.allocate(bytes) else {
        cannot("there is no shared memory for a thread's stack; `--memory` sets the size")
    };
    let start = start.addr().get();
    program().memory.guard(start, true);
    ON.set((start, bytes));
    gate::open();
    comes();
    without_provenance_mut((start + bytes) & !15)
}

/// One more thread of this process accesses global memory.
pub fn comes() {
    HERE.fetch_add(1, SeqCst);
    program().set_threads(|| HERE.load(SeqCst));
}

/// One thread less of this process accesses global memory.
pub fn goes() {
    HERE.fetch_sub(1, SeqCst);
    program().set_threads(|| HERE.load(SeqCst));
}

/// What the program's attributes say of a new thread: whether it is detached, and the size of its
/// stack, if that is not the C library's default.
///
/// # Safety
///
/// The pointer is null or to attributes.
unsafe fn asked(attributes: *const pthread_attr_t) -> (bool, Option<usize>) {
    if attributes.is_null() {
        return (false, None);
    }
    let (mut detached, mut stack, mut usual) = (libc::PTHREAD_CREATE_JOINABLE, 0, 0);
    let mut default = MaybeUninit::<pthread_attr_t>::uninit();
    // SAFETY: the program's attributes; and others, which are initialised before they are used.
    unsafe {
        pthread_attr_getdetachstate(attributes, &raw mut detached);
        libc::pthread_attr_getstacksize(attributes, &raw mut stack);
        libc::pthread_attr_init(default.as_mut_ptr());
        libc::pthread_attr_getstacksize(default.as_ptr(), &raw mut usual);
        libc::pthread_attr_destroy(default.as_mut_ptr());
    }
    (detached == libc::PTHREAD_CREATE_DETACHED, (stack != usual).then_some(stack))
}

/// Sends a signal to a thread of any rank.
///
/// # Safety
/// Same requirements as POSIX' function.
#[unsafe(no_mangle)]
pub unsafe extern "C-unwind" fn pthread_kill(thread: pthread_t, signal: c_int) -> c_int {
    let Some(record) = of(thread) else {
        // SAFETY: the caller's own call.
        return unsafe { own::pthread_kill(thread, signal) };
    };
    ours(|| {
        if record.word(Field::Flags).load() & ENDED != 0 {
            return ESRCH;
        }
        // A thread that another rank is about to start has no number yet.
        while record.get(Field::Thread) == 0 {
            std::thread::yield_now();
        }
        let (process, thread) = (record.get(Field::Process), record.get(Field::Thread));
        let arguments = [process as usize, thread as usize, signal as usize, 0, 0, 0];
        // SAFETY: sends a signal to a thread of the program.
        let result = unsafe { system::direct(libc::SYS_tgkill, arguments) };
        -result as c_int
    })
}

/// Starts a thread of the program on this rank.
pub fn launch(record: Record) {
    start(runs, record.0, OWN_STACK);
}

/// Starts a thread of this process, which is detached. It begins with all signals blocked, so that
/// handlers of the program run only in threads of the program.
pub fn start(function: Function, argument: usize, stack: usize) {
    let mut attributes = MaybeUninit::<pthread_attr_t>::uninit();
    let (mut thread, blocked) = (0, signals::block(u64::MAX));
    // SAFETY: attributes that are initialised before they are used; the functions that are passed
    // take a number in place of a pointer.
    let status = unsafe {
        let attributes = attributes.as_mut_ptr();
        libc::pthread_attr_init(attributes);
        libc::pthread_attr_setdetachstate(attributes, libc::PTHREAD_CREATE_DETACHED);
        libc::pthread_attr_setstacksize(attributes, stack);
        own::pthread_create(&raw mut thread, attributes, function, without_provenance_mut(argument))
    };
    signals::block(blocked);
    if status != 0 {
        cannot("the system starts no more threads");
    }
}

/// A thread of the program, on its own stack at first.
extern "C-unwind" fn runs(number: *mut c_void) -> *mut c_void {
    let record = Record(number.addr());
    let end = become_thread(record, record.get(Field::Stack) as usize);
    // SAFETY: the first round of the destructor.
    unsafe { libc::pthread_setspecific(KEY.load(Relaxed), without_provenance(1)) };
    fence::acquire();
    signals::block(record.get(Field::Blocked));
    let argument = without_provenance_mut(record.get(Field::Argument) as usize);
    // SAFETY: the program's own function and argument; the stack is new.
    let value = unsafe {
        let function = std::mem::transmute::<usize, Function>(record.get(Field::Function) as usize);
        gate::call_on(end, function, argument)
    };
    ours(|| record.set(Field::Value, value.addr() as u64));
    null_mut()
}

/// The key's destructor. It runs as the program's code, between the program's own destructors.
unsafe extern "C" fn leaves(round: *mut c_void) {
    // Ours waits for the last round.
    if round.addr() < keys::ROUNDS {
        let next = without_provenance(round.addr() + 1);
        // SAFETY: our own key, of the C library.
        unsafe { libc::pthread_setspecific(KEY.load(Relaxed), next) };
        return;
    }
    keys::destroy();
    gate::leave();
    let record = record();
    let (start, bytes) = ON.get();
    program().memory.guard(start, false);
    if let Some(start) = NonNull::new(without_provenance_mut(start)) {
        // SAFETY: the thread has left its stack for good.
        unsafe { program().memory.free(start, bytes) };
    }
    fence::release();
    goes();
    gate::close();
    if record.get(Field::Served) != 0 {
        record.set(Field::Call, Call::Over as u64);
        record.word(Field::Call).wake(1);
        record.word(Field::Served).wait_while(1, None);
    }
    if record.word(Field::Flags).set_bits(ENDED) & DETACHED != 0 {
        record.advance(State::Free);
    } else {
        record.advance(State::Ended);
    }
}

/// # Safety
/// Same requirements as POSIX' function.
#[unsafe(no_mangle)]
pub unsafe extern "C-unwind" fn pthread_create(
    thread: *mut pthread_t,
    attributes: *const pthread_attr_t,
    function: Function,
    argument: *mut c_void,
) -> c_int {
    if !in_program() {
        // SAFETY: the caller's own call.
        return unsafe { own::pthread_create(thread, attributes, function, argument) };
    }
    // SAFETY: the caller's own call.
    let (is_detached, stack) = unsafe { asked(attributes) };
    ours(|| {
        let Some(record) = Record::take() else { return EAGAIN };
        let next = records::created().add(1) + 1;
        let target = next as usize % program().ranks();
        for (field, value) in [
            (Field::Rank, target as u64),
            (Field::Function, function as usize as u64),
            (Field::Argument, argument.addr() as u64),
            (Field::Value, 0),
            (Field::Flags, if is_detached { DETACHED } else { 0 }),
            (Field::Stack, stack.unwrap_or(STACK) as u64),
            (Field::Blocked, signals::blocked()),
            (Field::Thread, 0),
            (Field::Call, Call::None as u64),
            (Field::Served, 0),
        ] {
            record.set(field, value);
        }
        // The new thread may look at its own number.
        // SAFETY: the caller's own call.
        unsafe { *thread = id(record) };
        fence::release();
        if target == rank() {
            record.advance(State::Runs);
            launch(record);
        } else {
            record.advance(State::Asked);
            records::send_mail(target);
        }
        0
    })
}

/// # Safety
/// Same requirements as POSIX' function.
#[unsafe(no_mangle)]
pub unsafe extern "C-unwind" fn pthread_self() -> pthread_t {
    if in_program() && me() != 0 {
        return id(record());
    }
    // SAFETY: always allowed.
    unsafe { own::pthread_self() }
}

/// # Safety
/// Same requirements as POSIX' function.
#[unsafe(no_mangle)]
pub unsafe extern "C-unwind" fn pthread_exit(value: *mut c_void) -> ! {
    if in_program() && me() == 1 {
        refuse("pthread_exit in main");
    }
    if in_program() {
        ours(|| record().set(Field::Value, value.addr() as u64));
    }
    // SAFETY: the caller's own call.
    unsafe { own::pthread_exit(value) }
}
