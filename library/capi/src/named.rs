//! Locks that are chosen by name at run time: `syncline_lock_t` and `syncline_rwlock_t`. The lock
//! itself is allocated separately, on lines of its own.
//!
//! A tag, which depends on the lock's address, detects everything that is not such a lock: memory
//! that was never initialized, a lock that was destroyed, and a copy of one.

use std::ffi::{CStr, c_char, c_int};
use std::ptr;
use std::sync::atomic::{
    AtomicPtr, AtomicUsize, Ordering::Acquire, Ordering::Relaxed, Ordering::Release,
};

use libc::timespec;
use syncline::Condvar;

use crate::boundary::{Outcome, Refusal, at, boundary};
use crate::deadline;
use crate::form::{Form, LOCKS, Object, RWLOCKS, find};

const TAG: usize = 0x5359_4e43;

/// A lock or reader-writer lock for C.
#[repr(C)]
pub(crate) struct Named {
    /// Shows that the rest is valid.
    tag: AtomicUsize,
    form: AtomicPtr<Form>,
    object: AtomicPtr<Object>,
}

impl Named {
    fn valid_tag(&self) -> usize {
        ptr::from_ref(self).addr() ^ TAG
    }

    fn init(&self, forms: &'static [Form], name: *const c_char) -> Outcome {
        if name.is_null() {
            return Err(Refusal::Invalid);
        }
        // SAFETY: C's caller gives a string.
        let form = find(forms, unsafe { CStr::from_ptr(name) }).ok_or(Refusal::Invalid)?;
        let object = (form.create)();
        if object.is_null() {
            return Err(Refusal::NoMemory);
        }
        self.form.store(ptr::from_ref(form).cast_mut(), Relaxed);
        self.object.store(object, Relaxed);
        // Release: pairs with the Acquire in `get`, after which the rest is valid.
        self.tag.store(self.valid_tag(), Release);
        Ok(())
    }

    #[inline]
    fn get(&self) -> Result<(&'static Form, *mut Object), Refusal> {
        // Acquire: pairs with the Release in `init`.
        if self.tag.load(Acquire) != self.valid_tag() {
            return Err(Refusal::Invalid);
        }
        // SAFETY: the tag has shown that `init` has stored a form.
        Ok((unsafe { &*self.form.load(Relaxed) }, self.object.load(Relaxed)))
    }

    fn destroy(&self) -> Outcome {
        let (form, object) = self.get()?;
        // SAFETY: the object belongs to this form.
        unsafe { (form.destroy)(object) }?;
        // Relaxed: the thread that uses the lock next must know by other means that it may.
        self.tag.store(0, Relaxed);
        Ok(())
    }
}

/// Initializes a lock by its name: the name of a form of the catalogue, or of a lock.
#[unsafe(no_mangle)]
unsafe extern "C" fn syncline_lock_init(lock: *const Named, name: *const c_char) -> c_int {
    // SAFETY: any bits are a `Named`, and C's caller does not move it.
    boundary(|| unsafe { at(lock) }?.init(LOCKS, name))
}

/// Initializes a reader-writer lock by its name: the name of a form that can be shared, or of a
/// lock.
#[unsafe(no_mangle)]
unsafe extern "C" fn syncline_rwlock_init(lock: *const Named, name: *const c_char) -> c_int {
    // SAFETY: as above.
    boundary(|| unsafe { at(lock) }?.init(RWLOCKS, name))
}

/// The functions of a lock: each finds the lock's form, and passes the object to the form's
/// function.
macro_rules! functions {
    ($($name:ident $arguments:tt = $($call:ident)+;)+) => { $(function!($name $arguments $($call)+);)+ };
}

macro_rules! function {
    ($name:ident () $($call:ident)+) => {
        #[unsafe(no_mangle)]
        unsafe extern "C" fn $name(lock: *const Named) -> c_int {
            // SAFETY: any bits are a `Named`, and C's caller does not move it. The object belongs
            // to the form.
            boundary(|| unsafe {
                let (form, object) = at(lock)?.get()?;
                call!(form $($call)+)(object)
            })
        }
    };
    ($name:ident (until) $($call:ident)+) => {
        #[unsafe(no_mangle)]
        unsafe extern "C" fn $name(lock: *const Named, until: *const timespec) -> c_int {
            // SAFETY: as above; also the time is the caller's.
            boundary(|| unsafe {
                let (form, object) = at(lock)?.get()?;
                call!(form $($call)+)(object, deadline::read(until)?)
            })
        }
    };
    ($name:ident (cond) $call:ident) => {
        #[unsafe(no_mangle)]
        unsafe extern "C" fn $name(lock: *const Named, cond: *const Condvar) -> c_int {
            // SAFETY: as above; also the condition variable is the caller's.
            boundary(|| unsafe {
                let (form, object) = at(lock)?.get()?;
                (form.$call)(object, at(cond)?, None)
            })
        }
    };
    ($name:ident (cond until) $call:ident) => {
        #[unsafe(no_mangle)]
        unsafe extern "C" fn $name(
            lock: *const Named,
            cond: *const Condvar,
            until: *const timespec,
        ) -> c_int {
            // SAFETY: as above.
            boundary(|| unsafe {
                let (form, object) = at(lock)?.get()?;
                (form.$call)(object, at(cond)?, Some(deadline::read(until)?))
            })
        }
    };
}

/// A form's function. Optional ones are missing in some forms.
macro_rules! call {
    ($form:ident $call:ident) => {
        ($form.$call)
    };
    ($form:ident optional $call:ident) => {
        ($form.$call.ok_or(Refusal::Unsupported)?)
    };
}

functions! {
    syncline_lock_lock() = lock_it;
    syncline_lock_trylock() = optional try_lock;
    syncline_lock_timedlock(until) = optional lock_until;
    syncline_lock_unlock() = unlock;
    syncline_lock_wait(cond) = wait;
    syncline_lock_timedwait(cond until) = wait;

    syncline_rwlock_rdlock() = optional share;
    syncline_rwlock_tryrdlock() = optional try_share;
    syncline_rwlock_timedrdlock(until) = optional share_until;
    syncline_rwlock_wrlock() = lock_it;
    syncline_rwlock_trywrlock() = optional try_lock;
    syncline_rwlock_timedwrlock(until) = optional lock_until;
    syncline_rwlock_unlock() = unlock;
    syncline_rwlock_wait(cond) = wait;
    syncline_rwlock_timedwait(cond until) = wait;
}

/// Frees a lock that no thread uses.
#[unsafe(no_mangle)]
unsafe extern "C" fn syncline_lock_destroy(lock: *const Named) -> c_int {
    // SAFETY: as above.
    boundary(|| unsafe { at(lock) }?.destroy())
}

/// Frees a reader-writer lock that no thread uses.
#[unsafe(no_mangle)]
unsafe extern "C" fn syncline_rwlock_destroy(lock: *const Named) -> c_int {
    // SAFETY: as above.
    boundary(|| unsafe { at(lock) }?.destroy())
}
