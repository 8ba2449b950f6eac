//! A ring of lines: the channel for throughput.
//!
//! Small messages share a line, and a line is transferred once. The sender raises the number in a
//! line's flag with each message, which costs nothing while the receiver does not access the line.
//! A receiver that is behind fetches a line and finds several messages in it. For a receiver that
//! keeps up, each message is transferred by itself, at once. The receiver writes nothing to the
//! lines; once in a quarter of the capacity it publishes how many messages it has taken, in a word
//! of its own. So a message that fits into a line costs at most one transfer of the line, and the
//! invalidation of the receiver's copy.
//!
//! If messages are sent together, the first line's flag is written last, and announces all of them.
//! The receiver looks at that line only. So it takes no line from a sender that still writes to the
//! line, and is woken once.
//!
//! The sender of a [`Single`](super::Single) knows when its message was taken; a ring's sender
//! doesn't.
//!
//! Source: the flag in the line is SSYNC's (SOSP'13, section 4.1); an end that publishes its
//! position only now and then is from Lee, Bu and Chandranmenon, "A Lock-free, Cache-efficient
//! Multi-core Synchronization Mechanism for Line-rate Network Traffic Monitoring" (IPDPS 2010).

use core::fmt;
use core::marker::PhantomData;
use core::sync::atomic::Ordering::{Acquire, Release};
use core::task::Waker;
use core::time::Duration;

use super::bell::Bell;
use super::line::{GONE, Position, STEP, Units, number, per_unit};
use super::news::{poll, post, wait_fetching};
use super::patience::Patience;
use super::raw::{Look, RawChannel, expect_room};
use crate::memory::{Memory, Native, Padded, Word};
use crate::wait::{Park, Wait};

/// The receiver publishes its position whenever it has emptied this part of the capacity (a fourth,
/// but at least one unit): seldom enough to cost little, often enough for the sender to have most
/// of the ring.
const PART: usize = 4;

/// A receiver that is behind prefetches the line of the unit this far ahead: the line arrives while
/// the receiver reads the units in between.
const AHEAD: usize = 4;

/// The most units that the sender fills with messages sent together before it publishes them: about
/// a hundred words. With more, the receiver would wait for longer than it saves.
const TOGETHER: usize = 16;

/// A channel with room for many messages.
pub struct Ring<T, W: Wait = Park, M: Memory = Native> {
    units: Units<T, M>,
    /// Units that the receiver empties before it publishes its position.
    part: usize,
    /// The number of all slots, times [`STEP`].
    size: u32,
    /// Units of messages sent together that the sender fills before it publishes them.
    together: usize,
    /// The position that the receiver has published: how many messages it had taken, as flags count
    /// them.
    taken: Padded<M::Word>,
    policy: PhantomData<W>,
}

/// The notes of a ring's sender.
#[derive(Clone, Copy, Debug, Default)]
pub struct Writer {
    position: Position,
    /// The unit of the first message that is written but not published. If all are published, the
    /// unit of the next message.
    first: usize,
    /// Whether a message is written but not published.
    unpublished: bool,
    /// Units filled since the last publication, including the first.
    filled: usize,
}

/// The notes of a ring's receiver.
#[derive(Clone, Copy, Debug, Default)]
pub struct Reader {
    unit: usize,
    slot: usize,
    /// How many of the unit's messages are known to be sent.
    known: usize,
    /// The number of messages before this unit, as flags count them.
    number: u32,
    /// The number of all messages that are known to be sent, as flags count them.
    told: u32,
    /// Units emptied since the receiver last published its position.
    emptied: usize,
}

impl<T, W: Wait, M: Memory> Ring<T, W, M> {
    /// Whether the receiver leaves room for one more message.
    #[inline(always)]
    fn room_by(&self, taken: u32, position: &Position) -> Look {
        match () {
            () if taken & GONE != 0 => Look::Gone,
            () if position.number.wrapping_sub(number(taken)) < self.size => Look::Ready,
            () => Look::NotYet,
        }
    }

    /// How many messages of the reader's unit the unit's flag announces. A number from the previous
    /// round is lower than the number of the unit's first message. A number above that of the
    /// unit's last message announces later units as well.
    #[inline(always)]
    fn sent_of(sent: u32, reader: &Reader) -> usize {
        let beyond = number(sent).wrapping_sub(reader.number).cast_signed();
        ((beyond.max(0).cast_unsigned() / STEP) as usize).min(per_unit::<T>())
    }

    /// Whether a line's flag announces messages that the receiver doesn't have.
    #[inline(always)]
    fn message_by(sent: u32, reader: &Reader) -> Look {
        match () {
            () if Self::sent_of(sent, reader) > reader.slot => Look::Ready,
            () if sent & GONE != 0 && number(sent) == reader.number_of_next() => Look::Gone,
            () => Look::NotYet,
        }
    }
}

