//! System calls in a section. Translated code executes most system calls unchanged. Tracing ends at
//! system calls that create a thread or a process, that don't return to the next instruction, that
//! may change the FS base, or that set up a sandbox. A table says which memory the kernel reads and
//! writes in the common system calls; the others are only counted.

use syncline_trace::layout::{STOP_CLONE, STOP_FORK, STOP_OTHER};

use crate::engine::context::Context;
use crate::engine::pending::Pending;
use crate::engine::replay::Event;
use crate::{clock, sandbox};

/// How to handle a system call.
pub enum Before {
    /// Execute the system call.
    Native,
    /// End tracing at the system call, for this reason.
    Stop(u32),
    /// End all tracing in the process there, and leave the program alone, for this reason.
    LeaveAlone(&'static str),
}

/// The number of bytes that the kernel accesses.
#[derive(Clone, Copy)]
enum Size {
    /// A fixed number of bytes.
    Is(u64),
    /// The value of the argument with this index, times a size.
    Argument(usize, u64),
    /// Some bytes of each element of an array: the index of the argument with the number of
    /// elements, the size of an element, and the offset and the number of the bytes in each
    /// element.
    Field(usize, u64, u64, u64),
    /// The call's result, times a size.
    Result(u64),
    /// All bytes up to and including a zero byte.
    Text,
    /// The buffers of an array of `iovec`, whose length is the argument with this index. The call's
    /// result is the number of bytes in all buffers together.
    Vector(usize),
}

/// The index of an argument that points to memory, whether that memory is written, and how many
/// bytes are accessed.
type Effect = (usize, bool, Size);

const READ: bool = false;
const WRITTEN: bool = true;

/// The memory that the kernel reads and writes if the call succeeds.
fn effects(number: i64) -> &'static [Effect] {
    use Size::{Argument, Field, Is, Result, Text, Vector};
    match number {
        libc::SYS_read | libc::SYS_pread64 | libc::SYS_recvfrom | libc::SYS_getdents64 => {
            &[(1, WRITTEN, Result(1))]
        }
        libc::SYS_write | libc::SYS_pwrite64 | libc::SYS_sendto => &[(1, READ, Result(1))],
        libc::SYS_readv | libc::SYS_preadv => {
            &[(1, READ, Argument(2, 16)), (1, WRITTEN, Vector(2))]
        }
        libc::SYS_writev | libc::SYS_pwritev => &[(1, READ, Argument(2, 16)), (1, READ, Vector(2))],
        libc::SYS_open
        | libc::SYS_access
        | libc::SYS_unlink
        | libc::SYS_mkdir
        | libc::SYS_rmdir
        | libc::SYS_chdir
        | libc::SYS_chmod
        | libc::SYS_truncate => &[(0, READ, Text)],
        libc::SYS_rename => &[(0, READ, Text), (1, READ, Text)],
        libc::SYS_openat | libc::SYS_unlinkat | libc::SYS_mkdirat | libc::SYS_faccessat => {
            &[(1, READ, Text)]
        }
        libc::SYS_stat | libc::SYS_lstat => &[(0, READ, Text), (1, WRITTEN, Is(144))],
        libc::SYS_fstat => &[(1, WRITTEN, Is(144))],
        libc::SYS_newfstatat => &[(1, READ, Text), (2, WRITTEN, Is(144))],
        libc::SYS_statx => &[(1, READ, Text), (4, WRITTEN, Is(256))],
        libc::SYS_readlink => &[(0, READ, Text), (1, WRITTEN, Result(1))],
        libc::SYS_poll => &[(0, READ, Argument(1, 8)), (0, WRITTEN, Field(1, 8, 6, 2))],
        libc::SYS_rt_sigaction => &[(1, READ, Is(32)), (2, WRITTEN, Is(32))],
        libc::SYS_rt_sigprocmask => &[(1, READ, Is(8)), (2, WRITTEN, Is(8))],
        libc::SYS_pipe | libc::SYS_pipe2 => &[(0, WRITTEN, Is(8))],
        libc::SYS_nanosleep => &[(0, READ, Is(16))],
        libc::SYS_clock_nanosleep => &[(2, READ, Is(16))],
        libc::SYS_gettimeofday => &[(0, WRITTEN, Is(16)), (1, WRITTEN, Is(8))],
        libc::SYS_time => &[(0, WRITTEN, Is(8))],
        libc::SYS_clock_gettime | libc::SYS_clock_getres => &[(1, WRITTEN, Is(16))],
        libc::SYS_getrlimit => &[(1, WRITTEN, Is(16))],
        libc::SYS_prlimit64 => &[(2, READ, Is(16)), (3, WRITTEN, Is(16))],
        libc::SYS_getrusage => &[(1, WRITTEN, Is(144))],
        libc::SYS_sysinfo => &[(0, WRITTEN, Is(112))],
        libc::SYS_uname => &[(0, WRITTEN, Is(390))],
        libc::SYS_getcwd => &[(0, WRITTEN, Result(1))],
        libc::SYS_getrandom => &[(0, WRITTEN, Result(1))],
        libc::SYS_sched_getaffinity => &[(2, WRITTEN, Result(1))],
        libc::SYS_getcpu => &[(0, WRITTEN, Is(4)), (1, WRITTEN, Is(4))],
        libc::SYS_futex => &[(0, READ, Is(4))],
        libc::SYS_connect | libc::SYS_bind => &[(1, READ, Argument(2, 1))],
        libc::SYS_setsockopt => &[(3, READ, Argument(4, 1))],
        libc::SYS_socketpair => &[(3, WRITTEN, Is(8))],
        libc::SYS_epoll_ctl => &[(3, READ, Is(12))],
        libc::SYS_epoll_wait | libc::SYS_epoll_pwait => &[(1, WRITTEN, Result(12))],
        libc::SYS_sendfile => &[(2, READ, Is(8)), (2, WRITTEN, Is(8))],
        _ => &[],
    }
}

