//! OpenMP: the critical sections, atomics, locks and barriers of libgomp (`GOMP_*`) and of
//! LLVM's libomp (`__kmpc_*`).
//!
//! An OpenMP lock can be tried, so its contention is known exactly. A critical section can't be
//! tried: there the duration of the call decides. A runtime may implement one of these functions by
//! another, through the symbol that we interpose; only the outer call counts.

use core::ffi::{c_int, c_void};

use syncline_interpose::{entry, real};

macro_rules! functions {
    ($list:ident) => {
        $list! {
            fn GOMP_critical_start();
            fn GOMP_critical_end();
            fn GOMP_critical_name_start(name: *mut c_void);
            fn GOMP_critical_name_end(name: *mut c_void);
            fn GOMP_atomic_start();
            fn GOMP_atomic_end();
            fn GOMP_barrier();
            fn omp_set_lock(lock: *mut c_void);
            fn omp_test_lock(lock: *mut c_void) -> c_int;
            fn omp_unset_lock(lock: *mut c_void);
            fn omp_set_nest_lock(lock: *mut c_void);
            fn omp_test_nest_lock(lock: *mut c_void) -> c_int;
            fn omp_unset_nest_lock(lock: *mut c_void);
            fn __kmpc_critical(place: *mut c_void, thread: c_int, name: *mut c_void);
            fn __kmpc_critical_with_hint(place: *mut c_void, thread: c_int, name: *mut c_void, hint: u32);
            fn __kmpc_end_critical(place: *mut c_void, thread: c_int, name: *mut c_void);
            fn __kmpc_barrier(place: *mut c_void, thread: c_int);
        }
    };
}

functions!(entry);

#[allow(non_snake_case, reason = "the names of the functions")]
mod real {
    use super::*;
    functions!(real);
}

/// Stands for the lock of all critical sections without a name.
#[unsafe(no_mangle)]
pub static omp_unnamed_critical: u64 = 0;
/// Stands for the lock of libgomp's atomic operations.
#[unsafe(no_mangle)]
pub static omp_atomic_region: u64 = 0;
/// Stands for the barriers of all teams.
#[unsafe(no_mangle)]
pub static omp_team_barrier: u64 = 0;

#[allow(non_snake_case, reason = "the names of the runtimes' functions")]
mod imp {
    use syncline_recording::Op;

    use super::*;
    use crate::count::{
        Caller, Outcome, acquired, lock_untried, refused, release, spot, wait_for_event,
        wait_for_lock,
    };
    use crate::tls;

    fn unnamed() -> usize {
        (&raw const omp_unnamed_critical).addr()
    }

    fn atomic() -> usize {
        (&raw const omp_atomic_region).addr()
    }

    /// Calls a function of the runtime. Functions of this file that it calls in turn are not
    /// counted.
    fn inside<R>(call: impl FnOnce() -> R) -> R {
        tls::set_in_openmp(1);
        let result = call();
        tls::set_in_openmp(0);
        result
    }

    /// Calls a function of the runtime that returns nothing. Returns 0, as the functions that count
    /// expect.
    fn done(call: impl FnOnce()) -> c_int {
        inside(call);
        0
    }

    fn is_inside() -> bool {
        tls::in_openmp() != 0
    }

    unsafe fn critical(op: Op, lock: usize, caller: Caller, start: impl FnOnce()) {
        if is_inside() {
            return start();
        }
        // SAFETY: the program's own call, and `caller` is the entry's.
        unsafe { lock_untried(op, lock, caller, || done(start), Outcome::always) };
    }

    unsafe fn barrier(caller: Caller, wait: impl FnOnce()) {
        if is_inside() {
            return wait();
        }
        let barrier = (&raw const omp_team_barrier).addr();
        let wait = || done(wait);
        // SAFETY: the program's own call, and `caller` is the entry's.
        unsafe { wait_for_event(Op::OmpBarrier, barrier, caller, wait, Outcome::always) };
    }

    /// Ends a section. The runtime's function may itself call another of these functions, with
    /// another lock.
    fn end(lock: usize, end: impl FnOnce()) {
        if is_inside() {
            return end();
        }
        release(lock, |_| inside(end));
    }

    unsafe fn set(
        lock: *mut c_void,
        caller: Caller,
        attempt: unsafe fn(*mut c_void) -> c_int,
        set: unsafe fn(*mut c_void),
    ) {
        // SAFETY: the program's own call, and `caller` is the entry's.
        unsafe {
            if is_inside() {
                return set(lock);
            }
            let spot = spot(Op::OmpLock, lock as usize, caller);
            if inside(|| attempt(lock)) != 0 {
                acquired(spot, Op::OmpLock, lock as usize, caller);
            } else {
                let block = || done(|| set(lock));
                wait_for_lock(Op::OmpLock, lock as usize, caller, block, Outcome::always);
            }
        }
    }

    unsafe fn test(
        lock: *mut c_void,
        caller: Caller,
        attempt: unsafe fn(*mut c_void) -> c_int,
    ) -> c_int {
        // SAFETY: the program's own call, and `caller` is the entry's.
        unsafe {
            if is_inside() {
                return attempt(lock);
            }
            let spot = spot(Op::OmpTestLock, lock as usize, caller);
            let result = inside(|| attempt(lock));
            if result != 0 {
                acquired(spot, Op::OmpTestLock, lock as usize, caller);
            } else {
                refused(spot, Op::OmpTestLock, lock as usize, caller);
            }
            result
        }
    }

