//! This process's server and its connections to other servers. All windows share them.

use std::collections::HashMap;
use std::sync::{Arc, Mutex, OnceLock, PoisonError};

use syncline_fabric::server::{Card, Gone, Link, serve};

use super::stand_in::StandIns;

/// The card of this process's server, or `None` if the server can't be started. The first call
/// starts the server.
pub fn own_card() -> Option<Card> {
    static OWN: OnceLock<Option<Card>> = OnceLock::new();
    *OWN.get_or_init(|| serve(StandIns::default).ok())
}

/// The connections to the servers of a window's ranks.
#[derive(Debug)]
pub struct Peers(Box<[Peer]>);

#[derive(Debug)]
struct Peer {
    card: Card,
    link: OnceLock<Result<Arc<Link>, Gone>>,
}

impl Peers {
    /// Prepares the connections to the servers with these cards, one for each rank.
    pub fn new(cards: impl Iterator<Item = Card>) -> Peers {
        Peers(cards.map(|card| Peer { card, link: OnceLock::new() }).collect())
    }

    /// The connection to a rank's server. The first call makes it.
    pub fn link(&self, rank: usize) -> Result<&Link, Gone> {
        let peer = &self.0[rank];
        let link = peer.link.get_or_init(|| connected(&peer.card));
        link.as_ref().map(Arc::as_ref).map_err(|gone| *gone)
    }
}

fn connected(card: &Card) -> Result<Arc<Link>, Gone> {
    static LINKS: Mutex<Option<HashMap<Card, Arc<Link>>>> = Mutex::new(None);
    let mut links = LINKS.lock().unwrap_or_else(PoisonError::into_inner);
    let links = links.get_or_insert_default();
    if let Some(link) = links.get(card) {
        return Ok(Arc::clone(link));
    }
    let link = Arc::new(Link::connect(card).map_err(|_| Gone)?);
    links.insert(*card, Arc::clone(&link));
    Ok(link)
}
