//! Chooses the lock of each object by a policy: `SYNCLINE_POLICY`, which `syncline exec --policy`
//! composes from a policy file ([`rules`] describes its form).
//!
//! An object stores the number of its lock in bytes that the C library doesn't use, and a spinlock
//! in its only word. The lock is chosen once: when the object is initialised by a call, or else
//! when it is first acquired, as for all objects with a static initialiser. Only then is a call
//! stack read ([`place`]).
//!
//! The most precise rule that has a lock for this kind of object applies: one for the object, then
//! one for the call site that initialised it, one for the call site that acquires it first, one for
//! its class, and last the default. An object gets no lock when it is initialised if a rule for
//! acquiring call sites might still match it.

mod place;
mod rules;

use core::sync::atomic::{AtomicPtr, Ordering::Relaxed};

use syncline_interpose::{Position, learn_program, position};

pub use rules::{LEFT, NUMBERS, keep};
use rules::{Rule, What};

use crate::tls::{deciding, set_deciding};

/// The policy; null before [`start`].
static POLICY: AtomicPtr<Policy> = AtomicPtr::new(core::ptr::null_mut());

/// Kinds of objects, as bits.
pub const MUTEX: u8 = 1;
/// See [`MUTEX`].
pub const SPINLOCK: u8 = 2;
/// See [`MUTEX`].
pub const RWLOCK: u8 = 4;

/// The moment at which an object's lock is chosen.
#[derive(Clone, Copy, PartialEq, Eq)]
pub enum Moment {
    /// The object is initialised by a call.
    Created,
    /// The object is acquired, and has no lock yet.
    Acquired,
}

struct Policy {
    rules: &'static [Rule],
    /// For each number, the kinds of objects that its locks replace.
    suits: [u8; NUMBERS],
}

/// A lock of the policy: its number and its names.
pub struct Lock {
    pub number: u16,
    pub names: &'static [u8],
}

/// Reads a policy. `have` is called for each of its locks, and returns the kinds of objects that
/// the lock replaces. The functions in effect don't change until this returns.
pub fn start(text: &'static [u8], mut have: impl FnMut(Lock) -> u8) {
    let mut policy = Policy { rules: &[], suits: [0; NUMBERS] };
    policy.suits[usize::from(LEFT)] = MUTEX | SPINLOCK | RWLOCK;
    for (at, names) in rules::locks(text).enumerate() {
        let number = at + 1;
        if number >= usize::from(LEFT) {
            rules::wrong(names);
        }
        policy.suits[number] = have(Lock { number: number as u16, names });
    }
    policy.rules = rules::read(text);
    // SAFETY: only the thread that chooses does this, before the policy is published below.
    unsafe { learn_program() };
    POLICY.store(keep(policy), Relaxed);
}

/// The number of an object's lock; 0 if it can only be chosen when the object is acquired.
#[cold]
pub fn decide(kind: u8, object: usize, moment: Moment) -> u16 {
    // Relaxed: the policy is set before the functions that lead here are in effect. SAFETY: the
    // policy is never freed.
    let Some(policy) = (unsafe { POLICY.load(Relaxed).as_ref() }) else { return LEFT };
    let suits = |rule: &&Rule| policy.suits[usize::from(rule.number)] & kind != 0;
    let of = |what: What| policy.rules.iter().filter(move |rule| rule.what == what).filter(suits);
    let position = position(object);
    if let Some(rule) = of(What::Object).find(|rule| rule.covers(&position)) {
        return rule.number;
    }
    let site = match moment {
        Moment::Created => What::Created,
        Moment::Acquired => What::Acquired,
    };
    if of(site).next().is_some()
        && let Some(rule) = by_site(policy, of(site))
    {
        return rule.number;
    }
    if moment == Moment::Created && of(What::Acquired).next().is_some() {
        return 0;
    }
    let class = if position.is_some() { What::Static } else { What::Dynamic };
    let last = of(class).next().or_else(|| of(What::Any).next());
    last.map_or(LEFT, |rule| rule.number)
}

/// The first rule that matches the innermost call that does not come from a wrapper. Reading a
/// stack may itself use a lock; no rule for call sites matches that.
fn by_site<'a>(policy: &Policy, rules: impl Iterator<Item = &'a Rule> + Clone) -> Option<&'a Rule> {
    if deciding() != 0 {
        return None;
    }
    set_deciding(1);
    let mut found = None;
    place::walk(|call| {
        found = rules.clone().find(|rule| rule.covers(&Some(call)));
        found.is_none() && is_wrapper(policy, &call)
    });
    set_deciding(0);
    found
}

fn is_wrapper(policy: &Policy, call: &Position) -> bool {
    policy.rules.iter().any(|rule| match rule.what {
        What::Wrapper => rule.covers(&Some(*call)),
        What::WrapperLibrary => call.module.starts_with(rule.libraries),
        _ => false,
    })
}
