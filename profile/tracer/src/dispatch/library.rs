//! The address range of this library's own code, which is never translated.

use core::sync::atomic::{AtomicU64, Ordering::Relaxed};

use syncline_interpose::for_each_loaded;

static START: AtomicU64 = AtomicU64::new(0);
static END: AtomicU64 = AtomicU64::new(0);

/// Whether an address is in this library.
#[inline]
pub fn contains(address: u64) -> bool {
    if END.load(Relaxed) == 0 {
        find();
    }
    (START.load(Relaxed)..END.load(Relaxed)).contains(&address)
}

#[cold]
fn find() {
    let own = find as *const () as u64;
    for_each_loaded(|object| {
        if (object.start..object.end).contains(&own) {
            // Relaxed: a thread that does not see the end yet looks both values up itself. A thread
            // that sees the end also sees the start, since x86 keeps the order of stores.
            START.store(object.start, Relaxed);
            END.store(object.end, Relaxed);
        }
    });
}
