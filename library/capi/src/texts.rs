//! The strings of the interface: the version, the names, and the meanings of error numbers.

use std::ffi::{CStr, c_char, c_int};
use std::ptr;

use crate::boundary::Refusal;
use crate::form::{Form, LOCKS, RWLOCKS};

impl Refusal {
    /// What happened, and what to do next.
    fn text(self) -> &'static CStr {
        match self {
            Self::NotHolder => c"this thread does not hold the lock; unlock it where it was locked",
            Self::Deadlock => c"this thread would wait for itself: it holds the lock already, or is inside a section or a transaction",
            Self::Busy => c"the lock, the end of a channel or the server is in use; try again, or destroy it when no thread uses it",
            Self::TimedOut => c"the deadline has passed",
            Self::Invalid => c"a null pointer, not an initialised object, or not a valid name, time or size; syncline_lock_names() lists the names of locks",
            Self::NoMemory => c"no memory for it",
            Self::Unsupported => c"this lock has no such operation; choose one that has",
            Self::NotNow => c"the channel is full or empty, the server has no free slot, or the lock has all the readers that it can count; try again later",
            Self::Disconnected => c"the other end of the channel is gone; destroy this one",
        }
    }
}

#[unsafe(no_mangle)]
extern "C" fn syncline_strerror(error: c_int) -> *const c_char {
    let refusal = Refusal::ALL.into_iter().find(|refusal| refusal.number() == error);
    let text = match refusal {
        Some(refusal) => refusal.text(),
        None if error == 0 => c"success",
        None => c"not an error number of syncline",
    };
    text.as_ptr()
}

#[unsafe(no_mangle)]
extern "C" fn syncline_version() -> *const c_char {
    concat!(env!("CARGO_PKG_VERSION"), "\0").as_ptr().cast()
}

/// Names for C: an array of pointers that ends with a null pointer.
#[repr(transparent)]
struct Names<const N: usize>([*const c_char; N]);

// SAFETY: the pointers are to constant strings.
unsafe impl<const N: usize> Sync for Names<N> {}

impl<const N: usize> Names<N> {
    const fn of(forms: &[Form]) -> Self {
        let mut names = [ptr::null(); N];
        let mut place = 0;
        while place < forms.len() {
            names[place] = forms[place].name.as_ptr();
            place += 1;
        }
        Self(names)
    }
}

#[unsafe(no_mangle)]
extern "C" fn syncline_lock_names() -> *const *const c_char {
    static NAMES: Names<{ LOCKS.len() + 1 }> = Names::of(LOCKS);
    NAMES.0.as_ptr()
}

#[unsafe(no_mangle)]
extern "C" fn syncline_rwlock_names() -> *const *const c_char {
    static NAMES: Names<{ RWLOCKS.len() + 1 }> = Names::of(RWLOCKS);
    NAMES.0.as_ptr()
}

#[cfg(test)]
mod tests {
    use syncline::lock::{catalogue, forms};

    use super::*;

    fn texts(mut names: *const *const c_char) -> Vec<&'static str> {
        let mut texts = Vec::new();
        // SAFETY: the list ends with a null pointer, and its strings are constant.
        unsafe {
            while !(*names).is_null() {
                texts.push(CStr::from_ptr(*names).to_str().expect("a name"));
                names = names.add(1);
            }
        }
        texts
    }

    #[test]
    fn the_names_are_those_of_the_forms() {
        let shared = |lock: &str| catalogue().iter().any(|l| l.name == lock && l.shared);
        let all: Vec<_> = forms().iter().map(|form| form.name).collect();
        let of_shared = forms().into_iter().filter(|form| shared(form.lock)).map(|form| form.name);
        assert_eq!(texts(syncline_lock_names()), all);
        assert_eq!(texts(syncline_rwlock_names()), of_shared.collect::<Vec<_>>());
    }
}
