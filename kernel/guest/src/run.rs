//! A whole run: learns about the kernel once and keeps the result, then runs the load and follows
//! it.

use std::collections::BTreeMap;
use std::fs;
use std::path::{Path, PathBuf};
use std::sync::atomic::AtomicBool;
use std::time::Duration;

use serde::{Deserialize, Serialize};
use syncline_trace::Trace;

use crate::Error;
use crate::btf::Btf;
use crate::classes::Classes;
use crate::image::Image;
use crate::kernel::Kernel;
use crate::load::Load;
use crate::machine::{Ended, Machine};
use crate::planning::{NO_SYMBOLS, NO_TYPES, plan};
use crate::symbols::Symbols;

/// The subfolder of a recording that holds the kernel's files.
pub const FOLDER: &str = "kernel";
/// The files in that folder.
pub const FILES: [&str; 12] = [
    ABOUT,
    "kallsyms",
    "btf",
    "modules",
    "plan",
    "image",
    "disk",
    "caches",
    "places",
    "counts",
    "breaches",
    "contention",
];
/// The file in [`FOLDER`] that describes the run; a folder with this file is a recording of a
/// kernel.
pub const ABOUT: &str = "run.json";
/// Version of what is learned about a kernel.
const LEARNED: u32 = 3;
/// The most virtual processors that the plugin follows.
pub const MOST_PROCESSORS: u32 = 64;
/// Version of [`About`]'s format.
const FORMAT: u32 = 1;
/// Time limit of the learning boot, which takes seconds; on a busy machine it may take longer.
const LEARNING: Duration = Duration::from_secs(300);

/// The parameters of a run.
#[derive(Clone, Debug)]
pub struct Settings {
    /// The kernel.
    pub kernel: Kernel,
    /// The guest's first process.
    pub init: PathBuf,
    /// The plugin.
    pub plugin: PathBuf,
    /// The load.
    pub load: Load,
    /// The load's length as a multiple of its shortest length, if the length can be chosen.
    pub scale: u32,
    /// A folder whose files are put into the guest's root.
    pub files: Option<PathBuf>,
    /// Virtual processors.
    pub processors: u32,
    /// Memory in mebibytes.
    pub memory: u32,
    /// How many instructions a processor may be ahead of the slowest busy one before it waits; 0
    /// for no limit.
    pub quantum: u64,
    /// Whether the kernel runs without its mitigations.
    pub no_mitigations: bool,
    /// The size limit of the trace in bytes.
    pub largest: u64,
    /// A boot is ended after this time.
    pub timeout: Duration,
    /// Further words for the first process.
    pub words: Vec<String>,
}

/// The description of a run, for later readers of the recording.
#[derive(Clone, Debug, PartialEq, Eq, Serialize, Deserialize)]
pub struct About {
    /// The version of the format.
    pub format: u32,
    /// The kernel's release.
    pub release: String,
    /// The load, in words.
    pub load: String,
    /// Virtual processors.
    pub processors: u32,
    /// Memory in mebibytes.
    pub memory: u32,
    /// How many instructions a processor could be ahead of the slowest busy one before it waited; 0
    /// for no limit.
    pub quantum: u64,
    /// Whether the kernel ran without its mitigations.
    pub no_mitigations: bool,
    /// Whether the load ran to its end.
    pub complete: bool,
}

impl About {
    fn new(settings: &Settings) -> About {
        About {
            format: FORMAT,
            release: settings.kernel.release.clone(),
            load: settings.load.told(),
            processors: settings.processors,
            memory: settings.memory,
            quantum: settings.quantum,
            no_mitigations: settings.no_mitigations,
            complete: false,
        }
    }

    /// Reads the description in a recording's folder.
    ///
    /// # Errors
    /// [`Error::Run`], if there is none or it has another version.
    pub fn read(folder: &Path) -> Result<About, Error> {
        let path = folder.join(FOLDER).join(ABOUT);
        let text = fs::read_to_string(&path).map_err(|_| {
            Error::Run(format!("{} is not a recording of a kernel", folder.display()))
        })?;
        match serde_json::from_str::<About>(&text) {
            Ok(about) if about.format == FORMAT => Ok(about),
            _ => Err(Error::Run(format!(
                "{} was written by another version of Syncline",
                path.display()
            ))),
        }
    }

    fn write(&self, folder: &Path) -> Result<(), Error> {
        let text = serde_json::to_string(self).map_err(std::io::Error::other)?;
        Ok(fs::write(folder.join(ABOUT), text)?)
    }
}

