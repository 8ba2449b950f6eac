//! Finds out what has to be known about the process to attach to, and whether it must be refused.

use std::fs::{read, read_to_string};
use std::io;
use std::ops::Range;
use std::sync::atomic::{AtomicU64, Ordering};
use std::time::Duration;

use object::NativeEndian;
use object::elf::{EM_X86_64, FileHeader64};
use object::read::elf::{FileHeader as _, ProgramHeader as _};

use crate::memory::Memory;
use crate::modules::{self, Module};
use crate::refusal::{Error, Refusal, name_of};
use crate::symbols::Symbols;

/// `mov $15, %rax; syscall`: the code in the C library to which signal handlers return.
const SIGRETURN: &[u8] = &[0x48, 0xc7, 0xc0, 0x0f, 0, 0, 0, 0x0f, 0x05];
/// The allocator's functions, and `fork`, which holds the allocator's locks. A thread must not
/// enter them again before it has left them.
const ALLOCATOR: &[&str] = &[
    "malloc",
    "free",
    "calloc",
    "realloc",
    "memalign",
    "posix_memalign",
    "aligned_alloc",
    "valloc",
    "fork",
    "_Fork",
];
/// The loader's functions. A thread must not enter them again before it has left them either.
const LOADER: &[&str] =
    &["dlopen", "dlclose", "dlsym", "dlvsym", "dladdr", "dlerror", "dl_iterate_phdr"];

/// A process that can be attached to, as far as can be seen from outside.
pub struct Target {
    pub pid: u32,
    pub memory: Memory,
    /// The number that the process has for itself, in its own namespace.
    pub own_number: u32,
    /// When it began, in the kernel's ticks.
    pub began: u64,
    /// The auxiliary vector. It contains the program's address, for example, which is different
    /// each time that a process executes a program. So the vector identifies the program.
    auxiliary_vector: Vec<u8>,
    pub modules: Vec<Module>,
    /// The code of the loader, which a thread must not enter again before it has left it.
    pub loader: Vec<Range<u64>>,
    /// The code of the allocator and of `fork`, which a thread must not enter again either.
    pub allocator: Vec<Range<u64>>,
    pub dlopen: u64,
    pub dlerror: u64,
    pub dl_iterate_phdr: u64,
    pub errno: u64,
    pub mmap: u64,
    pub munmap: u64,
    pub mprotect: u64,
    pub sigreturn: u64,
    /// For how many nanoseconds its threads have been stopped, added up.
    stopped: AtomicU64,
}

impl Target {
    /// Examines a process, without changing anything in it.
    ///
    /// # Errors
    /// [`Refusal`]s, [`Error::Lacks`], and others if the process can't be read.
    pub fn find(pid: u32) -> Result<Target, Error> {
        let (own_number, began) = check_status(pid)?;
        // This is read before anything else of the program, so that a later `execve` is noticed.
        let auxiliary_vector = auxiliary_vector(pid);
        check_program(pid)?;
        let memory = Memory(pid);
        let modules = modules::of(memory).map_err(|e| unreadable(pid, &e))?;
        let lacks = |what| Error::Lacks { pid, what };
        let ending = |end: &str| modules.iter().find(|module| module.name.contains(end));
        let libc = ending("/libc.so.6").ok_or(lacks("glibc"))?;
        let loader = ending("/ld-linux-x86-64.so.2").ok_or(lacks("glibc's loader"))?;
        let symbols = |module| Symbols::of(module).map_err(|e| unreadable(pid, &e));
        let own = symbols(libc)?;
        let functions = own.functions();
        // Before glibc 2.34, the loader's functions are in a library of their own.
        let other = ending("/libdl.so.2").map(symbols).transpose()?;
        let others = other.as_ref().map(Symbols::functions).unwrap_or_default();
        let find = |name, what| {
            let found = functions.get(name).or_else(|| others.get(name));
            found.map(|function| function.0).ok_or(lacks(what))
        };
        // This is only the loader's code. Its data is left out, because pointers to it lie on many
        // stacks, and the bytes before the target of such a pointer may look like a call.
        let (mut loader, mut allocator): (Vec<_>, Vec<_>) = (loader.code().collect(), Vec::new());
        for module in &modules {
            let Ok(symbols) = symbols(module) else { continue };
            let functions = symbols.functions();
            let of = |name: &&str| functions.get(*name).map(|&(at, size)| at..at + size.max(1));
            loader.extend(LOADER.iter().filter_map(of));
            allocator.extend(ALLOCATOR.iter().filter_map(of));
        }
        let sigreturn = libc.code().find_map(|part| {
            let code = libc.read(part.start, (part.end - part.start) as usize).ok()?;
            let place = code.windows(SIGRETURN.len()).position(|code| code == SIGRETURN)?;
            Some(part.start + place as u64)
        });
        Ok(Target {
            dlopen: find("dlopen", "dlopen")?,
            dlerror: find("dlerror", "dlerror")?,
            dl_iterate_phdr: find("dl_iterate_phdr", "dl_iterate_phdr")?,
            errno: find("__errno_location", "__errno_location")?,
            mmap: find("mmap", "mmap")?,
            munmap: find("munmap", "munmap")?,
            mprotect: find("mprotect", "mprotect")?,
            sigreturn: sigreturn.ok_or(lacks("a return from signal handlers"))?,
            pid,
            memory,
            own_number,
            began,
            auxiliary_vector,
            loader,
            allocator,
            modules,
            stopped: AtomicU64::new(0),
        })
    }

