//! `malloc` and its family, and C++'s operator new: the functions that allocate and free.
//!
//! Each passes the call on to the program's allocator and notes the outcome. A block is noted as
//! freed before it is freed, since another thread may get its memory at once. If C++'s operator new
//! calls `malloc`, the call site noted for the block is where the operator was called, and not the
//! one in the C++ library.

use core::ffi::{c_int, c_void};

use syncline_interpose::{entry, real};

use crate::heap::{index, words};
use crate::section::return_address;

macro_rules! functions {
    ($list:ident) => {
        $list! {
            fn malloc(size: usize) -> *mut c_void;
            fn calloc(count: usize, size: usize) -> *mut c_void;
            fn realloc(block: *mut c_void, size: usize) -> *mut c_void;
            fn reallocarray(block: *mut c_void, count: usize, size: usize) -> *mut c_void;
            fn free(block: *mut c_void);
            fn posix_memalign(block: *mut *mut c_void, alignment: usize, size: usize) -> c_int;
            fn aligned_alloc(alignment: usize, size: usize) -> *mut c_void;
            fn memalign(alignment: usize, size: usize) -> *mut c_void;
            fn _Znwm(size: usize) -> *mut c_void;
            fn _Znam(size: usize) -> *mut c_void;
            fn _ZnwmRKSt9nothrow_t(size: usize, tag: *const c_void) -> *mut c_void;
            fn _ZnamRKSt9nothrow_t(size: usize, tag: *const c_void) -> *mut c_void;
            fn _ZnwmSt11align_val_t(size: usize, alignment: usize) -> *mut c_void;
            fn _ZnamSt11align_val_t(size: usize, alignment: usize) -> *mut c_void;
        }
    };
}

functions!(entry);

#[allow(non_snake_case, reason = "the names are C++'s")]
mod real {
    use super::*;
    functions!(real);
}

/// The call site to note: that of operator new if the operator made this call, otherwise that of
/// this call.
///
/// # Safety
/// `caller` is the stack pointer that [`entry!`] passes, which points to the return address.
unsafe fn site(caller: *const u64) -> u64 {
    match words::caller_of_new() {
        // SAFETY: by this function's own condition.
        0 => unsafe { return_address(caller) },
        new => {
            words::set_caller_of_new(0);
            new
        }
    }
}

fn given(block: *mut c_void, size: usize, site: u64) -> *mut c_void {
    if !block.is_null() {
        words::set_allocations(words::allocations().wrapping_add(1));
        index::allocated(block as u64, size as u64, site);
    }
    block
}

fn taken(block: *mut c_void) {
    if !block.is_null() {
        words::set_frees(words::frees().wrapping_add(1));
        index::freed(block as u64);
    }
}

/// Passes on a call that resizes a block, and notes the result. That may be the same block, another
/// one, or none if the new size is 0. If the call failed, the old block remains. The block is noted
/// as freed during the call, because another thread may get its memory as soon as it has been
/// moved.
fn moved(
    block: *mut c_void,
    size: usize,
    site: u64,
    real: impl FnOnce() -> *mut c_void,
) -> *mut c_void {
    index::freed(block as u64);
    let after = real();
    if after == block {
        index::kept(block as u64, Some(size as u64));
    } else if after.is_null() && size != 0 {
        index::kept(block as u64, None);
    } else {
        words::set_frees(words::frees().wrapping_add(u32::from(!block.is_null())));
        given(after, size, site);
    }
    after
}

/// The functions that the exported entries of the same names jump to. `caller` is the stack pointer
/// at the entry.
#[allow(non_snake_case, reason = "the names are C++'s")]
mod imp {
    use super::*;

    macro_rules! allocating {
        ($($name:ident($($arg:ident: $type:ty),*) of $size:expr;)*) => {
            $(
                pub unsafe extern "C-unwind" fn $name($($arg: $type,)* caller: *const u64) -> *mut c_void {
                    // SAFETY: the caller's own promises, passed on; the entry passes `caller`.
                    unsafe {
                        let site = site(caller);
                        given(real::$name($($arg),*), $size, site)
                    }
                }
            )*
        };
    }

