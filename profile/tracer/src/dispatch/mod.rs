//! Handles each exit of translated code.
//!
//! ```text
//!   enter         from translated code to here and back, with all registers kept
//!   (this file)   makes and links missing translations, empties the log, ends tracing
//!   library       the addresses of this library's own code, which is called and not translated
//!   system_calls  the memory that the kernel reads and writes in system calls
//!   syscall       the interposed function of this name, for which the C library's is translated
//! ```

pub mod enter;
mod library;
pub mod syscall;
mod system_calls;

use syncline_trace::layout::{STOP_LIMIT, STOP_OTHER};
use syncline_trace::writer::modules;

use crate::engine::Engine;
use crate::engine::block::BLOCKS;
use crate::engine::context::{Context, IN_ENGINE, TRACING};
use crate::engine::emit::Emitter;
use crate::engine::exits::Exit;
use crate::engine::translate::BLOCK_ROOM;
use crate::section::{drain, stopped};
use crate::{aside, ending, process, tls};
use system_calls::Before;

/// Handles an exit of translated code, and sets the address at which to continue. Called by
/// [`enter`](enter::enter).
pub unsafe extern "C" fn dispatch(context: &mut Context) {
    context.state = IN_ENGINE;
    context.next = match aside::within(|| go_on(context)) {
        Some(next) => next,
        // The program is left alone.
        None => {
            tls::set_context(0);
            natively(context)
        }
    };
    if let Some(why) = context.engine().forbids.take() {
        ending::leave_alone(why);
    }
    context.state = TRACING;
}

/// The address at which the program continues in its own code after an exit.
fn natively(context: &mut Context) -> u64 {
    let (exit, argument) = (Exit::of(context.exit), context.argument as usize);
    let target = context.target;
    let Engine { blocks, exits, .. } = context.engine();
    match exit {
        Exit::Link => exits.links[argument].target,
        Exit::LookUp => target,
        Exit::Full | Exit::Stale => blocks[argument].start,
        Exit::BeforeCall => exits.sites[argument].instruction,
        Exit::AfterCall => exits.sites[argument].next,
        Exit::Stop => exits.stops[argument].0,
    }
}

fn go_on(context: &mut Context) -> u64 {
    let argument = context.argument as usize;
    match Exit::of(context.exit) {
        Exit::Link => {
            let link = context.engine().exits.links[argument];
            let generation = context.generation();
            let host = translation(context, link.target);
            // If the cache was emptied meanwhile, the jump that would be linked no longer exists.
            if context.generation() == generation {
                let place = (&raw const *context).addr() as u64;
                Emitter { context: place, at: link.at }.jump(host);
            }
            host
        }
        Exit::LookUp => {
            let target = context.target;
            translation(context, target)
        }
        Exit::Full => {
            let start = context.engine().blocks[argument].start;
            drain(context);
            let instructions = context.engine().sections.instructions;
            if instructions > process::current().map_or(0, process::Process::longest) {
                return stop(context, start, STOP_LIMIT);
            }
            translation(context, start)
        }
        Exit::Stale => {
            let start = context.engine().blocks[argument].start;
            let old = context.engine().blocks[argument].host;
            context.engine().index.remove(start);
            context.engine().code.forget();
            let generation = context.generation();
            let host = translation(context, start);
            if context.generation() == generation {
                // Blocks that are linked to the old translation continue in the new one.
                let place = (&raw const *context).addr() as u64;
                Emitter { context: place, at: old }.jump(host);
            }
            host
        }
        Exit::BeforeCall => {
            let site = context.engine().exits.sites[argument];
            match system_calls::before(context) {
                Before::Native => site.host,
                Before::Stop(why) => stop(context, site.instruction, why),
                Before::LeaveAlone(why) => {
                    context.engine().forbids = Some(why);
                    stop(context, site.instruction, STOP_OTHER)
                }
            }
        }
        Exit::AfterCall => {
            let site = context.engine().exits.sites[argument];
            let frees_code = context.engine().pending.is_some_and(|call| call.frees_code());
            system_calls::after(context, site.instruction);
            if frees_code {
                drain(context);
                context.recycle();
            }
            context.doubt_code();
            translation(context, site.next)
        }
        Exit::Stop => {
            let (at, why) = context.engine().exits.stops[argument];
            stop(context, at, why)
        }
    }
}

/// Ends tracing. Returns `at`, where the program continues natively.
fn stop(context: &mut Context, at: u64, why: u32) -> u64 {
    stopped(context, why);
    at
}

/// The address of the translation of `target`, which is made if there is none yet.
fn translation(context: &mut Context, target: u64) -> u64 {
    if let Some(host) = context.engine().index.get(target) {
        context.table()[usize::from(target as u16)] = [target, host];
        return host;
    }
    if context.cache_end() - context.engine().at < BLOCK_ROOM || context.engine().count() == BLOCKS
    {
        drain(context);
        context.recycle();
    }
    let host = if target == syscall::syscall as *const () as u64 {
        // The C library's function is translated instead, so that the engine sees its system call.
        context.translate(syscall::behind())
    } else if library::contains(target) {
        let mut emit = context.emitter();
        let host = emit.at;
        context.engine().exits.call_library(&mut emit, target);
        context.engine().at = emit.at;
        host
    } else {
        let read = context.engine().code.read();
        let host = context.translate(target);
        if context.engine().code.read() != read
            && let Some(process) = process::current()
        {
            modules::note_object_at(process.file, target);
        }
        host
    };
    context.engine().index.insert(target, host);
    context.table()[usize::from(target as u16)] = [target, host];
    host
}
