//! Judges a variant by its gains over the rounds, and decides whether more rounds are worthwhile.

use syncline_statistics::{Interval, median};

/// The probability that the interval by which a variant is given up is wrong. Giving up makes no
/// claim about the variant, so it need not be as certain as a verdict.
const GIVING_UP: f64 = 0.05;

/// The verdict on a variant. A gain is the factor by which it is better than the first variant. The
/// first field of `Better`, `Worse`, `Same` and `Undecided` is the variant's median value.
#[derive(Clone, Debug)]
pub enum Verdict {
    /// Better: the interval lies above 1.
    Better(f64, Interval),
    /// Worse: the interval lies below 1.
    Worse(f64, Interval),
    /// The interval contains 1, but no difference that matters.
    Same(f64, Interval),
    /// The interval contains 1 and differences that matter; about this many rounds would decide.
    Undecided(f64, Interval, usize),
    /// Too few rounds for an interval; the median gain.
    TooFew(f64),
    /// Undecided, but given up before the last round; the median gain.
    GivenUp(f64, Why),
    /// A run failed, for this reason.
    Failed(String),
}

/// Why a variant was given up.
#[derive(Clone, Debug, PartialEq)]
pub enum Why {
    /// The variant is unlikely to have a gain that matters.
    TooLittle,
    /// The variant of this name is certainly better, with at least the same gain.
    Behind(String),
}

/// The verdict by these gains, with the interval that leaves out `cut` of them at each end; `None`
/// means that there are too few. `value` is the variant's median value, and `matters` the smallest
/// difference that matters.
pub fn judge(gains: &[f64], value: f64, cut: Option<usize>, matters: f64) -> Verdict {
    let Some(cut) = cut else { return Verdict::TooFew(middle(gains)) };
    let interval = Interval::cut(gains, cut);
    if interval.low > 1.0 {
        return Verdict::Better(value, interval);
    }
    if interval.high < 1.0 {
        return Verdict::Worse(value, interval);
    }
    if interval.low >= 1.0 / (1.0 + matters) && interval.high <= 1.0 + matters {
        return Verdict::Same(value, interval);
    }
    Verdict::Undecided(value, interval, enough(&interval, gains.len(), matters))
}

/// Why an undecided variant can be given up; `None` if it can't. `best` is the best of the variants
/// that are certainly better, with its gain.
pub fn give_up(gains: &[f64], best: Option<(&str, f64)>, matters: f64) -> Option<Why> {
    if let Some((name, gain)) = best
        && middle(gains) <= gain
    {
        return Some(Why::Behind(name.to_owned()));
    }
    let likely = Interval::of(gains, GIVING_UP)?;
    (likely.high < 1.0 + matters).then_some(Why::TooLittle)
}

/// The median of at least one number, in any order.
pub fn middle(values: &[f64]) -> f64 {
    median(values).expect("a number")
}

/// The approximate number of rounds that would decide: an interval's width is inversely
/// proportional to the square root of the number of rounds, and an interval decides if it excludes
/// 1, or all differences that matter.
fn enough(interval: &Interval, rounds: usize, matters: f64) -> usize {
    let median = interval.median.ln().abs();
    let width = (interval.high / interval.median).ln().max((interval.median / interval.low).ln());
    let matters = matters.ln_1p();
    let narrow = median.max(matters - median).max(f64::MIN_POSITIVE);
    let wanted = (rounds as f64 * (width / narrow).powi(2)).ceil() as usize;
    // The rounds so far did not decide, whatever the estimate says.
    wanted.max(rounds + 1)
}

#[cfg(test)]
mod tests {
    use super::*;
    use syncline_statistics::Looks;

    fn judge_once(gains: &[f64], matters: f64) -> Verdict {
        judge(gains, 1.0, Looks::once(gains.len()).cuts(0.05)[0].1, matters)
    }

    #[test]
    fn no_difference_is_said_only_if_none_that_matters_is_left() {
        // Gains that vary to both sides of 1, by much and by little.
        let wild = [1.3, 0.8, 1.1, 0.9, 1.05, 0.97, 1.2, 0.85, 1.01];
        let tame = wild.map(|gain: f64| gain.powf(0.1));
        let Verdict::Undecided(_, interval, rounds) = judge_once(&wild, 0.05) else {
            panic!("0.85 to 1.2 leaves much open")
        };
        assert!((interval.low, interval.high) == (0.85, 1.2) && (50..500).contains(&rounds));
        assert!(matches!(judge_once(&tame, 0.05), Verdict::Same(..)));
        assert!(matches!(judge_once(&tame, 0.005), Verdict::Undecided(..)));
        assert!(matches!(judge_once(&wild[..5], 0.05), Verdict::TooFew(_)));
    }

    #[test]
    fn what_may_still_win_is_not_given_up() {
        let wild = [1.3, 0.8, 1.1, 0.9, 1.05, 0.97, 1.2, 0.85, 1.01];
        assert_eq!(give_up(&wild, None, 0.05), None);
        assert_eq!(give_up(&wild, Some(("gate", 1.0)), 0.05), None);
        assert_eq!(give_up(&wild, Some(("gate", 1.1)), 0.05), Some(Why::Behind("gate".into())));
        let low = wild.map(|gain| gain * 0.85);
        assert_eq!(give_up(&low, None, 0.05), Some(Why::TooLittle));
        assert_eq!(give_up(&low[..5], None, 0.05), None, "too few to say");
    }

    /// The estimate is useful: with twice this many rounds, most experiments decide.
    #[test]
    fn so_many_rounds_do_tell() {
        let mut random = fastrand::Rng::with_seed(11);
        for middle in [1.0, 1.03, 0.93] {
            let mut draws = |n: usize| -> Vec<f64> {
                let noise = |random: &mut fastrand::Rng| {
                    (0..12).map(|_| random.f64() - 0.5).sum::<f64>() * 0.08
                };
                (0..n).map(|_| middle * noise(&mut random).exp()).collect()
            };
            let mut told = 0;
            let mut asked = 0;
            while asked < 100 {
                if let Verdict::Undecided(_, _, rounds) = judge_once(&draws(12), 0.05) {
                    asked += 1;
                    let more = judge_once(&draws(rounds * 2), 0.05);
                    told += u32::from(!matches!(more, Verdict::Undecided(..)));
                }
            }
            assert!(told >= 60, "{told} of 100 at {middle}");
        }
    }
}
