//! The command line of `syncline kernel`.

use std::path::{Path, PathBuf};
use std::time::Duration;

use syncline_conflicts::Options;
use syncline_kernel::load::Load;
use syncline_kernel::run::MOST_PROCESSORS;

use crate::arguments::{parse_size, parse_time, parse_window};
use crate::statuses;

/// Show which data the Linux kernel's critical sections access, and whether they depend on each other
///
/// Boots an unmodified kernel in QEMU and runs a load in it. Meanwhile Syncline follows the
/// spinlocks, bit spinlocks, reader-writer locks, mutexes and semaphores that the kernel acquires,
/// and the accesses to kernel memory in its critical sections. The report names what is not
/// followed. For each class of locks, the report says how often it was acquired and waited for,
/// which of its sections could have run at the same time, and what the others conflict on. Neither
/// root nor KVM is needed.
///
/// A new kernel is booted twice: once to learn its symbols and types, which are kept in
/// ~/.cache/syncline. docs/kernel.md says what emulation changes, and what is not followed.
///
/// For example: `syncline kernel --load fs`, or
/// `syncline kernel --kernel ./linux-image-6.12.deb --load ./my-load.sh`
#[derive(clap::Args)]
#[command(
    override_usage = "syncline kernel [OPTIONS]\n       syncline kernel --read DIR [--window N] [--json]",
    after_long_help = statuses::KERNEL
)]
pub struct Kernel {
    /// Kernel image (vmlinuz), or Debian package with one [default: the newest image in /boot with
    /// "cloud" in its name, or else the newest one]
    #[arg(long, value_name = "FILE", conflicts_with = "read")]
    pub kernel: Option<PathBuf>,

    /// Load to run: `make` (30 jobs compile 27 C files), `fs` (processes create, rename, read and remove
    /// files in 64 folders on ext4), `small` (eight processes use files and pipes), or a script's path
    ///
    /// /bin/sh runs a script as root. The script finds only the files that --files provides.
    #[arg(long, value_name = "LOAD", default_value = "make", value_parser = load, conflicts_with = "read")]
    pub load: Load,

    /// Factor by which `fs` and `small` run longer
    #[arg(long, value_name = "N", default_value_t = 1, value_parser = scale, conflicts_with = "read")]
    pub scale: u32,

    /// Folder to copy into the guest's root; libraries that its programs need are added
    #[arg(long, value_name = "DIR", conflicts_with = "read")]
    pub files: Option<PathBuf>,

    /// Number of virtual processors, from 2 to 64
    #[arg(short, long, value_name = "N", default_value_t = 4, value_parser = cpus, conflicts_with = "read")]
    pub cpus: u32,

    /// Memory of the guest, such as 1G; 256M or more
    #[arg(long, value_name = "SIZE", default_value = "1G", value_parser = memory, conflicts_with = "read")]
    pub memory: u32,

    /// How many instructions one virtual processor may be ahead of another; 0 for no limit
    ///
    /// Without a limit, a virtual processor may wait for a lock whose holder's virtual processor
    /// does not run at that moment. A smaller number is closer to processors of equal speed, and
    /// makes the run slower.
    #[arg(long, value_name = "N", default_value_t = 20_000, conflicts_with = "read")]
    pub quantum: u64,

    /// Keep the kernel's mitigations of processor vulnerabilities [default: off, as on a processor that
    /// needs none]
    #[arg(long, conflicts_with = "read")]
    pub mitigations: bool,

    /// Compare each section with this many earlier sections of its lock
    #[arg(short, long, value_name = "N", default_value_t = Options::WINDOW, value_parser = parse_window)]
    pub window: usize,

    /// End the guest if it takes longer than this, such as 10m
    #[arg(long, value_name = "TIME", default_value = "10m", value_parser = parse_time, conflicts_with = "read")]
    pub timeout: Duration,

    /// Folder to write the recording to
    ///
    /// A recording that is already there is moved to DIR.old, and replaces an older one of that name.
    #[arg(short, long, value_name = "DIR", default_value = DEFAULT, conflicts_with = "read")]
    pub output: PathBuf,

    /// Largest size of the trace, such as 512M or 4G; sections that don't fit are not recorded
    #[arg(long, value_name = "SIZE", default_value = "4G", value_parser = parse_size, conflicts_with = "read")]
    pub max_size: u64,

    /// Run nothing, and report on the recording in this folder
    #[arg(long, value_name = "DIR")]
    pub read: Option<PathBuf>,

    /// Print JSON, for scripts
    #[arg(long)]
    pub json: bool,
}

/// The folder for a recording of a kernel if none is given.
pub const DEFAULT: &str = "syncline-kernel";
/// The least memory that a kernel needs to boot, in mebibytes.
const LEAST_MEMORY: u64 = 256;

fn load(text: &str) -> Result<Load, String> {
    let load = Load::named(text);
    match &load {
        Load::Script(path) if !path.is_file() => Err(match Path::new(text).exists() {
            true => {
                "this is not a file; expected make, fs, small or the path of a script".to_owned()
            }
            false => "expected make, fs, small or the path of a script".to_owned(),
        }),
        _ => Ok(load),
    }
}

fn cpus(text: &str) -> Result<u32, String> {
    match text.parse() {
        Ok(1) => {
            Err("with one processor the kernel removes the atomic instructions by which locks are \
                 found: use 2 processors or more"
                .to_owned())
        }
        Ok(number) if (2..=MOST_PROCESSORS).contains(&number) => Ok(number),
        _ => Err(format!("expected a number from 2 to {MOST_PROCESSORS}")),
    }
}

fn scale(text: &str) -> Result<u32, String> {
    text.parse().ok().filter(|&n| n > 0).ok_or_else(|| "expected a number, 1 or more".to_owned())
}

/// Reads the size of the guest's memory. Returns it in mebibytes.
fn memory(text: &str) -> Result<u32, String> {
    match parse_size(text)? >> 20 {
        mebibytes if mebibytes < LEAST_MEMORY => Err("a kernel needs 256M or more".to_owned()),
        mebibytes => u32::try_from(mebibytes).map_err(|_| "this size is too large".to_owned()),
    }
}

#[cfg(test)]
mod tests {
    use super::*;

    #[test]
    fn one_processor_is_refused_and_so_is_too_little_memory() {
        assert!(cpus("1").expect_err("one").contains("2 processors or more"));
        assert!(cpus("0").is_err() && cpus("65").is_err());
        assert_eq!((cpus("2"), cpus("64")), (Ok(2), Ok(64)));
        assert_eq!(memory("1G"), Ok(1024));
        assert!(memory("64M").is_err());
    }

    #[test]
    fn a_load_is_a_name_or_a_script_that_is_there() {
        assert_eq!(load("fs"), Ok(Load::Files));
        assert!(load("nothing").is_err());
        assert!(load("/").expect_err("a folder").contains("not a file"));
        assert_eq!(load("/etc/passwd"), Ok(Load::Script("/etc/passwd".into())));
    }
}
