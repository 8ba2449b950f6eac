//! The operating system's services for a native thread: sleeping and waking, yielding, a clock. On
//! Linux these are system calls. Elsewhere they are made of functions of the standard library
//! (sleeping in `parking.rs`). Other systems without the standard library have none of these: a
//! sleeper spins instead, and the clock stands still at zero, so only a deadline of zero is ever
//! reached.

#[cfg(not(target_os = "linux"))]
pub(super) use elsewhere::*;
#[cfg(target_os = "linux")]
pub(super) use linux::*;

#[cfg(target_os = "linux")]
mod linux {
    use core::mem::zeroed;
    use core::ptr;
    use core::sync::atomic::AtomicU32;
    use core::time::Duration;

    use crate::memory::interface::Address;

    pub fn yield_now() {
        // SAFETY: it takes nothing and always succeeds.
        unsafe { libc::sched_yield() };
    }

    pub fn now() -> Duration {
        // SAFETY: a time of zeros is valid, and the kernel fills it in.
        let time = unsafe {
            let mut time: libc::timespec = zeroed();
            libc::clock_gettime(libc::CLOCK_MONOTONIC, &raw mut time);
            time
        };
        Duration::new(time.tv_sec as u64, time.tv_nsec as u32)
    }

    pub fn park(word: &AtomicU32, expected: u32, key: u32, deadline: Option<Duration>) {
        // A deadline beyond the kernel's range is never reached.
        let deadline = deadline.and_then(|deadline| {
            // SAFETY: a time of zeros is valid.
            let mut time: libc::timespec = unsafe { zeroed() };
            time.tv_sec = deadline.as_secs().try_into().ok()?;
            time.tv_nsec = deadline.subsec_nanos().into();
            Some(time)
        });
        let deadline = deadline.as_ref().map_or(ptr::null(), ptr::from_ref);
        // SAFETY: the word is a live aligned 32-bit word, the time is valid or null. With
        // `FUTEX_WAIT_BITSET` the time is absolute, on the monotonic clock. Every outcome means:
        // look again.
        unsafe {
            libc::syscall(
                libc::SYS_futex,
                word.as_ptr(),
                libc::FUTEX_WAIT_BITSET | libc::FUTEX_PRIVATE_FLAG,
                expected,
                deadline,
                ptr::null::<u32>(),
                mask(key),
            )
        };
    }

    pub fn unpark(address: Address, key: Option<u32>, count: u32) {
        // SAFETY: the kernel compares the address with those of sleepers, and doesn't access it.
        unsafe {
            libc::syscall(
                libc::SYS_futex,
                ptr::with_exposed_provenance::<u32>(address.0),
                libc::FUTEX_WAKE_BITSET | libc::FUTEX_PRIVATE_FLAG,
                // The kernel's count is signed.
                count.min(i32::MAX as u32),
                ptr::null::<libc::timespec>(),
                ptr::null::<u32>(),
                key.map_or(u32::MAX, mask),
            )
        };
    }

    /// The mask for a key. The kernel selects sleepers by a mask of 32 bits, so a wake-up also
    /// reaches sleepers whose keys differ by a multiple of 32.
    fn mask(key: u32) -> u32 {
        1 << (key % 32)
    }
}

#[cfg(all(feature = "std", not(target_os = "linux")))]
mod elsewhere {
    use core::sync::atomic::AtomicU32;
    use core::time::Duration;
    use std::sync::OnceLock;
    use std::time::Instant;

    use crate::memory::parking;
    pub use crate::memory::parking::unpark;

    pub fn yield_now() {
        std::thread::yield_now();
    }

    pub fn now() -> Duration {
        static START: OnceLock<Instant> = OnceLock::new();
        START.get_or_init(Instant::now).elapsed()
    }

    pub fn park(word: &AtomicU32, expected: u32, key: u32, deadline: Option<Duration>) {
        parking::park(word, expected, key, deadline, now);
    }
}

#[cfg(not(any(feature = "std", target_os = "linux")))]
mod elsewhere {
    pub use core::hint::spin_loop as yield_now;
    use core::sync::atomic::AtomicU32;
    use core::time::Duration;

    use crate::memory::interface::Address;

    pub fn now() -> Duration {
        Duration::ZERO
    }

    pub fn park(_: &AtomicU32, _: u32, _: u32, _: Option<Duration>) {
        yield_now();
    }

    pub fn unpark(_: Address, _: Option<u32>, _: u32) {}
}