impl<T, W: Wait, M: Memory> Ring<T, W, M> {
    /// Notes how many messages the reader's unit is known to have. Prefetches a unit further on if
    /// the receiver is behind.
    #[inline(always)]
    fn prepare(&self, reader: &mut Reader) {
        reader.known = Self::sent_of(reader.told, reader);
        // The unit is already full when the receiver reaches it, so the sender is ahead, probably
        // by some units.
        let ahead = reader.unit + AHEAD;
        if reader.slot == 0 && reader.known == per_unit::<T>() && ahead < self.units.count() {
            M::prefetch(&self.units.flags(ahead).sent);
        }
    }
}

impl Reader {
    /// Messages taken so far, as flags count them.
    fn number_of_next(&self) -> u32 {
        self.number.wrapping_add(self.slot as u32 * STEP)
    }
}

// SAFETY: a slot is the sender's from the moment that `taken` leaves room for it, until a flag's
// number says that its message was sent. Then the slot is the receiver's, until `taken` says that
// the message was taken. Both words are written with Release and read with Acquire.
unsafe impl<T: Send, W: Wait, M: Memory> RawChannel for Ring<T, W, M> {
    type Item = T;
    type Memory = M;
    type Wait = W;
    type Writer = Writer;
    type Reader = Reader;

    /// With more, numbers that wrap around could not distinguish a full ring from an empty one.
    const MOST: usize = 1 << 28;

    fn with_capacity(capacity: usize) -> Self {
        expect_room::<Self>(capacity);
        let wanted = capacity.div_ceil(per_unit::<T>());
        // The sender can't use slots that were emptied but not announced yet. These are at most a
        // part, less one message.
        let part = wanted.div_ceil(PART);
        let units = wanted + part;
        Self {
            units: Units::new(units),
            part,
            size: (units * per_unit::<T>()) as u32 * STEP,
            together: part.clamp(2, TOGETHER),
            taken: Padded::default(),
            policy: PhantomData,
        }
    }

    fn capacity(&self) -> usize {
        (self.units.count() - self.part) * per_unit::<T>()
    }

    #[inline]
    unsafe fn room(&self, writer: &Writer) -> Look {
        // Acquire: pairs with the Release in `release`: the receiver is done with the slots.
        self.room_by(self.taken.load(Acquire), &writer.position)
    }

    #[cold]
    unsafe fn wait_for_room(
        &self,
        writer: &Writer,
        patience: &mut Patience,
        bell: &Bell<M>,
    ) -> Look {
        let room = |taken| self.room_by(taken, &writer.position);
        wait_fetching::<W, M>(&self.taken, bell, patience, None, |_| (), room)
    }

    #[cold]
    unsafe fn poll_room(&self, writer: &Writer, waker: &Waker, bell: &Bell<M>) -> Look {
        // SAFETY: our caller's promise.
        poll(bell, waker, || unsafe { self.room(writer) })
    }

    #[inline(always)]
    fn together(&self, writer: &Writer) -> usize {
        // The receiver makes room in whole units.
        per_unit::<T>() - writer.position.slot
    }

    #[inline]
    unsafe fn write(&self, writer: &mut Writer, message: T, bell: &Bell<M>) {
        let unit = writer.position.unit;
        // SAFETY: there is room, so the slot is empty and ours.
        unsafe { self.units.write(unit, writer.position.slot, message) };
        writer.unpublished = true;
        if writer.position.advance(&self.units) {
            if unit != writer.first {
                // No receiver waits for this flag: the receiver has not passed the first unit.
                // Release, as in `post`. Numbers wrap around, so the store keeps the flag's number
                // close to the following ones.
                self.units.flags(unit).sent.store(writer.position.number, Release);
            }
            writer.filled += 1;
            if writer.filled == self.together {
                // SAFETY: our caller's promise.
                unsafe { self.publish(writer, bell) };
            }
        }
    }

    #[inline]
    unsafe fn send(&self, writer: &mut Writer, message: T, bell: &Bell<M>) {
        debug_assert!(!writer.unpublished);
        let Position { unit, slot, .. } = writer.position;
        // SAFETY: there is room, so the slot is empty and ours.
        unsafe { self.units.write(unit, slot, message) };
        writer.position.advance(&self.units);
        writer.first = writer.position.unit;
        post::<W, M>(&self.units.flags(unit).sent, writer.position.number, bell);
    }

    #[inline]
    unsafe fn publish(&self, writer: &mut Writer, bell: &Bell<M>) {
        if writer.unpublished {
            let flag = &self.units.flags(writer.first).sent;
            post::<W, M>(flag, writer.position.number, bell);
            writer.unpublished = false;
            (writer.first, writer.filled) = (writer.position.unit, 0);
        }
    }

