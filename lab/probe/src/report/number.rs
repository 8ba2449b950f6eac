//! Formats cycles and nanoseconds, with only as many digits as are significant.

use crate::case::Access;
use syncline_statistics::Summary;

/// A number of cycles. Numbers below ten have tenths.
pub fn cycles(cycles: f64) -> String {
    if cycles < 9.95 { format!("{cycles:.1}") } else { format!("{cycles:.0}") }
}

/// The distance of the middle half of the samples from the median.
pub fn spread(summary: &Summary) -> String {
    let spread = summary.spread();
    if summary.median < 9.95 && spread < 9.95 {
        format!("{spread:.1}")
    } else {
        format!("{spread:.0}")
    }
}

/// A sentence that says how long a line stays with its owner.
pub fn stays(share: &Summary) -> String {
    let percent = |share: f64| (100.0 * share).round();
    format!(
        "A line stays with its owner for {} ±{} % of the time that another thread needs to get it.",
        percent(share.median),
        percent((share.high - share.low) / 2.0)
    )
}

/// A sentence that says how many loads are under way at the same time.
pub fn under_way(loads: &Summary) -> String {
    format!("A core has {:.0} loads under way at once, if none waits for another.", loads.median)
}

/// The heading of an operation's column.
pub fn heading(access: Access) -> &'static str {
    match access {
        Access::Load => "load",
        Access::Store => "store",
        Access::CompareAndSwap => "CAS",
        Access::FetchAndIncrement => "FAI",
        Access::TestAndSet => "TAS",
        Access::Swap => "SWAP",
    }
}

#[cfg(test)]
mod tests {
    use super::*;

    #[test]
    fn cycles_below_ten_have_tenths() {
        assert_eq!(cycles(4.01), "4.0");
        assert_eq!(cycles(9.96), "10");
        assert_eq!(cycles(447.6), "448");
    }
}
