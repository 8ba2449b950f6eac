//! Unwinds stacks of a process, from copies of their tops.

use std::time::{Duration, Instant};

use framehop::x86_64::{CacheX86_64, UnwindRegsX86_64, UnwinderX86_64};
use framehop::{FrameAddress, MustNotAllocateDuringUnwind, Unwinder};

use crate::clock::Sample;
use crate::mapped::{Bytes, Files, Mapping};
use crate::python::Python;

/// The most frames of a stack that are kept.
const FRAMES: usize = 64;
/// The least and the greatest pause before a process's mappings are read again. The pause grows as
/// long as reading them finds nothing: code that is in no file is never found.
const BETWEEN_READS: Duration = Duration::from_millis(100);
const LONGEST_BETWEEN: Duration = Duration::from_secs(2);

/// Keeps unwind rules, which makes unwinding the same code again fast.
pub struct Cache(CacheX86_64<MustNotAllocateDuringUnwind>);

impl Default for Cache {
    fn default() -> Cache {
        Cache(CacheX86_64::new_in())
    }
}

/// What a process has mapped.
#[derive(Default)]
pub struct Mapped {
    unwinder: UnwinderX86_64<Bytes, MustNotAllocateDuringUnwind>,
    mappings: Vec<(Mapping, Module)>,
    next: Option<Instant>,
    pause: Duration,
    /// Python's interpreter, if a thread was seen in its file.
    python: Option<Python>,
}

/// Whether the unwinder has the module of a mapping.
#[derive(Clone, Copy, PartialEq)]
enum Module {
    Unread,
    Known,
    Unknown,
}

impl Mapped {
    /// Unwinds a sample's stack into `stack`, innermost frame first: the address of the
    /// instruction, and then return addresses.
    pub fn stack(
        &mut self,
        pid: u32,
        sample: &Sample,
        files: &mut Files,
        cache: &mut Cache,
        stack: &mut Vec<u64>,
    ) {
        stack.clear();
        stack.push(sample.ip);
        if !self.knows(pid, sample.ip, files) {
            return;
        }
        let mut registers = UnwindRegsX86_64::new(sample.ip, sample.sp, sample.bp);
        let mut address = FrameAddress::from_instruction_pointer(sample.ip);
        let mut word = |at: u64| {
            let from = usize::try_from(at.checked_sub(sample.sp).ok_or(())?).map_err(|_| ())?;
            match sample.stack.get(from..).and_then(|rest| rest.first_chunk()) {
                Some(bytes) => Ok(u64::from_ne_bytes(*bytes)),
                None => sample.outer.and_then(|outer| outer.word(sample.sp, at)).ok_or(()),
            }
        };
        while stack.len() < FRAMES {
            let next = self.unwinder.unwind_frame(address, &mut registers, &mut cache.0, &mut word);
            let Ok(Some(caller)) = next else { return };
            let Some(at) = FrameAddress::from_return_address(caller) else { return };
            if !self.has(pid, at.address_for_lookup(), files) {
                return;
            }
            stack.push(caller);
            address = at;
        }
    }

    /// Python's interpreter, if a thread was seen in its file and its version is known.
    pub fn python(&mut self) -> Option<&mut Python> {
        self.python.as_mut()
    }

    /// Whether an instruction lies in a known module. If not, the mappings are read again, unless
    /// that was done recently.
    fn knows(&mut self, pid: u32, address: u64, files: &mut Files) -> bool {
        if self.has(pid, address, files) {
            return true;
        }
        let now = Instant::now();
        if self.next.is_some_and(|next| now < next) {
            return false;
        }
        let mappings = Mapping::all(pid);
        if !mappings.is_empty() {
            self.unwinder = UnwinderX86_64::new();
            self.mappings = mappings.into_iter().map(|one| (one, Module::Unread)).collect();
        }
        let has = self.has(pid, address, files);
        self.pause = if has { BETWEEN_READS } else { LONGEST_BETWEEN.min(self.pause * 2) };
        self.pause = self.pause.max(BETWEEN_READS);
        self.next = Some(now + self.pause);
        has
    }

    /// Whether the unwinder has the module of an address. A module is added when it is first
    /// needed.
    fn has(&mut self, pid: u32, address: u64, files: &mut Files) -> bool {
        let contains = |(mapping, _): &&mut (Mapping, Module)| mapping.range.contains(&address);
        let Some((mapping, module)) = self.mappings.iter_mut().find(contains) else { return false };
        if *module == Module::Unread {
            *module = match files.module(pid, mapping) {
                Some(new) => {
                    self.unwinder.add_module(new);
                    if let Some(place) = files.python(mapping) {
                        self.python = Python::new(pid, place);
                    }
                    Module::Known
                }
                None => Module::Unknown,
            };
        }
        *module == Module::Known
    }
}
