//! Numbers for people: rounded, mostly to three significant digits, and with a unit.

/// Formats a time that is given in seconds: `850 ns`, `12.3 ms`, `4.10 s`, `26 min 40 s`.
pub fn duration(seconds: f64) -> String {
    const UNITS: [(f64, &str); 4] = [(1e-9, "ns"), (1e-6, "µs"), (1e-3, "ms"), (1.0, "s")];
    if seconds <= 0.0 {
        return "0".to_owned();
    }
    if seconds >= 600.0 {
        let whole = seconds.round() as u64;
        return match whole / 3600 {
            0 => format!("{} min {} s", whole / 60, whole % 60),
            hours => format!("{} h {} min", grouped(hours), whole % 3600 / 60),
        };
    }
    // A value that would round up to a thousand gets the next unit.
    let fits = |&&(unit, _): &&(f64, &str)| seconds / unit < 999.5;
    let &(unit, name) = UNITS.iter().find(fits).unwrap_or(&UNITS[3]);
    let value = seconds / unit;
    let value = if unit == 1e-9 { format!("{value:.0}") } else { three_digits(value) };
    format!("{value} {name}")
}

/// Formats a number of things: `9,999`, `12.3 k`, `4.56 M`.
pub fn count(number: u64) -> String {
    if number < 10_000 { grouped(number) } else { large(number as f64) }
}

/// Formats a number of things per second: `0.3`, `870`, `12.3 k`.
pub fn rate(per_second: f64) -> String {
    match per_second {
        r if r <= 0.0 => "0".to_owned(),
        r if r < 0.1 => "<0.1".to_owned(),
        r if r < 9.95 => format!("{r:.1}"),
        r if r < 9999.5 => grouped(r.round() as u64),
        r => large(r),
    }
}

/// Formats a share of one as a percentage: `43.2 %`. Sums over threads may be above one: `250 %`.
pub fn percent(share: f64) -> String {
    match share * 100.0 {
        p if p <= 0.0 => "0 %".to_owned(),
        p if p < 0.1 => "<0.1 %".to_owned(),
        p if p > 99.9 && share < 1.0 => ">99.9 %".to_owned(),
        p if p >= 99.95 => format!("{} %", grouped(p.round() as u64)),
        p => format!("{p:.1} %"),
    }
}

/// Formats a number and the name of what is counted: `1 lock`, `1,200 locks`, `2 processes`.
pub fn counted(number: usize, one: &str) -> String {
    format!("{} {}", grouped(number as u64), of_so_many(number, one))
}

/// The name of what is counted, in the singular for the number 1, otherwise in the plural.
pub fn of_so_many(number: usize, one: &str) -> String {
    let ending = match number {
        1 => "",
        _ if one.ends_with('s') => "es",
        _ => "s",
    };
    format!("{one}{ending}")
}

/// Formats a number of bytes: `12 KiB`, `5 MiB`, `1.2 GiB`. KiB are rounded up.
pub fn bytes(bytes: u64) -> String {
    let tenths = |unit: u64, name: &str| {
        let text = format!("{:.1}", bytes as f64 / unit as f64);
        format!("{} {name}", text.trim_end_matches(".0"))
    };
    match bytes {
        0..0x10_0000 => format!("{} KiB", bytes.div_ceil(1024)),
        0x10_0000..0x4000_0000 => tenths(1 << 20, "MiB"),
        _ => tenths(1 << 30, "GiB"),
    }
}

/// Formats a number with a comma between groups of three digits.
pub fn grouped(number: u64) -> String {
    let digits = number.to_string();
    let mut text = String::new();
    for (place, digit) in digits.chars().enumerate() {
        if place > 0 && (digits.len() - place).is_multiple_of(3) {
            text.push(',');
        }
        text.push(digit);
    }
    text
}

fn large(number: f64) -> String {
    const UNITS: [(f64, &str); 4] = [(1e3, "k"), (1e6, "M"), (1e9, "G"), (1e12, "T")];
    let fits = |&&(unit, _): &&(f64, &str)| number / unit < 999.5;
    match UNITS.iter().find(fits) {
        Some(&(unit, name)) => format!("{} {name}", three_digits(number / unit)),
        None => format!("{number:.1e}"),
    }
}

fn three_digits(value: f64) -> String {
    match value {
        v if v < 9.995 => format!("{v:.2}"),
        v if v < 99.95 => format!("{v:.1}"),
        v => format!("{v:.0}"),
    }
}

#[cfg(test)]
mod tests {
    use super::*;

    #[test]
    fn times_have_three_digits_and_the_unit_that_fits() {
        for (seconds, text) in [
            (0.0, "0"),
            (850e-9, "850 ns"),
            (999.6e-9, "1.00 µs"),
            (12.34e-3, "12.3 ms"),
            (0.9996, "1.00 s"),
            (4.1, "4.10 s"),
            (599.0, "599 s"),
            (1600.0, "26 min 40 s"),
            (7_260.0, "2 h 1 min"),
        ] {
            assert_eq!(duration(seconds), text);
        }
    }

    #[test]
    fn large_numbers_are_cut_and_small_ones_are_whole() {
        assert_eq!(count(0), "0");
        assert_eq!(count(9_999), "9,999");
        assert_eq!(count(12_345), "12.3 k");
        assert_eq!(count(999_950), "1.00 M");
        assert_eq!(count(u64::MAX), "1.8e19");
        assert_eq!(rate(0.04), "<0.1");
        assert_eq!(rate(0.3), "0.3");
        assert_eq!(rate(44_185_000.0), "44.2 M");
        assert_eq!(counted(1, "lock"), "1 lock");
        assert_eq!(counted(26_000, "lock"), "26,000 locks");
        assert_eq!(counted(0, "process"), "0 processes");
    }

    #[test]
    fn sizes_are_told_in_the_unit_that_fits() {
        assert_eq!(bytes(1), "1 KiB");
        assert_eq!(bytes(48 << 10), "48 KiB");
        assert_eq!(bytes(5 << 20), "5 MiB");
        assert_eq!(bytes(2_684_354_560), "2.5 GiB");
    }

    #[test]
    fn shares_do_not_reach_their_ends_by_rounding() {
        assert_eq!(percent(0.0), "0 %");
        assert_eq!(percent(0.0001), "<0.1 %");
        assert_eq!(percent(0.432), "43.2 %");
        assert_eq!(percent(0.9999), ">99.9 %");
        assert_eq!(percent(1.0), "100 %");
        assert_eq!(percent(2.5), "250 %");
    }
}
