//! `pthread_spin_*`.

use core::ffi::c_int;

use crate::choice::SPINLOCKS;
use crate::spin::Word;

macro_rules! entries {
    ($($name:ident = $call:ident;)*) => {
        $(
            /// # Safety
            /// Same requirements as POSIX' function.
            #[unsafe(no_mangle)]
            pub unsafe extern "C-unwind" fn $name(word: *const Word) -> c_int {
                // SAFETY: the program's own call.
                unsafe { (SPINLOCKS.get().$call)(word) }
            }
        )*
    };
}

entries! {
    pthread_spin_destroy = destroy;
    pthread_spin_lock = lock;
    pthread_spin_trylock = try_lock;
    pthread_spin_unlock = unlock;
}

/// # Safety
/// Same requirements as POSIX' function.
#[unsafe(no_mangle)]
pub unsafe extern "C-unwind" fn pthread_spin_init(word: *const Word, shared: c_int) -> c_int {
    // SAFETY: the program's own call.
    unsafe { (SPINLOCKS.get().init)(word, shared) }
}
