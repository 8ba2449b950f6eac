//! Makes, discards and resumes translated code in a context's cache.

use core::sync::atomic::{AtomicBool, Ordering::Relaxed};

use super::context::{Context, SUSPENDED, TABLE};
use super::emit::Emitter;
use super::translate::Translator;

/// Makes the first context and the decoder's tables. That takes a millisecond, which should not
/// lengthen a section.
pub fn warm_up(thread: u32) {
    /// A function that is translated and never run.
    extern "C" fn nothing() {}
    static WARM: AtomicBool = AtomicBool::new(false);
    if WARM.swap(true, Relaxed) {
        return;
    }
    if let Some(context) = Context::take(thread) {
        let _ = context.translate(nothing as *const () as u64);
        context.give_back();
    }
}

impl Context {
    /// Empties the cache.
    pub fn recycle(&mut self) {
        let mut emit = self.cache();
        // SAFETY: the table is part of the private mapping and used by this context only; its pages
        // read as zeros afterwards.
        unsafe {
            let table = self.table();
            libc::madvise(table.as_mut_ptr().cast(), TABLE * 16, libc::MADV_DONTNEED);
        }
        let engine = self.engine();
        engine.sections.fold(&engine.blocks);
        engine.generation += 1;
        engine.blocks.clear();
        engine.code.forget();
        engine.index.clear();
        engine.exits.begin(&mut emit);
        engine.at = emit.at;
    }

    /// An emitter at the end of the existing translations.
    pub fn emitter(&mut self) -> Emitter {
        let context = (&raw const *self).addr() as u64;
        Emitter { context, at: self.engine().at }
    }

    /// Translates the block at `target`, and returns the translation's address. There must be room
    /// in the cache.
    pub fn translate(&mut self, target: u64) -> u64 {
        let emit = self.emitter();
        let engine = self.engine();
        let id = engine.blocks.len() as u32;
        let steady = engine.code.is_steady(target);
        let mut translator =
            Translator::new(emit, steady, engine.rseq, &mut engine.factory, &mut engine.encoder);
        let block = translator.block(target, id, &mut engine.exits);
        engine.at = translator.emit.at;
        let host = block.host;
        engine.blocks.push(block);
        host
    }

    /// Arranges that tracing resumes when a function of this library returns: its return address,
    /// at `caller`, is replaced by the address of code that continues in the translation.
    ///
    /// # Safety
    /// `caller` is the stack pointer at the function's entry, and the function returns normally
    /// and soon.
    pub unsafe fn resume(&mut self, caller: *mut u64) {
        // SAFETY: by this function's own condition.
        unsafe {
            self.target = *caller;
            *caller = self.engine().exits.resume;
        }
        // The function may have waited for another thread, which may have changed code.
        self.doubt_code();
        self.suspended_at = caller.addr() as u64;
        self.state = SUSPENDED;
    }

    /// The address at which a traced section continues after it called a function of this library.
    pub fn resumes_at(&self) -> u64 {
        // SAFETY: the engine was made with the context, and only the context's owner uses it.
        unsafe { (*self.engine).exits.resume }
    }

    /// How often the cache was emptied.
    pub fn generation(&mut self) -> u64 {
        self.engine().generation
    }
}
