//! System calls of the program's code. The kernel passes each of them to [`handle`], as the signal
//! SIGSYS (Linux, Documentation/admin-guide/syscall-user-dispatch.rst).
//!
//! A call about files or processes is made by rank 0 ([`home`]); this rank makes the others.

use std::ffi::{c_int, c_long, c_void};

use libc::{greg_t, siginfo_t, ucontext_t};

use crate::call::Call;
use crate::fail::{cannot, refuse};
use crate::gate;
use crate::image::is_global;
use crate::signals::Action;
use crate::words::rank;
use crate::{data, ends, home, image, signals, system};

/// Installs the handlers for system calls and for page faults. They return by this library's own
/// instructions, which the kernel does not pass on.
pub fn install() {
    let (call, fault) = (handle as *const () as usize, fault as *const () as usize);
    let actions = [
        (libc::SIGSYS, Action::new(call, libc::SA_NODEFER, 0)),
        (libc::SIGBUS, Action::new(fault, 0, u64::MAX)),
        (libc::SIGSEGV, Action::new(fault, 0, u64::MAX)),
    ];
    if actions.iter().any(|(signal, action)| action.set(*signal) != 0) {
        cannot("the system refuses handlers for signals");
    }
}

extern "C" fn fault(signal: c_int, info: *mut siginfo_t, context: *mut c_void) {
    // SAFETY: the kernel's arguments; this handler's mask blocks all signals.
    gate::ours(|| unsafe { syncline_dsm::program::handle_fault(signal, info, context) });
}

extern "C" fn handle(_: c_int, info: *mut siginfo_t, context: *mut c_void) {
    // SAFETY: the kernel passes it.
    if unsafe { (*info).si_code } != SYS_USER_DISPATCH {
        // A process has sent the signal.
        return;
    }
    // SAFETY: the kernel passes the context of the interrupted code.
    let (registers, mask) = unsafe {
        let context = context.cast::<ucontext_t>();
        (&mut (*context).uc_mcontext.gregs, &raw mut (*context).uc_sigmask)
    };
    let of = |register: c_int| registers[register as usize] as usize;
    let number = of(libc::REG_RAX) as i64;
    if number == libc::SYS_rt_sigreturn {
        // SAFETY: the program's code is at the end of a signal handler, as the call says.
        unsafe { gate::return_from(of(libc::REG_RSP)) };
    }
    let arguments =
        [libc::REG_RDI, libc::REG_RSI, libc::REG_RDX, libc::REG_R10, libc::REG_R8, libc::REG_R9]
            .map(of);
    // The C library has locks of its own in what it allocates, such as a `FILE`.
    if is_own_futex(number, arguments) && !image::is_libc(of(libc::REG_RIP)) {
        refuse(OWN_FUTEX);
    }
    let result = match number {
        // The kernel restores the mask when this handler returns, so the change is made there.
        libc::SYS_rt_sigprocmask => gate::ours(|| {
            // SAFETY: the kernel's mask is the first word of the C library's.
            signals::change(unsafe { &mut *mask.cast::<u64>() }, arguments)
        }),
        _ => gate::ours(|| dispatch(Call { number, arguments })),
    };
    registers[libc::REG_RAX as usize] = result as greg_t;
}

/// The `si_code` of a call that was passed on.
const SYS_USER_DISPATCH: c_int = 2;

const OWN_FUTEX: &str = "futex, for a lock of its own";

/// Whether a call is about a lock of the program, with which threads wait in the kernel. These
/// can't work over ranks.
fn is_own_futex(number: i64, arguments: [usize; 6]) -> bool {
    number == libc::SYS_futex && is_global(arguments[0])
}

