//! A ring of lines: the channel for throughput.
//!
//! Small messages share a line, and a line goes over once. The sender raises the number in a
//! line's flag with each message, which is free while the receiver is elsewhere; a receiver that
//! is behind fetches a line and finds several. If it keeps up, each message goes over by itself,
//! at once. The receiver writes nothing to the lines; it says how many messages it has taken in
//! a word of its own, once in a quarter of the ring. So a message costs one transfer of a line or
//! a part of one, and the invalidation of the line that the receiver had.
//!
//! With [`Single`](super::Single) a sender knows when its message is taken; here it doesn't.
//!
//! Source: the flag in the line is SSYNC's (SOSP'13, section 4.1); that an end says how far it is
//! only now and then is Lee, Bu and Chandranmenon, "A Lock-free, Cache-efficient Multi-core
//! Synchronization Mechanism for Line-rate Network Traffic Monitoring" (IPDPS 2010).

use core::marker::PhantomData;
use core::sync::atomic::Ordering::Acquire;

use super::line::{GONE, Place, STEP, Units, number, per_unit};
use super::news::{post, wait_fetching};
use super::{Bell, Look, RawChannel};
use crate::memory::{Memory, Native, Padded, Word};
use crate::wait::{Park, Wait};

/// The receiver says how far it is whenever it has emptied this part of the ring: seldom enough
/// to cost little, often enough for the sender to have most of the ring.
const PART: usize = 4;

/// More messages could not be told from none, by numbers that wrap around.
const MOST: usize = 1 << 28;

/// A channel of many messages.
pub struct Ring<T, W: Wait = Park, M: Memory = Native> {
    units: Units<T, M>,
    /// Units that the receiver empties before it says so.
    part: usize,
    /// How many messages the receiver has taken.
    taken: Padded<M::Word>,
    policy: PhantomData<W>,
}

/// What the receiver of a ring notes.
#[derive(Clone, Copy, Debug, Default)]
pub struct Reader {
    place: Place,
    /// So far the sender is known to have come.
    known: u32,
    /// Units emptied since the receiver last said how far it is.
    emptied: usize,
}

impl<T, W: Wait, M: Memory> Ring<T, W, M> {
    /// Whether the receiver leaves room for one more message.
    #[inline(always)]
    fn room_by(&self, taken: u32, place: &Place) -> Look {
        let size = (self.units.count() * per_unit::<T>()) as u32 * STEP;
        match () {
            () if taken & GONE != 0 => Look::Gone,
            () if place.number.wrapping_sub(number(taken)) < size => Look::Ready,
            () => Look::NotYet,
        }
    }

    /// Whether a line's flag tells of messages that the receiver doesn't have. In the round
    /// before, the number was lower; one that is higher by more than the unit is from a sender
    /// that is gone, and all up to it were sent.
    #[inline(always)]
    fn message_by(sent: u32, place: &Place) -> Look {
        match number(sent).wrapping_sub(place.number).cast_signed() {
            1.. => Look::Ready,
            0 if sent & GONE != 0 => Look::Gone,
            _ => Look::NotYet,
        }
    }
}

// SAFETY: a slot is the sender's from the moment that `taken` leaves room for it, until a flag's
// number says that it was sent; then it is the receiver's, until `taken` says so. Both are
// written with Release and read with Acquire.
unsafe impl<T: Send, W: Wait, M: Memory> RawChannel for Ring<T, W, M> {
    type Item = T;
    type Memory = M;
    type Wait = W;
    type Writer = Place;
    type Reader = Reader;

    fn with_capacity(capacity: usize) -> Self {
        assert!(capacity <= MOST, "a channel has room for at most {MOST} messages, not {capacity}");
        let wanted = capacity.div_ceil(per_unit::<T>());
        // What was emptied and not yet said is missing to the sender: all but a part's last
        // message.
        let part = wanted.div_ceil(PART);
        Self {
            units: Units::new(wanted + part),
            part,
            taken: Padded::default(),
            policy: PhantomData,
        }
    }

    fn capacity(&self) -> usize {
        (self.units.count() - self.part) * per_unit::<T>()
    }

    #[inline]
    unsafe fn room(&self, place: &Place) -> Look {
        // Acquire: pairs with the Release in `release`: the receiver has done with the slots.
        self.room_by(self.taken.load(Acquire), place)
    }

