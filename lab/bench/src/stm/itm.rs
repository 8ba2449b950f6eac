//! The transactions of GCC's libitm, with its default method.
//!
//! Bodies make the calls that `gcc -fgnu-tm` generates for instrumented code. An attempt that fails
//! ends with a long jump, so no value with a destructor may live across an access. That holds,
//! since operations contain only numbers.

use std::cell::UnsafeCell;
use std::convert::Infallible;
use std::ffi::{CStr, CString, c_void};
use std::mem::transmute_copy;
use std::os::unix::ffi::OsStrExt;
use std::sync::OnceLock;

use super::access::{Access, Machine, Op};
use crate::lab::Lab;

type Body = extern "C-unwind" fn(*mut c_void);

struct Library {
    atomically: unsafe extern "C-unwind" fn(Body, *mut c_void),
    read: unsafe extern "C-unwind" fn(*const u64) -> u64,
    write: unsafe extern "C-unwind" fn(*mut u64, u64),
}

static LIBRARY: OnceLock<Library> = OnceLock::new();

/// Compiles and loads the library. Must be called before any [`Libitm`] is created.
pub fn load(lab: &Lab) -> anyhow::Result<()> {
    let options = ["-shared", "-fPIC", "-fgnu-tm", "-Wl,--no-as-needed", "-litm"];
    let path = lab.compile_with(&options, "itm", include_str!("../../programs/itm.c"))?;
    let path = CString::new(path.as_os_str().as_bytes())?;
    // SAFETY: the library is our own, and loading it runs no code except libitm's own.
    let handle = unsafe { libc::dlopen(path.as_ptr(), libc::RTLD_NOW | libc::RTLD_LOCAL) };
    anyhow::ensure!(!handle.is_null(), "{path:?} can't be loaded");
    let find = |name: &CStr| {
        // SAFETY: the handle was just opened, and the name is a C string.
        let found = unsafe { libc::dlsym(handle, name.as_ptr()) };
        anyhow::ensure!(!found.is_null(), "{name:?} is not in libitm");
        Ok(found)
    };
    let [run, read, write] = [c"itm_atomically", c"_ITM_RU8", c"_ITM_WU8"].map(find);
    // SAFETY: the functions have these types, and are in a library that is never unloaded.
    let library = unsafe {
        Library {
            atomically: transmute_copy(&run?),
            read: transmute_copy(&read?),
            write: transmute_copy(&write?),
        }
    };
    let _ = LIBRARY.set(library);
    Ok(())
}

/// Words that are accessed in libitm's transactions.
pub struct Libitm {
    library: &'static Library,
    words: Vec<UnsafeCell<u64>>,
}

// SAFETY: the words are accessed only in transactions of libitm.
unsafe impl Sync for Libitm {}

impl Access for &Libitm {
    type Stop = Infallible;

    #[inline(always)]
    fn get(&mut self, word: usize) -> Result<u64, Infallible> {
        // SAFETY: this is called only in a transaction.
        Ok(unsafe { (self.library.read)(self.words[word].get()) })
    }
    #[inline(always)]
    fn set(&mut self, word: usize, value: u64) -> Result<(), Infallible> {
        // SAFETY: as above.
        unsafe { (self.library.write)(self.words[word].get(), value) };
        Ok(())
    }
}

struct Job<'a, O: Op> {
    op: &'a O,
    words: &'a Libitm,
    result: Option<O::Out>,
}

extern "C-unwind" fn body<O: Op>(job: *mut c_void) {
    // SAFETY: `atomically` passes its own job to this body.
    let job = unsafe { &mut *job.cast::<Job<O>>() };
    let Ok(result) = job.op.run(&mut &*job.words);
    job.result = Some(result);
}

impl Machine for Libitm {
    fn new(words: usize) -> Self {
        let library = LIBRARY.get().expect("libitm is loaded first");
        Self { library, words: (0..words).map(|_| UnsafeCell::new(0)).collect() }
    }

    #[inline]
    fn atomically<O: Op>(&self, op: &O) -> O::Out {
        let mut job = Job { op, words: self, result: None };
        // SAFETY: the body expects a job of this type.
        unsafe { (self.library.atomically)(body::<O>, (&raw mut job).cast()) };
        job.result.expect("it has committed")
    }
}
