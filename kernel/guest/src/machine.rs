//! One boot of the guest: runs QEMU with the plugin, and watches the console until QEMU ends.
//!
//! Two facts decide the command line. QEMU supports plugins only under software emulation, for
//! which it runs one host thread for each virtual processor. And the interface of plugins shows no
//! values, so the guest's memory is a `memory-backend-memfd`, which the plugin can map.

use std::ffi::{OsStr, OsString};
use std::io::{BufRead, BufReader, Read};
use std::os::unix::ffi::{OsStrExt, OsStringExt};
use std::os::unix::process::CommandExt;
use std::path::{Path, PathBuf};
use std::process::{Child, Command, Stdio};
use std::sync::atomic::{AtomicBool, Ordering};
use std::sync::mpsc::{Receiver, RecvTimeoutError, channel};
use std::thread;
use std::time::{Duration, Instant};

use crate::Error;

/// The emulator.
pub const QEMU: &str = "qemu-system-x86_64";
/// The number of console lines that an error shows.
const LAST_LINES: usize = 20;
/// How often a run checks whether it must end.
const TICK: Duration = Duration::from_millis(100);
/// How long QEMU may take to end after a request, while the plugin writes its counts.
const LAST_WORDS: Duration = Duration::from_secs(10);

/// The parameters of a boot.
#[derive(Clone, Debug)]
pub struct Machine<'a> {
    /// The kernel's image.
    pub kernel: &'a Path,
    /// The first file system.
    pub image: &'a Path,
    /// A disk; the guest's changes to it are discarded.
    pub disk: Option<&'a Path>,
    /// The plugin.
    pub plugin: &'a Path,
    /// The plugin's arguments, each `NAME=VALUE`.
    pub arguments: Vec<String>,
    /// Virtual processors.
    pub processors: u32,
    /// Memory in mebibytes.
    pub memory: u32,
    /// Words for the guest's first process, appended to the kernel's command line.
    pub words: Vec<String>,
    /// Whether the kernel runs without its mitigations.
    pub no_mitigations: bool,
    /// The run is ended after this time.
    pub timeout: Duration,
}

/// How a boot ended.
#[derive(Debug)]
pub struct Ended {
    /// The console, line by line.
    pub console: Vec<String>,
    /// Processor time of all threads of QEMU.
    pub processor_time: Duration,
    /// Time from the start to the end.
    pub wall_time: Duration,
}

