//! What an agent gets on its standard input: u64 length, little-endian, and an [`Order`] as JSON.

use std::ffi::OsString;
use std::io::{self, ErrorKind, Read, Write};

use serde::{Deserialize, Serialize};

use crate::cluster::start::Start;

/// The version of the order, and of the line in which an agent says how it can be reached.
pub const VERSION: u32 = 1;
/// An order is shorter than this many bytes.
const LONGEST: u64 = 1 << 28;

/// Which ranks an agent has to start, and how.
#[derive(Clone, Debug, PartialEq, Eq, Serialize, Deserialize)]
pub struct Order {
    /// The version of this form.
    pub version: u32,
    /// The name of the agent's host, for messages.
    pub host: String,
    /// The current folder of the ranks.
    pub folder: OsString,
    /// The ranks' program.
    pub start: Start,
    /// The bytes of each rank's part.
    pub bytes: usize,
    /// The map of all machines, as [`Map`](syncline_fabric::machines::Map) encodes it.
    pub map: Vec<u8>,
    /// The number of the agent's machine in the map.
    pub machine: usize,
}

impl Order {
    /// Sends the order.
    pub fn write(&self, mut to: impl Write) -> io::Result<()> {
        let text = serde_json::to_vec(self)?;
        to.write_all(&(text.len() as u64).to_le_bytes())?;
        to.write_all(&text)
    }

    /// Receives an order, and reads no byte more. `None` if the sender has ended without one.
    pub fn read(mut from: impl Read) -> io::Result<Option<Order>> {
        let mut length = [0; 8];
        if from.read(&mut length[..1])? == 0 {
            return Ok(None);
        }
        from.read_exact(&mut length[1..])?;
        let length = u64::from_le_bytes(length);
        if length > LONGEST {
            return Err(ErrorKind::InvalidData.into());
        }
        let mut text = vec![0; length as usize];
        from.read_exact(&mut text)?;
        let order: Order = serde_json::from_slice(&text)?;
        if order.version == VERSION { Ok(Some(order)) } else { Err(ErrorKind::InvalidData.into()) }
    }
}

/// The begin of the line of a ready agent; the card follows as hexadecimal numbers.
fn begin() -> String {
    format!("syncline-agent {VERSION} ")
}

/// The card in the line of a ready agent; `None` if it is another line.
pub fn card_of<const BYTES: usize>(line: &[u8]) -> Option<[u8; BYTES]> {
    let digits = line.strip_prefix(begin().as_bytes())?.trim_ascii_end();
    let mut card = [0; BYTES];
    if digits.len() != 2 * BYTES {
        return None;
    }
    for (byte, pair) in card.iter_mut().zip(digits.chunks(2)) {
        *byte = u8::from_str_radix(str::from_utf8(pair).ok()?, 16).ok()?;
    }
    Some(card)
}

/// The line of a ready agent with this card.
pub fn ready(card: &[u8]) -> String {
    let digits: String = card.iter().map(|byte| format!("{byte:02x}")).collect();
    format!("{}{digits}\n", begin())
}

#[cfg(test)]
mod tests {
    use super::*;

    #[test]
    fn an_order_is_read_to_its_last_byte_and_no_further() {
        let program = std::path::Path::new("/bin/true");
        let order = Order {
            version: VERSION,
            host: "one".to_owned(),
            folder: "/".into(),
            start: Start::new(program, &["true".into()], [("A", "b c")]),
            bytes: 4096,
            map: vec![1, 2, 3],
            machine: 1,
        };
        let mut sent = Vec::new();
        order.write(&mut sent).expect("memory");
        let end = sent.len();
        sent.extend(b"input of rank 0");
        let mut left = &sent[..];
        assert_eq!(Order::read(&mut left).expect("an order"), Some(order.clone()));
        assert_eq!(left, b"input of rank 0");
        assert_eq!(Order::read(&[][..]).expect("nothing"), None);
        for length in 1..end {
            assert!(Order::read(&sent[..length]).is_err(), "{length}");
        }
        let other = Order { version: VERSION + 1, ..order };
        let mut sent = Vec::new();
        other.write(&mut sent).expect("memory");
        assert!(Order::read(&sent[..]).is_err(), "another version");
        assert!(Order::read(&[255; 64][..]).is_err(), "too long");
    }

    #[test]
    fn a_ready_line_has_the_card() {
        let card = [1, 0xfe, 255];
        assert_eq!(card_of(ready(&card).as_bytes()), Some(card));
        for line in ["", "Welcome to one\n", "syncline-agent 1 \n", "syncline-agent 1 01feXX\n"] {
            assert_eq!(card_of::<3>(line.as_bytes()), None, "{line}");
        }
    }
}
