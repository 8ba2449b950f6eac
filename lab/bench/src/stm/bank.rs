//! A bank's accounts: transfers between two of them, and audits that read all.

use super::access::{Access, Machine, Op};
use super::load::{Load, Random};

const ACCOUNTS: usize = 1024;
const EACH: u64 = 1000;

#[derive(Clone, Copy)]
pub struct Bank {
    /// The number of audits among a thousand transactions.
    pub audits: u64,
}

struct Transfer {
    from: usize,
    to: usize,
}

impl Op for Transfer {
    type Out = ();

    fn run<A: Access>(&self, words: &mut A) -> Result<(), A::Stop> {
        let funds = words.get(self.from)?;
        if funds > 0 {
            words.set(self.from, funds - 1)?;
            let before = words.get(self.to)?;
            words.set(self.to, before + 1)?;
        }
        Ok(())
    }
}

struct Audit;

impl Op for Audit {
    type Out = u64;

    fn run<A: Access>(&self, words: &mut A) -> Result<u64, A::Stop> {
        let mut sum = 0;
        for account in 0..ACCOUNTS {
            sum += words.get(account)?;
        }
        Ok(sum)
    }
}

/// Puts money into all accounts.
struct Fill;

impl Op for Fill {
    type Out = ();

    fn run<A: Access>(&self, words: &mut A) -> Result<(), A::Stop> {
        (0..ACCOUNTS).try_for_each(|account| words.set(account, EACH))
    }
}

impl Load for Bank {
    type Worker = ();

    fn words(&self) -> usize {
        ACCOUNTS
    }

    fn fill(&self, machine: &impl Machine) {
        machine.atomically(&Fill);
    }

    fn worker(&self, _: usize) {}

    #[inline]
    fn step(&self, machine: &impl Machine, random: &mut Random, (): &mut ()) {
        if random.below(1000) < self.audits {
            self.check(machine, &[]);
        } else {
            let (from, to) = (random.below(ACCOUNTS as u64), random.below(ACCOUNTS as u64));
            machine.atomically(&Transfer { from: from as usize, to: to as usize });
        }
    }

    fn check(&self, machine: &impl Machine, _: &[()]) {
        let sum = machine.atomically(&Audit);
        assert_eq!(sum, ACCOUNTS as u64 * EACH, "money was made or lost");
    }
}
