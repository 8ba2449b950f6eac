//! A profile for pprof, like Go's mutex profile: for each call stack, how often it waited for a
//! lock (`contentions`), and how long (`delay`, which is shown by default).
//!
//! In contrast to Go's mutex profile, which has the stacks that released the lock, this profile has
//! the stacks that waited, like Go's block profile. A sample has labels for its operation, and for
//! its process if there are several.

mod messages;

use std::collections::HashMap;
use std::io::{self, Write};

use flate2::Compression;
use flate2::write::GzEncoder;
use prost::Message;

use super::parts::{nanoseconds, waits_for_locks};
use messages::{Function, Label, Line, Location, Mapping, Profile, Sample, ValueType};
use syncline_analysis::Analysis;
use syncline_analysis::model::{Process, SymbolSource};

/// Writes the waiting for locks as a gzipped profile of pprof.
///
/// # Errors
/// Same errors as writing to `out`.
pub fn pprof(analysis: &Analysis, out: &mut impl Write) -> io::Result<()> {
    let mut writer = Writer::default();
    writer.text("");
    let contentions = writer.value_type("contentions", "count");
    let delay = writer.value_type("delay", "nanoseconds");
    let several = analysis.processes.len() > 1;
    for process in &analysis.processes {
        writer.process(process, several);
    }
    let started = analysis.processes.iter().map(|process| process.started).min().unwrap_or(0);
    let longest = analysis.processes.iter().map(|process| process.seconds).fold(0.0, f64::max);
    let mut profile = writer.profile;
    (profile.time_nanos, profile.duration_nanos) = (started as i64, nanoseconds(longest) as i64);
    (profile.period_type, profile.period) = (Some(contentions.clone()), 1);
    profile.default_sample_type = delay.r#type;
    profile.sample_type = vec![contentions, delay];
    let mut gzip = GzEncoder::new(out, Compression::default());
    gzip.write_all(&profile.encode_to_vec())?;
    gzip.finish()?;
    Ok(())
}

/// A profile that is being built, and the numbers of its strings and functions.
#[derive(Default)]
struct Writer {
    profile: Profile,
    texts: HashMap<String, i64>,
    functions: HashMap<(i64, i64), u64>,
}

impl Writer {
    fn process(&mut self, process: &Process, several: bool) {
        let first_mapping = self.profile.mapping.len() as u64 + 1;
        for module in &process.modules {
            let named = matches!(
                module.symbols,
                Some(SymbolSource::Debug | SymbolSource::Symbols | SymbolSource::Dynamic)
            );
            let lines = module.symbols == Some(SymbolSource::Debug);
            let mapping = Mapping {
                id: self.profile.mapping.len() as u64 + 1,
                memory_start: module.start,
                memory_limit: module.end,
                filename: self.text(&module.path),
                build_id: self.text(&module.build_id),
                has_functions: named,
                has_filenames: lines,
                has_line_numbers: lines,
                has_inline_frames: lines,
            };
            self.profile.mapping.push(mapping);
        }
        let mut locations = HashMap::new();
        for (site, stack, way) in waits_for_locks(process) {
            let mut label = vec![self.label("operation", site.op.label())];
            if several {
                let name = format!("{} ({})", process.name(), process.pid);
                label.push(self.label("process", &name));
            }
            let location_id = self.stack(process, stack, first_mapping, &mut locations);
            let value = vec![way.waits as i64, nanoseconds(way.waited) as i64];
            self.profile.sample.push(Sample { location_id, value, label });
        }
    }

    /// The locations of a stack, the innermost first.
    fn stack(
        &mut self,
        process: &Process,
        stack: usize,
        first_mapping: u64,
        locations: &mut HashMap<u64, u64>,
    ) -> Vec<u64> {
        let stack = &process.stacks[stack];
        let mut frames = stack.frames.iter().map(|&frame| &process.frames[frame]);
        let mut ids = Vec::new();
        for (&address, &count) in stack.addresses.iter().zip(&stack.frames_at) {
            let frames: Vec<_> = frames.by_ref().take(count).collect();
            if let Some(&known) = locations.get(&address) {
                ids.push(known);
                continue;
            }
            let module = frames.first().and_then(|frame| frame.module);
            let line = frames
                .iter()
                .map(|frame| Line {
                    function_id: self
                        .function(&frame.function, frame.file.as_deref().unwrap_or_default()),
                    line: frame.line.map_or(0, i64::from),
                })
                .collect();
            let id = self.profile.location.len() as u64 + 1;
            self.profile.location.push(Location {
                id,
                mapping_id: module.map_or(0, |module| first_mapping + module as u64),
                // An address within the call, since the return address is after the call.
                address: address.saturating_sub(1),
                line,
            });
            locations.insert(address, id);
            ids.push(id);
        }
        ids
    }

    fn function(&mut self, name: &str, file: &str) -> u64 {
        let (name, filename) = (self.text(name), self.text(file));
        let next = self.profile.function.len() as u64 + 1;
        let id = *self.functions.entry((name, filename)).or_insert(next);
        if id == next {
            self.profile.function.push(Function { id, name, system_name: name, filename });
        }
        id
    }

    fn value_type(&mut self, name: &str, unit: &str) -> ValueType {
        ValueType { r#type: self.text(name), unit: self.text(unit) }
    }

    fn label(&mut self, key: &str, text: &str) -> Label {
        Label { key: self.text(key), str: self.text(text) }
    }

    /// The number of a text in the profile's table of strings.
    fn text(&mut self, text: &str) -> i64 {
        if let Some(&known) = self.texts.get(text) {
            return known;
        }
        let number = self.profile.string_table.len() as i64;
        self.profile.string_table.push(text.to_owned());
        self.texts.insert(text.to_owned(), number);
        number
    }
}
