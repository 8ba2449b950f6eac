//! The report's HTML page in a real browser.
//!
//! Each test starts its own browser, with a new profile. Some tests leave pictures in
//! `target/<profile>/conformance/page` for people to look at.

mod browser;
mod keyboard;
mod large;
mod looks;
mod recorded;
mod safety;
mod sample;
mod study;
mod timeline;