/// Makes a call of the program, on the rank that it belongs to.
fn dispatch(call: Call) -> i64 {
    match call.number {
        libc::SYS_clone | libc::SYS_clone3 => refuse("clone"),
        libc::SYS_fork | libc::SYS_vfork => refuse("vfork"),
        libc::SYS_execve | libc::SYS_execveat => refuse("execve"),
        libc::SYS_rt_sigaction => signals::install(call.arguments),
        libc::SYS_shmat => refuse("shmat"),
        libc::SYS_io_uring_setup => refuse("io_uring_setup"),
        libc::SYS_exit_group if rank() == 0 => ends::end(call.arguments[0]),
        libc::SYS_mmap if rank() != 0 && !is_anonymous(call) => home::map_file(call),
        libc::SYS_tgkill => data::make(to_own_process(call)),
        number if rank() != 0 && !is_local(number) => home::ask(call),
        _ => data::make(call),
    }
}

/// Whether a call of `mmap` is about memory without a file.
fn is_anonymous(call: Call) -> bool {
    call.arguments[3] & libc::MAP_ANONYMOUS as usize != 0
}

/// A signal of the calling thread for itself, as `raise` sends it. The program knows only rank 0's
/// process, but this thread may be in another one.
fn to_own_process(mut call: Call) -> Call {
    // SAFETY: queries.
    let (process, thread) = unsafe {
        (system::direct(libc::SYS_getpid, [0; 6]), system::direct(libc::SYS_gettid, [0; 6]))
    };
    if call.arguments[1] == thread as usize {
        call.arguments[0] = process as usize;
    }
    call
}

/// Whether each rank makes a call itself: what concerns the thread, its memory, or the time.
fn is_local(number: i64) -> bool {
    const LOCAL: [c_long; 42] = [
        libc::SYS_mmap,
        libc::SYS_mprotect,
        libc::SYS_munmap,
        libc::SYS_brk,
        libc::SYS_mremap,
        libc::SYS_madvise,
        libc::SYS_mincore,
        libc::SYS_rt_sigaction,
        libc::SYS_rt_sigprocmask,
        libc::SYS_rt_sigtimedwait,
        libc::SYS_rt_sigsuspend,
        libc::SYS_rt_sigpending,
        libc::SYS_sigaltstack,
        libc::SYS_pause,
        libc::SYS_nanosleep,
        libc::SYS_clock_nanosleep,
        libc::SYS_clock_gettime,
        libc::SYS_clock_getres,
        libc::SYS_gettimeofday,
        libc::SYS_time,
        libc::SYS_sched_yield,
        libc::SYS_sched_setaffinity,
        libc::SYS_sched_getaffinity,
        libc::SYS_getcpu,
        libc::SYS_gettid,
        libc::SYS_futex,
        libc::SYS_set_tid_address,
        libc::SYS_set_robust_list,
        libc::SYS_get_robust_list,
        libc::SYS_rseq,
        libc::SYS_exit,
        libc::SYS_tgkill,
        libc::SYS_tkill,
        libc::SYS_prctl,
        libc::SYS_arch_prctl,
        libc::SYS_getrandom,
        libc::SYS_membarrier,
        libc::SYS_restart_syscall,
        libc::SYS_mbind,
        libc::SYS_set_mempolicy,
        libc::SYS_get_mempolicy,
        libc::SYS_getrusage,
    ];
    LOCAL.contains(&number)
}

/// A system call by its number.
///
/// # Safety
/// Same requirements as the C library's function of this name.
#[unsafe(no_mangle)]
pub unsafe extern "C-unwind" fn syscall(
    number: c_long,
    a: usize,
    b: usize,
    c: usize,
    d: usize,
    e: usize,
    f: usize,
) -> c_long {
    let arguments = [a, b, c, d, e, f];
    if gate::in_program() && is_own_futex(number, arguments) {
        refuse(OWN_FUTEX);
    }
    let result = match gate::in_program() {
        true => gate::ours(|| dispatch(Call { number, arguments })),
        // SAFETY: the caller's own call.
        false => unsafe { system::direct(number, arguments) },
    };
    if (-4095..0).contains(&result) {
        // SAFETY: this thread's `errno`.
        unsafe { *libc::__errno_location() = -result as c_int };
        return -1;
    }
    result
}
