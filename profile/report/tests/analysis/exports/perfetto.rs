//! Perfetto's format, parsed byte by byte. Fields are looked up by their numbers in the format's
//! definition.

use std::collections::{BTreeMap, BTreeSet};

use syncline_analysis::model::Activity;
use syncline_report::export;

use super::{kitchen, spans};

/// A message: the number and the value of each field.
struct Message(Vec<(u64, Field)>);

enum Field {
    Number(u64),
    Bytes(Vec<u8>),
}

impl Message {
    fn read(mut bytes: &[u8]) -> Message {
        let mut fields = Vec::new();
        while !bytes.is_empty() {
            let key = varint(&mut bytes);
            let field = match key & 7 {
                0 => Field::Number(varint(&mut bytes)),
                1 => Field::Number(u64::from_le_bytes(take(&mut bytes, 8).try_into().unwrap())),
                2 => {
                    let length = varint(&mut bytes) as usize;
                    Field::Bytes(take(&mut bytes, length).to_vec())
                }
                other => panic!("wire type {other}"),
            };
            fields.push((key >> 3, field));
        }
        Message(fields)
    }

    fn numbers(&self, number: u64) -> Vec<u64> {
        let all = self.0.iter().filter(|field| field.0 == number);
        all.map(|(_, field)| match field {
            Field::Number(number) => *number,
            Field::Bytes(_) => panic!("field {number} is no number"),
        })
        .collect()
    }

    fn number(&self, number: u64) -> Option<u64> {
        self.numbers(number).first().copied()
    }

    fn bytes(&self, number: u64) -> Vec<&[u8]> {
        let all = self.0.iter().filter(|field| field.0 == number);
        all.map(|(_, field)| match field {
            Field::Bytes(bytes) => &bytes[..],
            Field::Number(_) => panic!("field {number} is a number"),
        })
        .collect()
    }

    fn message(&self, number: u64) -> Option<Message> {
        self.bytes(number).first().map(|bytes| Message::read(bytes))
    }

    fn text(&self, number: u64) -> String {
        let bytes = self.bytes(number).first().copied().unwrap_or_default();
        String::from_utf8(bytes.to_vec()).unwrap()
    }
}

fn take<'a>(bytes: &mut &'a [u8], length: usize) -> &'a [u8] {
    let (taken, rest) = bytes.split_at(length);
    *bytes = rest;
    taken
}

fn varint(bytes: &mut &[u8]) -> u64 {
    let mut number = 0;
    for place in 0.. {
        let byte = take(bytes, 1)[0];
        number |= u64::from(byte & 0x7f) << (7 * place);
        if byte < 0x80 {
            break;
        }
    }
    number
}

/// An event of the trace.
struct Event {
    moment: u64,
    kind: u64,
    track: u64,
    name: String,
    category: String,
    from: Vec<u64>,
    to: Vec<u64>,
}

/// The tracks with their names and parents, and the events in the order of time.
fn trace() -> (BTreeMap<u64, (String, u64)>, Vec<Event>) {
    let mut out = Vec::new();
    export::perfetto(&kitchen().load(), &mut out).unwrap();
    let mut tracks = BTreeMap::new();
    let mut events = Vec::new();
    for packet in Message::read(&out).bytes(1) {
        let packet = Message::read(packet);
        assert_eq!(packet.number(10), Some(1), "the writer's number");
        if let Some(track) = packet.message(60) {
            let thread = track.message(4).map(|thread| thread.text(5));
            let process = track.message(3).map(|process| process.text(6));
            let name = thread.or(process).unwrap_or_else(|| track.text(2));
            tracks.insert(track.number(1).unwrap(), (name, track.number(5).unwrap_or(0)));
        }
        if let Some(event) = packet.message(11) {
            events.push(Event {
                moment: packet.number(8).unwrap(),
                kind: event.number(9).unwrap(),
                track: event.number(11).unwrap(),
                name: event.text(23),
                category: event.text(22),
                from: event.numbers(47),
                to: event.numbers(48),
            });
        }
    }
    events.sort_by_key(|event| event.moment);
    (tracks, events)
}

#[test]
fn slices_lie_within_each_other_and_have_the_times_of_the_timeline() {
    let (tracks, events) = trace();
    let mut open: BTreeMap<u64, Vec<&Event>> = BTreeMap::new();
    let mut sums: BTreeMap<&str, u64> = BTreeMap::new();
    for event in &events {
        assert!(tracks.contains_key(&event.track), "track {} is not described", event.track);
        let stack = open.entry(event.track).or_default();
        match event.kind {
            1 => {
                assert!(stack.is_empty(), "{} begins within {}", event.name, stack[0].name);
                stack.push(event);
            }
            2 => {
                let begin = stack.pop().expect("a slice that ends has begun");
                *sums.entry(&begin.category).or_default() += event.moment - begin.moment;
            }
            3 => {}
            other => panic!("event of type {other}"),
        }
    }
    assert!(open.values().all(Vec::is_empty), "a slice has no end");
    let analysis = kitchen().load();
    for (category, activity) in [("wait", Activity::Wait), ("hold", Activity::Hold)] {
        let expected = spans(&analysis.processes[0], activity);
        assert_eq!(sums[category], (expected * 1e9).round() as u64, "{category}");
    }
}

#[test]
fn every_thread_has_its_track() {
    let (tracks, events) = trace();
    let track = |name: &str| {
        let found = tracks.iter().find(|(_, track)| track.0 == name);
        found.map(|(&number, track)| (number, track.1)).unwrap_or_else(|| panic!("no {name}"))
    };
    let (process, none) = track("kitchen");
    assert_eq!(none, 0);
    let (ben, parent) = track("ben");
    assert_eq!(parent, process);
    let holds = tracks.values().filter(|(name, parent)| name == "holds" && *parent == ben);
    assert_eq!(holds.count(), 2, "two of its holds overlap, and the third follows one of them");
    let waits = events.iter().filter(|event| event.track == ben && event.kind == 1);
    let names: Vec<&str> = waits.map(|event| &*event.name).collect();
    assert_eq!(names, ["waits: kitchen+0x7080"]);
}

#[test]
fn arrows_lead_from_holder_to_waiter() {
    let (tracks, events) = trace();
    let mut begun = BTreeMap::new();
    let mut arrows = BTreeSet::new();
    for event in &events {
        begun.extend(event.from.iter().map(|&flow| (flow, event)));
        for flow in &event.to {
            let from = begun.get(flow).expect("an arrow begins before it ends");
            arrows.insert((from.name.clone(), tracks[&from.track].0.clone(), event.moment));
        }
    }
    let arrow = |name: &str, track: &str, moment| (name.to_owned(), track.to_owned(), moment);
    // An arrow starts at the hold for which the thread waited, or, if no hold was recorded, at a
    // mark on the holder's track.
    let expected = [
        arrow("kitchen+0x7000", "holds", 13_000_000),
        arrow("in the way: kitchen+0x7000", "ben", 30_000_000),
    ];
    assert_eq!(arrows, BTreeSet::from(expected));
}
