//! Addresses in serialized form: hexadecimal text, since JSON's numbers are not exact in every
//! reader, and addresses are not read in decimal.

use serde::Serializer;

/// One address.
pub fn one<S: Serializer>(address: &u64, serializer: S) -> Result<S::Ok, S::Error> {
    serializer.collect_str(&format_args!("{address:#x}"))
}

/// Several.
pub fn many<S: Serializer>(addresses: &[u64], serializer: S) -> Result<S::Ok, S::Error> {
    serializer.collect_seq(addresses.iter().map(|address| format!("{address:#x}")))
}