/// Decides how to handle a system call that is about to be made.
pub fn before(context: &mut Context) -> Before {
    const RDI: usize = 7;
    const RSI: usize = 6;
    let r = &context.registers;
    let number = r[0];
    let arguments = [r[RDI], r[RSI], r[2], r[10], r[8], r[9]];
    context.happened(Event::SystemCall(number as u32));
    if let Some(why) = sandbox::forbids(number, arguments[0], arguments[1], arguments[2]) {
        return Before::LeaveAlone(why);
    }
    let thread = libc::CLONE_THREAD as u64;
    match number as i64 {
        libc::SYS_clone if arguments[0] & thread != 0 => return Before::Stop(STOP_CLONE),
        libc::SYS_clone3 => {
            // SAFETY: the program passes its arguments there; the first word is the flags.
            let flags = unsafe { (arguments[0] as *const u64).read() };
            let is_thread = flags & thread != 0;
            return Before::Stop(if is_thread { STOP_CLONE } else { STOP_FORK });
        }
        libc::SYS_clone | libc::SYS_fork | libc::SYS_vfork => return Before::Stop(STOP_FORK),
        // These system calls don't return, don't return to an address that translated code knows,
        // or may change the FS base.
        libc::SYS_execve
        | libc::SYS_execveat
        | libc::SYS_exit
        | libc::SYS_exit_group
        | libc::SYS_rt_sigreturn
        | libc::SYS_arch_prctl => return Before::Stop(STOP_OTHER),
        _ => {}
    }
    // The clock is read only if the cost of tracing this section is measured.
    let made = context.engine().began.map(|_| clock::of_thread());
    context.engine().pending = Some(Pending { number, arguments, made });
    Before::Native
}

/// Notes which memory the kernel has read and written in the system call that has just returned.
pub fn after(context: &mut Context, by: u64) {
    let result = context.registers[0] as i64;
    let Some(call) = context.engine().pending.take() else { return };
    if let Some(made) = call.made {
        context.engine().in_kernel += clock::of_thread().saturating_sub(made);
    }
    const LARGEST_ERROR: i64 = 4095;
    if (-LARGEST_ERROR..0).contains(&result) {
        return;
    }
    for &(argument, write, size) in effects(call.number as i64) {
        let address = call.arguments[argument];
        if address == 0 {
            continue;
        }
        let mut touch = |address: u64, bytes: u64| {
            if bytes > 0 {
                context.happened(Event::Kernel { address, bytes, write, by });
            }
        };
        match size {
            Size::Is(bytes) => touch(address, bytes),
            Size::Argument(n, each) => touch(address, call.arguments[n] * each),
            Size::Field(n, each, at, bytes) => {
                (0..call.arguments[n]).for_each(|i| touch(address + i * each + at, bytes));
            }
            Size::Result(each) => touch(address, result as u64 * each),
            // SAFETY: the kernel has just read a text there.
            Size::Text => touch(address, unsafe { libc::strlen(address as *const _) } as u64 + 1),
            Size::Vector(n) => {
                let mut left = result as u64;
                for i in 0..call.arguments[n] {
                    // SAFETY: the kernel has just read this many parts there.
                    let part = unsafe { (address as *const libc::iovec).add(i as usize).read() };
                    let bytes = left.min(part.iov_len as u64);
                    touch(part.iov_base.addr() as u64, bytes);
                    left -= bytes;
                }
            }
        }
    }
}
