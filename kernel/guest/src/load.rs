//! The loads that run in the guest between the markers, and the files that they need.

use std::path::{Path, PathBuf};
use std::process::Command;

use crate::Error;
use crate::image::Image;

/// The numbers of C files and of jobs of the parallel build, as in Syncchar's paper (section 4).
const SOURCES: usize = 27;
const JOBS: usize = 30;

/// A load.
#[derive(Clone, Debug, PartialEq, Eq)]
pub enum Load {
    /// Eight processes with files and pipes; takes seconds.
    Small,
    /// `make -j30` of 27 C files.
    Make,
    /// Creating, renaming, reading and removing files in 64 directories.
    Files,
    /// A script from the user, run by `/bin/sh`.
    Script(PathBuf),
}

impl Load {
    /// The load with this name: `small`, `make`, `fs`, or else the path of a script.
    pub fn named(name: &str) -> Load {
        match name {
            "small" => Load::Small,
            "make" => Load::Make,
            "fs" => Load::Files,
            path => Load::Script(PathBuf::from(path)),
        }
    }

    /// The load's name for the guest's first process.
    pub fn word(&self) -> &'static str {
        match self {
            Load::Small => "small",
            Load::Files => "fs",
            Load::Make | Load::Script(_) => "script",
        }
    }

    /// Describes the load in words.
    pub fn told(&self) -> String {
        match self {
            Load::Small => "eight processes in files and pipes".to_owned(),
            Load::Make => format!("make -j{JOBS} of {SOURCES} C files"),
            Load::Files => "files in 64 directories".to_owned(),
            Load::Script(path) => path.display().to_string(),
        }
    }

    /// About how many seconds the load takes, including the boot, with four virtual processors on
    /// two idle real ones; `None` for a script. `scale` is
    /// [`Settings::scale`](crate::run::Settings).
    pub fn seconds(&self, scale: u32) -> Option<u32> {
        match self {
            Load::Small => Some(scale.saturating_mul(10)),
            Load::Make => Some(90),
            Load::Files => Some(scale.saturating_mul(20)),
            Load::Script(_) => None,
        }
    }

    /// Adds the files that the load needs to the image.
    ///
    /// # Errors
    /// [`Error::Image`], if a file is missing; [`Error::Missing`], if a program is; [`Error::Io`],
    /// if the compiler can't be run.
    pub fn add_to(&self, image: &mut Image) -> Result<(), Error> {
        match self {
            Load::Small | Load::Files => Ok(()),
            Load::Make => make(image),
            Load::Script(path) => {
                image.program(Path::new("/bin/sh"))?;
                image.add_as(path, "/load.sh")
            }
        }
    }
}

fn make(image: &mut Image) -> Result<(), Error> {
    for program in ["/bin/sh", "/usr/bin/make", "/usr/bin/gcc", "/usr/bin/as", "/usr/bin/ld"] {
        if !Path::new(program).exists() {
            let program = match program {
                "/usr/bin/make" => "make",
                _ => "C compiler",
            };
            return Err(Error::Missing { program, package: "build-essential" });
        }
        image.program(Path::new(program))?;
    }
    image.program(&compiler()?)?;
    let mut makefile = String::from("all:");
    (0..SOURCES).for_each(|n| makefile.push_str(&format!(" /src/{n}.o")));
    makefile
        .push_str("\n\tld -r -o /src/all.o $^\n%.o: %.c\n\tgcc -ffreestanding -O1 -c -o $@ $<\n");
    image.text("/src/Makefile", 0o644, &makefile);
    (0..SOURCES).for_each(|n| image.text(&format!("/src/{n}.c"), 0o644, &source(n)));
    image.text("/load.sh", 0o755, &format!("make -s -C /src -j{JOBS}\n"));
    Ok(())
}

/// The path of the compiler proper, which the driver runs.
fn compiler() -> Result<PathBuf, Error> {
    let output = Command::new("gcc").arg("-print-prog-name=cc1").output()?;
    let path = PathBuf::from(String::from_utf8_lossy(&output.stdout).trim());
    match path.is_absolute() {
        true => Ok(path),
        false => Err(Error::Missing { program: "C compiler (cc1)", package: "build-essential" }),
    }
}

/// A C file with several functions, which differs for each number.
fn source(number: usize) -> String {
    let mut text = String::from("static int table[256];\n");
    for function in 0..8 {
        text.push_str(&format!(
            "int work_{number}_{function}(int *data, int length)\n{{\n\tint sum = {number};\n\
             \tfor (int i = 0; i < length; i++) {{\n\t\tsum += data[i] * {function};\n\
             \t\tif (sum & {}) table[sum & 255] ^= i;\n\t}}\n\treturn sum;\n}}\n",
            1 << function,
        ));
    }
    text
}
