//! The events to come, in the order of time. Events of the same cycle are in the order in which
//! they were planned.
//!
//! The queue is a calendar. A day has a few cycles, and each of the next days has a slot. Most
//! threads have one event each, so most days have no event or one. So the time to plan an event, or
//! to remove the first one, does not depend on the number of threads, while a heap would compare an
//! event with several others. Events of days without a slot, such as ends of time slices and
//! deadlines, are in a heap until their day gets one.
//!
//! Source: Brown, "Calendar queues: a fast O(1) priority queue implementation for the simulation
//! event set problem" (CACM 1988). In contrast to the paper, the number of days is fixed, and a bit
//! for each day says whether the day has events.

use std::cmp::Reverse;
use std::collections::BinaryHeap;

use crate::line::ThreadId;

/// The base-2 logarithm of the number of cycles in a day. A day is shorter than most accesses.
const DAY: u32 = 3;
/// The number of days with slots. Together, these days are as long as a line takes to serve a
/// hundred waiters. Two levels of words of 64 bits have a bit for each of them.
const DAYS: usize = 64 * 64;
/// The number that means "no entry".
const NONE: u32 = u32::MAX;

/// The subject of an event.
#[derive(Clone, Copy, PartialEq, Eq, PartialOrd, Ord)]
pub enum Whom {
    /// A thread goes on. The event is stale if the thread has gone on since the event was planned:
    /// the thread's `went_on` then differs from the event's.
    Thread(ThreadId, u32),
    /// The time slice of the thread that runs on a hardware thread is over.
    Slice(u32),
    /// Idle hardware threads look for threads that are queued at this hardware thread.
    Look(u32),
    /// The first stores of a thread's buffer take effect.
    Buffer(ThreadId),
}

/// An event: its cycle, and its subject.
#[derive(Clone, Copy)]
pub struct Event {
    pub at: u64,
    pub whom: Whom,
}

/// An event, and the next entry of the same day.
#[derive(Clone, Copy)]
struct Entry {
    event: Event,
    next: u32,
}

/// All events to come.
pub struct Queue {
    /// The cycle of the first event; `u64::MAX` if there is none.
    first: u64,
    /// The slot of the first day that has entries; meaningless if no day has any.
    slot: usize,
    /// The day of the event that was removed last. Day `n` is in slot `n % DAYS`. This day and the
    /// `DAYS - 1` days after it have slots.
    today: u64,
    /// A bit for each slot that has entries.
    busy: [u64; DAYS / 64],
    /// A bit for each word of `busy` that is not 0.
    busy_words: u64,
    /// The first entry of each slot, or `NONE`.
    slots: Box<[u32; DAYS]>,
    entries: Vec<Entry>,
    /// The first entry of the list of unused entries, or `NONE`.
    unused: u32,
    /// Events of days without a slot: the time, the number of the event in planning order, and the
    /// subject.
    far: BinaryHeap<Reverse<(u64, u64, Whom)>>,
    /// The number of events that were ever planned into `far`.
    planned_far: u64,
}

impl Default for Queue {
    fn default() -> Queue {
        Queue {
            first: u64::MAX,
            slot: 0,
            today: 0,
            busy: [0; DAYS / 64],
            busy_words: 0,
            slots: Box::new([NONE; DAYS]),
            entries: Vec::new(),
            unused: NONE,
            far: BinaryHeap::new(),
            planned_far: 0,
        }
    }
}

impl Queue {
    /// Plans an event, after those that are already planned for the same cycle.
    #[inline]
    pub fn plan(&mut self, at: u64, whom: Whom) {
        if at >> DAY < self.today + DAYS as u64 {
            self.insert(Event { at, whom });
        } else {
            self.planned_far += 1;
            self.far.push(Reverse((at, self.planned_far, whom)));
            self.first = self.first.min(at);
        }
    }

    /// Whether an event is due in this cycle or before.
    #[inline]
    pub fn is_due(&self, at: u64) -> bool {
        self.first <= at
    }

    /// Removes the first event and returns it; `None` if the queue is empty.
    #[inline]
    pub fn pop(&mut self) -> Option<Event> {
        if self.busy_words == 0 {
            let Reverse((at, ..)) = self.far.peek()?;
            self.begin_day(at >> DAY);
        }
        let slot = self.slot;
        let number = self.slots[slot];
        let entry = &mut self.entries[number as usize];
        let Entry { event, next } = *entry;
        entry.next = self.unused;
        self.unused = number;
        self.slots[slot] = next;
        if event.at >> DAY > self.today {
            self.begin_day(event.at >> DAY);
        }
        match self.entries.get(next as usize) {
            Some(entry) => self.first = entry.event.at,
            None => self.clear(slot),
        }
        Some(event)
    }

