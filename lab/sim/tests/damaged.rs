//! Damaged descriptions: each is either rejected with a message that names the file, or describes a
//! machine on which threads can run. None causes a panic, and none takes hours.

use std::cell::Cell;

use syncline::memory::{Memory, Padded, Word};
use syncline_sim::engine::{Body, Engine};
use syncline_sim::machine::Access;
use syncline_sim::{Machine, Simulated};

const TEXTS: [&str; 4] = [
    include_str!("../machines/opteron.json"),
    include_str!("../machines/niagara.json"),
    include_str!("../machines/scc.json"),
    include_str!("../machines/xeon-x5660.json"),
];

/// The texts by which a number of a description is replaced.
const NUMBERS: [&str; 10] = [
    "0",
    "-1",
    "1e300",
    "-1e300",
    "18446744073709551615",
    "4294967296",
    "0.5",
    "1e-300",
    "null",
    "\"1\"",
];

/// Random numbers by Marsaglia's xorshift.
struct Chance(u64);

impl Chance {
    fn below(&mut self, end: usize) -> usize {
        self.0 ^= self.0 << 13;
        self.0 ^= self.0 >> 7;
        self.0 ^= self.0 << 17;
        (self.0 % end as u64) as usize
    }
}

/// Parses a text and returns whether it describes a machine. If it does, runs threads on the
/// machine.
fn try_out(text: &str) -> bool {
    let machine = match Machine::parse(text, "damaged.json") {
        Err(error) => {
            let message = error.to_string();
            assert!(message.starts_with("damaged.json: "), "{message}");
            return false;
        }
        Ok(machine) => machine,
    };
    let word = Padded::<<Simulated as Memory>::Word>::default();
    let loaded = Cell::new(0);
    let places = [0, machine.threads() / 2, machine.threads() - 1];
    let threads = places.map(|place| {
        let (word, loaded) = (&word, &loaded);
        let body: Body<'_> = Box::new(move || {
            use std::sync::atomic::Ordering::AcqRel;
            word.fetch_add(1, AcqRel);
            word.swap(5, AcqRel);
            loaded.set(word.load(AcqRel));
        });
        (place, body)
    });
    let outcome = Engine::new(&machine, 1).run(threads.into());
    assert!(outcome.cycles > 0 && loaded.get() == 5);
    true
}

#[test]
fn whole_descriptions_are_machines() {
    for text in TEXTS {
        assert!(try_out(text));
    }
}

#[test]
fn truncated_descriptions_are_refused() {
    for text in TEXTS {
        let text = text.trim_end();
        for end in (0..text.len()).filter(|&end| text.is_char_boundary(end)) {
            assert!(!try_out(&text[..end]), "cut at {end}");
        }
    }
}

#[test]
fn descriptions_with_a_line_missing_or_doubled() {
    for text in TEXTS {
        let lines: Vec<&str> = text.lines().collect();
        for (number, line) in lines.iter().enumerate() {
            let without = [&lines[..number], &lines[number + 1..]].concat().join("\n");
            let twice = [&lines[..number], &[line], &lines[number..]].concat().join("\n");
            try_out(&without);
            assert!(!try_out(&twice), "twice: {line}");
        }
    }
}

#[test]
fn descriptions_with_any_number_replaced() {
    for text in TEXTS {
        let digit = |at: usize| text.as_bytes().get(at).is_some_and(u8::is_ascii_digit);
        let starts = (1..text.len()).filter(|&at| digit(at) && !digit(at - 1));
        for start in starts.filter(|&at| text.is_char_boundary(at)) {
            let end = (start..).find(|&at| !digit(at)).unwrap();
            for number in NUMBERS {
                try_out(&[&text[..start], number, &text[end..]].concat());
            }
        }
    }
}

#[test]
fn descriptions_with_random_bytes() {
    let mut chance = Chance(0x9e37_79b9_7f4a_7c15);
    let mut machines = 0;
    for _ in 0..4_000 {
        let mut bytes = TEXTS[chance.below(TEXTS.len())].as_bytes().to_vec();
        for _ in 0..=chance.below(4) {
            let at = chance.below(bytes.len());
            match chance.below(3) {
                0 => bytes[at] = b"0123456789{}[]\",:.-e \nnt\0"[chance.below(25)],
                1 => drop(bytes.remove(at)),
                _ => bytes.insert(at, bytes[chance.below(bytes.len())]),
            }
        }
        machines += usize::from(try_out(&String::from_utf8_lossy(&bytes)));
    }
    assert!(machines > 100, "some damage does no harm, as in a title: {machines}");
}

#[test]
fn costs_are_finite_whatever_is_described() {
    // With nearly the greatest cost at the greatest distance, the extrapolated cost saturates
    // instead of overflowing.
    let mut description = Machine::named("opteron").unwrap().description;
    for row in &mut description.distances {
        row.iter_mut().filter(|distance| **distance == 3.0).for_each(|distance| *distance = 1e6);
    }
    description.load.modified[3] = 9.9e8;
    let machine = Machine::new(description).unwrap();
    let farthest = machine.farthest();
    let cost = machine.cycles(Access::Load, syncline_sim::machine::State::Modified, farthest);
    assert_eq!(cost, u32::MAX);
}
