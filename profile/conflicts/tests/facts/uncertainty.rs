//! Tests that the stated uncertainty is right. Samples are drawn from programs whose share of
//! independent pairs is known, and 19 of 20 samples must lie within their uncertainty.

use syncline_conflicts::Comparison;

use crate::hand::{LOCK, SITE, counted, facts_of, section, trace};

const SAMPLES: u64 = 400;

/// The result of comparing this many sections of four threads. All read one word, and each writes
/// it with the probability `writers`.
fn sample(sections: u64, writers: f64, random: &mut fastrand::Rng) -> Comparison {
    let one = |n: u64, writes: bool| {
        let made = section(1 + n as u32 % 4).reads(0x5000, 8);
        if writes { made.writes(0x5000, 8) } else { made }
    };
    let all = (0..sections).map(|n| one(n, random.f64() < writers)).collect();
    facts_of(&trace(all)).locks[0].window
}

#[test]
fn nineteen_of_twenty_samples_lie_within_their_uncertainty() {
    let mut random = fastrand::Rng::with_seed(5);
    for (sections, writers) in [(100, 0.02), (100, 0.1), (100, 0.5), (400, 0.05), (400, 0.9)] {
        // Two sections are independent if neither of them writes.
        let conflicting = 1.0 - (1.0_f64 - writers).powi(2);
        let near = (0..SAMPLES).filter(|_| {
            let sample = sample(sections, writers, &mut random);
            (sample.share() - conflicting).abs() <= sample.uncertainty()
        });
        let near = near.count() as u64;
        // 95 % of the samples, minus three standard deviations of that number.
        let least = SAMPLES * 95 / 100 - 13;
        assert!(near >= least, "{sections} sections, {writers} write: {near} of {SAMPLES}");
    }
}

#[test]
fn uncertainty_falls_with_the_number_of_sections() {
    assert_eq!(Comparison::default().uncertainty(), 1.0);
    let of = |sections, conflicting| {
        Comparison { sections, pairs: 100, conflicting, ..Comparison::default() }.uncertainty()
    };
    assert!((of(60, 0) - 0.1).abs() < 1e-9 && (of(60, 100) - 0.1).abs() < 1e-9);
    assert_eq!(of(2, 0), 1.0, "never more than all");
    assert!((of(200, 50) - 1.96 * 0.05).abs() < 1e-9);
    assert!(of(800, 50) * 2.0 - of(200, 50) < 1e-9);
}

/// A lock that is hardly ever held contributes little to the uncertainty of the mean.
#[test]
fn the_mean_uncertainty_is_weighted_by_lock() {
    let apart = LOCK + 0x1000;
    let mut all = Vec::new();
    for n in 0..120 {
        all.push(section(1 + n % 2).writes(0x5000, 8));
        if n < 12 {
            let other = section(1 + n % 2).writes(0x6000, 8);
            all.push(other.with(|r| (r.lock, r.site) = (apart, SITE + 0x100)));
        }
    }
    let of = |held_apart| {
        let mut trace = trace(all.clone());
        trace.counts.push((1, counted(LOCK, 1000, 0, 0, 1_000_000)));
        trace.counts.push((1, counted(apart, 1000, 0, 0, held_apart)));
        facts_of(&trace).overall.uncertainty
    };
    let each = (6.0 / 119.0, 6.0 / 11.0);
    assert!((of(0) - each.0).abs() < 1e-9, "{}", of(0));
    let both = f64::hypot(each.0, each.1) / 2.0;
    assert!((of(1_000_000) - both).abs() < 1e-9, "{} and {both}", of(1_000_000));
}
