//! How an end of a channel spends its time while it waits, before it sleeps.
//!
//! An end spins for about as long as a message needs, then yields between looks, and only then
//! sleeps: waking a sleeper costs the other end as much as many messages. How long it spins before
//! the first yield is learned. (The ends of `many` learn only within a wait.) If a yield took long,
//! another thread has run, perhaps the one that this end waits for. Then spinning kept that thread
//! off the processor, so the next wait spins for a quarter of the time, and after a few such yields
//! not at all. If no other thread was ready to run, spinning cost nothing, and the next wait spins
//! for twice the time.
//!
//! That a waiter learns from its last waits is an idea of adaptive mutexes. They learn how long
//! waits are; an end learns whether it shares its processor.

use core::time::Duration;

use crate::memory::Memory;
use crate::wait::Wait;

/// The longest pause between two looks of an end that will yield, as an argument of
/// [`Memory::pause`]. The pauses grow up to this, since a receiver that looks often takes the line
/// from a sender that fills it.
const LONGEST_PAUSE: u32 = 16;
/// A yield takes longer than this only if another thread ran: the system call alone takes less than
/// half of this time, and two switches of threads take more.
const ANOTHER_RAN: Duration = Duration::from_nanos(800);
/// If a yield takes longer than this, the thread that ran meanwhile has other work: the channel's
/// other end would have returned the processor sooner. Yielding to that thread again would take
/// longer than sleeping and being woken.
const UNRELATED_RAN: Duration = Duration::from_micros(100);
/// The most looks before the first yield are [`Memory::PATIENCE`] divided by this (native: 25
/// looks, some microseconds).
const PART_LOOKING: u32 = 4;
/// If no other thread runs during its yields, an end sleeps after [`Memory::PATIENCE`] yields
/// divided by this (native: 50 yields). They take as long as falling asleep and being woken a few
/// times.
const PART_AWAKE: u32 = 2;
/// How much patience a yield costs if no thread ran meanwhile.
const UNUSED: u32 = 4;
/// How much patience a yield costs if another thread ran: staying awake costs that thread little.
const USED: u32 = 1;

/// How long an end looks before it yields.
#[derive(Clone, Copy, Debug)]
pub struct Patience {
    /// The number of looks before the first yield; at most `PATIENCE / PART_LOOKING` are used.
    looks: u32,
}

impl Default for Patience {
    fn default() -> Self {
        Self { looks: u32::MAX }
    }
}

impl Patience {
    /// Looks until `look` finds something. `None` if the deadline has passed or, under a policy
    /// that sleeps, if it is time to sleep.
    pub fn watch<W: Wait, M: Memory, R>(
        &mut self,
        deadline: Option<Duration>,
        mut look: impl FnMut() -> Option<R>,
    ) -> Option<R> {
        if !W::YIELDS {
            return watch_closely::<M, R>(deadline, look);
        }
        self.looks = self.looks.min(M::PATIENCE / PART_LOOKING);
        for looks in 1..=self.looks {
            if let Some(found) = look() {
                return Some(found);
            }
            M::pause(looks.min(LONGEST_PAUSE));
        }
        let mut worn = 0_u32;
        loop {
            if let Some(found) = look() {
                return Some(found);
            }
            if W::SLEEPS && worn >= M::PATIENCE / PART_AWAKE * UNUSED {
                return None;
            }
            let before = M::now();
            if deadline.is_some_and(|deadline| before >= deadline) {
                return None;
            }
            M::yield_now();
            let took = M::now().saturating_sub(before);
            worn = worn.saturating_add(match took {
                _ if took > UNRELATED_RAN => u32::MAX,
                _ if took > ANOTHER_RAN => USED,
                _ => UNUSED,
            });
            self.learn(took > ANOTHER_RAN);
        }
    }

    /// Learns from a yield whether another thread has run.
    fn learn(&mut self, another_ran: bool) {
        self.looks = if another_ran { self.looks / 4 } else { self.looks.saturating_mul(2) | 1 };
    }
}

/// Looks until `look` finds something, without yielding; `None` if the deadline has passed.
fn watch_closely<M: Memory, R>(
    deadline: Option<Duration>,
    mut look: impl FnMut() -> Option<R>,
) -> Option<R> {
    let mut looks = 0_u32;
    loop {
        if let Some(found) = look() {
            return Some(found);
        }
        looks = looks.wrapping_add(1);
        if looks.is_multiple_of(M::PATIENCE)
            && deadline.is_some_and(|deadline| M::now() >= deadline)
        {
            return None;
        }
        // At most `PATIENCE`: beyond that, a simulated thread waits until the line that it looked
        // at last is written, but the next message may come from any of several senders.
        M::pause(looks.min(M::PATIENCE));
    }
}

#[cfg(test)]
mod tests {
    use super::*;

    #[test]
    fn looking_ends_soon_where_others_want_the_processor_and_comes_back() {
        let mut patience = Patience { looks: 25 };
        for expected in [6, 1, 0, 0] {
            patience.learn(true);
            assert_eq!(patience.looks, expected);
        }
        for expected in [1, 3, 7] {
            patience.learn(false);
            assert_eq!(patience.looks, expected);
        }
    }
}
