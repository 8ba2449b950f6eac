//! Shared locks that prefer readers or writers, written plainly. Used only by
//! [`super::super::instructions`].

use std::hint::spin_loop;
use std::ptr;
use std::sync::atomic::Ordering::{AcqRel, Acquire, Relaxed, Release};
use std::sync::atomic::{AtomicPtr, AtomicU32};

use super::super::arena::Lock;

const WAITING: u32 = 0;
const FIRST: u32 = 2;
const GRANTED: u32 = 4;

const PARKED: u32 = 1;
const ACTIVE: u32 = 2;
const WANTED: u32 = 4;
const LISTED: u32 = 8;
const ONE: u32 = 16;
const FULL: u32 = 1 << 31;

/// The state of a shared lock, and the writers' queue.
#[derive(Default)]
struct Writers {
    state: AtomicU32,
    tail: AtomicPtr<Writer>,
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
            // SAFETY: the previous writer's node lives until that writer has seen the link.
            unsafe { &*previous }.next.store(ours, Release);
            while writer.gate.load(Acquire) == WAITING {
                spin_loop();
            }
            if writer.gate.load(Relaxed) == GRANTED {
                return;
            }
        }
        if self.state.compare_exchange(0, ACTIVE, Acquire, Relaxed).is_err() {
            self.wait_as_first();
        }
    }

    #[cold]
    fn wait_as_first(&self) {
        self.state.fetch_or(WANTED, Relaxed);
        loop {
            let state = self.state.load(Acquire);
            let new = state & (LISTED | PARKED) | ACTIVE;
            if state < ONE
                && state & ACTIVE == 0
                && self.state.compare_exchange(state, new, Acquire, Relaxed).is_ok()
            {
                return;
            }
            spin_loop();
        }
    }

    #[inline(always)]
    fn release(&self, left: impl Fn(u32) -> u32) {
        if self.state.compare_exchange(ACTIVE, 0, Release, Relaxed).is_err() {
            self.release_to_others(left);
        }
    }

    #[cold]
    fn release_to_others(&self, left: impl Fn(u32) -> u32) {
        let mut state = self.state.load(Relaxed);
        while let Err(now) = self.state.compare_exchange(state, left(state), Release, Relaxed) {
            state = now;
        }
    }

    fn grant(writer: *mut Writer) {
        // SAFETY: the writer waits, and its node lives until this store.
        unsafe { &*writer }.gate.store(GRANTED, Release);
    }

    fn let_first(writer: *mut Writer) {
        // SAFETY: as above.
        unsafe { &*writer }.gate.store(FIRST, Release);
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

/// A list of waiting readers. Each reader wakes the next one.
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

    fn wake_all(&self) {
        Self::wake(self.0.swap(ptr::null_mut(), Acquire));
    }

    fn wait(reader: &Reader) {
        while reader.gate.load(Acquire) != GRANTED {
            spin_loop();
        }
    }

    fn wake(reader: *mut Reader) {
        if !reader.is_null() {
            // SAFETY: the reader waits, and its node lives until this store.
            unsafe { &*reader }.gate.store(GRANTED, Release);
        }
    }
}

/// A lock that serves readers before writers.
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
        if let Some(next) = self.writers.behind(writer) {
            if self.writers.state.load(Relaxed) < ONE {
                Writers::grant(next);
                return result;
            }
            Writers::let_first(next);
        }
        self.writers.release(|state| state - ACTIVE);
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
        self.writers.state.fetch_sub(ONE, Release);
        result
    }
}

impl ReadersFirst {
    #[cold]
    fn wait_shared(&self, reader: &Reader, state: u32) {
        assert!(state & FULL == 0, "more readers share the lock than it can count");
        let before = self.readers.push(reader);
        if before.is_null() {
            while self.writers.state.load(Acquire) & ACTIVE != 0 {
                spin_loop();
            }
            self.readers.wake_all();
        }
        Readers::wait(reader);
        Readers::wake(before);
    }
}

/// A lock that serves writers before readers.
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
        } else {
            self.writers.release(|state| {
                let counted = if state & (LISTED | WANTED) == LISTED { ONE - LISTED } else { 0 };
                state - ACTIVE + counted
            });
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
        self.writers.state.fetch_sub(ONE, Release);
        result
    }
}

impl WritersFirst {
    #[cold]
    fn wait_shared(&self, reader: &Reader, state: u32) {
        assert!(state & FULL == 0, "more readers share the lock than it can count");
        let before = self.readers.push(reader);
        if before.is_null() {
            self.wait_uncounted();
            self.readers.wake_all();
        } else {
            self.writers.state.fetch_sub(ONE, Release);
        }
        Readers::wait(reader);
        if !before.is_null() {
            self.writers.state.fetch_add(ONE, Relaxed);
            Readers::wake(before);
        }
    }

    fn wait_uncounted(&self) {
        let mut state = self.writers.state.load(Acquire);
        while state & (ACTIVE | WANTED) != 0 {
            let left = (state - ONE) | LISTED;
            if self.writers.state.compare_exchange(state, left, Release, Relaxed).is_ok() {
                while self.writers.state.load(Acquire) & LISTED != 0 {
                    spin_loop();
                }
                return;
            }
            state = self.writers.state.load(Acquire);
        }
    }
}
