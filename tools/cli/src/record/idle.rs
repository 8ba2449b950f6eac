//! The idle time of processors, by the kernel's counts.

use std::fs;

use nix::sched::{CpuSet, sched_getaffinity};
use nix::unistd::{Pid, SysconfVar, sysconf};

/// The seconds for which processors were idle since the machine was started. This is the sum over
/// the processors that this process may use, in steps of a hundredth of a second. `None` if the
/// kernel does not give the numbers.
pub fn idle_seconds() -> Option<f64> {
    let usable = sched_getaffinity(Pid::from_raw(0)).ok()?;
    let ticks = sysconf(SysconfVar::CLK_TCK).ok()??;
    let idle = idle_ticks(&fs::read_to_string("/proc/stat").ok()?, &usable)?;
    Some(idle as f64 / ticks as f64)
}

/// How many seconds the value of [`idle_seconds`] has grown by since an earlier call.
pub fn since(before: Option<f64>) -> Option<f64> {
    Some((idle_seconds()? - before?).max(0.0))
}

/// The sum of idle ticks over these processors, from the text of `/proc/stat`. Waiting for a device
/// counts as idle.
fn idle_ticks(stat: &str, usable: &CpuSet) -> Option<u64> {
    let mut sum = None;
    for line in stat.lines() {
        let mut words = line.split_ascii_whitespace();
        let number = words.next().and_then(|name| name.strip_prefix("cpu"));
        let Some(number) = number.and_then(|number| number.parse().ok()) else { continue };
        if usable.is_set(number).unwrap_or(false) {
            let times: Vec<u64> = words.map_while(|word| word.parse().ok()).collect();
            let [_user, _nice, _system, idle, waiting, ..] = times[..] else { return None };
            sum = Some(sum.unwrap_or(0) + idle + waiting);
        }
    }
    sum
}

#[cfg(test)]
mod tests {
    use super::*;

    #[test]
    fn only_usable_processors_count() {
        let stat = "cpu  9 9 9 60 6 0 0 0 0 0\n\
                    cpu0 3 3 3 10 1 0 0 0 0 0\n\
                    cpu1 3 3 3 20 2 0 0 0 0 0\n\
                    cpu10 3 3 3 30 3 0 0 0 0 0\n\
                    intr 4000 1 2\n";
        let mut usable = CpuSet::new();
        assert_eq!(idle_ticks(stat, &usable), None);
        usable.set(0).unwrap();
        usable.set(10).unwrap();
        assert_eq!(idle_ticks(stat, &usable), Some(44));
        assert_eq!(idle_ticks("cpu0 1 2\n", &usable), None, "an older or damaged text");
    }

    #[test]
    fn idle_time_grows_at_most_as_fast_as_time() {
        let (before, began) = (idle_seconds().unwrap(), std::time::Instant::now());
        std::thread::sleep(std::time::Duration::from_millis(100));
        let grown = idle_seconds().unwrap() - before;
        let processors = std::thread::available_parallelism().unwrap().get() as f64;
        // The kernel counts in steps of a hundredth of a second, for each processor.
        assert!(grown >= 0.0 && grown <= (began.elapsed().as_secs_f64() + 0.02) * processors);
    }
}
