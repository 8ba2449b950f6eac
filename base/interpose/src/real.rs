//! The functions that the program meant to call. The three most frequent ones have a second name in
//! libc, so they need no look-up. The others are looked up at their first use. That may be while
//! the program holds a lock, so the loader is not called ([`crate::search`]).

use core::ffi::{CStr, c_int, c_void};
use core::ptr::null_mut;
use core::sync::atomic::{AtomicPtr, Ordering::Relaxed};

use crate::search::next_definition;

/// A symbol that is looked up when it is first needed.
pub struct Symbol {
    name: &'static CStr,
    /// The version to look for, if the default one depends on libc's age.
    version: Option<&'static CStr>,
    found: AtomicPtr<c_void>,
}

impl Symbol {
    /// A symbol that has not been looked up.
    pub const fn new(name: &'static CStr, version: Option<&'static CStr>) -> Symbol {
        Symbol { name, version, found: AtomicPtr::new(null_mut()) }
    }

    /// The address. If there is none, prints that and ends the program. This should not happen: a
    /// program that calls a function which this system doesn't have could not have been linked.
    #[inline]
    pub fn get(&self) -> *mut c_void {
        // Relaxed: all threads find the same address.
        let found = self.found.load(Relaxed);
        if found.is_null() { self.look_up() } else { found }
    }

    #[cold]
    fn look_up(&self) -> *mut c_void {
        let found = next_definition(self.name, self.version);
        if found.is_null() {
            fail(&[b"this system has no function ", self.name.to_bytes()]);
        }
        self.found.store(found, Relaxed);
        found
    }
}

/// Prints why the program can't go on, and ends it.
#[cold]
pub fn fail(why: &[&[u8]]) -> ! {
    let write = |part: &[u8]| {
        // SAFETY: bytes of ours, written to standard error.
        let _ = unsafe { libc::write(2, part.as_ptr().cast(), part.len()) };
    };
    write(b"syncline: ");
    why.iter().for_each(|part| write(part));
    write(b"\n");
    // SAFETY: always allowed.
    unsafe { libc::abort() }
}

/// `real! { fn NAME(args) -> type; }` makes a function of that name which calls the next definition
/// after ours in the program's search order, found at its first use. With `= c"VERSION"` after the
/// type, it calls the definition with that version.
#[macro_export]
macro_rules! real {
    ($(fn $name:ident($($arg:ident: $type:ty),* $(,)?) $(-> $ret:ty)? $(= $version:literal)?;)*) => {
        $(
            #[doc = concat!("The program's own `", stringify!($name), "`.")]
            ///
            /// # Safety
            /// Same requirements as that function.
            #[inline(always)]
            pub unsafe fn $name($($arg: $type),*) $(-> $ret)? {
                use $crate::Symbol;
                #[allow(unused_mut, unused_assignments, reason = "not every symbol has a version")]
                const VERSION: Option<&core::ffi::CStr> = {
                    let mut version = None;
                    $(version = Some($version);)?
                    version
                };
                static SYMBOL: Symbol = {
                    const NAME: &str = concat!(stringify!($name), "\0");
                    match core::ffi::CStr::from_bytes_with_nul(NAME.as_bytes()) {
                        Ok(name) => Symbol::new(name, VERSION),
                        Err(_) => panic!("a name holds no zero byte"),
                    }
                };
                // SAFETY: the symbol of this name has this type.
                unsafe {
                    let real: unsafe extern "C-unwind" fn($($type),*) $(-> $ret)? =
                        core::mem::transmute(SYMBOL.get());
                    real($($arg),*)
                }
            }
        )*
    };
}

// In an object file, the version of a symbol follows an `@`.
unsafe extern "C-unwind" {
    /// The C library's own `pthread_mutex_lock`.
    #[link_name = "__pthread_mutex_lock@GLIBC_2.2.5"]
    pub fn pthread_mutex_lock(mutex: *mut c_void) -> c_int;
    /// The C library's own `pthread_mutex_trylock`.
    #[link_name = "__pthread_mutex_trylock@GLIBC_2.2.5"]
    pub fn pthread_mutex_trylock(mutex: *mut c_void) -> c_int;
    /// The C library's own `pthread_mutex_unlock`.
    #[link_name = "__pthread_mutex_unlock@GLIBC_2.2.5"]
    pub fn pthread_mutex_unlock(mutex: *mut c_void) -> c_int;
}
