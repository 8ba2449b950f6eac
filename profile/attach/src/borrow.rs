//! Borrows a thread of the process that waits in a system call, to call functions on it.
//!
//! The thread runs each call as if it were a signal handler: there is a frame on the stack that has
//! the thread's state, and the call returns to `rt_sigreturn`, which restores this state.
//! Afterwards the thread repeats its system call with the same arguments. (So a wait for a relative
//! time begins anew.) The first two calls map memory for a stack and some code, and the last call
//! unmaps it. These three run on the thread's own stack, and all others in that memory. So a small
//! stack of the program only needs room for a signal frame.

use std::time::{Duration, Instant};

use crate::frame::{State, below};
use crate::memory::Memory;
use crate::refusal::Error;
use crate::stopped::Stopped;
use crate::target::Target;
use crate::trace::{self, Stop};

const SYS_MMAP: u64 = 9;
const SYS_MPROTECT: u64 = 10;
const SYS_MUNMAP: u64 = 11;
/// The signals that an instruction may raise, a bit each. They are not blocked during a call,
/// because if such a signal is raised while it is blocked, the kernel resets the program's handler.
const RAISED: u64 = 1 << 10 | 1 << 6 | 1 << 3 | 1 << 7 | 1 << 4;
const RED_ZONE: u64 = 128;
const SCRATCH: u64 = 1 << 20;
/// This many bytes at the end of the memory for calls stay free. If `rt_sigreturn` has to wait for
/// a page of the frame, it requires that a frame of the largest size could be read.
const ABOVE_FRAME: u64 = 16 << 10;
const PAGE: u64 = 4096;
const LONGEST_CALL: Duration = Duration::from_secs(20);
/// After this time, a call is given up if it waits for a lock.
const LONGEST_WAIT: Duration = Duration::from_secs(2);
const SYS_FUTEX: u64 = 202;
/// The results of system calls that were interrupted when the thread was stopped.
const INTERRUPTED: [i64; 5] = [-512, -513, -514, -516, -(libc::EINTR as i64)];

/// Machine code that calls the function in `rbx` with the three words after the one at `r12` as its
/// arguments, and stores its result at `r12`. `rbp` has the address of `__errno_location`, through
/// which the thread's `errno` is preserved.
const CALL: &[u8] = &[
    0xff, 0xd5, // call rbp
    0x49, 0x89, 0xc5, // mov r13, rax
    0x45, 0x8b, 0x75, 0x00, // mov r14d, [r13]
    0x49, 0x8b, 0x7c, 0x24, 0x08, // mov rdi, [r12 + 8]
    0x49, 0x8b, 0x74, 0x24, 0x10, // mov rsi, [r12 + 16]
    0x49, 0x8b, 0x54, 0x24, 0x18, // mov rdx, [r12 + 24]
    0xff, 0xd3, // call rbx
    0x49, 0x89, 0x04, 0x24, // mov [r12], rax
    0x45, 0x89, 0x75, 0x00, // mov [r13], r14d
    0xb8, 0x0f, 0x00, 0x00, 0x00, // mov eax, 15
    0x0f, 0x05, // syscall
];
/// Machine code that makes the system call for which the registers are set, and stores its result
/// at `r12`.
const SYSTEM_CALL: &[u8] = &[
    0x0f, 0x05, // syscall
    0x49, 0x89, 0x04, 0x24, // mov [r12], rax
    0xb8, 0x0f, 0x00, 0x00, 0x00, // mov eax, 15
    0x0f, 0x05, // syscall
];
const SYSTEM_CALL_AT: u64 = 256;
/// The machine code of a function that returns 1.
const ONE: &[u8] = &[
    0xb8, 0x01, 0x00, 0x00, 0x00, // mov eax, 1
    0xc3, // ret
];
const ONE_AT: u64 = 512;
/// The offset, in the mapped memory, of the words of a call (its result and its arguments).
const WORDS: u64 = PAGE;
/// The offset of the part to which the caller may write.
pub const ROOM: u64 = PAGE + 256;

/// A stopped thread on which functions can be called. When this value is dropped, the thread goes
/// on where it was; if a call is still running on it, it first finishes that.
pub struct Borrowed<'a> {
    target: &'a Target,
    memory: Memory,
    thread: Stopped<'a>,
    state: State,
    scratch: u64,
}

