//! A study of what synchronization costs: SSYNC's stress tests, its figures and its claims, on this
//! machine and on simulated ones.
//!
//! 1. [`world`]: a machine on which threads run, real or simulated.
//! 2. [`stress`]: the stress tests, each written once.
//! 3. [`ladder`]: access patterns of a few lines, which compare a simulated machine with a real
//!    one.
//! 4. [`figures`]: the measurements for each figure and table of the papers.
//! 5. [`claims`]: the papers' claims about the figures, and whether they hold here.
//! 6. [`cluster`]: programs on distributed shared memory, on simulated clusters.
//! 7. [`today`]: which lock to use on machines whose descriptions are built from published figures.
//! 8. [`page`]: the HTML page that shows the figures and the claims.

pub mod bench;
pub mod claims;
pub mod cluster;
pub mod document;
pub mod figure;
pub mod figures;
pub mod lab;
pub mod ladder;
pub mod page;
pub mod stress;
pub mod study;
pub mod target;
pub mod today;
pub mod world;
