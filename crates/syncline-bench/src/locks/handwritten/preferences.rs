//! Locks that readers share and that prefer one side, written down plainly. For
//! [`super::super::instructions`] only.

use std::hint::spin_loop;
use std::ptr;
use std::sync::atomic::Ordering::{AcqRel, Acquire, Relaxed, Release};
use std::sync::atomic::{AtomicPtr, AtomicU32};

use super::super::arena::Lock;

const WAITING: u32 = 0;
const GRANTED: u32 = 2;

const WANTED: u32 = 1;
const ACTIVE: u32 = 2;
const ONE: u32 = 4;
const FULL: u32 = 1 << 31;

/// The state and the writers' queue.
#[derive(Default)]
struct Writers {
    state: AtomicU32,
    tail: AtomicPtr<Writer>,
    first: AtomicPtr<Writer>,
}

#[derive(Default)]
pub struct Writer {
    next: AtomicPtr<Writer>,
    gate: AtomicU32,
}

impl Writers {
    #[inline(always)]
    fn acquire(&self, writer: &Writer) {
        let ours = ptr::from_ref(writer).cast_mut();
        writer.next.store(ptr::null_mut(), Relaxed);
        writer.gate.store(WAITING, Relaxed);
        let previous = self.tail.swap(ours, AcqRel);
        if !previous.is_null() {
            // SAFETY: it stays until it has seen our link.
            unsafe { &*previous }.next.store(ours, Release);
        } else if self.admit(ours) {
            return;
        }
        while writer.gate.load(Acquire) != GRANTED {
            spin_loop();
        }
    }

    #[inline(always)]
    fn admit(&self, first: *mut Writer) -> bool {
        if self.state.compare_exchange(0, ACTIVE, Acquire, Relaxed).is_ok() {
            return true;
        }
        self.first.store(first, Relaxed);
        if self.state.fetch_or(WANTED, Release) == 0 {
            self.promote();
        }
        false
    }

    #[cold]
    fn promote(&self) {
        if self.state.compare_exchange(WANTED, ACTIVE, Acquire, Relaxed).is_ok() {
            Self::grant(self.first.load(Relaxed));
        }
    }

    fn grant(writer: *mut Writer) {
        // SAFETY: it waits, and stays until this.
        unsafe { &*writer }.gate.store(GRANTED, Release);
    }

    #[inline(always)]
    fn behind(&self, writer: &Writer) -> Option<*mut Writer> {
        let ours = ptr::from_ref(writer).cast_mut();
        let mut next = writer.next.load(Acquire);
        if next.is_null() {
            if self.tail.compare_exchange(ours, ptr::null_mut(), Release, Relaxed).is_ok() {
                return None;
            }
            while next.is_null() {
                spin_loop();
                next = writer.next.load(Acquire);
            }
        }
        Some(next)
    }
}

/// Readers that wait: a list, of which each wakes the next.
#[derive(Default)]
struct Readers(AtomicPtr<Reader>);

#[derive(Default)]
pub struct Reader {
    gate: AtomicU32,
}

impl Readers {
    fn push(&self, reader: &Reader) -> *mut Reader {
        reader.gate.store(WAITING, Relaxed);
        self.0.swap(ptr::from_ref(reader).cast_mut(), AcqRel)
    }

    fn take(&self) -> *mut Reader {
        self.0.swap(ptr::null_mut(), AcqRel)
    }

    fn wait(reader: &Reader) {
        while reader.gate.load(Acquire) != GRANTED {
            spin_loop();
        }
    }

    fn wake(reader: *mut Reader) {
        if !reader.is_null() {
            // SAFETY: it waits, and stays until this.
            unsafe { &*reader }.gate.store(GRANTED, Release);
        }
    }
}

/// Readers before writers.
#[derive(Default)]
pub struct ReadersFirst {
    writers: Writers,
    readers: Readers,
}

impl Lock for ReadersFirst {
    const SHARED: bool = true;

    type Thread = (Writer, Reader);

    #[inline(always)]
    fn with<R: Send>(
        &self,
        (writer, _): &mut Self::Thread,
        section: impl FnOnce() -> R + Send,
    ) -> R {
        self.writers.acquire(writer);
        let result = section();
        if self.writers.state.fetch_sub(ACTIVE, Release) >= ONE + ACTIVE {
            Readers::wake(self.readers.take());
        }
        if let Some(next) = self.writers.behind(writer)
            && self.writers.admit(next)
        {
            Writers::grant(next);
        }
        result
    }

    #[inline(always)]
    fn share<R: Send>(
        &self,
        (_, reader): &mut Self::Thread,
        section: impl FnOnce() -> R + Send,
    ) -> R {
        let state = self.writers.state.fetch_add(ONE, Acquire);
        if state & (ACTIVE | FULL) != 0 {
            self.wait_shared(reader, state);
        }
        let result = section();
        if self.writers.state.fetch_sub(ONE, Release) == ONE + WANTED {
            self.writers.promote();
        }
        result
    }
}

impl ReadersFirst {
    #[cold]
    fn wait_shared(&self, reader: &Reader, state: u32) {
        assert!(state & FULL == 0, "more readers share the lock than it can count");
        let next = self.readers.push(reader);
        if self.writers.state.load(Acquire) & ACTIVE == 0 {
            Readers::wake(self.readers.take());
        }
        Readers::wait(reader);
        Readers::wake(next);
    }
}

/// Writers before readers.
#[derive(Default)]
pub struct WritersFirst {
    writers: Writers,
    readers: Readers,
}

impl Lock for WritersFirst {
    const SHARED: bool = true;

    type Thread = (Writer, Reader);

    #[inline(always)]
    fn with<R: Send>(
        &self,
        (writer, _): &mut Self::Thread,
        section: impl FnOnce() -> R + Send,
    ) -> R {
        self.writers.acquire(writer);
        let result = section();
        if let Some(next) = self.writers.behind(writer) {
            Writers::grant(next);
        } else if self.leave(ACTIVE) & WANTED == 0 && !self.readers.0.load(Acquire).is_null() {
            self.wake_readers();
        }
        result
    }

    #[inline(always)]
    fn share<R: Send>(
        &self,
        (_, reader): &mut Self::Thread,
        section: impl FnOnce() -> R + Send,
    ) -> R {
        let state = self.writers.state.fetch_add(ONE, Acquire);
        if state & (ACTIVE | WANTED | FULL) != 0 {
            self.wait_shared(reader, state);
        }
        let result = section();
        self.leave(ONE);
        result
    }
}

impl WritersFirst {
    #[inline(always)]
    fn leave(&self, share: u32) -> u32 {
        let rest = self.writers.state.fetch_sub(share, AcqRel) - share;
        if rest == WANTED {
            self.writers.promote();
        }
        rest
    }

    #[cold]
    fn wait_shared(&self, reader: &Reader, state: u32) {
        assert!(state & FULL == 0, "more readers share the lock than it can count");
        let next = self.readers.push(reader);
        if self.leave(ONE) & (ACTIVE | WANTED) == 0 {
            self.wake_readers();
        }
        Readers::wait(reader);
        if !next.is_null() {
            self.writers.state.fetch_add(ONE, Relaxed);
            Readers::wake(next);
        }
    }

    #[cold]
    fn wake_readers(&self) {
        if self.writers.state.fetch_add(ONE, AcqRel) & (ACTIVE | WANTED) == 0 {
            let reader = self.readers.take();
            if !reader.is_null() {
                return Readers::wake(reader);
            }
        }
        self.leave(ONE);
    }
}
