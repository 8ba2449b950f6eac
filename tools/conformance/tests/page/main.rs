//! The report's page in a real browser.
//!
//! Each test starts a browser of its own, without profile. Some leave pictures in
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
