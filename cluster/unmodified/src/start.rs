//! Takes the program over before `main`, and gives it back at its end.

use std::ffi::{CStr, c_char, c_int, c_void};
use std::ptr::{null_mut, without_provenance_mut};
use std::sync::atomic::{AtomicUsize, Ordering::Relaxed};

use syncline_dsm::program::start_over;
use syncline_interpose::real;

use crate::fail::cannot;
use crate::records::{self, Field, Record, State};
use crate::words::{program, rank};
use crate::{calls, gate, home, image, output, signals, system, threads};

/// The size of the stack on which `main` runs.
const STACK: usize = 8 << 20;

type Main = extern "C-unwind" fn(c_int, *mut *mut c_char, *mut *mut c_char) -> c_int;

static MAIN: AtomicUsize = AtomicUsize::new(0);

unsafe extern "C" {
    static mut environ: *mut *mut c_char;
}

/// The C library calls the program's constructors, and then `main`.
///
/// # Safety
/// Called by the program's first code only.
#[unsafe(no_mangle)]
pub unsafe extern "C-unwind" fn __libc_start_main(
    main: Main,
    count: c_int,
    arguments: *mut *mut c_char,
    init: *const c_void,
    fini: *const c_void,
    loader_fini: *const c_void,
    stack_end: *const c_void,
) -> c_int {
    real! {
        fn __libc_start_main(main: Main, count: c_int, arguments: *mut *mut c_char, init: *const c_void, fini: *const c_void, loader_fini: *const c_void, stack_end: *const c_void) -> c_int;
    }
    let main = if image::is_rank() {
        image::ensure();
        MAIN.store(main as usize, Relaxed);
        image::set_constructs(true);
        begins
    } else {
        main
    };
    // SAFETY: the program's own call, with our function before its `main`.
    unsafe { __libc_start_main(main, count, arguments, init, fini, loader_fini, stack_end) }
}

/// Runs in place of `main`.
extern "C-unwind" fn begins(
    count: c_int,
    arguments: *mut *mut c_char,
    environment: *mut *mut c_char,
) -> c_int {
    image::set_constructs(false);
    if std::fs::read_dir("/proc/self/task").is_ok_and(|threads| threads.count() > 1) {
        cannot("its constructors or libraries start threads before main");
    }
    output::find();
    take_over();
    threads::prepare();
    calls::install();
    if rank() != 0 {
        signals::leave_to_rank_0();
        output::by_lines();
        serve();
        output::flush();
        program().leave();
        system::exit(0);
    }
    threads::start(server, 0, threads::HOME_STACK);
    Record(0).set(Field::State, State::Runs as u64);
    let mut main = Arguments {
        count,
        // SAFETY: the C library passes these lists.
        arguments: unsafe { global_list(arguments) },
        // SAFETY: as above.
        environment: unsafe { global_list(environment) },
    };
    // SAFETY: the program has no other thread, and the C library none that reads it.
    unsafe { environ = main.environment };
    let end = threads::become_thread(Record(0), STACK);
    // SAFETY: the stack is new, and `main`'s arguments are those of the system.
    let status = unsafe { gate::call_on(end, calls_main, (&raw mut main).cast()) };
    status.addr() as c_int
}

/// What `main` is called with.
struct Arguments {
    count: c_int,
    arguments: *mut *mut c_char,
    environment: *mut *mut c_char,
}

extern "C-unwind" fn calls_main(arguments: *mut c_void) -> *mut c_void {
    // SAFETY: `begins` passes it, and waits.
    let with = unsafe { &*arguments.cast::<Arguments>() };
    // SAFETY: the function that the program's first code has passed.
    let main = unsafe { std::mem::transmute::<usize, Main>(MAIN.load(Relaxed)) };
    let status = main(with.count, with.arguments, with.environment);
    without_provenance_mut(status as u32 as usize)
}

/// Makes the variables and the early blocks global, with rank 0's content.
fn take_over() {
    let content = image::content();
    let (start, early) = (content.start, image::early_end() - content.start);
    // SAFETY: mapped, and the only thread reads it.
    let kept = unsafe { std::slice::from_raw_parts(start as *const u8, content.len()) }.to_vec();
    // SAFETY: until the content is back, only this library's code runs, which does not use it.
    let program = match unsafe { start_over(image::bytes(), start) } {
        Ok(program) => program,
        Err(error) => cannot(&error.to_string()),
    };
    let allocated = program.memory.allocate_together(early);
    if allocated.map_or(0, |at| at.addr().get()) != start {
        cannot("there is too little shared memory; `--memory` sets the size");
    }
    if program.rank() == 0 {
        for (number, page) in kept.chunks(4096).enumerate() {
            if page.iter().any(|byte| *byte != 0) {
                let to = without_provenance_mut::<u8>(start + number * 4096);
                // SAFETY: within the memory that was allocated.
                unsafe { to.copy_from_nonoverlapping(page.as_ptr(), page.len()) };
            }
        }
    }
    program.note_loaded(image::loaded());
    program.threads.barrier();
}

/// A copy of a list of texts in global memory: threads of all ranks may read it.
///
/// # Safety
///
/// The list ends with a null pointer.
unsafe fn global_list(list: *mut *mut c_char) -> *mut *mut c_char {
    // SAFETY: by our caller's word.
    let texts = unsafe {
        let count = (0..).take_while(|at| !(*list.add(*at)).is_null()).count();
        std::slice::from_raw_parts(list, count)
    };
    // SAFETY: as above.
    let texts = texts.iter().map(|text| unsafe { CStr::from_ptr(*text) }.to_bytes_with_nul());
    let pointers = (texts.len() + 1) * size_of::<*mut c_char>();
    let bytes = pointers + texts.clone().map(<[u8]>::len).sum::<usize>();
    let Ok(block) = program().memory.allocate(bytes) else {
        cannot("there is no shared memory for the arguments of main")
    };
    let (copies, mut next) = (block.as_ptr().cast::<*mut c_char>(), pointers);
    for (number, text) in texts.enumerate() {
        // SAFETY: the block has room for the pointers and for all texts.
        unsafe {
            let at = block.as_ptr().add(next);
            at.copy_from_nonoverlapping(text.as_ptr(), text.len());
            copies.add(number).write(at.cast());
            copies.add(number + 1).write(null_mut());
        }
        next += text.len();
    }
    copies
}

extern "C-unwind" fn server(_: *mut c_void) -> *mut c_void {
    serve();
    null_mut()
}

/// Starts threads that other ranks ask for, until the program has ended.
fn serve() {
    let me = rank();
    loop {
        let seen = records::mail_seen(me);
        if records::over().load() != 0 {
            return;
        }
        signals::apply();
        for record in records::all() {
            let (asked, runs) = (State::Asked as u64, State::Runs as u64);
            let is_here = record.is(State::Asked) && record.get(Field::Rank) == me as u64;
            if is_here && record.word(Field::State).exchange(asked, runs) {
                threads::launch(record);
            }
            if me == 0 {
                home::serve(record);
            }
        }
        records::wait_for_mail(me, seen);
    }
}