    pub unsafe extern "C-unwind" fn GOMP_critical_start(caller: Caller) {
        // SAFETY: the program's own call.
        unsafe { critical(Op::OmpCritical, unnamed(), caller, || real::GOMP_critical_start()) }
    }

    pub unsafe extern "C-unwind" fn GOMP_critical_end(_: Caller) {
        // SAFETY: the program's own call.
        end(unnamed(), || unsafe { real::GOMP_critical_end() })
    }

    pub unsafe extern "C-unwind" fn GOMP_critical_name_start(name: *mut c_void, caller: Caller) {
        // SAFETY: the program's own call.
        unsafe {
            let start = || real::GOMP_critical_name_start(name);
            critical(Op::OmpCritical, name as usize, caller, start);
        }
    }

    pub unsafe extern "C-unwind" fn GOMP_critical_name_end(name: *mut c_void, _: Caller) {
        // SAFETY: the program's own call.
        end(name as usize, || unsafe { real::GOMP_critical_name_end(name) })
    }

    pub unsafe extern "C-unwind" fn GOMP_atomic_start(caller: Caller) {
        // SAFETY: the program's own call.
        unsafe { critical(Op::OmpAtomic, atomic(), caller, || real::GOMP_atomic_start()) }
    }

    pub unsafe extern "C-unwind" fn GOMP_atomic_end(_: Caller) {
        // SAFETY: the program's own call.
        end(atomic(), || unsafe { real::GOMP_atomic_end() })
    }

    pub unsafe extern "C-unwind" fn GOMP_barrier(caller: Caller) {
        // SAFETY: the program's own call.
        unsafe { barrier(caller, || real::GOMP_barrier()) }
    }

    pub unsafe extern "C-unwind" fn __kmpc_barrier(
        place: *mut c_void,
        thread: c_int,
        caller: Caller,
    ) {
        // SAFETY: the program's own call.
        unsafe { barrier(caller, || real::__kmpc_barrier(place, thread)) }
    }

    pub unsafe extern "C-unwind" fn omp_set_lock(lock: *mut c_void, caller: Caller) {
        // SAFETY: the program's own call.
        unsafe { set(lock, caller, real::omp_test_lock, real::omp_set_lock) }
    }

    pub unsafe extern "C-unwind" fn omp_set_nest_lock(lock: *mut c_void, caller: Caller) {
        // SAFETY: the program's own call.
        unsafe { set(lock, caller, real::omp_test_nest_lock, real::omp_set_nest_lock) }
    }

    pub unsafe extern "C-unwind" fn omp_test_lock(lock: *mut c_void, caller: Caller) -> c_int {
        // SAFETY: the program's own call.
        unsafe { test(lock, caller, real::omp_test_lock) }
    }

    pub unsafe extern "C-unwind" fn omp_test_nest_lock(lock: *mut c_void, caller: Caller) -> c_int {
        // SAFETY: the program's own call.
        unsafe { test(lock, caller, real::omp_test_nest_lock) }
    }

    pub unsafe extern "C-unwind" fn omp_unset_lock(lock: *mut c_void, _: Caller) {
        // SAFETY: the program's own call.
        end(lock as usize, || unsafe { real::omp_unset_lock(lock) })
    }

    pub unsafe extern "C-unwind" fn omp_unset_nest_lock(lock: *mut c_void, _: Caller) {
        // SAFETY: the program's own call.
        end(lock as usize, || unsafe { real::omp_unset_nest_lock(lock) })
    }

    pub unsafe extern "C-unwind" fn __kmpc_critical(
        place: *mut c_void,
        thread: c_int,
        name: *mut c_void,
        caller: Caller,
    ) {
        // SAFETY: the program's own call.
        unsafe {
            let start = || real::__kmpc_critical(place, thread, name);
            critical(Op::OmpCritical, name as usize, caller, start);
        }
    }

    pub unsafe extern "C-unwind" fn __kmpc_critical_with_hint(
        place: *mut c_void,
        thread: c_int,
        name: *mut c_void,
        hint: u32,
        caller: Caller,
    ) {
        // SAFETY: the program's own call.
        unsafe {
            let start = || real::__kmpc_critical_with_hint(place, thread, name, hint);
            critical(Op::OmpCritical, name as usize, caller, start);
        }
    }

    pub unsafe extern "C-unwind" fn __kmpc_end_critical(
        place: *mut c_void,
        thread: c_int,
        name: *mut c_void,
        _: Caller,
    ) {
        // SAFETY: the program's own call.
        end(name as usize, || unsafe { real::__kmpc_end_critical(place, thread, name) })
    }

    #[cfg(test)]
    mod tests {
        use core::ptr::without_provenance_mut;

        use super::*;

        /// Stands for the runtime's try of a lock. It succeeds if it runs inside a call that is
        /// marked as the runtime's.
        unsafe fn attempt(_: *mut c_void) -> c_int {
            c_int::from(is_inside())
        }

        unsafe fn not_called(_: *mut c_void) {
            panic!("the lock was free");
        }

        #[test]
        fn calls_of_the_runtime_are_marked() {
            let ret = 0_usize;
            // SAFETY: the functions use no lock, and the caller is a word.
            unsafe {
                assert_eq!(test(without_provenance_mut(1), &raw const ret, attempt), 1);
                set(without_provenance_mut(1), &raw const ret, attempt, not_called);
            }
            assert!(!is_inside());
            let mut within = false;
            end(1, || within = is_inside());
            assert!(within && !is_inside());
        }
    }
}