    unsafe fn close_writer(&self, writer: &mut Writer, bell: &Bell<M>) {
        // SAFETY: our caller's promise.
        unsafe { self.publish(writer, bell) };
        let Position { unit, number, .. } = writer.position;
        // In a full ring the receiver has yet to read this line. That does no harm, since the
        // number only grows.
        post::<W, M>(&self.units.flags(unit).sent, number | GONE, bell);
    }

    #[inline]
    unsafe fn look(&self, reader: &mut Reader) -> Look {
        if reader.known != reader.slot {
            return Look::Ready;
        }
        // Acquire: pairs with the Release of `post`: the messages are there.
        let sent = self.units.flags(reader.unit).sent.load(Acquire);
        let look = Self::message_by(sent, reader);
        if look == Look::Ready {
            reader.told = number(sent);
            self.prepare(reader);
        }
        look
    }

    #[cold]
    unsafe fn wait(
        &self,
        reader: &mut Reader,
        patience: &mut Patience,
        deadline: Option<Duration>,
        bell: &Bell<M>,
    ) -> Look {
        let sent = &self.units.flags(reader.unit).sent;
        let message = |sent| Self::message_by(sent, reader);
        wait_fetching::<W, M>(sent, bell, patience, deadline, |_| (), message);
        // SAFETY: our caller's promise. This look finds what the wait has found, or more.
        unsafe { self.look(reader) }
    }

    #[cold]
    unsafe fn poll(&self, reader: &mut Reader, waker: &Waker, bell: &Bell<M>) -> Look {
        // SAFETY: our caller's promise.
        poll(bell, waker, || unsafe { self.look(reader) })
    }

    #[inline]
    unsafe fn take(&self, reader: &mut Reader) -> T {
        // SAFETY: there is a message, so the slot is ours.
        let message = unsafe { self.units.read(reader.unit, reader.slot) };
        reader.slot += 1;
        if reader.slot == per_unit::<T>() {
            reader.number = reader.number_of_next();
            reader.slot = 0;
            reader.unit = self.units.after(reader.unit);
            reader.emptied += 1;
            self.prepare(reader);
        }
        message
    }

    #[inline]
    unsafe fn release(&self, reader: &mut Reader, bell: &Bell<M>) {
        if reader.slot == 0 && reader.emptied >= self.part {
            reader.emptied = 0;
            post::<W, M>(&self.taken, reader.number, bell);
        }
    }

    unsafe fn close_reader(&self, reader: &Reader, bell: &Bell<M>) {
        post::<W, M>(&self.taken, reader.number_of_next() | GONE, bell);
    }
}

impl<T, W: Wait, M: Memory> fmt::Debug for Ring<T, W, M> {
    fn fmt(&self, f: &mut fmt::Formatter<'_>) -> fmt::Result {
        f.debug_struct("Ring").field("units", &self.units.count()).finish_non_exhaustive()
    }
}

#[cfg(test)]
mod tests {
    use core::sync::atomic::Ordering::Relaxed;

    use super::*;
    use crate::wait::Spin;

    #[test]
    fn numbers_may_wrap_around() {
        const BEFORE: u32 = 0_u32.wrapping_sub(10 * STEP);
        type Numbers = Ring<u64, Spin>;
        let ring = Numbers::with_capacity(20);
        let bell = Bell::default();
        let size = (ring.units.count() * per_unit::<u64>()) as u32;
        // The state ten messages before the numbers wrap around.
        ring.taken.store(BEFORE, Relaxed);
        for unit in 0..ring.units.count() as u32 {
            let end = BEFORE.wrapping_sub((size - (unit + 1) * per_unit::<u64>() as u32) * STEP);
            ring.units.flags(unit as usize).sent.store(end, Relaxed);
        }
        let position = Position { number: BEFORE, ..Position::default() };
        let mut writer = Writer { position, ..Writer::default() };
        let mut reader = Reader { number: BEFORE, told: BEFORE, ..Reader::default() };
        // SAFETY: one thread is both ends, each with its notes, and looks before it acts.
        unsafe {
            for turn in 0..10 {
                assert_eq!(ring.look(&mut reader), Look::NotYet);
                let mut sent = 0;
                while ring.room(&writer) == Look::Ready {
                    ring.write(&mut writer, turn * 100 + sent, &bell);
                    ring.publish(&mut writer, &bell);
                    sent += 1;
                }
                assert!(sent >= 20, "{sent} in turn {turn}");
                for number in 0..sent {
                    assert_eq!(ring.look(&mut reader), Look::Ready, "{number} in turn {turn}");
                    assert_eq!(ring.take(&mut reader), turn * 100 + number);
                    ring.release(&mut reader, &bell);
                }
            }
            assert!(number(writer.position.number) < BEFORE);
            ring.close_writer(&mut writer, &bell);
            assert_eq!(ring.look(&mut reader), Look::Gone);
        }
    }
}
