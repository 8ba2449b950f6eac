//! From a recording's bytes to figures, names and reports.

mod figures;
mod fixture;
mod live;
mod malformed;
mod reports;
mod symbols;
