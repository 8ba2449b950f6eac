//! Stacks of a process, from copies of their tops.

use std::time::{Duration, Instant};

use framehop::x86_64::{CacheX86_64, UnwindRegsX86_64, UnwinderX86_64};
use framehop::{FrameAddress, MustNotAllocateDuringUnwind, Unwinder};

use crate::clock::Sample;
use crate::mapped::{Bytes, Files};

/// Frames of a stack, at most.
const FRAMES: usize = 64;
/// A process's mappings are not read again sooner.
const BETWEEN_READS: Duration = Duration::from_millis(100);

/// Makes unwinding fast the second time.
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
    known: Vec<std::ops::Range<u64>>,
    read: Option<Instant>,
}

impl Mapped {
    /// The stack of a sample into `stack`, the innermost frame first: the instruction, and return
    /// addresses.
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
        if !self.knows(sample.ip) {
            self.read(pid, files);
        }
        if !self.knows(sample.ip) {
            return;
        }
        let mut registers = UnwindRegsX86_64::new(sample.ip, sample.sp, sample.bp);
        let mut address = FrameAddress::from_instruction_pointer(sample.ip);
        let mut word = |at: u64| {
            let from = usize::try_from(at.checked_sub(sample.sp).ok_or(())?).map_err(|_| ())?;
            let bytes = sample.stack.get(from..).and_then(|rest| rest.first_chunk()).ok_or(())?;
            Ok(u64::from_ne_bytes(*bytes))
        };
        while stack.len() < FRAMES {
            let next = self.unwinder.unwind_frame(address, &mut registers, &mut cache.0, &mut word);
            let Ok(Some(caller)) = next else { return };
            let Some(at) = FrameAddress::from_return_address(caller) else { return };
            if !self.knows(at.address_for_lookup()) {
                return;
            }
            stack.push(caller);
            address = at;
        }
    }

    fn knows(&self, address: u64) -> bool {
        self.known.iter().any(|range| range.contains(&address))
    }

    /// Reads the mappings, unless they were read a moment ago: code that is in no file is never
    /// found.
    fn read(&mut self, pid: u32, files: &mut Files) {
        if self.read.is_some_and(|read| read.elapsed() < BETWEEN_READS) {
            return;
        }
        self.read = Some(Instant::now());
        let modules = files.modules(pid);
        if modules.is_empty() {
            return;
        }
        self.unwinder = UnwinderX86_64::new();
        self.known = modules.iter().map(|module| module.avma_range()).collect();
        modules.into_iter().for_each(|module| self.unwinder.add_module(module));
    }
}