    allocating! {
        malloc(size: usize) of size;
        calloc(count: usize, size: usize) of count.wrapping_mul(size);
        aligned_alloc(alignment: usize, size: usize) of size;
        memalign(alignment: usize, size: usize) of size;
    }

    pub unsafe extern "C-unwind" fn realloc(
        block: *mut c_void,
        size: usize,
        caller: *const u64,
    ) -> *mut c_void {
        // SAFETY: the caller's own promises, passed on; the entry passes `caller`.
        unsafe {
            let site = site(caller);
            moved(block, size, site, || real::realloc(block, size))
        }
    }

    pub unsafe extern "C-unwind" fn reallocarray(
        block: *mut c_void,
        count: usize,
        size: usize,
        caller: *const u64,
    ) -> *mut c_void {
        // SAFETY: the caller's own promises, passed on; the entry passes `caller`.
        unsafe {
            // If the product overflows, the call fails, so the saturated size is never noted.
            let (site, bytes) = (site(caller), count.saturating_mul(size));
            moved(block, bytes, site, || real::reallocarray(block, count, size))
        }
    }

    pub unsafe extern "C-unwind" fn free(block: *mut c_void, _caller: *const u64) {
        taken(block);
        // SAFETY: the caller's own promises, passed on.
        unsafe { real::free(block) }
    }

    pub unsafe extern "C-unwind" fn posix_memalign(
        block: *mut *mut c_void,
        alignment: usize,
        size: usize,
        caller: *const u64,
    ) -> c_int {
        // SAFETY: the caller's own promises, passed on; the entry passes `caller`; if the call
        // succeeds, it has stored the block's address in `block`.
        unsafe {
            let site = site(caller);
            let status = real::posix_memalign(block, alignment, size);
            if status == 0 {
                given(*block, size, site);
            }
            status
        }
    }

    macro_rules! operator_new {
        ($($name:ident($($arg:ident: $type:ty),*);)*) => {
            $(
                pub unsafe extern "C-unwind" fn $name($($arg: $type,)* caller: *const u64) -> *mut c_void {
                    // SAFETY: the caller's own promises, passed on; the entry passes `caller`.
                    unsafe {
                        // One operator may call another: the one for arrays jumps to the plain one,
                        // whose return address then lies in this library. Only the outermost
                        // operator was called by the program.
                        let is_outermost = words::caller_of_new() == 0;
                        if is_outermost {
                            words::set_caller_of_new(return_address(caller));
                        }
                        let block = real::$name($($arg),*);
                        // Normally the call of `malloc` has reset the word already. But an operator
                        // that the program defines need not call `malloc`.
                        if is_outermost {
                            words::set_caller_of_new(0);
                        }
                        block
                    }
                }
            )*
        };
    }

    operator_new! {
        _Znwm(size: usize);
        _Znam(size: usize);
        _ZnwmRKSt9nothrow_t(size: usize, tag: *const c_void);
        _ZnamRKSt9nothrow_t(size: usize, tag: *const c_void);
        _ZnwmSt11align_val_t(size: usize, alignment: usize);
        _ZnamSt11align_val_t(size: usize, alignment: usize);
    }
}

#[cfg(test)]
mod tests {
    use core::ptr::null_mut;

    use super::*;

    /// An address in memory that no allocator uses.
    const BLOCK: *mut c_void = 0x10_0000_0000 as *mut c_void;

    #[test]
    fn a_block_that_is_resized_to_nothing_is_freed() {
        given(BLOCK, 64, 1);
        let (allocations, frees) = (words::allocations(), words::frees());
        assert_eq!(moved(BLOCK, 100, 1, null_mut), null_mut(), "no memory");
        assert_eq!((words::allocations(), words::frees()), (allocations, frees));
        assert_eq!(moved(BLOCK, 0, 1, null_mut), null_mut());
        assert_eq!((words::allocations(), words::frees()), (allocations, frees.wrapping_add(1)));
    }
}
