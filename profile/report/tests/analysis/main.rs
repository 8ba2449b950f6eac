//! Tests of the way from a recording's bytes to figures, names and reports.

mod diff;
mod exports;
mod figures;
mod findings;
mod fixture;
mod live;
mod malformed;
mod program;
mod reports;
mod sections;
mod sleeps;
mod symbols;
mod wrappers;
