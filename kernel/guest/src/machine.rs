//! One boot of the guest: QEMU with the plugin, watched by its console until it ends.
//!
//! Two things decide the command line. Plugins exist under software emulation only, with one thread of
//! the host for each virtual processor. And the guest's memory is a `memory-backend-memfd` that the
//! plugin can map, since its interface shows no values.

use std::ffi::OsString;
use std::io::{BufRead, BufReader, Read};
use std::path::{Path, PathBuf};
use std::process::{Child, Command, Stdio};
use std::sync::atomic::{AtomicBool, Ordering};
use std::sync::mpsc::{Receiver, RecvTimeoutError, channel};
use std::thread;
use std::time::{Duration, Instant};

use crate::Error;

/// The emulator.
pub const QEMU: &str = "qemu-system-x86_64";
/// Lines of the console that an error shows.
const LAST_LINES: usize = 20;
/// How often a run looks whether it was told to end.
const TICK: Duration = Duration::from_millis(100);

/// What is booted.
#[derive(Clone, Debug)]
pub struct Machine<'a> {
    /// The kernel's image.
    pub kernel: &'a Path,
    /// The first file system.
    pub image: &'a Path,
    /// A disk, which ends as it began.
    pub disk: Option<&'a Path>,
    /// The plugin.
    pub plugin: &'a Path,
    /// What the plugin is told, each `NAME=VALUE`.
    pub arguments: Vec<String>,
    /// Virtual processors.
    pub processors: u32,
    /// Bytes of memory, in mebibytes.
    pub memory: u32,
    /// Words for the guest's first process, on the kernel's command line.
    pub words: Vec<String>,
    /// Whether the kernel goes without its mitigations.
    pub no_mitigations: bool,
    /// After this the run is ended.
    pub timeout: Duration,
}

/// How a boot ended.
#[derive(Debug)]
pub struct Ended {
    /// The console, line by line.
    pub console: Vec<String>,
    /// Processor time of QEMU, all its threads.
    pub processor_time: Duration,
    /// From the start to the end.
    pub wall_time: Duration,
}

impl Machine<'_> {
    /// Boots, and waits until the guest has switched itself off. `each_line` is told of the console's
    /// lines; `told_to_end` ends the run when it is set.
    ///
    /// # Errors
    /// [`Error::Missing`] without QEMU; [`Error::Panic`], [`Error::Load`] or [`Error::Run`] by what the
    /// console says.
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
        if watched.is_err() {
            // It may have ended already.
            let _ = child.kill();
        }
        let before = children_time();
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
        command.spawn().map_err(|error| match error.kind() {
            std::io::ErrorKind::NotFound => {
                Error::Missing { program: QEMU, package: "qemu-system-x86" }
            }
            _ => error.into(),
        })
    }

    fn command_line(&self) -> Vec<OsString> {
        let memory = self.memory;
        let mut plugin = OsString::from("file=");
        plugin.push(self.plugin);
        for argument in &self.arguments {
            plugin.push(",");
            plugin.push(argument);
        }
        let mut line: Vec<OsString> = Vec::new();
        let mut add = |words: &[&str]| line.extend(words.iter().map(OsString::from));
        // Another spinlock is chosen by a kernel that knows that it is a guest.
        add(&["-accel", "tcg,thread=multi", "-cpu", "qemu64,-hypervisor", "-nodefaults"]);
        add(&["-display", "none", "-serial", "stdio", "-no-reboot"]);
        add(&["-smp", &self.processors.to_string(), "-m", &format!("{memory}M")]);
        add(&["-object", &format!("memory-backend-memfd,id=ram,size={memory}M,share=on")]);
        add(&["-machine", "pc,memory-backend=ram", "-append", &self.boot_line()]);
        line.extend(["-kernel".into(), self.kernel.into(), "-initrd".into(), self.image.into()]);
        if let Some(disk) = self.disk {
            let mut drive = OsString::from("if=none,id=disk,format=raw,snapshot=on,file=");
            drive.push(disk);
            line.extend(["-drive".into(), drive]);
            line.extend(["-device", "nvme,drive=disk,serial=syncline"].map(OsString::from));
        }
        line.extend(["-plugin".into(), plugin]);
        line
    }

    fn boot_line(&self) -> String {
        let mut line = "console=ttyS0 quiet nokaslr panic=-1 nowatchdog \
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
                return Err(Error::Run("the run was ended before the load was".to_owned()));
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
                Err(RecvTimeoutError::Disconnected) => return Ok(console),
            }
        }
    }
}

/// The console's lines, read by a thread of its own.
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

/// What the console says of the end.
fn outcome(console: &[String], errors: &str) -> Result<(), Error> {
    let after = |mark: &str| console.iter().find_map(|line| Some(line.split_once(mark)?.1));
    if after("SYNCLINE: done").is_some() {
        return Ok(());
    }
    if let Some(why) = after("SYNCLINE: failed: ") {
        return Err(Error::Load(why.to_owned()));
    }
    if after("Kernel panic").is_some() {
        return Err(Error::Panic(last_lines(console)));
    }
    let errors = errors.trim();
    Err(Error::Run(match (errors.is_empty(), console.is_empty()) {
        (false, _) => format!("QEMU failed: {errors}"),
        (true, true) => {
            "QEMU ended before the kernel said anything: is this a kernel for x86-64?".to_owned()
        }
        (true, false) => format!("the guest ended early:\n{}", last_lines(console)),
    }))
}

fn last_lines(console: &[String]) -> String {
    console[console.len().saturating_sub(LAST_LINES)..].join("\n")
}

/// Processor time of the children that were waited for.
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

/// The emulator's path, if it is installed.
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
    fn the_console_says_how_it_ended() {
        assert!(ends(&["hello", "SYNCLINE: done"], "").is_ok());
        let load = ends(&["SYNCLINE: failed: no disk"], "").expect_err("it failed");
        assert_eq!(load.to_string(), "the load failed: no disk");
        let panic = ends(&["[ 1.0] Kernel panic - not syncing: x"], "").expect_err("it panicked");
        assert!(matches!(panic, Error::Panic(ref lines) if lines.contains("not syncing")));
        let qemu = ends(&[], "no such option").expect_err("nothing ran");
        assert!(qemu.to_string().contains("no such option"));
        assert!(ends(&[], "").expect_err("nothing ran").to_string().contains("x86-64"));
    }
}
