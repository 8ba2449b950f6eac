//! Names in one line for locks, call sites and stacks.

use std::collections::BTreeMap;
use std::fmt;

use syncline_code::symbols::place::is_in_wrapper;
pub use syncline_code::symbols::short::function;
use syncline_recording::Primitive;

use crate::model::{Frame, Lock, Process, Site, Thread};

/// The name of a thread without the number at its end. Threads of one kind share this name. A line
/// of a file stays: Ruby calls a thread by the line that created it, such as `server.rb:30`.
pub fn unnumbered(thread: &str) -> &str {
    let stem = thread.trim_end_matches(|c: char| c.is_ascii_digit());
    let is_line = stem.strip_suffix(':').is_some_and(|file| file.contains('.'));
    if is_line { thread } else { stem }
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

/// What distinguishes a thread from threads that do other work. As text, it follows the word
/// "thread": `of index_files`, or `created at Pool::start  pool.cpp:20`.
#[derive(Clone, Debug, PartialEq, Eq, PartialOrd, Ord)]
pub enum Origin {
    /// Its start function.
    Start(String),
    /// The call site that created it, if the start function has no name, or is the one that a
    /// language's library gives to all its threads.
    Creation(String),
}

/// Where a thread comes from. `None` for the first thread.
pub fn origin(process: &Process, thread: &Thread) -> Option<Origin> {
    let start = thread.start_function.as_deref()?;
    let created = thread.created_at.and_then(|stack| process.stacks.get(stack)?.place);
    Some(match created.filter(|_| start.contains('+') || is_in_wrapper(start)) {
        Some(at) => Origin::Creation(frame(&process.frames[at])),
        // Without debug information, the name has an offset.
        None => Origin::Start(function(start.trim_end_matches("+0x0"))),
    })
}

/// The threads of each origin. The first thread has none.
pub fn by_origin(process: &Process) -> BTreeMap<Origin, Vec<usize>> {
    let mut all: BTreeMap<Origin, Vec<usize>> = BTreeMap::new();
    for (number, thread) in process.threads.iter().enumerate() {
        if let Some(origin) = origin(process, thread) {
            all.entry(origin).or_default().push(number);
        }
    }
    all
}

/// Whether a thread has a name of its own; at first, a thread has the name of its process.
pub fn has_own(process: &Process, thread: &Thread) -> bool {
    !process.name().starts_with(thread.name.as_str())
}

/// The words for one thread in a sentence: its name if it has one of its own, or else its origin.
pub fn thread(process: &Process, number: usize) -> String {
    let thread = &process.threads[number];
    match origin(process, thread) {
        _ if number == 0 => "the first thread".to_owned(),
        _ if has_own(process, thread) => format!("thread {}", thread.name),
        Some(origin) => format!("a thread {origin}"),
        None => format!("thread {}", thread.tid),
    }
}

/// A title for threads of an origin, without the word "thread".
pub fn title(origin: Option<&Origin>) -> String {
    match origin {
        None => "main thread".to_owned(),
        Some(Origin::Start(function)) => function.clone(),
        Some(created) => created.to_string(),
    }
}

impl fmt::Display for Origin {
    fn fmt(&self, f: &mut fmt::Formatter<'_>) -> fmt::Result {
        match self {
            Origin::Start(function) => write!(f, "of {function}"),
            Origin::Creation(site) => write!(f, "created at {site}"),
        }
    }
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

#[cfg(test)]
mod tests {
    use super::*;
    use crate::findings::testing::process;
    use crate::model::Stack;

    #[test]
    fn a_threads_number_is_left_out_and_its_line_is_not() {
        assert_eq!(unnumbered("worker-12"), "worker-");
        assert_eq!(unnumbered("io:3"), "io:");
        assert_eq!(unnumbered("server.rb:30"), "server.rb:30");
    }

    #[test]
    fn threads_of_a_language_are_named_by_who_creates_them() {
        let mut drawn = process(1.0, 2);
        let thread = drawn.threads("index_files", 1, 1.0);
        drawn.frames.push(Frame {
            function: "Pool::start".to_owned(),
            whole: None,
            file: Some("pool.cpp".to_owned()),
            line: Some(20),
            module: None,
        });
        drawn.stacks.push(Stack { place: Some(0), ..Stack::default() });
        drawn.threads[thread].created_at = Some(1);
        let mut origin = |start: &str| {
            drawn.threads[thread].start_function = Some(start.to_owned());
            origin(&drawn, &drawn.threads[thread]).map(|origin| origin.to_string()).unwrap()
        };
        assert_eq!(origin("index_files"), "of index_files");
        for librarys in ["libstdc++.so.6+0xd4490", "<std::sys::thread::unix::Thread>::new::start"] {
            assert_eq!(origin(librarys), "created at Pool::start  pool.cpp:20");
        }
        assert!(super::origin(&drawn, &drawn.threads[0]).is_none());
    }
}