impl Machine<'_> {
    /// Boots, and waits until the guest has switched itself off. `each_line` gets each line of the
    /// console; setting `told_to_end` ends the run.
    ///
    /// # Errors
    /// [`Error::Missing`] without QEMU; [`Error::Panic`] or [`Error::Load`], depending on the
    /// console; [`Error::Run`] if QEMU fails, or the run is ended early; [`Error::Io`] if QEMU
    /// can't be started.
    pub fn boot(
        &self,
        each_line: &mut dyn FnMut(&str),
        told_to_end: &AtomicBool,
    ) -> Result<Ended, Error> {
        let started = Instant::now();
        let mut child = self.spawn()?;
        let lines = lines_of(child.stdout.take().expect("it is piped"));
        let mut errors = child.stderr.take().expect("it is piped");
        let errors = thread::spawn(move || {
            let mut text = String::new();
            let _ = errors.read_to_string(&mut text);
            text
        });
        let watched = self.watch(&lines, each_line, told_to_end, started);
        let before = children_time();
        if watched.is_err() {
            end(&mut child)?;
        }
        child.wait()?;
        let processor_time = children_time().saturating_sub(before);
        let errors = errors.join().unwrap_or_default();
        let console = watched?;
        outcome(&console, &errors)?;
        Ok(Ended { console, processor_time, wall_time: started.elapsed() })
    }

    fn spawn(&self) -> Result<Child, Error> {
        let mut command = Command::new(QEMU);
        command
            .args(self.command_line())
            .stdin(Stdio::null())
            .stdout(Stdio::piped())
            .stderr(Stdio::piped());
        let parent = std::process::id();
        // SAFETY: makes two system calls.
        unsafe { command.pre_exec(move || end_with(parent)) };
        command.spawn().map_err(|error| match error.kind() {
            std::io::ErrorKind::NotFound => missing(),
            _ => error.into(),
        })
    }

    fn command_line(&self) -> Vec<OsString> {
        let memory = self.memory;
        let mut plugin = OsString::from("file=");
        plugin.push(quoted(self.plugin.as_os_str()));
        for argument in &self.arguments {
            plugin.push(",");
            plugin.push(quoted(argument.as_ref()));
        }
        let mut line: Vec<OsString> = Vec::new();
        let mut add = |words: &[&str]| line.extend(words.iter().map(OsString::from));
        // The kernel must not see a hypervisor: as a guest it chooses another spinlock.
        add(&["-accel", "tcg,thread=multi", "-cpu", "qemu64,-hypervisor", "-nodefaults"]);
        add(&["-display", "none", "-serial", "stdio", "-no-reboot"]);
        add(&["-smp", &self.processors.to_string(), "-m", &format!("{memory}M")]);
        add(&["-object", &format!("memory-backend-memfd,id=ram,size={memory}M,share=on")]);
        add(&["-machine", "pc,memory-backend=ram", "-append", &self.boot_line()]);
        line.extend(["-kernel".into(), self.kernel.into(), "-initrd".into(), self.image.into()]);
        if let Some(disk) = self.disk {
            let mut drive = OsString::from("if=none,id=disk,format=raw,snapshot=on,file=");
            drive.push(quoted(disk.as_os_str()));
            line.extend(["-drive".into(), drive]);
            line.extend(["-device", "nvme,drive=disk,serial=syncline"].map(OsString::from));
        }
        line.extend(["-plugin".into(), plugin]);
        line
    }

    /// The kernel's command line. The allocator's caches are kept separate, since an object is
    /// named by its cache.
    fn boot_line(&self) -> String {
        let mut line = "console=ttyS0 quiet nokaslr panic=-1 nowatchdog slab_nomerge \
                        rcupdate.rcu_cpu_stall_suppress=1"
            .to_owned();
        if self.no_mitigations {
            line.push_str(" mitigations=off");
        }
        for word in &self.words {
            line.push(' ');
            line.push_str(word);
        }
        line
    }

    fn watch(
        &self,
        lines: &Receiver<String>,
        each_line: &mut dyn FnMut(&str),
        told_to_end: &AtomicBool,
        started: Instant,
    ) -> Result<Vec<String>, Error> {
        let mut console = Vec::new();
        loop {
            if told_to_end.load(Ordering::Relaxed) {
                return Err(ended_early());
            }
            if started.elapsed() > self.timeout {
                return Err(Error::Run(format!(
                    "the guest did not end within {} seconds; the console's last lines:\n{}",
                    self.timeout.as_secs(),
                    last_lines(&console),
                )));
            }
            match lines.recv_timeout(TICK) {
                Ok(line) => {
                    each_line(&line);
                    console.push(line);
                }
                Err(RecvTimeoutError::Timeout) => {}
                Err(RecvTimeoutError::Disconnected) => {
                    // A user who presses Ctrl-C at a terminal also sends the signal to QEMU.
                    let asked = told_to_end.load(Ordering::Relaxed);
                    return if asked { Err(ended_early()) } else { Ok(console) };
                }
            }
        }
    }
}

/// A value for QEMU's options, which are separated by commas: a comma is written twice.
fn quoted(value: &OsStr) -> OsString {
    let mut bytes = Vec::new();
    for &byte in value.as_bytes() {
        bytes.push(byte);
        if byte == b',' {
            bytes.push(byte);
        }
    }
    OsString::from_vec(bytes)
}

/// Makes the calling process end when its parent does.
fn end_with(parent: u32) -> std::io::Result<()> {
    // SAFETY: plain system calls.
    let followed = unsafe { libc::prctl(libc::PR_SET_PDEATHSIG, libc::SIGTERM) } == 0;
    // The parent may have ended before the call.
    // SAFETY: as above.
    if followed && unsafe { libc::getppid() } as u32 == parent {
        return Ok(());
    }
    Err(std::io::ErrorKind::BrokenPipe.into())
}

/// Ends QEMU. QEMU first gets a request to end, so that the plugin can write its counts.
fn end(child: &mut Child) -> std::io::Result<()> {
    // SAFETY: plain system call; the child was not waited for yet, so the number is still its own.
    unsafe { libc::kill(child.id() as libc::pid_t, libc::SIGTERM) };
    let asked = Instant::now();
    while asked.elapsed() < LAST_WORDS {
        if child.try_wait()?.is_some() {
            return Ok(());
        }
        thread::sleep(TICK);
    }
    child.kill()
}

fn ended_early() -> Error {
    Error::Run("the run was ended before its load had finished".to_owned())
}