    #[cold]
    unsafe fn wait_for_room(&self, place: &Place) -> Look {
        wait_fetching::<W, M>(&self.taken, |_| (), |taken| self.room_by(taken, place))
    }

    #[inline]
    unsafe fn write(&self, place: &mut Place, message: T, bell: Option<&Bell<M>>) {
        // SAFETY: there is room, so the slot is empty and ours.
        unsafe { self.units.write(place.unit, place.slot, message) };
        let flag = &self.units.flags(place.unit).sent;
        if place.advance(&self.units) {
            post::<W, M>(flag, place.number, bell);
        }
    }

    #[inline]
    unsafe fn publish(&self, place: &Place, bell: Option<&Bell<M>>) {
        // A full unit was published when it was filled.
        if place.slot != 0 {
            post::<W, M>(&self.units.flags(place.unit).sent, place.number, bell);
        }
    }

    unsafe fn close_writer(&self, place: &Place, bell: Option<&Bell<M>>) {
        // In a full ring this is a line that the receiver has yet to read: the number only grows.
        post::<W, M>(&self.units.flags(place.unit).sent, place.number | GONE, bell);
    }

    #[inline]
    unsafe fn look(&self, reader: &mut Reader) -> Look {
        if reader.known != reader.place.number {
            return Look::Ready;
        }
        // Acquire: pairs with the Release of `post`: the messages are there.
        let sent = self.units.flags(reader.place.unit).sent.load(Acquire);
        let look = Self::message_by(sent, &reader.place);
        if look == Look::Ready {
            reader.known = number(sent);
        }
        look
    }

    #[cold]
    unsafe fn wait(&self, reader: &mut Reader) -> Look {
        let sent = &self.units.flags(reader.place.unit).sent;
        wait_fetching::<W, M>(sent, |_| (), |sent| Self::message_by(sent, &reader.place));
        // SAFETY: our caller's promise. It finds again what the wait has found, or more.
        unsafe { self.look(reader) }
    }

    #[inline]
    unsafe fn take(&self, reader: &mut Reader) -> T {
        // SAFETY: there is a message, so the slot is ours.
        let message = unsafe { self.units.read(reader.place.unit, reader.place.slot) };
        if reader.place.advance(&self.units) {
            reader.emptied += 1;
        }
        message
    }

    #[inline]
    unsafe fn release(&self, reader: &mut Reader) {
        if reader.emptied >= self.part {
            reader.emptied = 0;
            W::hand_over::<M>(&self.taken, reader.place.number);
        }
    }

    unsafe fn close_reader(&self, reader: &Reader) {
        W::hand_over::<M>(&self.taken, reader.place.number | GONE);
    }

    fn watched(&self, reader: &Reader) -> &M::Word {
        &self.units.flags(reader.place.unit).sent
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
        let size = (ring.units.count() * per_unit::<u64>()) as u32;
        // As if all but ten of the numbers had been used.
        ring.taken.store(BEFORE, Relaxed);
        for unit in 0..ring.units.count() as u32 {
            let end = BEFORE.wrapping_sub((size - (unit + 1) * per_unit::<u64>() as u32) * STEP);
            ring.units.flags(unit as usize).sent.store(end, Relaxed);
        }
        let mut writer = Place { number: BEFORE, ..Place::default() };
        let mut reader = Reader { place: writer, known: BEFORE, emptied: 0 };
        // SAFETY: one thread is both ends, each with its notes, and looks before it acts.
        unsafe {
            for turn in 0..10 {
                assert_eq!(ring.look(&mut reader), Look::NotYet);
                let mut sent = 0;
                while ring.room(&writer) == Look::Ready {
                    ring.write(&mut writer, turn * 100 + sent, None);
                    ring.publish(&writer, None);
                    sent += 1;
                }
                assert!(sent >= 20, "{sent} in turn {turn}");
                for number in 0..sent {
                    assert_eq!(ring.look(&mut reader), Look::Ready, "{number} in turn {turn}");
                    assert_eq!(ring.take(&mut reader), turn * 100 + number);
                    ring.release(&mut reader);
                }
            }
            assert!(number(writer.number) < BEFORE);
            ring.close_writer(&writer, None);
            assert_eq!(ring.look(&mut reader), Look::Gone);
        }
    }
}
