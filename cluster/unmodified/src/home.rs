//! The program's files, sockets and processes belong to rank 0. System calls that other ranks'
//! threads make about them are made by rank 0: a thread of rank 0 serves each such thread. What the
//! arguments point to is global memory, a constant of the program, or a copy, so rank 0 finds it at
//! the same address.

use std::ffi::c_void;
use std::ptr::null_mut;

use crate::borrowed::{Borrowed, borrow};
use crate::call::Call;
use crate::fence;
use crate::gate;
use crate::output;
use crate::records::{self, Call as Stage, Field, Record};
use crate::words::rank;
use crate::{data, ends, signals, threads};

/// Stands for a call of C's function `exit` among the numbers of system calls.
const EXIT: i64 = -1;

/// Makes a call of the calling thread at rank 0. Handlers of signals run only afterwards: they may
/// make calls too, and a thread has one call under way.
pub fn ask(mut call: Call) -> i64 {
    let blocked = signals::block(u64::MAX);
    let borrowed = borrow(&mut call);
    let record = threads::record();
    record.set(Field::Number, call.number as u64);
    for (number, argument) in call.arguments.into_iter().enumerate() {
        record.word(Field::Arguments).plus(number).store(argument as u64);
    }
    fence::release();
    let stage = record.word(Field::Call);
    stage.store(Stage::Asked as u64);
    if record.get(Field::Served) == 0 {
        records::send_mail(0);
    } else {
        stage.wake(1);
    }
    stage.wait_while(Stage::Asked as u64, None);
    fence::acquire();
    borrowed.into_iter().flatten().for_each(Borrowed::give_back);
    signals::block(blocked);
    record.get(Field::Result) as i64
}

/// Maps a file of rank 0, for the C library of this rank: its bytes are copied. The program's own
/// `mmap` is in `heap`.
pub fn map_file(call: Call) -> i64 {
    let [at, bytes, access, flags, file, offset] = call.arguments;
    let is = |flag: i32| flags & flag as usize != 0;
    if is(libc::MAP_SHARED) && access & libc::PROT_WRITE as usize != 0 {
        return -i64::from(libc::EACCES);
    }
    let kinds = (libc::MAP_SHARED | libc::MAP_PRIVATE | libc::MAP_ANONYMOUS) as usize;
    let flags = flags & !kinds | (libc::MAP_PRIVATE | libc::MAP_ANONYMOUS) as usize;
    let writable = (libc::PROT_READ | libc::PROT_WRITE) as usize;
    let map =
        Call { number: libc::SYS_mmap, arguments: [at, bytes, writable, flags, usize::MAX, 0] };
    let start = data::make(map);
    if start < 0 {
        return start;
    }
    let (start, mut done) = (start as usize, 0);
    while done < bytes {
        let arguments = [file, start + done, bytes - done, offset + done, 0, 0];
        match ask(Call { number: libc::SYS_pread64, arguments }) {
            0 => break,
            error if error < 0 => {
                data::make(Call {
                    number: libc::SYS_munmap,
                    arguments: [start, bytes, 0, 0, 0, 0],
                });
                return error;
            }
            read => done += read as usize,
        }
    }
    data::make(Call { number: libc::SYS_mprotect, arguments: [start, bytes, access, 0, 0, 0] });
    start as i64
}

/// Starts a thread of this rank for a thread that asks for the first time.
pub fn serve(record: Record) {
    let asks = record.get(Field::Call) == Stage::Asked as u64;
    if asks && record.word(Field::Served).exchange(0, 1) {
        threads::start(serves, record.0, threads::HOME_STACK);
    }
}

extern "C-unwind" fn serves(number: *mut c_void) -> *mut c_void {
    let record = Record(number.addr());
    let stage = record.word(Field::Call);
    gate::open();
    threads::comes();
    loop {
        match stage.load() {
            asked if asked == Stage::Asked as u64 => {
                fence::acquire();
                let argument = |number| record.word(Field::Arguments).plus(number).load() as usize;
                let arguments = std::array::from_fn(argument);
                let number = record.get(Field::Number) as i64;
                let writes = matches!(number, libc::SYS_write | libc::SYS_writev);
                if writes && arguments[0] == libc::STDOUT_FILENO as usize {
                    gate::program(output::flush);
                }
                let result = match number {
                    libc::SYS_exit_group => ends::end(arguments[0]),
                    EXIT => exit_here(arguments[0]),
                    _ => data::make(Call { number, arguments }),
                };
                record.set(Field::Result, result as u64);
                fence::release();
                stage.store(Stage::Answered as u64);
                stage.wake(1);
            }
            over if over == Stage::Over as u64 => break,
            other => {
                stage.wait_while(other, None);
            }
        }
    }
    threads::goes();
    gate::close();
    record.set(Field::Served, 0);
    record.word(Field::Served).wake(1);
    null_mut()
}

/// Ends the program as if this thread were one of its threads.
fn exit_here(status: usize) -> ! {
    gate::program(|| {
        // SAFETY: the program has called it, on another rank.
        unsafe { libc::exit(status as i32) }
    })
}

/// Ends the program. Its last functions (`atexit`) are known to rank 0's C library, so that rank
/// calls them.
///
/// # Safety
/// Same requirements as C's function.
#[unsafe(no_mangle)]
pub unsafe extern "C-unwind" fn exit(status: i32) -> ! {
    syncline_interpose::real! { fn exit(status: i32) -> !; }
    if gate::in_program() && gate::ours(rank) != 0 {
        let arguments = [status as usize, 0, 0, 0, 0, 0];
        gate::ours(|| ask(Call { number: EXIT, arguments }));
    }
    // SAFETY: the caller's own call.
    unsafe { exit(status) }
}
