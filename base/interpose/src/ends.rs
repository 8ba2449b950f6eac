//! Notices the ends of threads, by the destructor of a thread-specific key.
//!
//! A process has 1,024 keys, and the program must be able to get all of them. So this library's key
//! is given up as soon as the program is refused a key; from then on the ends of threads are not
//! noticed. The library's key is never key 0: a variable for which the program has not made a key
//! has the value 0, and using it must stay an error.

use core::ffi::{c_int, c_void};
use core::ptr::null;
use core::sync::atomic::{AtomicU32, Ordering::Relaxed, Ordering::SeqCst};

use libc::{EAGAIN, pthread_key_t};

use crate::errno::preserving_errno;

/// The type of a key's destructor.
pub type Destructor = Option<unsafe extern "C" fn(*mut c_void)>;

/// The result of C's function on success.
const THRD_SUCCESS: c_int = 0;

/// Keys below this have their values in the thread itself, so that setting one allocates nothing.
const AT_HAND: usize = 32;

/// Stands for a key that was given up, or could not be made.
const GONE: u32 = u32::MAX;

/// The C library's own functions, whatever the program has in front of them.
mod real {
    use super::*;

    crate::real! {
        fn pthread_key_create(key: *mut pthread_key_t, destructor: Destructor) -> c_int;
        fn pthread_key_delete(key: pthread_key_t) -> c_int;
        fn pthread_setspecific(key: pthread_key_t, value: *const c_void) -> c_int;
        fn tss_create(key: *mut pthread_key_t, destructor: Destructor) -> c_int;
    }
}

/// Lets a library notice the ends of threads. [`thread_ends!`](crate::thread_ends) makes one, and
/// the functions that the library has to export for it.
pub struct ThreadEnds {
    destructor: unsafe extern "C" fn(*mut c_void),
    /// The key plus 1; 0 before it is made.
    key: AtomicU32,
}

impl ThreadEnds {
    /// Calls `destructor` at the end of each thread that requested it, with the value that the
    /// thread gave.
    pub const fn new(destructor: unsafe extern "C" fn(*mut c_void)) -> ThreadEnds {
        ThreadEnds { destructor, key: AtomicU32::new(0) }
    }

    /// Makes the key, unless it was made or given up before.
    #[cold]
    pub fn prepare(&self) {
        if self.key.load(SeqCst) != 0 {
            return;
        }
        let made = self.make();
        let new = made.map_or(GONE, |key| key + 1);
        if let (Err(_), Some(key)) = (self.key.compare_exchange(0, new, SeqCst, SeqCst), made) {
            // SAFETY: no other thread knows this key.
            unsafe { real::pthread_key_delete(key) };
        }
    }

    /// The last free key below [`AT_HAND`], but not key 0. `None` if there is none.
    fn make(&self) -> Option<pthread_key_t> {
        let mut keys = [None; AT_HAND];
        for made in &mut keys {
            let mut key = 0;
            // SAFETY: a plain call.
            if unsafe { real::pthread_key_create(&raw mut key, Some(self.destructor)) } != 0 {
                break;
            }
            *made = Some(key);
            if key as usize >= AT_HAND - 1 {
                break;
            }
        }
        let is_fit = |&key: &pthread_key_t| (1..AT_HAND).contains(&(key as usize));
        let ours = keys.into_iter().flatten().filter(is_fit).max();
        for other in keys.into_iter().flatten().filter(|&key| Some(key) != ours) {
            // SAFETY: no other thread knows this key.
            unsafe { real::pthread_key_delete(other) };
        }
        ours
    }

    /// Whether there is a key.
    #[inline]
    pub fn are_noticed(&self) -> bool {
        // Relaxed: the callers can use a value that is a moment old.
        !matches!(self.key.load(Relaxed), 0 | GONE)
    }

    /// Requests that the end of the calling thread is noticed, with this value, which is not null.
    /// Returns whether it will be. Allocates nothing.
    #[cold]
    pub fn notice(&self, value: *const c_void) -> bool {
        self.prepare();
        let key = self.key.load(SeqCst);
        if key == GONE {
            return false;
        }
        // SAFETY: any number may be a key.
        let set = |value| unsafe { real::pthread_setspecific(key - 1, value) };
        preserving_errno(|| {
            let noticed = set(value) == 0;
            // If the key was given up meanwhile, it may be the program's by now. The program has
            // had no chance to use it in this thread, since this function has not returned yet.
            let ours = self.key.load(SeqCst) == key;
            if noticed && !ours {
                set(null());
            }
            noticed && ours
        })
    }

    /// Gives the key up. Returns whether there was one.
    #[cold]
    fn give_up(&self) -> bool {
        let key = self.key.swap(GONE, SeqCst);
        if matches!(key, 0 | GONE) {
            return false;
        }
        // SAFETY: the values that were set go with the key; a thread that is setting one right now
        // checks afterwards whether the key was given up.
        unsafe { real::pthread_key_delete(key - 1) };
        true
    }

    /// Notices no more ends of threads until the next [`ThreadEnds::prepare`].
    pub fn rest(&self) {
        self.give_up();
        let _ = self.key.compare_exchange(GONE, 0, SeqCst, SeqCst);
    }

    /// Performs the program's call of `pthread_key_create`.
    ///
    /// # Safety
    /// Same requirements as POSIX' function.
    pub unsafe fn pthread_key_create(
        &self,
        key: *mut pthread_key_t,
        destructor: Destructor,
    ) -> c_int {
        // SAFETY: the program's own call.
        unsafe {
            match real::pthread_key_create(key, destructor) {
                EAGAIN if self.give_up() => real::pthread_key_create(key, destructor),
                outcome => outcome,
            }
        }
    }

    /// Performs the program's call of `tss_create`.
    ///
    /// # Safety
    /// Same requirements as C's function.
    pub unsafe fn tss_create(&self, key: *mut pthread_key_t, destructor: Destructor) -> c_int {
        // SAFETY: the program's own call.
        unsafe {
            match real::tss_create(key, destructor) {
                THRD_SUCCESS => THRD_SUCCESS,
                _ if self.give_up() => real::tss_create(key, destructor),
                outcome => outcome,
            }
        }
    }
}

/// `thread_ends!(NAME, destructor)` makes a static [`ThreadEnds`], and interposes the functions
/// with which the program makes keys.
#[macro_export]
macro_rules! thread_ends {
    ($(#[$doc:meta])* $name:ident, $destructor:path) => {
        $(#[$doc])*
        static $name: $crate::ThreadEnds = $crate::ThreadEnds::new($destructor);

        /// # Safety
        /// Same requirements as POSIX' function.
        #[unsafe(no_mangle)]
        pub unsafe extern "C-unwind" fn pthread_key_create(
            key: *mut libc::pthread_key_t,
            destructor: $crate::Destructor,
        ) -> core::ffi::c_int {
            // SAFETY: the program's own call.
            unsafe { $name.pthread_key_create(key, destructor) }
        }

        /// # Safety
        /// Same requirements as C's function.
        #[unsafe(no_mangle)]
        pub unsafe extern "C-unwind" fn tss_create(
            key: *mut libc::pthread_key_t,
            destructor: $crate::Destructor,
        ) -> core::ffi::c_int {
            // SAFETY: the program's own call.
            unsafe { $name.tss_create(key, destructor) }
        }
    };
}
