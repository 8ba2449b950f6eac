//! Contended locks whose sections were traced: the trace distinguishes a lock over too much data,
//! sections that are too long, and sections that depend on each other, which really need the lock.

use super::{Hot, LONG};
use crate::findings::evidence::{count, share, traced};
use crate::model::{Data, Finding, Inspected, Remedy};

/// The number of source lines that an advice names.
const NAMED: usize = 3;

impl<'a> Hot<'a> {
    /// The trace's verdict on these locks, taken from the call site with most waiting of those for
    /// which the trace has a verdict.
    pub(super) fn inspected(&self) -> Option<&'a Inspected> {
        let known =
            self.sites.iter().filter_map(|&site| self.process.sites[site].inspected.as_ref());
        let says = |i: &&Inspected| i.data != Data::Unknown || i.too_long;
        known.into_iter().find(says)
    }

    /// The call site whose sections are too long according to the trace, and the trace's figures
    /// for them.
    fn traced_too_long(&self) -> Option<(usize, &'a Inspected)> {
        let known = |&site: &usize| Some((site, self.process.sites[site].inspected.as_ref()?));
        self.sites.iter().filter_map(known).find(|(_, inspected)| inspected.too_long)
    }

    /// The finding that follows from the trace; `None` if the lock is needed as it is.
    pub(super) fn by_trace(self, longest: usize, inspected: &Inspected) -> Option<Finding> {
        // Splitting comes first: in a small sample, a large table's entries look unshared.
        if inspected.data == Data::Pieces {
            return Some(self.with_pieces(inspected));
        }
        if let Some((site, long)) = self.traced_too_long() {
            return Some(self.with_long_sections(site, long));
        }
        match &inspected.data {
            Data::OneField { field, independent_without } => {
                Some(self.with_one_field(inspected, field, *independent_without))
            }
            Data::MostlyIndependent { mostly_read } => {
                Some(self.mostly_independent(inspected, *mostly_read))
            }
            _ if self.mean_held() >= LONG => {
                let mut finding = self.too_long(longest, None);
                finding.evidence.extend(traced(inspected));
                finding.advice = "The section is long, and its instructions work on shared data: \
                                  do less in it, or take the lock less often."
                    .to_owned();
                finding.open_question = None;
                Some(finding)
            }
            _ => None,
        }
    }

    fn with_pieces(self, inspected: &Inspected) -> Finding {
        let pieces = inspected.pieces;
        let mut finding = self.too_much(true);
        finding.title = "One lock over data in many pieces".to_owned();
        finding.evidence.extend(traced(inspected));
        finding.evidence.push(count("pieces of data that traced sections access", pieces));
        finding.advice = format!(
            "Split the lock: its sections access {pieces} independent pieces of \
             data. Use a lock for each bucket, shard or object, each on a cache line of \
             its own."
        );
        limit_parts(&mut finding, pieces as f64);
        finding.open_question = None;
        finding
    }

    fn with_one_field(self, inspected: &Inspected, field: &str, without: f64) -> Finding {
        let mut finding = self.too_much(true);
        finding.title = "One field keeps independent sections apart".to_owned();
        finding.evidence.extend(traced(inspected));
        finding.evidence.push(share("independent pairs without the field", without));
        finding.advice = format!(
            "Split {field} off: make it an atomic, or give each thread a copy and add the copies \
             up when the value is read. The rest can have several locks."
        );
        // Without the field, a thread waits only for sections that still conflict with its own.
        limit_parts(&mut finding, 1.0 / (1.0 - without).max(f64::MIN_POSITIVE));
        finding.open_question = None;
        finding
    }

    fn mostly_independent(self, inspected: &Inspected, mostly_read: bool) -> Finding {
        let mut finding = self.too_much(true);
        finding.title = "A lock over sections that are mostly independent".to_owned();
        finding.evidence.extend(traced(inspected));
        finding.advice = match mostly_read {
            true => "Sections mostly read: use a lock for readers and writers, or a sequence lock.",
            false => {
                "Sections seldom conflict, though the data is one piece: use transactions \
                 (`syncline::stm`) or an optimistic lock."
            }
        }
        .to_owned();
        let independent = inspected.independent.unwrap_or(0.0);
        limit_parts(&mut finding, 1.0 / (1.0 - independent).max(f64::MIN_POSITIVE));
        finding.open_question = None;
        finding
    }

    fn with_long_sections(self, site: usize, inspected: &Inspected) -> Finding {
        let mut finding = self.too_long(site, None);
        finding.evidence.extend(traced(inspected));
        finding
            .evidence
            .push(count("median number of instructions of a section", inspected.instructions));
        finding
            .evidence
            .push(share("share of instructions that access no shared data", inspected.unshared));
        let lines: Vec<&str> =
            inspected.unshared_lines.iter().take(NAMED).map(String::as_str).collect();
        let lines = match lines.as_slice() {
            [] => String::new(),
            lines => format!(": {}", lines.join(", ")),
        };
        finding.advice = format!(
            "Move what touches no shared data out of the section{lines}. Keep in it only what \
             needs the lock."
        );
        finding.open_question = None;
        finding.remedy =
            Remedy::ShortenSections { sites: vec![site], to: 1.0 - inspected.unshared };
        finding
    }
}

/// Limits the parts of a split to `most`: more locks would gain nothing.
fn limit_parts(finding: &mut Finding, most: f64) {
    if let Remedy::SplitLock { parts, .. } = &mut finding.remedy {
        *parts = parts.min(most).max(1.0);
    }
}
