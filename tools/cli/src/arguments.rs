//! Arguments that several commands have: a program at the end of the line, a recording, sizes,
//! times and percentages.

use std::ffi::OsString;
use std::time::Duration;

/// The program to run, at the end of a command line.
#[derive(clap::Args)]
pub struct Program {
    /// The program and its arguments
    #[arg(
        required = true,
        trailing_var_arg = true,
        allow_hyphen_values = true,
        value_name = "PROGRAM"
    )]
    pub command: Vec<OsString>,
}

/// The folder that `record` writes to and `report` reads if none is given.
pub const DEFAULT_RECORDING: &str = "syncline-recording";

/// The hint for a user who names a running process, for commands that can't attach to one.
pub const NO_ATTACHING: &str = "this command can't attach to a running process; `syncline record -p PID` and \
    `syncline top -p PID` can";

/// Refuses `-p PID`, for commands that can't attach to a process.
///
/// # Errors
/// Always, with [`NO_ATTACHING`].
pub fn refuse_pid(_: &str) -> Result<u32, String> {
    Err(NO_ATTACHING.to_owned())
}

/// Reads the number of a process.
pub fn parse_pid(text: &str) -> Result<u32, String> {
    match text.parse() {
        Ok(pid) if pid > 0 => Ok(pid),
        _ => Err("expected the number of a process; `ps -e` lists them".to_owned()),
    }
}

/// Reads a number of bytes: digits and perhaps one of the letters K, M, G and T, which stand for
/// powers of 1024.
pub fn parse_size(text: &str) -> Result<u64, String> {
    const UNITS: &str = "KMGT";
    let unit = text.chars().last().and_then(|last| UNITS.find(last.to_ascii_uppercase()));
    let (digits, shift) = match unit {
        Some(place) => (&text[..text.len() - 1], 10 * (place + 1)),
        None => (text, 0),
    };
    let number: u64 = digits.parse().map_err(|_| "expected a size such as 512M or 2G")?;
    number.checked_mul(1 << shift).ok_or_else(|| "this size is too large".to_owned())
}

/// Reads a time: a number and perhaps the unit s, m or h; without a unit it is in seconds.
pub fn parse_time(text: &str) -> Result<Duration, String> {
    let wrong = || "expected a time such as 30s or 5m".to_owned();
    let (digits, unit) = match text.chars().last() {
        Some('s') => (&text[..text.len() - 1], 1.0),
        Some('m') => (&text[..text.len() - 1], 60.0),
        Some('h') => (&text[..text.len() - 1], 3600.0),
        _ => (text, 1.0),
    };
    let number: f64 = digits.parse().map_err(|_| wrong())?;
    Duration::try_from_secs_f64(number * unit).ok().filter(|t| !t.is_zero()).ok_or_else(wrong)
}

/// Reads a percentage.
pub fn parse_percent(text: &str) -> Result<f64, String> {
    let percent: f64 =
        text.trim_end_matches('%').parse().map_err(|_| "expected a percentage, such as 10")?;
    if !(0.0..=100.0).contains(&percent) {
        return Err("expected a percentage from 0 to 100".to_owned());
    }
    Ok(percent)
}

/// The most runs of a program that a user can request. No user waits for more.
pub const MOST_RUNS: usize = 10_000;

/// Reads a number of runs.
pub fn parse_runs(text: &str) -> Result<usize, String> {
    match text.parse() {
        Ok(runs) if (1..=MOST_RUNS).contains(&runs) => Ok(runs),
        _ => Err("expected a number from 1 to 10000".to_owned()),
    }
}

/// Reads the number of earlier sections with which each section is compared.
pub fn parse_window(text: &str) -> Result<usize, String> {
    match text.parse() {
        Ok(size) if (1..=4096).contains(&size) => Ok(size),
        _ => Err("expected a number from 1 to 4096".to_owned()),
    }
}

#[cfg(test)]
mod tests {
    use super::*;

    #[test]
    fn times_are_read_in_seconds_minutes_and_hours() {
        assert_eq!(parse_time("30s"), Ok(Duration::from_secs(30)));
        assert_eq!(parse_time("0.5"), Ok(Duration::from_millis(500)));
        assert_eq!(parse_time("5m"), Ok(Duration::from_secs(300)));
        for wrong in ["", "s", "-1s", "0", "1d", "1e30h"] {
            assert!(parse_time(wrong).is_err(), "{wrong}");
        }
    }

    #[test]
    fn processes_have_numbers() {
        assert_eq!(parse_pid("4711"), Ok(4711));
        for wrong in ["", "0", "-1", "sshd", "5000000000"] {
            assert!(parse_pid(wrong).unwrap_err().contains("ps -e"), "{wrong}");
        }
    }

    #[test]
    fn sizes_are_read_in_powers_of_1024() {
        assert_eq!(parse_size("4096"), Ok(4096));
        assert_eq!(parse_size("64K"), Ok(64 << 10));
        assert_eq!(parse_size("512m"), Ok(512 << 20));
        assert_eq!(parse_size("2G"), Ok(2 << 30));
        assert!(parse_window("0").is_err() && parse_window("4097").is_err());
        for wrong in ["", "G", "-1", "1.5G", "2GB", "99999999999T"] {
            assert!(parse_size(wrong).is_err(), "{wrong}");
        }
    }
}
