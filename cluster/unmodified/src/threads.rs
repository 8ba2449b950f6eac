//! The program's threads. A new thread runs on the next rank.

use std::cell::Cell;
use std::ffi::{c_char, c_int, c_void};
use std::mem::MaybeUninit;
use std::ptr::{NonNull, null, null_mut, without_provenance, without_provenance_mut};
use std::sync::atomic::{AtomicU32, AtomicUsize, Ordering::Relaxed, Ordering::SeqCst};

use libc::{
    CLOCK_REALTIME, EAGAIN, EBUSY, EDEADLK, EINVAL, ESRCH, ETIMEDOUT, clockid_t, pthread_attr_t,
    pthread_key_t, pthread_t, timespec,
};
use syncline_interpose::real;

use crate::deadline::Deadline;
use crate::fence;
use crate::gate::{self, Function, in_program, ours};
use crate::keys;
use crate::records::{self, Call, DETACHED, ENDED, Field, Record, State};
use crate::refused::{cannot, refuse};
use crate::signals;
use crate::words::{program, rank};

/// The size of a thread's stack in global memory, if the program does not set it.
const STACK: usize = 1 << 20;
/// The size of a thread's other stack.
const OWN_STACK: usize = 512 << 10;
/// The high half of the program's `pthread_t`. The low half is a thread's number plus 1.
const MARK: pthread_t = 0x5359_4e43 << 32;
/// A thread's destructors run in this many rounds; ours waits for the last one.
const ROUNDS: usize = 4;

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
        fn pthread_join(thread: pthread_t, value: *mut *mut c_void) -> c_int;
        fn pthread_tryjoin_np(thread: pthread_t, value: *mut *mut c_void) -> c_int;
        fn pthread_timedjoin_np(thread: pthread_t, value: *mut *mut c_void, until: *const timespec) -> c_int;
        fn pthread_clockjoin_np(thread: pthread_t, value: *mut *mut c_void, clock: clockid_t, until: *const timespec) -> c_int;
        fn pthread_detach(thread: pthread_t) -> c_int;
        fn pthread_kill(thread: pthread_t, signal: c_int) -> c_int;
        fn pthread_self() -> pthread_t;
        fn pthread_exit(value: *mut c_void) -> !;
        fn pthread_setname_np(thread: pthread_t, name: *const c_char) -> c_int;
        fn pthread_getname_np(thread: pthread_t, name: *mut c_char, bytes: usize) -> c_int;
        fn pthread_setaffinity_np(thread: pthread_t, bytes: usize, set: *const libc::cpu_set_t) -> c_int;
        fn pthread_getaffinity_np(thread: pthread_t, bytes: usize, set: *mut libc::cpu_set_t) -> c_int;
        fn pthread_getattr_np(thread: pthread_t, attributes: *mut pthread_attr_t) -> c_int;
        fn pthread_getcpuclockid(thread: pthread_t, clock: *mut clockid_t) -> c_int;
        fn pthread_setschedparam(thread: pthread_t, policy: c_int, parameters: *const libc::sched_param) -> c_int;
        fn pthread_getschedparam(thread: pthread_t, policy: *mut c_int, parameters: *mut libc::sched_param) -> c_int;
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

fn of(thread: pthread_t) -> Option<Record> {
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

/// The size of a stack for the program's thread.
fn size(asked: usize) -> usize {
    match asked {
        0 => STACK,
        _ => asked.next_multiple_of(4096),
    }
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
        let result = unsafe { gate::direct(libc::SYS_tgkill, arguments) };
        -result as c_int
    })
}

/// Starts a thread of the program on this rank.
pub fn launch(record: Record) {
    let mut attributes = MaybeUninit::<pthread_attr_t>::uninit();
    let mut thread = 0;
    let argument = without_provenance_mut(record.0);
    // SAFETY: attributes that are initialised before they are used.
    let status = unsafe {
        libc::pthread_attr_init(attributes.as_mut_ptr());
        libc::pthread_attr_setdetachstate(attributes.as_mut_ptr(), libc::PTHREAD_CREATE_DETACHED);
        libc::pthread_attr_setstacksize(attributes.as_mut_ptr(), OWN_STACK);
        own::pthread_create(&raw mut thread, attributes.as_ptr(), runs, argument)
    };
    if status != 0 {
        cannot("the system starts no more threads");
    }
}

