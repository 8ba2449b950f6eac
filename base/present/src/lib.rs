//! How Syncline shows things, whatever it shows: numbers with the digits that count and a unit
//! ([`number`]), tables and paragraphs on a terminal ([`terminal`]), and HTML pages that need no
//! other file ([`page`]).

pub mod number;
pub mod page;
pub mod terminal;
