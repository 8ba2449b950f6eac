//! The programs in `workloads/`, and how to build them.

use std::fs;
use std::path::{Path, PathBuf};
use std::process::Command;

use anyhow::Context;
use serde::Deserialize;

use super::marks::{self, Mark};
use crate::lab::Lab;
use crate::process;

/// A program in `workloads/`.
pub struct Workload {
    /// The name of the source file without its extension; `clean/NAME` for a program without a
    /// problem.
    pub name: String,
    source: PathBuf,
    /// The marks of the program's problem; empty for clean workloads.
    pub marks: Vec<Mark>,
    /// The marks of what is true of the variant without the problem too.
    pub remaining: Vec<Mark>,
}

/// The folder of this repository.
pub fn repository() -> PathBuf {
    let here = Path::new(env!("CARGO_MANIFEST_DIR"));
    here.ancestors().nth(2).expect("lab/bench is two folders down").to_owned()
}

fn folder() -> PathBuf {
    repository().join("workloads")
}

/// The workload with a problem that has this name.
pub fn named(name: &str) -> anyhow::Result<Workload> {
    let mut workloads = programs(&folder(), "")?.into_iter();
    workloads.find(|workload| workload.name == name).with_context(|| format!("no workload {name}"))
}

/// The duration of the measured part in seconds, from a workload's output.
pub fn seconds(stdout: &Path) -> anyhow::Result<f64> {
    #[derive(Deserialize)]
    struct Printed {
        seconds: f64,
    }
    let text = fs::read_to_string(stdout)?;
    let printed: Printed = serde_json::from_str(text.trim()).with_context(|| text.clone())?;
    Ok(printed.seconds)
}

/// All workloads: those with a problem, then the clean ones, each sorted by name.
pub fn all() -> anyhow::Result<Vec<Workload>> {
    let mut workloads = programs(&folder(), "")?;
    for workload in &workloads {
        anyhow::ensure!(!workload.marks.is_empty(), "{} marks no problem", workload.name);
    }
    let clean = programs(&folder().join("clean"), "clean/")?;
    for workload in &clean {
        anyhow::ensure!(workload.marks.is_empty(), "{} marks a problem", workload.name);
    }
    workloads.extend(clean);
    Ok(workloads)
}

fn programs(folder: &Path, prefix: &str) -> anyhow::Result<Vec<Workload>> {
    let mut programs = Vec::new();
    for entry in fs::read_dir(folder).with_context(|| folder.display().to_string())? {
        let source = entry?.path();
        if compiler_of(&source).is_none() {
            continue;
        }
        let text = fs::read_to_string(&source)?;
        let file = source.file_name().unwrap_or_default().to_string_lossy().into_owned();
        let stem = source.file_stem().unwrap_or_default().to_string_lossy();
        programs.push(Workload {
            name: format!("{prefix}{stem}"),
            marks: marks::read(&file, &text)?,
            remaining: marks::remaining(&file, &text)?,
            source,
        });
    }
    programs.sort_by(|a, b| a.name.cmp(&b.name));
    Ok(programs)
}

/// The compiler and the language option for a source file; `None` for other files.
fn compiler_of(source: &Path) -> Option<[&'static str; 2]> {
    match source.extension()?.to_str()? {
        "c" => Some(["gcc", "-std=gnu17"]),
        "cpp" => Some(["g++", "-std=gnu++20"]),
        _ => None,
    }
}

impl Workload {
    /// Builds the program as a user would: optimized, with debug information.
    pub fn compile(&self, lab: &Lab) -> anyhow::Result<PathBuf> {
        let [compiler, language] = compiler_of(&self.source).expect("it was listed by its ending");
        let program = lab.path(&self.name.replace('/', "-"));
        let mut command = Command::new(compiler);
        command.args([language, "-O2", "-g", "-Wall", "-Wextra", "-Werror", "-pthread"]);
        command.arg("-I").arg(folder()).arg("-o").arg(&program).arg(&self.source);
        process::run(command, lab.folder(), "compiler").context(self.name.clone())?;
        Ok(program)
    }

    /// A copy of the program without names and lines, as packages have it.
    pub fn stripped(&self, lab: &Lab, program: &Path) -> anyhow::Result<PathBuf> {
        let stripped = program.with_extension("stripped");
        let mut command = Command::new("strip");
        command.arg("-o").arg(&stripped).arg(program);
        process::run(command, lab.folder(), "strip").context(self.name.clone())?;
        Ok(stripped)
    }

    /// The rules that would be right, in words.
    pub fn expected(&self) -> String {
        let mut rules: Vec<&str> =
            self.marks.iter().flat_map(|m| &m.rules).map(String::as_str).collect();
        rules.dedup();
        rules.join(" or ")
    }
}

#[cfg(test)]
mod tests {
    use super::*;
    use syncline_analysis::model::Rule;

    #[test]
    fn every_mark_names_a_rule() {
        for workload in all().unwrap() {
            for rule in workload.marks.iter().flat_map(|m| &m.rules) {
                let known = Rule::all().any(|known| known.name() == rule);
                assert!(known, "{}: {rule}", workload.name);
            }
        }
    }

    #[test]
    fn every_rule_has_a_workload() {
        let workloads = all().unwrap();
        for name in Rule::all().map(Rule::name) {
            let has = |w: &Workload| w.marks.iter().any(|m| m.rules.iter().any(|r| r == name));
            assert!(workloads.iter().any(has), "no workload is about {name}");
        }
    }
}
