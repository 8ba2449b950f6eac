//! The working folder of a benchmark, in the folder of the executable. It is removed at the end.
//!
//! The folder is not in a folder for temporary files, because such files are often in memory and a
//! user's recordings are on a disk.

use std::path::{Path, PathBuf};
use std::process::Command;
use std::{env, fs};

use anyhow::Context;
use tempfile::TempDir;

use crate::process;
use crate::size::Size;

pub struct Lab {
    pub size: Size,
    folder: TempDir,
}

impl Lab {
    pub fn new(size: Size) -> anyhow::Result<Lab> {
        let folder = tempfile::Builder::new()
            .prefix("syncline-bench-")
            .tempdir_in(executables()?)
            .context("can't create a temporary folder")?;
        Ok(Lab { size, folder })
    }

    pub fn path(&self, name: &str) -> PathBuf {
        self.folder.path().join(name)
    }

    pub fn folder(&self) -> &Path {
        self.folder.path()
    }

    /// Compiles the source of a C program with optimization. Returns the path of the executable.
    pub fn compile(&self, name: &str, source: &str) -> anyhow::Result<PathBuf> {
        self.compile_with(&[], name, source)
    }

    /// Compiles the source of a C library with optimization. Returns the path of the shared object.
    pub fn compile_library(&self, name: &str, source: &str) -> anyhow::Result<PathBuf> {
        self.compile_with(&["-shared", "-fPIC"], name, source)
    }

    /// Like [`compile`](Self::compile), with more options for the compiler.
    pub fn compile_with(
        &self,
        options: &[&str],
        name: &str,
        source: &str,
    ) -> anyhow::Result<PathBuf> {
        fs::write(self.path("common.h"), include_str!("../programs/common.h"))?;
        let (text, result) = (self.path(&format!("{name}.c")), self.path(name));
        fs::write(&text, source)?;
        let mut cc = Command::new("cc");
        cc.args(["-std=gnu11", "-O2", "-Wall", "-Wextra", "-Werror", "-pthread"]);
        cc.args(options).arg("-o").arg(&result).arg(&text);
        process::run(cc, self.folder(), "cc").with_context(|| format!("compiling {name}.c"))?;
        Ok(result)
    }
}

/// The folder of this executable, in which Cargo puts the executables of the other crates too.
pub fn executables() -> anyhow::Result<PathBuf> {
    let own = env::current_exe().context("this executable has no path")?;
    let folder = own.parent().context("this executable is in no folder")?;
    Ok(folder.to_owned())
}

/// The folder of this executable, if it has these files. The error says that `packages` must be
/// built.
pub fn built(files: &[&str], packages: &str) -> anyhow::Result<PathBuf> {
    let folder = executables()?;
    for name in files {
        anyhow::ensure!(
            folder.join(name).is_file(),
            "{name} is not in {}; build it with the same profile as this benchmark: cargo build \
             [--release] {packages}",
            folder.display()
        );
    }
    Ok(folder)
}

/// The path of the first of these programs that is on the search path.
pub fn find_program(names: &[&str], package: &str) -> anyhow::Result<PathBuf> {
    let path = env::var_os("PATH").unwrap_or_default();
    let folders: Vec<_> = env::split_paths(&path).collect();
    let mut places = names.iter().flat_map(|name| folders.iter().map(move |f| f.join(name)));
    places.find(|place| place.is_file()).with_context(|| {
        format!("{} is not installed; Debian's package {package} has it", names[0])
    })
}
