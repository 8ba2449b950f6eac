//! The stacks of a process: first those of the recording, by their numbers there, then stacks of
//! samples, and of rows whose stack could not be kept.
//!
//! A lock that is made of a futex often waits in a function of its own, as GLib's mutex does, while
//! its release is inlined into the user's function, or is that function's tail call. The user's
//! function then both wakes others and calls the function that waits: it is the call site of both
//! operations.

use std::collections::{HashMap, HashSet};
use std::slice;

use syncline_recording::layout::{STACK_BROKEN, STACK_CUT};
use syncline_recording::{Class, Primitive, ProcessFile, Row, SampledProcess};

use super::python::PythonStacks;
use crate::model::{Frame, Module, Stack};
use syncline_code::symbols::Symbols;

/// The stacks of a process and the names in them.
pub struct Stacks {
    stacks: Vec<Stack>,
    by_return: HashMap<u64, usize>,
    symbols: Symbols,
    python: PythonStacks,
}

impl Stacks {
    /// How many stacks are named between two reports of progress.
    const STEP: usize = 64;

    /// Looks up the names of all stacks.
    pub fn new(
        file: &ProcessFile,
        samples: Option<&SampledProcess>,
        mut symbols: Symbols,
        progress: &mut dyn FnMut(usize, usize),
    ) -> Stacks {
        let rows = file.threads.iter().flat_map(|thread| &thread.rows);
        let alone =
            rows.filter(|row| row.counts.stack == 0).map(|row| slice::from_ref(&row.counts.ret));
        let recorded = (1..file.stacks.len()).map(|number| file.stack(number as u32));
        symbols.read_wrappers(recorded.chain(alone));
        let mut stacks = vec![Stack::default()];
        for (number, record) in file.stacks.iter().enumerate().skip(1) {
            if number % Self::STEP == 1 {
                progress(number - 1, file.stacks.len() - 1);
            }
            let mut stack = symbols.stack(file.stack(number as u32));
            stack.cut = record.flags & STACK_CUT != 0;
            stack.broken = record.flags & STACK_BROKEN != 0;
            stacks.push(stack);
        }
        let python = PythonStacks::default();
        let mut stacks = Stacks { stacks, by_return: HashMap::new(), symbols, python };
        stacks.pass_over_waits_for_callers(file);
        if let Some(process) = samples.filter(|process| !process.python.is_empty()) {
            let Stacks { stacks, symbols, python, .. } = &mut stacks;
            *python = PythonStacks::find(file, process, symbols, stacks);
        }
        stacks
    }

    /// If a function waits in a futex on behalf of its caller, makes the caller the call site.
    fn pass_over_waits_for_callers(&mut self, file: &ProcessFile) {
        let rows = |class: Class| {
            let rows = file.threads.iter().flat_map(|thread| &thread.rows);
            rows.filter(move |row| {
                row.op.primitive() == Primitive::Futex && row.op.class() == class
            })
        };
        let function = |frame: usize| self.symbols.frame(frame).whole_function();
        let mut woken_in: HashMap<u64, HashSet<&str>> = HashMap::new();
        for row in rows(Class::Notify) {
            if let Some(frame) = self.stacks[self.checked(row.counts.stack)].place {
                woken_in.entry(row.counts.lock).or_default().insert(function(frame));
            }
        }
        let mut moved = Vec::new();
        for row in rows(Class::Wait) {
            let number = self.checked(row.counts.stack);
            let Stack { place: Some(place), frames, .. } = &self.stacks[number] else { continue };
            let from = frames.iter().skip_while(|&frame| frame != place).copied();
            let Some(woken_in) = woken_in.get(&row.counts.lock) else { continue };
            if waits_for_caller(from.clone().map(function), woken_in) {
                moved.push((number, from.clone().nth(1)));
            }
        }
        for (number, caller) in moved {
            self.stacks[number].place = caller;
        }
    }

    /// The stack of a row of the thread with this index in the file. It is that of Python's
    /// functions, if they are known, or else the recorded one. If the recorded stack could not be
    /// kept, the result has only the row's return address.
    pub fn of_row(&mut self, thread: usize, row: &Row) -> usize {
        let recorded = self.checked(row.counts.stack);
        let waits = !matches!(row.op.class(), Class::Notify | Class::Create);
        if waits && let Some(stack) = self.python(Some(thread), row.counts.lock, row.counts.ret) {
            return stack;
        }
        if recorded != 0 {
            return recorded;
        }
        let Stacks { stacks, by_return, symbols, .. } = self;
        *by_return.entry(row.counts.ret).or_insert_with(|| {
            stacks.push(symbols.stack(&[row.counts.ret]));
            stacks.len() - 1
        })
    }

    /// The stack of a call that waited, or acquired a lock, by its number in the recording: that of
    /// Python's functions, if they are known. 0 if it has no known call site. Without `thread`,
    /// Python's functions are known only for calls on a lock.
    pub fn of_call(&self, thread: Option<usize>, number: u32, lock: u64) -> usize {
        let known = self.checked(number);
        let ret = self.stacks[known].addresses.first();
        ret.and_then(|&ret| self.python(thread, lock, ret)).unwrap_or(known)
    }

    fn python(&self, thread: Option<usize>, lock: u64, ret: u64) -> Option<usize> {
        let of_thread = || self.python.of_thread(thread?, ret);
        self.python.of_lock(lock, ret, &self.symbols).or_else(of_thread)
    }

    /// Adds the stack of a sampled thread: the address of the instruction at which it was, then the
    /// return addresses of its callers. `None` if there are no addresses, or if a recorded call has
    /// led there.
    pub fn add_seen(&mut self, mut addresses: Vec<u64>) -> Option<usize> {
        // Stacks consist of return addresses, which are after the calls. So the instruction's
        // address is moved past its start.
        let instruction = addresses.first_mut()?;
        if *instruction < SampledProcess::PYTHON {
            *instruction += 1;
        }
        self.add_behind(addresses)
    }

