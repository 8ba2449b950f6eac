//! How Syncline shows all its results: numbers with a unit and few digits ([`number`]), tables and
//! paragraphs on a terminal ([`terminal`]), and HTML pages that need no other file ([`page`]).

pub mod number;
pub mod page;
pub mod terminal;
