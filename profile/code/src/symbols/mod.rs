//! The names of the addresses of one process: positions in the code, and global variables.
//!
//! Each address is looked up only once, when it is first needed. Equal positions have the same
//! number, whatever their addresses: a line that was inlined ten times is still one line.

pub mod on_stack;
pub mod place;
pub mod short;

use std::collections::{BTreeMap, BTreeSet, HashMap};
use std::path::Path;
use std::rc::Rc;

use syncline_recording::layout::ModuleRecord;
use syncline_recording::{PythonFrame, SampledProcess};

use crate::file::files;
use crate::file::image::{Found, Image};
use crate::file::library::Library;
use crate::model::{Doing, Frame, Module, Stack, SymbolSource};
use crate::section::again::{self, Around};
use crate::section::{doing, held, python};

/// The size of a cache line in bytes. Processors move whole lines between their caches.
pub const CACHE_LINE: u64 = 64;

/// The names of the addresses of one process.
pub struct Symbols {
    modules: Vec<Module>,
    /// Indices into `modules`, sorted by first address.
    by_address: Vec<usize>,
    build_ids: Vec<Vec<u8>>,
    images: Vec<Option<Rc<Image>>>,
    library: Rc<Library>,
    frames: Vec<Frame>,
    numbers: HashMap<Frame, usize>,
    looked_up: HashMap<u64, Vec<usize>>,
}

impl Symbols {
    /// Prepares to look names up in modules. No file is read before a name is requested, except to
    /// check files that were replaced.
    pub fn new(records: &[ModuleRecord], library: &Rc<Library>) -> Symbols {
        let records = || records.iter().filter(|record| record.start < record.end);
        let modules: Vec<Module> = records().map(|record| module(record, library)).collect();
        let mut by_address: Vec<usize> = (0..modules.len()).collect();
        by_address.sort_by_key(|&m| modules[m].start);
        Symbols {
            by_address,
            build_ids: records().map(|record| record.build_id().to_vec()).collect(),
            images: modules.iter().map(|_| None).collect(),
            modules,
            library: Rc::clone(library),
            frames: Vec::new(),
            numbers: HashMap::new(),
            looked_up: HashMap::new(),
        }
    }

    /// Gives names to the addresses from [`SampledProcess::PYTHON`] on, which stand for positions
    /// in Python functions.
    pub fn add_python(&mut self, functions: &[PythonFrame]) {
        for (n, PythonFrame { function, file, line }) in functions.iter().enumerate() {
            let (function, file) = (function.clone(), Some(file.clone()));
            let frame = Frame { function, whole: None, file, line: *line, module: None };
            let number = self.number(frame);
            self.looked_up.insert(SampledProcess::PYTHON + n as u64, vec![number]);
        }
    }

    /// The stack of the return addresses `addresses`, with names.
    pub fn stack(&mut self, addresses: &[u64]) -> Stack {
        let mut frames = Vec::new();
        let mut frames_at = Vec::new();
        for &address in addresses {
            let found = self.frames_at(address);
            frames_at.push(found.len());
            frames.extend_from_slice(found);
        }
        let place = self.shown(addresses).map(|(_, frame)| frame);
        Stack { addresses: addresses.to_vec(), frames, frames_at, place, cut: false, broken: false }
    }