    /// Like [`add_seen`](Self::add_seen), but if a recorded call has led there, adds the stack of
    /// the call's caller.
    pub fn add_caller(&mut self, addresses: Vec<u64>) -> Option<usize> {
        match self.symbols.from_recorded_call(&addresses) {
            Some(caller) => self.add_behind(caller.to_vec()),
            None => self.add_seen(addresses),
        }
    }

    /// Adds the stack of a sampled thread that was directly after the instruction to show. A return
    /// address is there too. `None` as for [`add_seen`](Self::add_seen).
    pub fn add_behind(&mut self, addresses: Vec<u64>) -> Option<usize> {
        if addresses.is_empty() || self.symbols.is_recorded(&addresses) {
            return None;
        }
        self.stacks.push(self.symbols.stack(&addresses));
        Some(self.stacks.len() - 1)
    }

    /// If the stack's instruction was inlined from a header or a language library, shows the
    /// position in the program's source that it was inlined into. Loops read words through
    /// functions of such files.
    pub fn show_outside_headers(&mut self, number: usize) {
        let stack = &self.stacks[number];
        let here = stack.frames_at.first().copied().unwrap_or(0);
        let is_own = |&frame: &usize| {
            self.symbols.frame(frame).file.as_deref().is_some_and(|file| !is_header(file))
        };
        if let Some(own) = stack.frames[..here].iter().copied().find(is_own) {
            self.stacks[number].place = Some(own);
        }
    }

    /// `number`, or 0 if there is no stack of that number with a known call site.
    pub fn checked(&self, number: u32) -> usize {
        let known = self.stacks.get(number as usize).is_some_and(|stack| stack.place.is_some());
        if known { number as usize } else { 0 }
    }

    /// The frame to show for a stack.
    pub fn place(&self, stack: usize) -> Option<usize> {
        self.stacks[stack].place
    }

    /// The frame to show for a stack, in words.
    pub fn place_name(&self, stack: usize) -> String {
        match self.place(stack) {
            Some(frame) => self.symbols.frame(frame).place(),
            None => "unknown place".to_owned(),
        }
    }

    /// The frame to show for a stack, in the shortest form that identifies it: its file and line,
    /// or else its function. `None` if unknown.
    pub fn short_place(&self, stack: usize) -> Option<String> {
        let frame = self.symbols.frame(self.place(stack)?);
        Some(frame.file_line().unwrap_or_else(|| frame.function.clone()))
    }

    /// The innermost function of a stack; `None` if unknown.
    pub fn innermost(&self, stack: usize) -> Option<String> {
        let frame = *self.stacks[stack].frames.first()?;
        Some(self.symbols.frame(frame).whole_function().to_owned())
    }

    /// The symbols, to look names up.
    pub fn symbols(&mut self) -> &mut Symbols {
        &mut self.symbols
    }

    /// The stacks, and the symbols to look names up.
    pub fn with_symbols(&mut self) -> (&[Stack], &mut Symbols) {
        (&self.stacks, &mut self.symbols)
    }

    /// The stacks, frames and modules.
    pub fn into_tables(self) -> (Vec<Stack>, Vec<Frame>, Vec<Module>) {
        let (frames, modules) = self.symbols.into_tables();
        (self.stacks, frames, modules)
    }
}

/// Whether a source file has code for other files to inline: a header of C or C++ (those of the C++
/// library have no extension), or Rust's core and std.
fn is_header(file: &str) -> bool {
    let name = file.rsplit('/').next().unwrap_or(file);
    let extension = name.rsplit_once('.').map_or("", |(_, extension)| extension);
    matches!(extension, "" | "h" | "hh" | "hpp" | "hxx" | "ipp" | "inl" | "tcc")
        || file.starts_with("/rustc/")
}

/// Whether the first of these functions, each called by the next, waits in a futex on behalf of its
/// caller: the caller wakes others in that futex, and the function itself does not.
fn waits_for_caller<'a>(
    mut functions: impl Iterator<Item = &'a str>,
    woken_in: &HashSet<&str>,
) -> bool {
    let mut wakes = || functions.next().map(|function| woken_in.contains(function));
    wakes() == Some(false) && wakes() == Some(true)
}

#[cfg(test)]
mod tests {
    use super::*;

    #[test]
    fn headers_are_where_other_code_comes_from() {
        for header in ["/usr/include/ck_pr.h", "/usr/include/c++/12/atomic", "a/spin.hpp"] {
            assert!(is_header(header), "{header}");
        }
        assert!(is_header("/rustc/59807616e1fa/library/core/src/hint.rs"));
        for own in ["/src/work.c", "/src/team.cc", "/home/me/.cargo/spin-0.9/src/mutex.rs"] {
            assert!(!is_header(own), "{own}");
        }
    }

    #[test]
    fn a_function_that_waits_for_a_caller_that_wakes_is_passed_over() {
        let passed = |functions: &[&str], woken_in: &[&str]| {
            waits_for_caller(functions.iter().copied(), &woken_in.iter().copied().collect())
        };
        assert!(passed(&["lock_slowpath", "quark_try_string", "run"], &["quark_try_string"]));
        assert!(!passed(&["lock", "insert", "run"], &["unlock"]), "each is a function");
        assert!(!passed(&["insert", "run"], &["insert", "run"]), "both are inlined");
        assert!(!passed(&["take", "work"], &["put"]), "a queue");
        assert!(!passed(&["take"], &["put"]));
    }
}
