//! Where this library's own code lies: it is never translated.

use core::ffi::{c_int, c_void};
use core::sync::atomic::{AtomicU64, Ordering::Relaxed};

static START: AtomicU64 = AtomicU64::new(0);
static END: AtomicU64 = AtomicU64::new(0);

/// Whether an address is one of ours.
#[inline]
pub fn contains(address: u64) -> bool {
    if END.load(Relaxed) == 0 {
        find();
    }
    (START.load(Relaxed)..END.load(Relaxed)).contains(&address)
}

#[cold]
fn find() {
    unsafe extern "C" fn visit(info: *mut libc::dl_phdr_info, _: usize, _: *mut c_void) -> c_int {
        let own = find as *const () as u64;
        // SAFETY: the loader passes a valid record with so many headers.
        let (bias, headers) = unsafe {
            let count = usize::from((*info).dlpi_phnum);
            ((*info).dlpi_addr, core::slice::from_raw_parts((*info).dlpi_phdr, count))
        };
        let loaded = headers.iter().filter(|h| h.p_type == libc::PT_LOAD);
        let ranges = loaded.map(|h| (bias + h.p_vaddr, bias + h.p_vaddr + h.p_memsz));
        let (start, end) = ranges.fold((u64::MAX, 0), |a, b| (a.0.min(b.0), a.1.max(b.1)));
        if !(start..end).contains(&own) {
            return 0;
        }
        // Relaxed: whoever sees only one of them finds both by itself.
        START.store(start, Relaxed);
        END.store(end, Relaxed);
        1
    }
    // SAFETY: `visit` takes what it is given.
    unsafe { libc::dl_iterate_phdr(Some(visit), core::ptr::null_mut()) };
}
