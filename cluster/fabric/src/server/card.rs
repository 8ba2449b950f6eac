//! A card says how to reach a process's server: addresses, a port, and the token that callers must
//! know.

use std::io::{self, ErrorKind};
use std::net::{IpAddr, Ipv4Addr, Ipv6Addr, SocketAddr};
use std::ptr::null_mut;

/// The most addresses in a card; most machines have one or two.
const ADDRESSES: usize = 6;
/// The size of a card in bytes.
pub const CARD: usize = 16 + 8 + ADDRESSES * 16;

/// How to reach a server. Processes exchange their cards over a channel that exists already.
#[derive(Clone, Copy, Debug, Default, PartialEq, Eq, Hash)]
pub struct Card {
    /// Random bytes. The server rejects a caller that does not know them. A caller that tries
    /// several addresses has found the right server where the token is accepted.
    token: u128,
    port: u16,
    /// The server's addresses in IPv6 form; `::` stands for no address.
    addresses: [[u8; 16]; ADDRESSES],
}

impl Card {
    /// Makes the card of a server at this port of this machine.
    pub(crate) fn new(port: u16) -> io::Result<Card> {
        let mut token = [0u8; 16];
        // SAFETY: the kernel fills in this many bytes.
        if unsafe { libc::getrandom(token.as_mut_ptr().cast(), token.len(), 0) } != 16 {
            return Err(io::Error::last_os_error());
        }
        let mut card =
            Card { token: u128::from_ne_bytes(token), port, addresses: Default::default() };
        // The loopback addresses come last: only processes on this machine can use them.
        let mut found = addresses()?;
        found.sort_by_key(IpAddr::is_loopback);
        for (place, address) in card.addresses.iter_mut().zip(found) {
            *place = match address {
                IpAddr::V4(address) => address.to_ipv6_mapped().octets(),
                IpAddr::V6(address) => address.octets(),
            };
        }
        Ok(card)
    }

    /// The addresses at which the server may be reached, in the order in which to try them.
    fn places(&self) -> impl Iterator<Item = SocketAddr> {
        let given = self.addresses.into_iter().map(Ipv6Addr::from);
        given.filter(|address| !address.is_unspecified()).map(|address| {
            let address =
                address.to_ipv4_mapped().map_or(IpAddr::V6(address), |v4: Ipv4Addr| v4.into());
            SocketAddr::new(address, self.port)
        })
    }

    /// Calls `connect` with one address after another, until it succeeds.
    ///
    /// # Errors
    ///
    /// The error for the last address, or that there is none.
    pub(crate) fn reach<T>(&self, connect: impl Fn(SocketAddr) -> io::Result<T>) -> io::Result<T> {
        let mut last = io::Error::new(ErrorKind::AddrNotAvailable, "the server has no address");
        for place in self.places() {
            match connect(place) {
                Ok(reached) => return Ok(reached),
                Err(error) => last = error,
            }
        }
        Err(last)
    }

    /// What a caller must know.
    pub(crate) fn token(&self) -> u128 {
        self.token
    }

    /// Encodes the card.
    pub fn to_bytes(&self) -> [u8; CARD] {
        let mut bytes = [0; CARD];
        bytes[..16].copy_from_slice(&self.token.to_le_bytes());
        bytes[16..18].copy_from_slice(&self.port.to_le_bytes());
        for (place, address) in bytes[24..].chunks_exact_mut(16).zip(self.addresses) {
            place.copy_from_slice(&address);
        }
        bytes
    }

    /// Decodes a card.
    pub fn from_bytes(bytes: &[u8; CARD]) -> Card {
        let mut card = Card::default();
        let mut token = [0; 16];
        token.copy_from_slice(&bytes[..16]);
        card.token = u128::from_le_bytes(token);
        card.port = u16::from_le_bytes([bytes[16], bytes[17]]);
        for (address, place) in card.addresses.iter_mut().zip(bytes[24..].chunks_exact(16)) {
            address.copy_from_slice(place);
        }
        card
    }
}

/// The addresses of this machine's interfaces that are up, without IPv6's link-local addresses,
/// since these are useless without the name of the link.
fn addresses() -> io::Result<Vec<IpAddr>> {
    let mut list = null_mut();
    // SAFETY: the list is written to, and freed below.
    if unsafe { libc::getifaddrs(&raw mut list) } != 0 {
        return Err(io::Error::last_os_error());
    }
    let mut found = Vec::new();
    let mut next = list;
    // SAFETY: the C library has made this list. Each entry has an address of the family that the
    // address states, or has none.
    while let Some(entry) = unsafe { next.as_ref() } {
        next = entry.ifa_next;
        let address = entry.ifa_addr;
        // SAFETY: as above.
        let address = unsafe {
            match address.as_ref().map(|address| i32::from(address.sa_family)) {
                Some(libc::AF_INET) => {
                    let address = address.cast::<libc::sockaddr_in>().read_unaligned();
                    IpAddr::V4(Ipv4Addr::from(u32::from_be(address.sin_addr.s_addr)))
                }
                Some(libc::AF_INET6) => {
                    let address = address.cast::<libc::sockaddr_in6>().read_unaligned();
                    IpAddr::V6(Ipv6Addr::from(address.sin6_addr.s6_addr))
                }
                _ => continue,
            }
        };
        let of_a_link = matches!(address, IpAddr::V6(v6) if v6.is_unicast_link_local());
        if !of_a_link && entry.ifa_flags & libc::IFF_UP as u32 != 0 {
            found.push(address);
        }
    }
    // SAFETY: the list is the one that `getifaddrs` returned.
    unsafe { libc::freeifaddrs(list) };
    Ok(found)
}

#[cfg(test)]
mod tests {
    use super::*;

    #[test]
    fn a_card_survives_being_sent() {
        let card = Card::new(4711).expect("a card");
        assert_eq!(Card::from_bytes(&card.to_bytes()), card);
        let places: Vec<_> = card.places().collect();
        assert!(places.iter().any(|place| place.ip().is_loopback()), "{places:?}");
        assert!(places.iter().all(|place| place.port() == 4711), "{places:?}");
        assert_ne!(Card::new(4711).expect("another").token(), card.token());
    }
}
