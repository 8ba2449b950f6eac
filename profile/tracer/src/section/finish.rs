//! Turns traced sections into records in the file.

use syncline_interpose::run_on;
use syncline_trace::layout::{NONE, ObjectRecord, WordRecord};
use syncline_trace::writer::Contents;

use crate::engine::Engine;
use crate::engine::context::Context;
use crate::engine::open::Open;
use crate::{aside, clock, heap, thread};

/// Makes records of the traced sections, after the release. On the context's stack: nothing runs
/// there while the section's thread is elsewhere.
pub fn finish(context: &'static mut Context) {
    aside::within(|| {
        let stack = context.stack as *mut u8;
        // SAFETY: the context is this thread's, and the engine is not running. No other thread gets
        // the context, and its stack, before this thread gives it back below.
        unsafe { run_on(stack, || write_rest(context)) };
        context.give_back();
    });
}

/// Writes what is left.
pub fn write_rest(context: &mut Context) {
    // A handler of a signal that comes meanwhile must not write too.
    let set_busy = |busy| thread::current().map(|t| core::mem::replace(&mut t.busy, busy));
    let was_busy = set_busy(true);
    drain(context);
    let engine = context.engine();
    if let Some(began) = engine.began
        && let Some(thread) = thread::current()
    {
        let spent = clock::of_thread().saturating_sub(began);
        let spent = spent.saturating_sub(engine.in_kernel);
        thread.process.add_cost(spent, engine.others_waited);
    }
    set_busy(was_busy.unwrap_or(false));
    engine.in_kernel = 0;
    engine.others_waited = false;
    engine.sections.clear();
}

/// Reads what was logged, and writes the sections that have ended.
pub fn drain(context: &mut Context) {
    let (top, bottom) = (context.log_top(), context.log);
    let Engine { sections, objects, blocks, .. } = context.engine();
    let stack = sections.stack;
    let mut write = |open: &mut Open| write(open, stack, objects);
    sections.write_done(&mut write);
    // SAFETY: the log of this context, made by its blocks.
    unsafe { sections.replay(blocks, (top, bottom), false, Some(&mut write)) };
    context.empty_log();
}

/// Writes a section that has ended. What a handler of a signal locks meanwhile is not recorded: see
/// [`write_rest`], and while a section goes on, a handler's calls are known to be foreign to it.
fn write(section: &mut Open, stack: (u64, u64), objects: &mut Vec<ObjectRecord>) {
    let Some(thread) = thread::current() else { return };
    let words = section.words.records();
    find_objects(words, stack, objects);
    thread.process.stacks.keep(&mut thread.writer, words, stack);
    let lock = heap::block_of(section.record.lock);
    section.record.incarnation = lock.map_or(0, |block| block.serial);
    // Used to name the lock.
    objects.extend(lock.filter(|lock| !objects.contains(lock)));
    let contents = Contents { objects, words, steps: &section.steps, system_calls: &section.calls };
    if !thread.writer.section(&section.record, &contents) {
        thread.process.file_is_full();
    }
}

/// Finds the heap block of each word outside of the stack.
fn find_objects(words: &mut [WordRecord], stack: (u64, u64), objects: &mut Vec<ObjectRecord>) {
    objects.clear();
    for word in words {
        if (stack.0..stack.1).contains(&word.address) {
            continue;
        }
        // Neighbours in time are often neighbours in a block.
        let covers = |o: &ObjectRecord| word.address.wrapping_sub(o.start & !7) < o.size.max(1);
        let place = objects.iter().rposition(covers).or_else(|| {
            let block = heap::block_of(word.address)?;
            objects.push(block);
            Some(objects.len() - 1)
        });
        word.object = place.map_or(NONE, |place| place as u32);
    }
}