/// A thread of the program, on its own stack at first.
extern "C-unwind" fn runs(number: *mut c_void) -> *mut c_void {
    let record = Record(number.addr());
    let end = become_thread(record, size(record.get(Field::Stack) as usize));
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
    if round.addr() < ROUNDS {
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
    let (mut detached, mut stack) = (libc::PTHREAD_CREATE_JOINABLE, 0);
    if !attributes.is_null() {
        // SAFETY: the program's attributes.
        unsafe {
            pthread_attr_getdetachstate(attributes, &raw mut detached);
            libc::pthread_attr_getstacksize(attributes, &raw mut stack);
        }
    }
    let is_detached = detached == libc::PTHREAD_CREATE_DETACHED;
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
            // A thread may ask for the smallest stack that the C library allows. Its own frames
            // would fit, but not those of a handler for signals that it has no stack for.
            (Field::Stack, stack as u64),
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

/// Waits for a thread's end.
fn join(thread: pthread_t, deadline: Option<Deadline>) -> Result<usize, c_int> {
    let record = of(thread).ok_or(ESRCH)?;
    if record.0 as u64 + 1 == me() {
        return Err(EDEADLK);
    }
    if record.get(Field::Flags) & DETACHED != 0 {
        return Err(EINVAL);
    }
    loop {
        match record.get(Field::State) {
            state if state == State::Ended as u64 => break,
            state if state == State::Free as u64 => return Err(ESRCH),
            state => {
                if !record.word(Field::State).wait_while(state, deadline) {
                    return Err(ETIMEDOUT);
                }
            }
        }
    }
    let value = record.get(Field::Value) as usize;
    record.advance(State::Free);
    fence::acquire();
    Ok(value)
}

unsafe fn joined(result: Result<usize, c_int>, value: *mut *mut c_void) -> c_int {
    match result {
        Ok(found) => {
            if !value.is_null() {
                // SAFETY: by our caller's word.
                unsafe { *value = without_provenance_mut(found) };
            }
            0
        }
        Err(error) => error,
    }
}

/// # Safety
/// Same requirements as POSIX' function.
#[unsafe(no_mangle)]
pub unsafe extern "C-unwind" fn pthread_join(thread: pthread_t, value: *mut *mut c_void) -> c_int {
    // SAFETY: the caller's own call.
    unsafe {
        if !in_program() {
            return own::pthread_join(thread, value);
        }
        joined(ours(|| join(thread, None)), value)
    }
}

/// # Safety
/// Same requirements as the C library's function of this name.
#[unsafe(no_mangle)]
pub unsafe extern "C-unwind" fn pthread_tryjoin_np(
    thread: pthread_t,
    value: *mut *mut c_void,
) -> c_int {
    // SAFETY: the caller's own call.
    unsafe {
        if !in_program() {
            return own::pthread_tryjoin_np(thread, value);
        }
        let ended = ours(|| of(thread).is_none_or(|record| record.is(State::Ended)));
        if ended { pthread_join(thread, value) } else { EBUSY }
    }
}

/// # Safety
/// Same requirements as the C library's function of this name.
#[unsafe(no_mangle)]
pub unsafe extern "C-unwind" fn pthread_timedjoin_np(
    thread: pthread_t,
    value: *mut *mut c_void,
    until: *const timespec,
) -> c_int {
    // SAFETY: the caller's own call.
    unsafe {
        match in_program() {
            true => pthread_clockjoin_np(thread, value, CLOCK_REALTIME, until),
            false => own::pthread_timedjoin_np(thread, value, until),
        }
    }
}

/// # Safety
/// Same requirements as the C library's function of this name.
#[unsafe(no_mangle)]
pub unsafe extern "C-unwind" fn pthread_clockjoin_np(
    thread: pthread_t,
    value: *mut *mut c_void,
    clock: clockid_t,
    until: *const timespec,
) -> c_int {
    // SAFETY: the caller's own call.
    unsafe {
        if !in_program() {
            return own::pthread_clockjoin_np(thread, value, clock, until);
        }
        let deadline = Deadline::of(clock, until);
        joined(ours(|| join(thread, Some(deadline?))), value)
    }
}

/// # Safety
/// Same requirements as POSIX' function.
#[unsafe(no_mangle)]
pub unsafe extern "C-unwind" fn pthread_detach(thread: pthread_t) -> c_int {
    if !in_program() {
        // SAFETY: the caller's own call.
        return unsafe { own::pthread_detach(thread) };
    }
    ours(|| {
        let Some(record) = of(thread) else { return ESRCH };
        let before = record.word(Field::Flags).set_bits(DETACHED);
        if before & DETACHED != 0 {
            return EINVAL;
        }
        if before & ENDED != 0 {
            // It may be about to say so.
            record.word(Field::State).wait_while(State::Runs as u64, None);
            record.advance(State::Free);
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

/// C's threads are POSIX' ones, but for the type of their results.
mod c11 {
    use super::*;

    fn outcome(status: c_int) -> c_int {
        if status == 0 { 0 } else { 2 }
    }

    /// # Safety
    /// Same requirements as C's function.
    #[unsafe(no_mangle)]
    pub unsafe extern "C-unwind" fn thrd_create(
        thread: *mut pthread_t,
        function: Function,
        argument: *mut c_void,
    ) -> c_int {
        // SAFETY: the caller's own call. The function returns its `int` in the low half of the
        // register of the pointer that it is called for.
        outcome(unsafe { pthread_create(thread, null(), function, argument) })
    }

    /// # Safety
    /// Same requirements as C's function.
    #[unsafe(no_mangle)]
    pub unsafe extern "C-unwind" fn thrd_join(thread: pthread_t, result: *mut c_int) -> c_int {
        let mut value = null_mut();
        // SAFETY: the caller's own call.
        unsafe {
            let status = pthread_join(thread, &raw mut value);
            if status == 0 && !result.is_null() {
                *result = value.addr() as c_int;
            }
            outcome(status)
        }
    }

    /// # Safety
    /// Same requirements as C's function.
    #[unsafe(no_mangle)]
    pub unsafe extern "C-unwind" fn thrd_detach(thread: pthread_t) -> c_int {
        // SAFETY: the caller's own call.
        outcome(unsafe { pthread_detach(thread) })
    }

    /// # Safety
    /// Same requirements as C's function.
    #[unsafe(no_mangle)]
    pub unsafe extern "C-unwind" fn thrd_current() -> pthread_t {
        // SAFETY: always allowed.
        unsafe { pthread_self() }
    }

    /// # Safety
    /// Same requirements as C's function.
    #[unsafe(no_mangle)]
    pub unsafe extern "C-unwind" fn thrd_exit(result: c_int) -> ! {
        // SAFETY: the caller's own call.
        unsafe { pthread_exit(without_provenance_mut(result as usize)) }
    }
}

/// `about! { fn NAME(thread, args); }` exports functions about a thread. They work for the calling
/// thread. Other threads may be on other ranks: for them, the call succeeds and does nothing.
macro_rules! about {
    ($(fn $name:ident($($arg:ident: $type:ty),*);)*) => {
        $(
            /// # Safety
            /// Same requirements as the C library's function of this name.
            #[unsafe(no_mangle)]
            pub unsafe extern "C-unwind" fn $name(thread: pthread_t, $($arg: $type),*) -> c_int {
                // SAFETY: the caller's own call.
                unsafe {
                    match of(thread) {
                        None => own::$name(thread, $($arg),*),
                        Some(other) if other.0 as u64 + 1 != me() => 0,
                        Some(_) => own::$name(own::pthread_self(), $($arg),*),
                    }
                }
            }
        )*
    };
}

about! {
    fn pthread_setname_np(name: *const c_char);
    fn pthread_getname_np(name: *mut c_char, bytes: usize);
    fn pthread_setaffinity_np(bytes: usize, set: *const libc::cpu_set_t);
    fn pthread_getaffinity_np(bytes: usize, set: *mut libc::cpu_set_t);
    fn pthread_getattr_np(attributes: *mut pthread_attr_t);
    fn pthread_getcpuclockid(clock: *mut clockid_t);
    fn pthread_setschedparam(policy: c_int, parameters: *const libc::sched_param);
    fn pthread_getschedparam(policy: *mut c_int, parameters: *mut libc::sched_param);
}