    /// For how long the process's threads have been stopped, added up over the threads.
    pub fn stopped(&self) -> Duration {
        // Relaxed is enough, here and below, because the thread that stops others also reads the
        // sum.
        Duration::from_nanos(self.stopped.load(Ordering::Relaxed))
    }

    /// Notes that a thread of the process was stopped for this long.
    pub fn was_stopped(&self, time: Duration) {
        self.stopped.fetch_add(time.as_nanos() as u64, Ordering::Relaxed);
    }

    /// Whether the process still runs the program that was examined. It may execute another program
    /// at any time, except while one of its threads is stopped. If it does, nothing that was found
    /// out about its memory is true any more.
    pub fn runs_same_program(&self) -> bool {
        auxiliary_vector(self.pid) == self.auxiliary_vector
    }

    /// Reads the list of modules again.
    pub fn look_again(&mut self) -> Result<(), Error> {
        self.modules = modules::of(self.memory).map_err(|e| unreadable(self.pid, &e))?;
        Ok(())
    }
}

/// The auxiliary vector of a process; empty if it can't be read.
pub fn auxiliary_vector(pid: u32) -> Vec<u8> {
    read(format!("/proc/{pid}/auxv")).unwrap_or_default()
}

/// Refuses a process that can't be attached to according to the kernel's files about it. Returns
/// the number that the process has for itself, and when it began.
fn check_status(pid: u32) -> Result<(u32, u64), Error> {
    const START_TIME: usize = 19;
    let gone = || Error::from(Refusal::NoProcess(pid));
    let status = read_to_string(format!("/proc/{pid}/status")).map_err(|_| gone())?;
    let field = |name: &str| {
        let line = status.lines().find_map(|line| line.strip_prefix(name)?.strip_prefix(':'));
        line.map(str::trim).unwrap_or_default()
    };
    match field("State").chars().next() {
        Some('Z' | 'X') => return Err(Refusal::Ended(pid).into()),
        Some('T') => return Err(Refusal::Stopped(pid).into()),
        _ => {}
    }
    if field("VmSize").is_empty() {
        return Err(Refusal::Kernel(pid).into());
    }
    let tracer = field("TracerPid").parse().unwrap_or(0);
    if tracer != 0 {
        return Err(Refusal::Traced { pid, tracer, name: name_of(tracer) }.into());
    }
    if field("Seccomp") == "1" {
        return Err(Refusal::Sandbox(pid).into());
    }
    let stat = read_to_string(format!("/proc/{pid}/stat")).map_err(|_| gone())?;
    let fields = stat.rsplit_once(')').map_or("", |(_, fields)| fields);
    let began = fields.split_whitespace().nth(START_TIME).and_then(|t| t.parse().ok());
    let own_number = field("NSpid").split_whitespace().last().and_then(|n| n.parse().ok());
    Ok((own_number.unwrap_or(pid), began.unwrap_or(0)))
}

/// Refuses a process whose program can't load the recorder's library.
fn check_program(pid: u32) -> Result<(), Error> {
    let path = format!("/proc/{pid}/exe");
    // Only processes that this user may inspect have this file readable. (If tracing needs more
    // rights, reading the memory fails later.)
    let auxv = read(format!("/proc/{pid}/auxv")).map_err(|e| unreadable(pid, &e))?;
    let file = std::fs::File::open(&path).map_err(|e| unreadable(pid, &e))?;
    let mut start = vec![0; 4096];
    let read = std::os::unix::fs::FileExt::read_at(&file, &mut start, 0).unwrap_or(0);
    start.truncate(read);
    let header = FileHeader64::<NativeEndian>::parse(&*start);
    if header.map(|header| header.e_machine(NativeEndian)) != Ok(EM_X86_64) || auxv.is_empty() {
        return Err(Refusal::Machine(pid).into());
    }
    match interpreter(&start) {
        None => Err(Refusal::Static(pid).into()),
        Some(loader) if loader.windows(7).any(|part| part == b"ld-musl") => {
            Err(Refusal::Musl(pid).into())
        }
        Some(_) => Ok(()),
    }
}

/// The path of a program's loader, from the program's first page; `None` if it has no loader.
fn interpreter(start: &[u8]) -> Option<&[u8]> {
    let header = FileHeader64::<NativeEndian>::parse(start).ok()?;
    let mut headers = header.program_headers(NativeEndian, start).ok()?.iter();
    headers.find_map(|part| part.interpreter(NativeEndian, start).ok()?)
}

fn unreadable(pid: u32, error: &io::Error) -> Error {
    match error.raw_os_error() {
        Some(libc::EPERM | libc::EACCES) => {
            let scope = read_to_string("/proc/sys/kernel/yama/ptrace_scope").unwrap_or_default();
            let (why, hint) = match scope.trim() {
                "3" => (
                    "this system allows no process to attach (kernel.yama.ptrace_scope is 3)",
                    "set it to 1 and restart the system",
                ),
                "1" | "2" => (
                    "this system allows only root to attach (kernel.yama.ptrace_scope)",
                    "run it as root, or `sysctl kernel.yama.ptrace_scope=0` for now",
                ),
                _ => ("it belongs to another user, or has more rights", "run it as root"),
            };
            Refusal::NoPermission { pid, why, hint }.into()
        }
        Some(libc::ESRCH) => Error::Gone(pid),
        _ => Error::System {
            what: "read the process's memory",
            source: io::Error::new(error.kind(), error.to_string()),
        },
    }
}
