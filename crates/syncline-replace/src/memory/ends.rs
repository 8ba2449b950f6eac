//! The ends of threads, by a key of thread-specific data.
//!
//! A key is one of the program's 1,024, and the program shall have them all. So ours is given up as
//! soon as the program is refused one; ends are not noticed then, and no thread keeps lines. It is
//! not key 0 either, which is what a program has in a variable that it has forgotten to make a key
//! for.

use core::ffi::{c_int, c_void};
use core::sync::atomic::{AtomicU32, Ordering::Relaxed, Ordering::SeqCst};

use libc::{EAGAIN, pthread_key_t};
use syncline::memory::Memory;
use syncline_interpose::preserving_errno;

use super::Own;
use super::lines::give_all;
use crate::tls::{ENDED, NOTICED, set_stage, stage};

/// The key, plus 1; 0 if there is none.
static KEY: AtomicU32 = AtomicU32::new(0);
/// How many are about to use it.
static USERS: AtomicU32 = AtomicU32::new(0);

/// Keys whose values the C library keeps in the thread itself, so that setting one allocates
/// nothing.
const AT_HAND: usize = 32;

type Destructor = Option<unsafe extern "C" fn(*mut c_void)>;

mod real {
    use super::*;

    syncline_interpose::real! {
        fn pthread_key_create(key: *mut pthread_key_t, destructor: Destructor) -> c_int;
        fn tss_create(key: *mut pthread_key_t, destructor: Destructor) -> c_int;
    }
}

/// Makes the key: the last of those at hand that is free.
pub(super) fn prepare() {
    let mut keys = [None; AT_HAND];
    for key in &mut keys {
        let mut made = 0;
        // SAFETY: `thread_ends` takes any value.
        let failed = unsafe { real::pthread_key_create(&raw mut made, Some(thread_ends)) } != 0;
        if failed {
            break;
        }
        *key = Some(made);
        if made as usize >= AT_HAND - 1 {
            break;
        }
    }
    let is_fit = |key: &pthread_key_t| (1..AT_HAND).contains(&(*key as usize));
    let ours = keys.into_iter().flatten().filter(is_fit).max();
    for other in keys.into_iter().flatten().filter(|&key| Some(key) != ours) {
        // SAFETY: nobody else knows it.
        unsafe { libc::pthread_key_delete(other) };
    }
    // Relaxed: who sees no key yet keeps nothing.
    KEY.store(ours.map_or(0, |key| key + 1), Relaxed);
}

/// Whether the thread's end will be noticed.
#[inline]
pub(super) fn is_noticed() -> bool {
    // Relaxed: a thread that still sees a key which was given up keeps some lines for good.
    KEY.load(Relaxed) != 0 && (stage() == NOTICED || notice())
}

/// Sees to it that `thread_ends` runs, and says whether it will.
#[cold]
fn notice() -> bool {
    if stage() == ENDED {
        return false;
    }
    // SeqCst, here and in `give_up`: either we see that the key is gone, or are waited for.
    USERS.fetch_add(1, SeqCst);
    let key = KEY.load(SeqCst);
    let mut noticed = false;
    if key != 0 {
        // Before the call, since that may come back here.
        set_stage(NOTICED);
        let value = (&raw const KEY).cast();
        // SAFETY: the key was made, and nobody deletes it meanwhile.
        noticed = preserving_errno(|| unsafe { libc::pthread_setspecific(key - 1, value) }) == 0;
    }
    USERS.fetch_sub(1, SeqCst);
    noticed
}

unsafe extern "C" fn thread_ends(_: *mut c_void) {
    set_stage(ENDED);
    give_all();
}

/// In a forked child, those who were about to use the key are no more.
pub fn forked() {
    USERS.store(0, SeqCst);
}

/// Gives the key up, and says whether there was one.
#[cold]
fn give_up() -> bool {
    let key = KEY.swap(0, SeqCst);
    if key == 0 {
        return false;
    }
    // A value that is set now would be one of the program's next key.
    while USERS.load(SeqCst) != 0 {
        Own::yield_now();
    }
    // SAFETY: nobody uses it any more.
    unsafe { libc::pthread_key_delete(key - 1) };
    true
}

/// # Safety
/// As of POSIX' function.
#[unsafe(no_mangle)]
pub unsafe extern "C-unwind" fn pthread_key_create(
    key: *mut pthread_key_t,
    destructor: Destructor,
) -> c_int {
    // SAFETY: the program's own call.
    unsafe {
        match real::pthread_key_create(key, destructor) {
            EAGAIN if give_up() => real::pthread_key_create(key, destructor),
            outcome => outcome,
        }
    }
}

/// # Safety
/// As of C's function.
#[unsafe(no_mangle)]
pub unsafe extern "C-unwind" fn tss_create(
    key: *mut pthread_key_t,
    destructor: Destructor,
) -> c_int {
    // SAFETY: the program's own call.
    unsafe {
        match real::tss_create(key, destructor) {
            0 => 0,
            _ if give_up() => real::tss_create(key, destructor),
            outcome => outcome,
        }
    }
}