/// Reads the console's lines in a thread of its own.
fn lines_of(console: impl Read + Send + 'static) -> Receiver<String> {
    let (to, from) = channel();
    thread::spawn(move || {
        for line in BufReader::new(console).split(b'\n') {
            let Ok(line) = line else { break };
            let line = String::from_utf8_lossy(&line).trim_end().to_owned();
            if to.send(line).is_err() {
                break;
            }
        }
    });
    from
}

/// The result of a boot, according to the console and to QEMU's error messages.
fn outcome(console: &[String], errors: &str) -> Result<(), Error> {
    let after = |mark: &str| console.iter().find_map(|line| Some(line.split_once(mark)?.1));
    if after("SYNCLINE: done").is_some() {
        return Ok(());
    }
    if let Some(why) = after("SYNCLINE: failed: ") {
        let said = last_lines(before_the_end(console));
        return Err(Error::Load { why: why.to_owned(), said });
    }
    if after("Kernel panic").is_some() {
        return Err(Error::Panic(last_lines(console)));
    }
    let errors = errors.trim();
    if errors.contains("plugin")
        && (errors.contains("not enabled") || errors.contains("invalid option"))
    {
        return Err(Error::Run(format!(
            "this {QEMU} was built without plugins (--enable-plugins); Debian's has them"
        )));
    }
    Err(Error::Run(match (errors.is_empty(), console.is_empty()) {
        (false, _) => format!("QEMU failed: {errors}"),
        (true, true) => {
            "QEMU ended before the kernel said anything: is this a kernel for x86-64?".to_owned()
        }
        (true, false) => format!("the guest ended early:\n{}", last_lines(console)),
    }))
}

/// The console up to the line in which the first process reports the load's result.
fn before_the_end(console: &[String]) -> &[String] {
    let end = console.iter().position(|line| line.contains("SYNCLINE: "));
    let before = &console[..end.unwrap_or(console.len())];
    before.strip_suffix(&[String::new()]).unwrap_or(before)
}

fn last_lines(console: &[String]) -> String {
    console[console.len().saturating_sub(LAST_LINES)..].join("\n")
}

/// Processor time of all children that were waited for.
fn children_time() -> Duration {
    // SAFETY: the structure is plain numbers, and filled in by the call.
    let usage = unsafe {
        let mut usage: libc::rusage = std::mem::zeroed();
        libc::getrusage(libc::RUSAGE_CHILDREN, &mut usage);
        usage
    };
    let of = |time: libc::timeval| {
        Duration::from_secs(time.tv_sec as u64) + Duration::from_micros(time.tv_usec as u64)
    };
    of(usage.ru_utime) + of(usage.ru_stime)
}

/// The error for a missing emulator.
pub fn missing() -> Error {
    Error::Missing { program: QEMU, package: "qemu-system-x86" }
}

/// The emulator's path, if installed.
pub fn qemu() -> Option<PathBuf> {
    let path = std::env::var_os("PATH")?;
    std::env::split_paths(&path).map(|folder| folder.join(QEMU)).find(|path| path.exists())
}

#[cfg(test)]
mod tests {
    use super::*;

    fn ends(console: &[&str], errors: &str) -> Result<(), Error> {
        let console: Vec<String> = console.iter().map(ToString::to_string).collect();
        outcome(&console, errors)
    }

    #[test]
    fn commas_in_paths_are_no_separators() {
        assert_eq!(quoted("out=/a,b/c".as_ref()), "out=/a,,b/c");
    }

    #[test]
    fn the_console_says_how_it_ended() {
        assert!(ends(&["hello", "SYNCLINE: done"], "").is_ok());
        let load = ends(&["SYNCLINE: failed: no disk"], "").expect_err("it failed");
        assert_eq!(load.to_string(), "the load failed: no disk");
        let load = ends(&["mkdir: no", "", "SYNCLINE: failed: status 1", "off"], "");
        let load = load.expect_err("it failed").to_string();
        assert_eq!(load, "the load failed: status 1; the console's last lines:\nmkdir: no");
        let old = ends(&[], "qemu: -plugin file=x: invalid option").expect_err("nothing ran");
        assert!(old.to_string().contains("without plugins"), "{old}");
        let panic = ends(&["[ 1.0] Kernel panic - not syncing: x"], "").expect_err("it panicked");
        assert!(matches!(panic, Error::Panic(ref lines) if lines.contains("not syncing")));
        let qemu = ends(&[], "no such option").expect_err("nothing ran");
        assert!(qemu.to_string().contains("no such option"));
        assert!(ends(&[], "").expect_err("nothing ran").to_string().contains("x86-64"));
    }
}
