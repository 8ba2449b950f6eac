//! Reads `/proc/PID/task/TID/schedstat` of Linux: how long a thread was on a processor, how long it
//! was ready without one, and how many time slices it had. Users may read it for their own threads.
//! A kernel without scheduler statistics has zeros there, or no file.

/// How long a thread was on a processor, and how long it was ready to run without one.
#[derive(Clone, Copy, Debug, PartialEq, Eq)]
pub struct Times {
    /// Nanoseconds on a processor.
    pub cpu_ns: u64,
    /// Nanoseconds ready to run without one.
    pub ready_ns: u64,
}

/// Reads the file's text; `None` if it does not begin with two numbers.
pub fn parse(text: &[u8]) -> Option<Times> {
    let mut words = text.split(|&byte| byte == b' ');
    let mut number = || -> Option<u64> { str::from_utf8(words.next()?).ok()?.trim().parse().ok() };
    Some(Times { cpu_ns: number()?, ready_ns: number()? })
}

/// The file's third number: how many time slices the thread had. `None` if there is none.
pub fn slices(text: &[u8]) -> Option<u64> {
    str::from_utf8(text.split(|&byte| byte == b' ').nth(2)?).ok()?.trim().parse().ok()
}

#[cfg(test)]
mod tests {
    use super::*;

    #[test]
    fn the_first_two_numbers_count() {
        assert_eq!(parse(b"17 4 2\n"), Some(Times { cpu_ns: 17, ready_ns: 4 }));
        assert_eq!(parse(b"17 4\n"), Some(Times { cpu_ns: 17, ready_ns: 4 }));
        assert_eq!(parse(b""), None);
        assert_eq!(parse(b"17"), None);
        assert_eq!(parse(b"-1 4 2"), None);
        assert_eq!((slices(b"17 4 2\n"), slices(b"17 4\n"), slices(b"")), (Some(2), None, None));
    }
}
