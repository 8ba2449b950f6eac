//! The C library's own functions, for objects that are left to it.
//!
//! `real! { fn NAME(args) -> type; }` makes a function of that name which calls the next
//! definition after ours in the program's search order, found at its first use.

use core::ffi::{CStr, c_void};
use core::ptr::null_mut;
use core::sync::atomic::{AtomicPtr, Ordering::Relaxed};

use crate::errno::preserving_errno;

/// A symbol, looked up when first needed.
pub struct Symbol {
    name: &'static CStr,
    /// The version to ask for, where the default one depends on libc's age.
    version: Option<&'static CStr>,
    found: AtomicPtr<c_void>,
}

impl Symbol {
    /// A symbol that is not looked up yet.
    pub const fn new(name: &'static CStr, version: Option<&'static CStr>) -> Symbol {
        Symbol { name, version, found: AtomicPtr::new(null_mut()) }
    }

    /// The address. Where this system has no such function, the program ends: it could not have
    /// been linked without us.
    #[inline]
    pub fn get(&self) -> *mut c_void {
        // Relaxed: everybody finds the same.
        let found = self.found.load(Relaxed);
        if found.is_null() { self.look_up() } else { found }
    }

    #[cold]
    fn look_up(&self) -> *mut c_void {
        let name = self.name.as_ptr();
        // SAFETY: both texts end in a zero byte.
        let found = preserving_errno(|| unsafe {
            match self.version {
                Some(version) => libc::dlvsym(libc::RTLD_NEXT, name, version.as_ptr()),
                None => libc::dlsym(libc::RTLD_NEXT, name),
            }
        });
        if found.is_null() {
            fail(&[b"this system has no function ", self.name.to_bytes()]);
        }
        self.found.store(found, Relaxed);
        found
    }
}

/// Says why the program can't go on, and ends it.
#[cold]
pub fn fail(why: &[&[u8]]) -> ! {
    let write = |part: &[u8]| {
        // SAFETY: bytes of ours, to the standard error.
        let _ = unsafe { libc::write(2, part.as_ptr().cast(), part.len()) };
    };
    write(b"syncline: ");
    why.iter().for_each(|part| write(part));
    write(b"\n");
    // SAFETY: always allowed.
    unsafe { libc::abort() }
}

macro_rules! real {
    ($(fn $name:ident($($arg:ident: $type:ty),* $(,)?) $(-> $ret:ty)? $(= $version:literal)?;)*) => {
        $(
            #[doc = concat!("The C library's `", stringify!($name), "`.")]
            ///
            /// # Safety
            /// As of that function.
            #[inline]
            pub unsafe fn $name($($arg: $type),*) $(-> $ret)? {
                use $crate::real::Symbol;
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
pub(crate) use real;
