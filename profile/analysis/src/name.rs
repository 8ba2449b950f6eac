//! Names in one line for locks, call sites and stacks.

pub use syncline_code::symbols::short::function;
use syncline_recording::Primitive;

use crate::model::{Frame, Lock, Process, Site};

/// The name of a thread without the number at its end. Threads of one kind share this name.
pub fn unnumbered(thread: &str) -> &str {
    thread.trim_end_matches(|c: char| c.is_ascii_digit())
}

/// The text for a call site, such as `Queue<…>::push  queue.h:120`.
pub fn frame(frame: &Frame) -> String {
    let function = function(&frame.function);
    match frame.file_line() {
        Some(line) => format!("{function}  {line}"),
        None => match frame.function.contains('+') {
            true => frame.function.clone(),
            false => function,
        },
    }
}

/// The name of the condition variables by which CPython hands its global interpreter lock over.
/// They lie in a variable whose name begins with [`INTERPRETER`].
pub const INTERPRETER_LOCK: &str = "condvar of Python's interpreter lock (GIL)";
/// The prefix of the names of objects in CPython's state, the variable `_PyRuntime`.
pub const INTERPRETER: &str = "_PyRuntime+";

/// The text for a lock, or another object that threads wait for: its primitive and its name.
pub fn lock(lock: &Lock) -> String {
    let kind = primitive(lock.primitive);
    if lock.name.starts_with(kind) { lock.name.clone() } else { format!("{kind} {}", lock.name) }
}

/// The text for the position of a site.
pub fn site(process: &Process, site: &Site) -> String {
    site.frame.map_or_else(|| site.place.clone(), |f| frame(&process.frames[f]))
}

/// The text for the call site of a stack.
pub fn stack(process: &Process, stack: usize) -> String {
    let place = process.stacks.get(stack).and_then(|stack| stack.place);
    place.map_or_else(|| "unknown place".to_owned(), |f| frame(&process.frames[f]))
}

/// The name of a primitive.
pub fn primitive(primitive: Primitive) -> &'static str {
    match primitive {
        Primitive::Mutex => "mutex",
        Primitive::Rwlock => "rwlock",
        Primitive::Spinlock => "spinlock",
        Primitive::Condvar => "condvar",
        Primitive::Barrier => "barrier",
        Primitive::Semaphore => "semaphore",
        Primitive::Thread => "join",
        Primitive::Futex => "futex",
        Primitive::OmpCritical => "omp critical",
        Primitive::OmpLock => "omp lock",
        Primitive::OmpBarrier => "omp barrier",
        Primitive::Yield => "yield",
        Primitive::Spin => "spin",
        Primitive::Sleep => "sleep",
    }
}
