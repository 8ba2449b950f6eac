//! Turns traced sections into records in the file.

use syncline_interpose::run_on;
use syncline_trace::layout::{NONE, ObjectRecord, WordRecord};
use syncline_trace::writer::Contents;

use crate::engine::Engine;
use crate::engine::context::Context;
use crate::engine::open::Open;
use crate::{aside, clock, heap, thread};

/// Writes the traced sections into the file, after the release of the last lock, and gives the
/// context back. The work is done on the context's stack, which nothing else uses while the thread
/// runs outside of the engine.
pub fn finish(context: &'static mut Context) {
    aside::within(|| {
        let stack = context.stack as *mut u8;
        // SAFETY: the context is lent to this thread, and the engine is not running, so the stack
        // is unused. No other thread gets the context with its stack before it is given back below.
        unsafe { run_on(stack, || write_rest(context)) };
        context.give_back();
    });
}

/// Writes the sections that have not been written yet, and notes the cost of tracing.
pub fn write_rest(context: &mut Context) {
    // A signal handler that runs meanwhile must not write to the trace.
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

/// Reads the context's log, and writes the sections that have ended.
pub fn drain(context: &mut Context) {
    let (top, bottom) = (context.log_top(), context.log);
    let Engine { sections, objects, blocks, .. } = context.engine();
    let stack = sections.stack;
    let mut write = |open: &mut Open| write(open, stack, objects);
    sections.write_done(&mut write);
    // SAFETY: the log is this context's and was written by translations of its blocks.
    unsafe { sections.replay(blocks, (top, bottom), false, Some(&mut write)) };
    context.empty_log();
}

/// Writes a section that has ended. A signal handler that runs meanwhile can't interfere, since its
/// locks are not recorded: [`write_rest`] marks the thread as busy, and while a section goes on,
/// the calls of a handler are recognised as foreign.
fn write(section: &mut Open, stack: (u64, u64), objects: &mut Vec<ObjectRecord>) {
    let Some(thread) = thread::current() else { return };
    let words = section.words.records();
    find_objects(words, stack, objects);
    thread.process.stacks.keep(&mut thread.writer, words, stack);
    let lock = heap::block_of(section.record.lock);
    section.record.incarnation = lock.map_or(0, |block| block.serial);
    // The report needs the block that contains the lock in order to name the lock.
    objects.extend(lock.filter(|lock| !objects.contains(lock)));
    let contents = Contents { objects, words, steps: &section.steps, system_calls: &section.calls };
    if !thread.writer.section(&section.record, &contents) {
        thread.process.file_is_full();
    }
}

/// Finds the heap block of each word that is not on the stack.
fn find_objects(words: &mut [WordRecord], stack: (u64, u64), objects: &mut Vec<ObjectRecord>) {
    objects.clear();
    for word in words {
        if (stack.0..stack.1).contains(&word.address) {
            continue;
        }
        // The last block is tried first, since neighbouring words often lie in one block.
        let covers = |o: &ObjectRecord| word.address.wrapping_sub(o.start & !7) < o.size.max(1);
        let place = objects.iter().rposition(covers).or_else(|| {
            let block = heap::block_of(word.address)?;
            objects.push(block);
            Some(objects.len() - 1)
        });
        word.object = place.map_or(NONE, |place| place as u32);
    }
}