/// The plugin's counts, by name.
pub type Counts = BTreeMap<String, u64>;

/// The names of the counts that must be zero.
pub const INVARIANTS: [&str; 5] =
    ["unknown_releases", "other_levels", "held_by_user", "contradictions", "lost"];

/// Learns about the kernel, or finds it in the cache; returns the folder with the result.
///
/// # Errors
/// Same errors as [`Machine::boot`] and [`Image::new`], [`Error::Lacks`] for a kernel that can't be
/// followed, and [`Error::Io`] if the cache can't be written.
pub fn learn(
    settings: &Settings,
    cache: &Path,
    each_line: &mut dyn FnMut(&str),
    told_to_end: &AtomicBool,
) -> Result<PathBuf, Error> {
    let name = format!("{}-{:016x}-{LEARNED}", settings.kernel.release, settings.kernel.hash);
    let folder = cache.join("kernels").join(name);
    if folder.join("plan").exists() {
        return Ok(folder);
    }
    fs::create_dir_all(cache.join("kernels"))?;
    let work = tempfile::tempdir_in(cache)?;
    let image = work.path().join("image");
    fs::write(&image, Image::new(&settings.init)?.finish())?;
    let machine = Machine {
        image: &image,
        arguments: vec![format!("out={}", work.path().display())],
        words: vec!["syncline.learn".to_owned()],
        timeout: settings.timeout.min(LEARNING),
        ..machine(settings, &image)
    };
    machine.boot(each_line, told_to_end).map_err(lacks)?;
    let (symbols, types) = known(work.path())?;
    let plan = plan(&symbols, &types)?;
    fs::remove_file(&image)?;
    fs::write(work.path().join("plan"), plan.write())?;
    // A rename, so that no process finds an incomplete folder; another process may have been
    // faster.
    if let Err(error) = fs::rename(work.path(), &folder)
        && !folder.join("plan").exists()
    {
        return Err(error.into());
    }
    Ok(folder)
}

/// If the first process could not hand over symbols or types, returns the error that names what the
/// kernel lacks; returns other errors as they are.
fn lacks(error: Error) -> Error {
    match &error {
        Error::Load { why, .. } if why.starts_with("/proc/kallsyms") => NO_SYMBOLS,
        Error::Load { why, .. } if why.starts_with("/sys/kernel/btf") => NO_TYPES,
        _ => error,
    }
}

/// Runs the load. `folder` is the folder of a new recording. The trace goes there, and everything
/// else into its subfolder [`FOLDER`].
///
/// # Errors
/// Same errors as [`Machine::boot`], [`Image::new`], [`Load::add_to`] and [`crate::disk::make`].
/// Data that was recorded before an error is kept.
pub fn run(
    settings: &Settings,
    learned: &Path,
    folder: &Path,
    each_line: &mut dyn FnMut(&str),
    told_to_end: &AtomicBool,
) -> Result<Ended, Error> {
    let own = folder.join(FOLDER);
    fs::create_dir_all(&own)?;
    let mut about = About::new(settings);
    about.write(&own)?;
    for name in ["kallsyms", "btf", "plan"] {
        fs::copy(learned.join(name), own.join(name))?;
    }
    let image = own.join("image");
    let mut contents = Image::new(&settings.init)?;
    settings.load.add_to(&mut contents)?;
    if let Some(files) = &settings.files {
        contents.tree(files, "/")?;
    }
    fs::write(&image, contents.finish())?;
    let disk = own.join("disk");
    if settings.load == Load::Files {
        crate::disk::make(&disk)?;
    }
    let mut words = vec![
        format!("syncline.load={}", settings.load.word()),
        format!("syncline.scale={}", settings.scale),
    ];
    words.extend(settings.words.iter().cloned());
    let machine = Machine {
        disk: (settings.load == Load::Files).then_some(disk.as_path()),
        arguments: vec![
            format!("out={}", own.display()),
            format!("trace={}", folder.display()),
            format!("plan={}", own.join("plan").display()),
            format!("quantum={}", settings.quantum),
            format!("size={}", settings.largest),
        ],
        words,
        timeout: settings.timeout,
        ..machine(settings, &image)
    };
    let ended = machine.boot(each_line, told_to_end);
    // These files are large, and can be made again.
    let _ = fs::remove_file(&image);
    let _ = fs::remove_file(&disk);
    about.complete = ended.is_ok();
    about.write(&own)?;
    ended
}

