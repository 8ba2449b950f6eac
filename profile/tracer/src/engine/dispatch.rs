//! The engine's answer to each exit of translated code.

use super::Engine;
use super::context::{Context, IN_ENGINE, TRACING};
use super::emit::Emitter;
use super::exits::Exit;
use super::system_calls::{self, Before};
use crate::{aside, ending, process, section, tls};
use syncline_trace::layout::{STOP_LIMIT, STOP_OTHER};

/// Called by [`enter`](super::enter::enter); sets where to go on.
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

/// Where the program itself goes on.
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
            let host = context.translation(link.target);
            // The jump is gone if the cache was emptied.
            if context.generation() == generation {
                let place = (&raw const *context).addr() as u64;
                Emitter { context: place, at: link.at }.jump(host);
            }
            host
        }
        Exit::LookUp => {
            let target = context.target;
            context.translation(target)
        }
        Exit::Full => {
            let start = context.engine().blocks[argument].start;
            context.drain();
            let instructions = context.engine().sections.instructions;
            if instructions > process::current().map_or(0, process::Process::longest) {
                return stop(context, start, STOP_LIMIT);
            }
            context.translation(start)
        }
        Exit::Stale => {
            let start = context.engine().blocks[argument].start;
            let old = context.engine().blocks[argument].host;
            context.engine().index.remove(start);
            context.engine().code.forget();
            let generation = context.generation();
            let host = context.translation(start);
            if context.generation() == generation {
                // Whoever is linked to the old one goes on in the new one.
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
                context.drain();
                context.recycle();
            }
            context.doubt_code();
            context.translation(site.next)
        }
        Exit::Stop => {
            let (at, why) = context.engine().exits.stops[argument];
            stop(context, at, why)
        }
    }
}

/// Ends tracing; the program goes on by itself at `at`.
fn stop(context: &mut Context, at: u64, why: u32) -> u64 {
    section::stopped(context, why);
    at
}