    /// Finds out which functions on `stacks` acquired their lock on behalf of a caller, which
    /// [`Symbols::stack`] needs to find the call sites. Reads the program's instructions, for many
    /// stacks at a time.
    pub fn read_wrappers<'a>(&mut self, stacks: impl Iterator<Item = &'a [u64]>) {
        let mut open: BTreeSet<&[u64]> = stacks.collect();
        for _ in 0..held::LEVELS {
            let mut calls: BTreeMap<usize, BTreeSet<u64>> = BTreeMap::new();
            open.retain(|stack| {
                let Some((m, at)) = self.shown(stack).and_then(|(call, _)| self.call_in_file(call))
                else {
                    return false;
                };
                let new = !self.image(m).returned.borrow().contains_key(&at);
                if new {
                    calls.entry(m).or_default().insert(at);
                }
                new
            });
            for (m, calls) in calls {
                held::look(&self.image_of(m), &calls);
            }
        }
    }

    /// The return address of the frame to show for a stack, by the rule of `place`, and that frame.
    /// `None` if the stack is empty.
    fn shown(&mut self, addresses: &[u64]) -> Option<(u64, usize)> {
        let is_python = |&address: &u64| address >= SampledProcess::PYTHON;
        let python = addresses.iter().position(is_python);
        let mut frames = Vec::new();
        for &address in &addresses[python.unwrap_or(0)..] {
            let returned = self.returned(address);
            let here = self.frames_at(address).iter().enumerate();
            frames.extend(here.map(|(n, &frame)| (address, frame, n < returned)));
        }
        let names = frames.iter().map(|&(_, frame, returned)| (&self.frames[frame], returned));
        let own = match python {
            Some(_) => place::pythons_own(names.map(|(frame, _)| frame)),
            None => place::users_own(names, &self.modules),
        };
        let (address, frame, _) = frames[own?];
        Some((address, frame))
    }

    /// How many of the frames of a return address acquired a lock on behalf of their callers.
    fn returned(&mut self, address: u64) -> usize {
        let Some((m, at)) = self.call_in_file(address) else { return 0 };
        self.image(m).returned.borrow().get(&at).copied().unwrap_or(0)
    }

    /// The module of the call that returns to an address, and the return address in the module's
    /// file; `None` if it is in no module.
    fn call_in_file(&self, address: u64) -> Option<(usize, u64)> {
        let m = self.module_of(address.saturating_sub(1))?;
        Some((m, address.wrapping_sub(self.modules[m].bias)))
    }

    /// What a thread does at each of `addresses`.
    pub fn doing(&mut self, addresses: &[u64]) -> Vec<Doing> {
        let mut by_module: BTreeMap<usize, Vec<(usize, u64)>> = BTreeMap::new();
        for (number, &address) in addresses.iter().enumerate() {
            if let Some(m) = self.module_of(address) {
                let at = address.wrapping_sub(self.modules[m].bias);
                by_module.entry(m).or_default().push((number, at));
            }
        }
        let mut all = vec![Doing::Works; addresses.len()];
        for (m, addresses) in by_module {
            let (numbers, addresses): (Vec<usize>, Vec<u64>) = addresses.into_iter().unzip();
            let found = doing::doing(&self.image_of(m), &addresses);
            for (number, doing) in numbers.into_iter().zip(found) {
                all[number] = doing;
            }
        }
        all
    }

    /// The part of a sampled stack from the return address of a recorded call on; `None` if the
    /// thread was in no such call.
    pub fn from_recorded_call<'a>(&self, stack: &'a [u64]) -> Option<&'a [u64]> {
        if !self.is_recorded(stack) {
            return None;
        }
        let is_inside = |&&address: &&u64| {
            let name = self.module_of(address).map(|m| self.modules[m].name());
            name.is_some_and(|name| {
                [place::LIBC, place::RECORDER].iter().any(|o| name.starts_with(o))
            })
        };
        let rest = &stack[stack.iter().take_while(is_inside).count()..];
        (!rest.is_empty()).then_some(rest)
    }

    /// Whether the calls that return to two addresses are in one module.
    pub fn same_module(&self, one: u64, other: u64) -> bool {
        let module = |address: u64| self.module_of(address.saturating_sub(1));
        module(one).is_some() && module(one) == module(other)
    }

    /// Whether a stack contains a recorded call: one from the program into the recorder. (The
    /// recorder also calls each thread's start function, and is itself called by the C library for
    /// this. That is not a recorded call.)
    pub fn is_recorded(&self, stack: &[u64]) -> bool {
        let name = |&address: &u64| self.module_of(address).map(|m| self.modules[m].name());
        let calls = stack.windows(2).map(|pair| (name(&pair[0]), name(&pair[1])));
        let is = |name: Option<&str>, start: &str| name.is_some_and(|name| name.starts_with(start));
        let outside = stack.iter().map(name).find(|name| !is(*name, place::LIBC));
        if is(outside.flatten(), place::RECORDER) {
            return true;
        }
        calls.into_iter().any(|(inner, outer)| {
            let from_program = !is(outer, place::RECORDER) && !is(outer, place::LIBC);
            is(inner, place::RECORDER) && outer.is_some() && from_program
        })
    }

    /// The function that starts at `address`, in the form of [`Frame::function`].
    pub fn function(&mut self, address: u64) -> String {
        // One is added, since the frames of a return address are those of the byte before it.
        let frames = self.frames_at(address.saturating_add(1));
        let outermost = *frames.last().expect("an address has a frame at least");
        self.frames[outermost].function.clone()
    }

    /// The start of the function that contains an instruction. `None` if the instruction is in no
    /// module, or if its file has no unwind information.
    pub fn start_of(&mut self, instruction: u64) -> Option<u64> {
        let m = self.module_of(instruction)?;
        let bias = self.modules[m].bias;
        let start = self.image(m).start_of(instruction.wrapping_sub(bias))?;
        Some(start.wrapping_add(bias))
    }

    /// The global variable that contains an address: `name+0x8 (binary)`, or `binary+0x1234` if its
    /// name was stripped. A variable of a library that wraps locks is `name` alone. `None` if the
    /// address is in no module, or in an unnamed variable of a library that wraps locks.
    pub fn variable(&mut self, address: u64) -> Option<String> {
        let m = self.module_of(address)?;
        let at = address.wrapping_sub(self.modules[m].bias);
        let found = self.image(m).variable(at);
        let module = &self.modules[m];
        let name = module.name();
        Some(match found {
            // The variable is a runtime library's own, such as OpenMP's unnamed critical section.
            found if place::is_wrapper(module) => return found.map(|(variable, _)| variable),
            Some((variable, 0)) => format!("{variable} ({name})"),
            Some((variable, offset)) => format!("{variable}+{offset:#x} ({name})"),
            None => format!("{name}+{at:#x}"),
        })
    }

    /// The other variables on the cache lines of the `written` bytes from `address` on, if these
    /// are in a variable. Empty if the address is in no variable, or in a library that wraps locks.
    pub fn beside(&mut self, address: u64, written: u64) -> Vec<String> {
        let Some(m) = self.module_of(address) else { return Vec::new() };
        if written == 0 || place::is_wrapper(&self.modules[m]) {
            return Vec::new();
        }
        let at = address.wrapping_sub(self.modules[m].bias);
        let lines = at & !(CACHE_LINE - 1)..(at + written).next_multiple_of(CACHE_LINE);
        let Some((own, _)) = self.image(m).variable(at) else { return Vec::new() };
        let mut beside = self.image(m).variables(lines);
        beside.retain(|name| *name != own);
        beside
    }

    /// The position of a stack's call site: the module, and the return address in the module's
    /// file. `None` if unknown.
    pub fn place_in_file(&mut self, stack: &Stack) -> Option<(usize, u64)> {
        let place = stack.place?;
        let mut addresses = stack.addresses.iter();
        let address = *addresses.find(|&&address| self.frames_at(address).contains(&place))?;
        self.call_in_file(address)
    }

    /// Whether the function that sleeps at a stack's call site does so again and again; `None` if
    /// that is unknown, or if the loop hands something over in each round. A function that only
    /// sleeps does so for its caller, which is then examined instead.
    pub fn sleeps_again(&mut self, stack: &Stack) -> Option<bool> {
        let place = stack.place?;
        let mut passed = false;
        for &address in &stack.addresses {
            for frame in 0..self.frames_at(address).len() {
                passed |= self.frames_at(address)[frame] == place;
                if !passed {
                    continue;
                }
                let around = if address >= SampledProcess::PYTHON {
                    let number = self.frames_at(address)[frame];
                    let frame = self.frame(number);
                    python::around_sleep(Path::new(frame.file.as_ref()?), frame.line?)
                } else {
                    let (m, at) = self.call_in_file(address)?;
                    again::around_sleep(&self.image_of(m), at, frame)
                };
                match around {
                    Around::Repeats => return Some(true),
                    Around::Once => return Some(false),
                    Around::Wraps => {}
                    Around::Works | Around::Unknown => return None,
                }
            }
        }
        None
    }

    /// The paths of files from which names were requested, but which are another build now, or were
    /// replaced and no longer exist.
    pub fn replaced(&self) -> impl Iterator<Item = &str> {
        self.modules.iter().filter_map(|module| match module.symbols? {
            SymbolSource::Changed => Some(module.path.as_str()),
            SymbolSource::Missing => module.path.strip_suffix(files::REPLACED),
            _ => None,
        })
    }

    /// The names of a module's file.
    pub fn image_of(&mut self, m: usize) -> Rc<Image> {
        Rc::clone(self.image(m))
    }

    /// The frame with an index.
    pub fn frame(&self, number: usize) -> &Frame {
        &self.frames[number]
    }

    /// All frames and modules, in the order of their indexes.
    pub fn into_tables(self) -> (Vec<Frame>, Vec<Module>) {
        (self.frames, self.modules)
    }

    /// The frames of a return address, the innermost first; at least one.
    fn frames_at(&mut self, address: u64) -> &[usize] {
        if !self.looked_up.contains_key(&address) {
            let numbers = self.look_up(address).into_iter().map(|f| self.number(f)).collect();
            self.looked_up.insert(address, numbers);
        }
        &self.looked_up[&address]
    }

    fn number(&mut self, frame: Frame) -> usize {
        *self.numbers.entry(frame).or_insert_with_key(|frame| {
            self.frames.push(frame.clone());
            self.frames.len() - 1
        })
    }

    fn look_up(&mut self, address: u64) -> Vec<Frame> {
        // The byte before the return address is always in the call, which may be the last
        // instruction of its function if the called function does not return.
        let call = address.saturating_sub(1);
        let unnamed =
            |function, whole, module| Frame { function, whole, file: None, line: None, module };
        let Some(m) = self.module_of(call) else {
            return vec![unnamed(format!("{call:#x}"), None, None)];
        };
        let at = call.wrapping_sub(self.modules[m].bias);
        let image = self.image_of(m);
        let found = image.frames(at);
        if found.is_empty() {
            let in_module = |at| format!("{}+{at:#x}", self.modules[m].name());
            return vec![unnamed(in_module(at), image.start_of(at).map(in_module), Some(m))];
        }
        let frame = |f: &Found| Frame {
            function: f.function.clone(),
            whole: f.whole.clone(),
            file: f.file.clone(),
            line: f.line,
            module: Some(m),
        };
        found.iter().map(frame).collect()
    }

    fn module_of(&self, address: u64) -> Option<usize> {
        let after = self.by_address.partition_point(|&m| self.modules[m].start <= address);
        // Modules overlap if one was unloaded. Of the last eight modules that start before the
        // address, the one with the highest start that contains it is found.
        let before = self.by_address[..after].iter().rev().take(8);
        before.copied().find(|&m| address < self.modules[m].end)
    }

    fn image(&mut self, m: usize) -> &Rc<Image> {
        let Symbols { images, modules, build_ids, library, .. } = self;
        images[m].get_or_insert_with(|| {
            let image = library.image(&modules[m].path, &build_ids[m]);
            modules[m].symbols = Some(image.source());
            image
        })
    }
}

fn module(record: &ModuleRecord, library: &Library) -> Module {
    let path = library.path(record);
    // A process that was attached to has loaded the recorder from a descriptor.
    let is_recorder = path.starts_with("/proc/self/fd/");
    Module {
        path: if is_recorder { place::RECORDER.to_owned() } else { path },
        build_id: record.build_id().iter().map(|byte| format!("{byte:02x}")).collect(),
        start: record.start,
        end: record.end,
        bias: record.bias,
        symbols: None::<SymbolSource>,
    }
}