impl Borrowed<'_> {
    /// Borrows the thread `tid`. `is_safe` gets the number of the system call in which the thread
    /// waits, and the stack pointer. `None` if `is_safe` returns false, if the thread can't be
    /// stopped or is about to get a signal, if it does not wait in a system call when it is
    /// stopped, or if its stack has no room for a frame.
    pub fn take<'a>(
        target: &'a Target,
        tid: i32,
        is_safe: impl Fn(u32, u64) -> bool,
    ) -> Result<Option<Borrowed<'a>>, Error> {
        if trace::seize(tid).is_err() {
            return Ok(None);
        }
        let failed = |source| Error::System { what: "borrow a thread", source };
        let thread = match Stopped::new(target, tid).map_err(failed)? {
            Some(thread) if !thread.has_signal() => thread,
            _ => return Ok(None),
        };
        let memory = target.memory;
        let state = read_state(tid).map_err(failed)?;
        let is_in_call = state.registers.orig_rax as i64 >= 0
            && memory.read(state.registers.rip - 2, 2).is_ok_and(|code| code == [0x0f, 0x05]);
        if !is_in_call || !is_safe(state.registers.orig_rax as u32, state.registers.rsp) {
            return Ok(None);
        }
        let state = going_on(state);
        let mut borrowed = Borrowed { target, memory, thread, state, scratch: 0 };
        if borrowed.frame_on_own_stack().is_err() {
            return Ok(None);
        }
        borrowed.make_room()?;
        Ok(Some(borrowed))
    }

    /// Maps the memory for calls, by two calls on the thread's own stack.
    fn make_room(&mut self) -> Result<(), Error> {
        let failed = |source| Error::System { what: "write to the process", source };
        let (rw, flags) = (3, (libc::MAP_PRIVATE | libc::MAP_ANONYMOUS) as u64);
        let at =
            self.on_own_stack(self.target.mmap, [0, SCRATCH, rw, flags, u64::MAX, 0], SYS_MMAP)?;
        if at as i64 <= 0 {
            return Err(self.failed("mmap", at));
        }
        self.scratch = at;
        let mut code = CALL.to_vec();
        code.resize(SYSTEM_CALL_AT as usize, 0x90);
        code.extend(SYSTEM_CALL);
        code.resize(ONE_AT as usize, 0x90);
        code.extend(ONE);
        self.memory.write(at, &code).map_err(failed)?;
        let read_execute = 5;
        let done = self.on_own_stack(
            self.target.mprotect,
            [at, PAGE, read_execute, 0, 0, 0],
            SYS_MPROTECT,
        )?;
        if done != 0 { Err(self.failed("mprotect", done)) } else { Ok(()) }
    }

    fn failed(&self, what: &'static str, result: u64) -> Error {
        let why = std::io::Error::from_raw_os_error(-(result as i64) as i32).to_string();
        Error::Failed { pid: self.memory.0, what, why }
    }

    /// The address to which the caller may write data for a call.
    pub fn room(&self) -> u64 {
        self.scratch + ROOM
    }

    /// The number of bytes that the caller may write there.
    pub const ROOM_BYTES: usize = (SCRATCH / 2) as usize;

    /// The thread's number.
    pub fn tid(&self) -> i32 {
        self.thread.tid()
    }

    /// The address of a function that returns 1.
    pub fn function_returning_one(&self) -> u64 {
        self.scratch + ONE_AT
    }

    /// Calls a function of the process with three arguments, and returns its result. `what` names
    /// it in errors.
    pub fn call(
        &mut self,
        what: &'static str,
        function: u64,
        arguments: [u64; 3],
    ) -> Result<u64, Error> {
        let mut registers = self.state.registers;
        registers.rbx = function;
        registers.rbp = self.target.errno;
        registers.rip = self.scratch;
        self.in_scratch(what, registers, &arguments)
    }

    /// Makes a system call in the process, and returns its result. `what` names it in errors.
    pub fn system_call(
        &mut self,
        what: &'static str,
        number: i64,
        arguments: [u64; 4],
    ) -> Result<i64, Error> {
        let mut registers = self.state.registers;
        let [rdi, rsi, rdx, r10] = arguments;
        (registers.rax, registers.rdi, registers.rsi) = (number as u64, rdi, rsi);
        (registers.rdx, registers.r10) = (rdx, r10);
        registers.rip = self.scratch + SYSTEM_CALL_AT;
        self.in_scratch(what, registers, &[]).map(|result| result as i64)
    }

    fn in_scratch(
        &mut self,
        what: &'static str,
        mut registers: libc::user_regs_struct,
        arguments: &[u64],
    ) -> Result<u64, Error> {
        let failed = |source| Error::System { what: "write to the process", source };
        let words = self.scratch + WORDS;
        let block: Vec<u8> =
            [0].iter().chain(arguments).flat_map(|word: &u64| word.to_ne_bytes()).collect();
        self.memory.write(words, &block).map_err(failed)?;
        let (context, frame) = below(self.scratch + SCRATCH - ABOVE_FRAME, &self.state);
        self.memory.write(context, &frame).map_err(failed)?;
        registers.r12 = words;
        registers.rsp = context;
        self.run(what, registers, u64::MAX)?;
        self.memory.word(words).map_err(failed)
    }

    /// Calls, on the thread's own stack, a function of the C library that makes the system call of
    /// this number. Returns the result of the system call.
    fn on_own_stack(&mut self, function: u64, a: [u64; 6], number: u64) -> Result<u64, Error> {
        let failed = |source| Error::System { what: "write to the process", source };
        let mut registers = self.state.registers;
        registers.rsp = self.frame_on_own_stack().map_err(failed)?;
        (registers.rdi, registers.rsi, registers.rdx) = (a[0], a[1], a[2]);
        (registers.rcx, registers.r8, registers.r9) = (a[3], a[4], a[5]);
        registers.rip = function;
        self.run("a call of the C library", registers, number)
    }

    /// Writes a signal frame below the used part of the thread's own stack, and below that the
    /// address of `rt_sigreturn`, to which a call will return. Returns where this address is.
    fn frame_on_own_stack(&self) -> std::io::Result<u64> {
        let (context, frame) = below(self.state.registers.rsp - RED_ZONE, &self.state);
        let mut bytes = self.target.sigreturn.to_ne_bytes().to_vec();
        bytes.extend(frame);
        // The first thread's stack may have to become longer. The kernel does that for this access,
        // but not for the write below.
        trace::touch(self.tid(), context - 8)?;
        self.memory.write(context - 8, &bytes)?;
        Ok(context - 8)
    }

    /// Lets the thread run with these registers until it has returned through the frame. Returns
    /// the result of its last system call of this number. If the thread waits too long for a lock,
    /// it is put back to where it was, and the call is given up.
    fn run(
        &mut self,
        what: &'static str,
        mut registers: libc::user_regs_struct,
        number: u64,
    ) -> Result<u64, Error> {
        let failed = |source| Error::System { what: "run a borrowed thread", source };
        registers.orig_rax = u64::MAX;
        // From here on, the thread finishes the call by itself if this process ends.
        let tid = self.tid();
        trace::set_registers(tid, &registers).map_err(failed)?;
        trace::set_signal_mask(tid, !RAISED).map_err(failed)?;
        let began = Instant::now();
        let mut until = began + LONGEST_WAIT;
        let (mut is_inside, mut result, mut signal) = (false, 0, 0);
        loop {
            trace::to_system_call(tid, signal).map_err(failed)?;
            signal = 0;
            let mut stop = trace::wait(tid, until).map_err(failed)?;
            if stop.is_none() {
                until = began + LONGEST_CALL;
                stop =
                    trace::interrupt(tid).and_then(|()| trace::wait(tid, until)).map_err(failed)?;
                if self.waits_for_lock() {
                    self.put_back().map_err(failed)?;
                    let seconds = LONGEST_WAIT.as_secs();
                    return Err(Error::Held { pid: self.memory.0, what, seconds });
                }
            }
            let slow = Error::Slow { what, seconds: LONGEST_CALL.as_secs() };
            match stop.ok_or(slow)? {
                Stop::SystemCall => {
                    let now = trace::registers(tid).map_err(failed)?;
                    let returned = is_inside
                        && now.rip == self.state.registers.rip
                        && now.rsp == self.state.registers.rsp;
                    if returned {
                        return Ok(result);
                    }
                    if is_inside && now.orig_rax == number {
                        result = now.rax;
                    }
                    is_inside = !is_inside;
                }
                Stop::Asked => {}
                Stop::Signal(s) => signal = s,
                Stop::Gone => return Err(Error::Gone(self.memory.0)),
            }
        }
    }

    /// Whether the stopped thread waits for a lock.
    fn waits_for_lock(&self) -> bool {
        trace::registers(self.tid())
            .is_ok_and(|now| now.orig_rax == SYS_FUTEX && INTERRUPTED.contains(&(now.rax as i64)))
    }

    /// Takes the thread out of a call, back to where it was. The memory for calls stays mapped,
    /// because the C library may have noted an address in it for the thread.
    fn put_back(&self) -> std::io::Result<()> {
        trace::set_registers(self.tid(), &self.state.registers)?;
        trace::set_extended_state(self.tid(), &self.state.extended)?;
        trace::set_signal_mask(self.tid(), self.state.mask)
    }

    /// Unmaps the memory for calls, and gives the thread back.
    pub fn give_back(mut self) -> Result<(), Error> {
        // The call that unmaps the memory can't run in it, so it runs on the thread's own stack.
        let (at, size) = (self.scratch, SCRATCH);
        self.on_own_stack(self.target.munmap, [at, size, 0, 0, 0, 0], SYS_MUNMAP)?;
        Ok(())
    }
}

fn read_state(tid: i32) -> std::io::Result<State> {
    Ok(State {
        registers: trace::registers(tid)?,
        extended: trace::extended_state(tid)?,
        mask: trace::signal_mask(tid)?,
    })
}

/// The state in which the thread has to go on after the calls: if its system call was interrupted,
/// it repeats that.
fn going_on(mut state: State) -> State {
    let r = &mut state.registers;
    if INTERRUPTED.contains(&(r.rax as i64)) {
        r.rip -= 2;
        r.rax = r.orig_rax;
    }
    r.orig_rax = u64::MAX;
    state
}