fn machine<'a>(settings: &'a Settings, image: &'a Path) -> Machine<'a> {
    Machine {
        kernel: &settings.kernel.image,
        image,
        disk: None,
        plugin: &settings.plugin,
        arguments: Vec::new(),
        processors: settings.processors,
        memory: settings.memory,
        words: Vec::new(),
        no_mitigations: settings.no_mitigations,
        timeout: settings.timeout,
    }
}

fn known(folder: &Path) -> Result<(Symbols, Btf), Error> {
    let symbols = fs::read_to_string(folder.join("kallsyms")).unwrap_or_default();
    let symbols = Symbols::parse(&symbols);
    if symbols.is_empty() {
        return Err(NO_SYMBOLS);
    }
    let types = fs::read(folder.join("btf")).ok().and_then(|bytes| Btf::parse(&bytes));
    Ok((symbols, types.ok_or(NO_TYPES)?))
}

/// Reads the names in a recording's folder.
///
/// # Errors
/// [`Error::Lacks`], if symbols or types are missing.
pub fn classes(folder: &Path) -> Result<Classes, Error> {
    let own = folder.join(FOLDER);
    let (symbols, types) = known(&own)?;
    let text = |name: &str| fs::read_to_string(own.join(name)).unwrap_or_default();
    Ok(Classes::new(symbols, types, &text("caches"), &text("places")))
}

/// The plugin's counts; empty if QEMU was killed before the plugin could write them.
pub fn counts(folder: &Path) -> Counts {
    let text = fs::read_to_string(folder.join(FOLDER).join("counts")).unwrap_or_default();
    let line = |line: &str| {
        let (name, number) = line.split_once(' ')?;
        Some((name.to_owned(), number.parse().ok()?))
    };
    text.lines().filter_map(line).collect()
}

/// The kernel's own counts, which [`contention`](crate::contention) reads; empty if it has counted
/// nothing.
pub fn histogram(folder: &Path) -> String {
    fs::read_to_string(folder.join(FOLDER).join("contention")).unwrap_or_default()
}

/// The first violations of invariants, one per line.
pub fn breaches(folder: &Path) -> String {
    fs::read_to_string(folder.join(FOLDER).join("breaches")).unwrap_or_default()
}

/// Reads the trace in a recording's folder.
///
/// # Errors
/// [`Error::Run`], if there is none or it can't be read.
pub fn trace(
    folder: &Path,
    memory: u64,
    progress: &mut dyn FnMut(u64, u64),
) -> Result<Trace, Error> {
    let unreadable = |error: syncline_trace::Error| Error::Run(error.to_string());
    let files = syncline_trace::trace_files(folder).map_err(unreadable)?;
    let Some(path) = files.first() else {
        return Err(Error::Run(format!("there is no trace in {}", folder.display())));
    };
    Trace::open_within(path, memory, progress).map_err(unreadable)
}

#[cfg(test)]
mod tests {
    use super::*;

    #[test]
    fn what_a_run_was_is_read_again_and_another_version_is_refused() {
        let folder = tempfile::tempdir().expect("a folder");
        let own = folder.path().join(FOLDER);
        assert!(About::read(folder.path()).is_err());
        fs::create_dir(&own).expect("a folder");
        let about = About {
            format: FORMAT,
            release: "6.1.0".to_owned(),
            load: "a load".to_owned(),
            processors: 4,
            memory: 1024,
            quantum: 20_000,
            no_mitigations: true,
            complete: true,
        };
        about.write(&own).expect("a file");
        assert_eq!(About::read(folder.path()).expect("it is there"), about);
        About { format: FORMAT + 1, ..about }.write(&own).expect("a file");
        let error = About::read(folder.path()).expect_err("another version").to_string();
        assert!(error.contains("another version"), "{error}");
    }

    #[test]
    fn a_kernel_that_hands_nothing_over_is_told_what_it_lacks() {
        let load = |why: &str| Error::Load { why: why.to_owned(), said: String::new() };
        let told = |why: &str| lacks(load(why)).to_string();
        assert!(told("/proc/kallsyms: no such file").contains("CONFIG_KALLSYMS"));
        assert!(told("/sys/kernel/btf/vmlinux: no such file").contains("CONFIG_DEBUG_INFO_BTF"));
        assert!(told("something else").contains("something else"));
    }
}
