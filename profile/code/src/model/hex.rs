//! Serializes addresses as hexadecimal text, since not every JSON parser reads large numbers
//! exactly, and nearly all tools show addresses in hexadecimal.

use serde::Serializer;

/// Serializes one address.
pub fn one<S: Serializer>(address: &u64, serializer: S) -> Result<S::Ok, S::Error> {
    serializer.collect_str(&format_args!("{address:#x}"))
}

/// Serializes a list of addresses.
pub fn many<S: Serializer>(addresses: &[u64], serializer: S) -> Result<S::Ok, S::Error> {
    serializer.collect_seq(addresses.iter().map(|address| format!("{address:#x}")))
}
