//! This process's server and its connections to others, which all windows share.

use std::collections::HashMap;
use std::sync::{Arc, Mutex, OnceLock, PoisonError};

use syncline_fabric::server::{Card, Gone, Link, serve};

use super::stand_in::StandIns;

/// The address of this process's server, which the first call starts. `None` if it can't be
/// started.
pub fn own_card() -> Option<Card> {
    static OWN: OnceLock<Option<Card>> = OnceLock::new();
    *OWN.get_or_init(|| serve(StandIns::default).ok())
}

/// The connections to the ranks of a window.
#[derive(Debug)]
pub struct Peers(Box<[Peer]>);

#[derive(Debug)]
struct Peer {
    card: Card,
    link: OnceLock<Result<Arc<Link>, Gone>>,
}

impl Peers {
    /// Makes the connections' list from the ranks' cards.
    pub fn new(cards: impl Iterator<Item = Card>) -> Peers {
        Peers(cards.map(|card| Peer { card, link: OnceLock::new() }).collect())
    }

    /// The connection to a rank's server, which the first call makes.
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
