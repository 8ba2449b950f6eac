//! The ranks of a window find out which of them are on one host, and the ranks of each host share a
//! segment.
//!
//! Ranks are on one host if they see the same process numbers and the same network, and can open
//! the file that the first of these ranks has made. A rank that can't open the file, because it is
//! in another container or runs as another user, counts as a host of its own.

use std::sync::Arc;

use syncline::window::Scheme;
use syncline_fabric::server::{CARD, Card};

use super::peers::{Peers, own_card};
use super::stand_in::{Served, forget, serve_window};
use crate::ranks::Ranks;
use crate::scheme::{goes_by_messages, size};
use crate::segment::{Area, TICKET, Ticket, make, open};

/// What a rank gets when the ranks of a window meet.
pub struct Meeting {
    /// This host's segment.
    pub area: Arc<Area>,
    /// For each rank, the first rank of its host.
    pub firsts: Box<[usize]>,
    /// The connections to other ranks' servers, if there are several hosts.
    pub peers: Option<Peers>,
}

impl Meeting {
    /// Brings the ranks of a window together. `number` is the window's number, and also the
    /// position of its segment. If the ranks can't share the locks, this returns `None` at all
    /// ranks and prints the reason. If MPI's communication fails at a rank, this returns `None`
    /// there, without a message.
    pub fn of(ranks: &Ranks, places: &[u64], scheme: Scheme, number: usize) -> Option<Meeting> {
        let first = |of: &u64| places.iter().position(|place| place == of).unwrap_or_default();
        let mut firsts: Box<[usize]> = places.iter().map(first).collect();
        let (rank, size) = (ranks.rank as usize, size(scheme, places.len()));
        let mut made = if firsts[rank] == rank { make(number, size) } else { None };
        let ticket = made.as_ref().map(|made| made.ticket).unwrap_or_default();
        let tickets = ranks.gather(&ticket.to_bytes()).ok()?;
        let its = tickets.as_chunks::<TICKET>().0[firsts[rank]];
        let mut area = match &made {
            None => open(Ticket::from_bytes(its), number, size),
            Some(_) => None,
        };
        let has = ranks.gather(&[u8::from(area.is_some() || made.is_some())]).ok()?;
        if has.contains(&0) {
            for (rank, _) in has.iter().enumerate().filter(|(_, has)| **has == 0) {
                firsts[rank] = rank;
            }
            if has[rank] == 0 {
                made = make(number, size);
                area = None;
            }
            let has = ranks.gather(&[u8::from(area.is_some() || made.is_some())]).ok()?;
            if let Some(without) = has.iter().position(|has| *has == 0) {
                ranks.keep(&format!("rank {without} could not make shared memory"));
                return None;
            }
        }
        // The files of the first ranks are closed here, since the other ranks have opened them.
        let area = Arc::new(area.or(made.map(|made| made.area))?);
        if !goes_by_messages(scheme) && firsts.iter().all(|first| *first == 0) {
            return Some(Meeting { area, firsts, peers: None });
        }
        let peers = peers(ranks, scheme, number, &area)?;
        Some(Meeting { area, firsts, peers: Some(peers) })
    }
}

/// Makes this rank's server serve the window, and learns how to reach the other ranks' servers.
/// When this returns, all servers serve the window.
fn peers(ranks: &Ranks, scheme: Scheme, number: usize, area: &Arc<Area>) -> Option<Peers> {
    let served = Served::new(Arc::clone(area), scheme, ranks.count as usize);
    serve_window(number as u64, served);
    let own = own_card();
    let cards = ranks.gather(&own.unwrap_or_default().to_bytes()).ok()?;
    let cards = cards.as_chunks::<CARD>().0;
    let cards: Vec<Card> = cards.iter().map(Card::from_bytes).collect();
    if let Some(without) = cards.iter().position(|card| *card == Card::default()) {
        ranks.keep(&format!("rank {without} could not start a server for locks between hosts"));
        forget(number as u64);
        return None;
    }
    Some(Peers::new(cards.into_iter()))
}
