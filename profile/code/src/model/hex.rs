//! Serializes addresses as hexadecimal text: not every JSON parser reads large numbers exactly, and
//! people don't read addresses in decimal.

use serde::Serializer;

/// Serializes one address.
pub fn one<S: Serializer>(address: &u64, serializer: S) -> Result<S::Ok, S::Error> {
    serializer.collect_str(&format_args!("{address:#x}"))
}

/// Serializes a list of addresses.
pub fn many<S: Serializer>(addresses: &[u64], serializer: S) -> Result<S::Ok, S::Error> {
    serializer.collect_seq(addresses.iter().map(|address| format!("{address:#x}")))
}
