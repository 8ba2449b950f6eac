//! The values of registers and words of memory, as far as following the instructions shows.
//!
//! Two registers or words hold the same value if they were computed in the same way (value
//! numbering): the arguments of `lock` and `unlock` are equal if they are the same variable, the
//! same field of what the same pointer points to, and so on. Numbers are known as such, which
//! decides branches on the outcome of the acquisition.

use std::collections::{BTreeSet, HashMap};

/// A value: an origin, plus a number.
#[derive(Clone, Copy, Debug, PartialEq, Eq, Hash, PartialOrd, Ord)]
pub struct Value {
    /// What it starts from.
    pub base: Base,
    /// What is added to it.
    pub offset: i64,
}

/// What a value starts from.
#[derive(Clone, Copy, Debug, PartialEq, Eq, Hash, PartialOrd, Ord)]
pub enum Base {
    /// Zero: the value is a number, or an address of the file.
    Nothing,
    /// The stack pointer as it was at the beginning.
    Stack,
    /// Somewhere in the function's own stack: what walks over an array there points to.
    Array,
    /// The thread's own data.
    Thread,
    /// Something that was computed or loaded, by its number.
    Some(u32),
}

impl Value {
    /// A number.
    pub fn number(number: i64) -> Value {
        Value { base: Base::Nothing, offset: number }
    }

    /// An address on the stack.
    pub fn stack(offset: i64) -> Value {
        Value { base: Base::Stack, offset }
    }

    /// An address in the thread's own data.
    pub fn thread(offset: i64) -> Value {
        Value { base: Base::Thread, offset }
    }

    /// The number that it is, if it is one.
    pub fn known(self) -> Option<i64> {
        (self.base == Base::Nothing).then_some(self.offset)
    }

    /// This value and a number.
    pub fn plus(self, number: i64) -> Value {
        Value { base: self.base, offset: self.offset.wrapping_add(number) }
    }

    /// Whether it is an address that no other thread is given: one of the function's own
    /// stack, or of the thread's data.
    pub fn is_local(self) -> bool {
        matches!(self.base, Base::Stack | Base::Array | Base::Thread)
    }

    /// The value where two paths join, one with this value and one with another; `None` if it is
    /// neither, but a different one each time.
    pub fn or(self, other: Value) -> Option<Value> {
        let on_stack = |value: Value| matches!(value.base, Base::Stack | Base::Array);
        match self == other {
            true => Some(self),
            false if on_stack(self) && on_stack(other) => {
                Some(Value { base: Base::Array, offset: 0 })
            }
            false => None,
        }
    }

    /// Whether two addresses are known to differ. Two pointers from different sources may
    /// be the same.
    pub fn differs(self, other: Value) -> bool {
        let unknown = |value: Value| matches!(value.base, Base::Some(_) | Base::Array);
        let same = self.base == other.base && self.base != Base::Array;
        self != other && (same || !(unknown(self) || unknown(other)))
    }
}

/// How a value came about.
#[derive(Clone, Debug, PartialEq, Eq, Hash)]
pub enum Origin {
    /// The value of this register at the beginning.
    Entry(usize),
    /// Loaded from this address.
    Load(Value),
    /// Computed by this operation from these values.
    Computed(u32, Vec<Value>),
    /// Left by the instruction at this address in this register, in a way that is not
    /// followed.
    Made(u64, usize),
    /// Paths with different values join at this address.
    Joined(u64, Where),
}

/// A place that holds a value.
#[derive(Clone, Copy, Debug, PartialEq, Eq, Hash)]
pub enum Where {
    /// A register.
    Register(usize),
    /// A word of memory.
    Memory(Value),
}

/// The values that were seen.
#[derive(Default)]
pub struct Values {
    numbers: HashMap<(bool, Origin), u32>,
    /// How each value was computed, by its number.
    origins: Vec<Origin>,
    /// Whether a value may be another one each time round a loop.
    varying: Vec<bool>,
    /// Whether a value depends on memory that others can reach, which may change.
    shared: Vec<bool>,
    in_section: bool,
}

impl Values {
    /// The section begins: what is joined or made from now on may vary in its loops.
    pub fn enter_section(&mut self) {
        self.in_section = true;
    }

    /// The value of this origin.
    pub fn of(&mut self, origin: Origin) -> Value {
        let own = matches!(origin, Origin::Made(..) | Origin::Joined(..));
        let varying = self.in_section && own
            || match &origin {
                Origin::Load(from) => self.varies(*from),
                Origin::Computed(_, inputs) => inputs.iter().any(|&input| self.varies(input)),
                _ => false,
            };
        let shared = match &origin {
            Origin::Load(from) => !from.is_local() || self.is_shared(*from),
            Origin::Computed(_, inputs) => inputs.iter().any(|&input| self.is_shared(input)),
            _ => false,
        };
        let next = self.varying.len() as u32;
        let key = (self.in_section && own, origin);
        let number = *self.numbers.entry(key.clone()).or_insert(next);
        if number == next {
            self.origins.push(key.1);
            self.varying.push(varying);
            self.shared.push(shared);
        }
        Value { base: Base::Some(number), offset: 0 }
    }

    /// Whether it may be another value each time round a loop of the section.
    pub fn varies(&self, value: Value) -> bool {
        matches!(value.base, Base::Some(number) if self.varying[number as usize])
    }

    /// Whether a value is, or was computed from, what another one starts from.
    pub fn comes_from(&self, value: Value, from: Value) -> bool {
        // A value may be part of another one on many paths, so each is visited once.
        let mut seen = BTreeSet::new();
        let mut open = vec![value];
        while let Some(value) = open.pop() {
            let Base::Some(number) = value.base else { continue };
            if value.base == from.base {
                return true;
            }
            if !seen.insert(number) {
                continue;
            }
            match &self.origins[number as usize] {
                Origin::Load(address) => open.push(*address),
                Origin::Computed(_, inputs) => open.extend(inputs),
                _ => {}
            }
        }
        false
    }

    /// Whether it depends on memory that others can reach.
    pub fn is_shared(&self, value: Value) -> bool {
        matches!(value.base, Base::Some(number) if self.shared[number as usize])
    }
}

#[cfg(test)]
mod tests {
    use super::*;

    #[test]
    fn what_a_value_comes_from_is_found_however_many_ways_lead_there() {
        let mut values = Values::default();
        let [first, other] = [1, 2].map(|register| values.of(Origin::Entry(register)));
        let mut value = values.of(Origin::Load(first));
        for step in 0..200 {
            // As in `x ^= x << 13`: two paths from each step to the one before.
            value = values.of(Origin::Computed(step, vec![value, value.plus(1)]));
        }
        assert!(values.comes_from(value, first));
        assert!(!values.comes_from(value, other));
        assert!(!values.comes_from(first, value));
    }
}
