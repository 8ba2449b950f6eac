//! The forms of the catalogue as tables of functions, for locks that are chosen by name at run
//! time.

use std::alloc::{Layout, alloc, dealloc};
use std::ffi::CStr;
use std::time::Duration;

use syncline::Condvar;
use syncline::lock::Gate;
use syncline::memory::Padded;

use crate::boundary::Outcome;
use crate::calls::{Lock, Share, Timed, TimedShare, Try, TryShare};
use crate::exclusive::Exclusive;
use crate::typed::type_of;

/// A lock of some form, on lines of its own.
pub(crate) struct Object(());

/// The operations of a form, each on an object that the form has created.
#[derive(Clone, Copy)]
pub(crate) struct Form {
    /// The name of the form, such as `mcs-park`.
    pub(crate) name: &'static CStr,
    /// The name of the lock, such as `mcs`.
    lock: &'static str,
    /// Makes a new object; null if there is no memory.
    pub(crate) create: fn() -> *mut Object,
    /// Frees the object if no thread uses it.
    pub(crate) destroy: Call,
    pub(crate) lock_it: Call,
    pub(crate) unlock: Call,
    pub(crate) wait: unsafe fn(*mut Object, &Condvar, Option<Duration>) -> Outcome,
    pub(crate) try_lock: Option<Call>,
    pub(crate) lock_until: Option<CallUntil>,
    pub(crate) share: Option<Call>,
    pub(crate) try_share: Option<Call>,
    pub(crate) share_until: Option<CallUntil>,
}

type Call = unsafe fn(*mut Object) -> Outcome;
type CallUntil = unsafe fn(*mut Object, Duration) -> Outcome;

/// The object's lock.
///
/// # Safety
///
/// The object was created as a `T`, and still lives.
#[inline]
unsafe fn lock<'a, T>(object: *mut Object) -> &'a T {
    // SAFETY: our caller's promise.
    unsafe { &*object.cast() }
}

fn create<T: Lock>() -> *mut Object {
    // SAFETY: a lock has a size.
    let object: *mut T = unsafe { alloc(Layout::new::<Padded<T>>()) }.cast();
    if !object.is_null() {
        // SAFETY: the memory is new, and large and aligned enough.
        unsafe { object.write(T::new()) };
    }
    object.cast()
}

/// # Safety
///
/// Same requirements as [`lock`].
unsafe fn destroy<T: Lock>(object: *mut Object) -> Outcome {
    // SAFETY: our caller's promise.
    unsafe { lock::<T>(object) }.expect_unused()?;
    // SAFETY: no thread uses it, and it was allocated in `create`.
    unsafe {
        object.cast::<T>().drop_in_place();
        dealloc(object.cast(), Layout::new::<Padded<T>>());
    }
    Ok(())
}

// SAFETY, of all blocks here: the caller of a form's function passes an object of that form.
impl Form {
    const fn new<T: Lock>(name: &'static str, lock_name: &'static str) -> Self {
        let Ok(name) = CStr::from_bytes_with_nul(name.as_bytes()) else {
            panic!("a name ends with its zero");
        };
        Self {
            name,
            lock: lock_name,
            create: create::<T>,
            destroy: destroy::<T>,
            // SAFETY: see above.
            lock_it: |object| unsafe { lock::<T>(object) }.lock(),
            // SAFETY: see above.
            unlock: |object| unsafe { lock::<T>(object) }.unlock(),
            // SAFETY: see above.
            wait: |object, cond, deadline| unsafe { lock::<T>(object) }.wait(cond, deadline),
            try_lock: None,
            lock_until: None,
            share: None,
            try_share: None,
            share_until: None,
        }
    }

    const fn with_try<T: Try>(mut self) -> Self {
        // SAFETY: see above.
        self.try_lock = Some(|object| unsafe { lock::<T>(object) }.try_lock());
        self
    }

    const fn with_timed<T: Timed>(mut self) -> Self {
        // SAFETY: see above.
        self.lock_until = Some(|object, until| unsafe { lock::<T>(object) }.lock_until(until));
        self
    }

    const fn with_share<T: Share>(mut self) -> Self {
        // SAFETY: see above.
        self.share = Some(|object| unsafe { lock::<T>(object) }.share());
        self
    }