    /// Begins a day, so that further days have slots. Moves the events of these days from `far` to
    /// the slots, before any event is planned directly in these slots.
    #[inline]
    fn begin_day(&mut self, day: u64) {
        self.today = day;
        while let Some(&Reverse((at, _, whom))) = self.far.peek()
            && at >> DAY < day + DAYS as u64
        {
            self.far.pop();
            self.insert(Event { at, whom });
        }
    }

    /// Records that the slot of the first day has no entry left, and finds the new first slot. The
    /// slots are a ring: after this slot come those with greater numbers, then those with smaller
    /// ones.
    #[inline]
    fn clear(&mut self, slot: usize) {
        let (word, bit) = (slot / 64, slot % 64);
        self.busy[word] &= !(1 << bit);
        self.busy_words &= !(u64::from(self.busy[word] == 0) << word);
        let behind = |bits: u64, bit: usize| bits >> bit >> 1 << bit << 1;
        let (mut word, mut bits) = (word, behind(self.busy[word], bit));
        if bits == 0 {
            let words = behind(self.busy_words, word);
            let words = if words == 0 { self.busy_words } else { words };
            if words == 0 {
                self.first = self.far.peek().map_or(u64::MAX, |Reverse((at, ..))| *at);
                return;
            }
            word = words.trailing_zeros() as usize;
            bits = self.busy[word];
        }
        self.slot = 64 * word + bits.trailing_zeros() as usize;
        self.first = self.entries[self.slots[self.slot] as usize].event.at;
    }

    /// Inserts an event into its day, after the events that are due before it or at the same time.
    #[inline]
    fn insert(&mut self, event: Event) {
        let slot = ((event.at >> DAY).max(self.today) % DAYS as u64) as usize;
        if event.at <= self.first {
            (self.first, self.slot) = (event.at, slot);
        }
        let (mut before, mut next) = (NONE, self.slots[slot]);
        while let Some(entry) = self.entries.get(next as usize)
            && entry.event.at <= event.at
        {
            (before, next) = (next, entry.next);
        }
        if self.unused == NONE {
            self.grow();
        }
        let number = self.unused;
        let entry = &mut self.entries[number as usize];
        self.unused = std::mem::replace(&mut entry.next, next);
        entry.event = event;
        match self.entries.get_mut(before as usize) {
            Some(before) => before.next = number,
            None => {
                self.slots[slot] = number;
                self.busy[slot / 64] |= 1 << (slot % 64);
                self.busy_words |= 1 << (slot / 64);
            }
        }
    }

    /// Makes an unused entry.
    #[cold]
    fn grow(&mut self) {
        self.unused = self.entries.len() as u32;
        let event = Event { at: 0, whom: Whom::Slice(0) };
        self.entries.push(Entry { event, next: NONE });
    }
}

#[cfg(test)]
mod tests {
    use super::*;

    /// Compares the queue with a heap: events near and far, many in one cycle, some much later than
    /// all others.
    #[test]
    fn events_come_in_the_order_of_time_and_insertion() {
        let (mut queue, mut heap) = (Queue::default(), BinaryHeap::new());
        let mut state = 1_u64;
        let mut random = |below: u64| {
            state = state.wrapping_mul(6_364_136_223_846_793_005).wrapping_add(1);
            (state >> 20) % below
        };
        let mut now = 0;
        for number in 1..200_000_u32 {
            let ahead = [0, 1, 40, 300, 5_000, 70_000, 3_000_000, 1 << 40][random(8) as usize];
            let at = now + random(ahead + 1);
            queue.plan(at, Whom::Slice(number));
            heap.push(Reverse((at, number)));
            while heap.len() as u64 > random(200) {
                let Some(Reverse((at, number))) = heap.pop() else { break };
                assert!(queue.is_due(at) && (at == 0 || !queue.is_due(at - 1)));
                let event = queue.pop().expect("the heap has one");
                assert!(event.at == at && event.whom == Whom::Slice(number));
                now = at;
            }
        }
        while let Some(Reverse((at, number))) = heap.pop() {
            let event = queue.pop().expect("the heap has one");
            assert!(event.at == at && event.whom == Whom::Slice(number));
        }
        assert!(queue.pop().is_none() && !queue.is_due(u64::MAX - 1));
    }
}
