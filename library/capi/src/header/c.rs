//! Writes `locks.h`, `rwlocks.h` and `delegation.h`.

use super::comment::{description, of_delegating, wrapped};
use super::types::{Delegating, Type};

/// The lines of a header.
struct Page {
    guard: &'static str,
    text: String,
}

impl Page {
    fn new(guard: &'static str, introduction: &str) -> Self {
        let mut page = Self { guard, text: String::new() };
        page.comment(introduction);
        page.line("");
        page.line(&format!("#ifndef {guard}"));
        page.line(&format!("#define {guard}"));
        page.line("");
        page.line("#ifndef SYNCLINE_H");
        page.line("#error \"include syncline.h\"");
        page.line("#endif");
        page
    }

    fn line(&mut self, line: &str) {
        self.text.push_str(line);
        self.text.push('\n');
    }

    fn comment(&mut self, text: &str) {
        let lines = wrapped(text, "").join("\n  ");
        self.line(&format!("/*{lines} */"));
    }

    /// Ends the page with the sizes and alignments of the types.
    fn finish<'a>(mut self, types: impl Iterator<Item = (&'a str, usize, usize)>) -> String {
        self.line("");
        self.comment("What the library was built with.");
        for (name, bytes, alignment) in types {
            self.line(&size(name, bytes, alignment));
        }
        self.line("");
        self.line(&format!("#endif /* {} */", self.guard));
        self.text
    }

    /// A type and its initialiser.
    fn definition(&mut self, name: &str, bytes: usize, alignment: usize) {
        let aligned = match alignment {
            8 => String::new(),
            alignment => format!("SYNCLINE_ALIGNED({alignment}) "),
        };
        let words = bytes / size_of::<u64>();
        let body = format!("{{ {aligned}uint64_t opaque[{words}]; }}");
        self.line(&format!("typedef struct syncline_{name} {body} syncline_{name}_t;"));
        self.line(&format!("#define SYNCLINE_{}_INIT {{{{0}}}}", name.to_uppercase()));
    }

    /// The type of a lock, and its functions.
    fn lock(&mut self, lock: &Type, acquisitions: &[&str]) {
        let name = lock.entry.name;
        self.line("");
        self.comment(&description(lock));
        self.definition(name, lock.size, lock.alignment);
        for call in acquisitions {
            self.function(name, call, "");
            if lock.entry.can_try {
                self.function(name, &format!("try{call}"), "");
            }
            if lock.entry.timed {
                self.function(name, &format!("timed{call}"), DEADLINE);
            }
        }
        self.function(name, "unlock", "");
        self.function(name, "wait", COND);
        self.function(name, "timedwait", &format!("{COND}{DEADLINE}"));
        self.function(name, "destroy", "");
    }

    /// A function, on two lines if necessary.
    fn function(&mut self, name: &str, call: &str, more: &str) {
        let start = format!("int syncline_{name}_{call}(");
        let line = format!("{start}syncline_{name}_t *lock{more});");
        if line.len() <= 100 {
            return self.line(&line);
        }
        let (first, last) = line.split_at(line[..100].rfind(", ").expect("it has several") + 1);
        self.line(first);
        self.line(&format!("{:width$}{}", "", last.trim_start(), width = start.len()));
    }
}

const DEADLINE: &str = ", const struct timespec *deadline";
const COND: &str = ", syncline_cond_t *cond";

/// The line with a type's size.
pub(super) fn size(name: &str, size: usize, alignment: usize) -> String {
    format!("SYNCLINE_LAYOUT(syncline_{name}_t, {size}, {alignment});")
}

const SECTION: &str = ", syncline_section_t section, void *argument";
const PENDING: &str = ", syncline_pending_t *pending";

const MADE: &str = "This file is made from the catalogue of locks.";

pub(super) fn locks(types: &[Type]) -> String {
    let introduction = format!(
        "One type for each lock that is held by one thread at a time. syncline.h says what the \
         functions do. {MADE}"
    );
    let mut page = Page::new("SYNCLINE_LOCKS_H", &introduction);
    for lock in types {
        page.lock(lock, &["lock"]);
    }
    page.finish(types.iter().map(|t| (t.entry.name, t.size, t.alignment)))
}

pub(super) fn rwlocks(types: &[Type]) -> String {
    let introduction = format!(
        "One type for each lock that readers share and a writer holds alone. syncline.h says \
         what the functions do. {MADE}"
    );
    let mut page = Page::new("SYNCLINE_RWLOCKS_H", &introduction);
    for lock in types {
        page.lock(lock, &["rdlock", "wrlock"]);
    }
    page.finish(types.iter().map(|t| (t.entry.name, t.size, t.alignment)))
}

pub(super) fn delegation(types: &[Delegating]) -> String {
    let introduction = format!(
        "One type for each lock whose holder runs the sections of others. syncline.h says what \
         the functions do. {MADE}"
    );
    let mut page = Page::new("SYNCLINE_DELEGATION_H", &introduction);
    for lock in types {
        page.line("");
        page.comment(&of_delegating(lock));
        page.definition(lock.name, lock.size, lock.alignment);
        page.function(lock.name, "run", SECTION);
        page.function(lock.name, "delegate", &format!("{SECTION}{PENDING}"));
        page.function(lock.name, "destroy", "");
    }
    page.finish(types.iter().map(|t| (t.name, t.size, t.alignment)))
}