    const fn with_try_share<T: TryShare>(mut self) -> Self {
        // SAFETY: see above.
        self.try_share = Some(|object| unsafe { lock::<T>(object) }.try_share());
        self
    }

    const fn with_timed_share<T: TimedShare>(mut self) -> Self {
        // SAFETY: see above.
        self.share_until = Some(|object, until| unsafe { lock::<T>(object) }.share_until(until));
        self
    }
}

/// The number of forms: `any` for all, `shared` for those that can be shared.
macro_rules! count_forms {
    ($which:ident) => {{
        let mut count = 0;
        syncline::for_each_form!(count, { $which count });
        count
    }};
}

macro_rules! count {
    ({ any $count:ident } $name:expr, $waiting:ident, $type:ty, $($about:tt)*) => {
        $count += 1;
    };
    ({ shared $count:ident } $name:expr, $waiting:ident, $type:ty, $lock:ident,
        shared $($feature:ident)*) => {
        $count += 1;
    };
    ({ shared $count:ident } $name:expr, $waiting:ident, $type:ty, $lock:ident,
        exclusive $($feature:ident)*) => {};
}

macro_rules! add_lock {
    ({ $list:ident $count:ident } $name:expr, $waiting:ident, $lock:ty, $lock_name:ident,
        $kind:ident $forms:ident $($feature:ident)*) => {
        $list[$count] = {
            type Type = type_of!($lock, exclusive $($feature)*);
            form!(concat!($name, "\0"), stringify!($lock_name), Type, $($feature)*)
        };
        $count += 1;
    };
}

macro_rules! add_rwlock {
    ({ $list:ident $count:ident } $name:expr, $waiting:ident, $lock:ty, $lock_name:ident,
        exclusive $($feature:ident)*) => {};
    ({ $list:ident $count:ident } $name:expr, $waiting:ident, $lock:ty, $lock_name:ident,
        shared $forms:ident $($feature:ident)*) => {
        $list[$count] = {
            type Type = type_of!($lock, shared $($feature)*);
            let form = form!(concat!($name, "\0"), stringify!($lock_name), Type, $($feature)*);
            shared_form!(form, Type, $($feature)*)
        };
        $count += 1;
    };
}

macro_rules! form {
    ($name:expr, $lock:expr, $type:ty, try timed $($feature:ident)*) => {
        form!($name, $lock, $type, try).with_timed::<$type>()
    };
    ($name:expr, $lock:expr, $type:ty, try $($feature:ident)*) => {
        form!($name, $lock, $type,).with_try::<$type>()
    };
    ($name:expr, $lock:expr, $type:ty, $($feature:ident)*) => {
        Form::new::<$type>($name, $lock)
    };
}

macro_rules! shared_form {
    ($form:expr, $type:ty, try timed $($feature:ident)*) => {
        shared_form!($form, $type, try).with_timed_share::<$type>()
    };
    ($form:expr, $type:ty, try $($feature:ident)*) => {
        shared_form!($form, $type,).with_try_share::<$type>()
    };
    ($form:expr, $type:ty, $($feature:ident)*) => {
        $form.with_share::<$type>()
    };
}

/// All forms; those that can be shared can also be held exclusively. The initial elements of the
/// list are overwritten.
pub(crate) static LOCKS: &[Form] = &{
    let mut list = [form!("\0", "", Exclusive<Gate, false>,); count_forms!(any)];
    let mut count = 0;
    syncline::for_each_form!(add_lock, { list count });
    assert!(count == list.len());
    list
};

/// The forms that can be shared.
pub(crate) static RWLOCKS: &[Form] = &{
    let mut list = [form!("\0", "", Exclusive<Gate, false>,); count_forms!(shared)];
    let mut count = 0;
    syncline::for_each_form!(add_rwlock, { list count });
    assert!(count == list.len());
    list
};

/// Finds the form with this name. A lock's name alone means its last form: the parking one, or the
/// yielding one of a lock that never sleeps.
pub(crate) fn find(forms: &'static [Form], name: &CStr) -> Option<&'static Form> {
    let name = name.to_bytes();
    forms.iter().rfind(|f| f.name.to_bytes() == name || f.lock.as_bytes() == name)
}
