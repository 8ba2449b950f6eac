//! A bank: accounts that several threads use, without a lock.
//!
//!     cargo run --release -p syncline --example bank
//!
//! A transaction is a closure that reads and writes cells. No thread sees half of a transaction,
//! and a transaction runs again when another thread was in the way. Parts of transactions are
//! functions that take `tx`.

use std::thread;

use syncline::stm::{Result, TCell, TVar, Tx, atomically};

/// An account. A `TCell` holds a number, such as the balance; a text, such as the statement's last
/// entry, needs a `TVar`.
struct Account {
    balance: TCell<u64>,
    last_entry: TVar<String>,
}

impl Account {
    fn new(balance: u64) -> Self {
        Self { balance: TCell::new(balance), last_entry: TVar::new(String::from("opened")) }
    }

    fn deposit<'tx>(&'tx self, tx: &mut Tx<'tx, '_>, amount: u64, what: &str) -> Result<()> {
        let balance = self.balance.get(tx)?;
        self.balance.set(tx, balance + amount);
        self.last_entry.set(tx, format!("{what}: {amount} in"));
        Ok(())
    }

    /// Waits until there is enough.
    fn withdraw<'tx>(&'tx self, tx: &mut Tx<'tx, '_>, amount: u64, what: &str) -> Result<()> {
        let balance = self.balance.get(tx)?;
        if balance < amount {
            return tx.retry();
        }
        self.balance.set(tx, balance - amount);
        self.last_entry.set(tx, format!("{what}: {amount} out"));
        Ok(())
    }
}

/// Both accounts change, or neither.
fn transfer(from: &Account, to: &Account, amount: u64) {
    atomically(|tx| {
        from.withdraw(tx, amount, "transfer")?;
        to.deposit(tx, amount, "transfer")
    });
}

/// Pays from an account that has enough; waits if neither has.
fn pay(first: &Account, second: &Account, amount: u64) {
    atomically(|tx| {
        tx.or_else(
            |tx| first.withdraw(tx, amount, "paid"),
            |tx| second.withdraw(tx, amount, "paid"),
        )
    });
}

/// The sum of all balances at one moment.
fn total(accounts: &[Account]) -> u64 {
    atomically(|tx| {
        let mut sum = 0;
        for account in accounts {
            sum += account.balance.get(tx)?;
        }
        Ok(sum)
    })
}

/// Runs the example.
pub fn main() {
    let accounts: Vec<_> = (0..10).map(|_| Account::new(100)).collect();
    thread::scope(|scope| {
        for worker in 0..4 {
            let accounts = &accounts;
            scope.spawn(move || {
                for round in 0..1000 {
                    let from = (worker + 3 * round) % accounts.len();
                    transfer(&accounts[from], &accounts[(from + 1) % accounts.len()], 1);
                }
            });
        }
        // The sum is right even while transfers are under way.
        for _ in 0..1000 {
            assert_eq!(total(&accounts), 1000);
        }
    });

    let (current, savings) = (Account::new(5), Account::new(0));
    thread::scope(|scope| {
        // Neither account has enough: this waits.
        scope.spawn(|| pay(&current, &savings, 30));
        atomically(|tx| savings.deposit(tx, 40, "salary"));
    });
    let entry = atomically(|tx| savings.last_entry.get(tx));
    println!("{} accounts, {} in all; savings: {entry}", accounts.len(), total(&accounts));
    assert_eq!(entry, "paid: 30 out");
}
