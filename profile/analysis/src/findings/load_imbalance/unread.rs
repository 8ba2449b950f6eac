//! Requests wait in a server's sockets while all its threads sleep: each thread serves one
//! connection until its end, or sleeps in a piece of work, or waits for a set of connections that
//! lacks the newest. A server that is merely slow is not reported, since one of its threads runs.
//! Neither is one whose threads wait for all its connections.

use crate::findings::evidence::{count, share};
use crate::model::{Finding, InCall, Process, Remedy, Rule, Unread};

/// Requests must be unread for at least this share of the run.
const MUCH: f64 = 0.2;
/// Fewer looks at which requests were unread may be accidents.
const FEWEST: u64 = 5;

/// The finding about unread requests, if there are many.
pub fn find(process: &Process) -> Option<Finding> {
    let unread = process.unread.as_ref()?;
    let most = unread.asleep.first()?;
    let of_run = unread.seconds / process.seconds.max(f64::MIN_POSITIVE);
    (unread.looks >= FEWEST && of_run >= MUCH).then(|| finding(unread, most, of_run.min(1.0)))
}

fn finding(unread: &Unread, most: &InCall, of_run: f64) -> Finding {
    Finding {
        rule: Rule::UnreadRequests,
        title: "Requests wait unread, and all threads sleep".to_owned(),
        place: most.place.clone(),
        sites: Vec::new(),
        locks: Vec::new(),
        evidence: vec![
            share("share of the run", of_run),
            count(
                "connections with unread requests, on average",
                unread.connections.round() as u64,
            ),
            count("threads asleep here meanwhile", most.threads.len() as u64),
        ],
        advice: format!(
            "The threads that could read them sleep in {}. If each thread serves one connection \
             until its end, use more threads (a larger pool), or wait for all idle connections at \
             once (epoll). If a thread waits for a set of connections, wake it when a connection \
             is added. If a thread sleeps during a request, do several requests at a time.",
            most.call
        ),
        open_question: None,
        remedy: Remedy::Unknown,
        gain: None,
    }
}

#[cfg(test)]
mod tests {
    use super::*;
    use crate::findings::testing::{Drawn, process};

    /// A run of ten seconds, in which requests were unread for this long at this many looks.
    fn drawn(seconds: f64, looks: u64) -> Drawn {
        let mut drawn = process(10.0, 2);
        let asleep = InCall {
            call: "poll".to_owned(),
            place: "keep_alive at server.c:10".to_owned(),
            seconds: 4.0 * seconds,
            threads: vec![1, 2, 3, 4],
            stack: 0,
        };
        drawn.unread = Some(Unread { looks, seconds, connections: 7.5, asleep: vec![asleep] });
        drawn
    }

    #[test]
    fn unread_requests_are_found_where_threads_sleep() {
        let found = find(&drawn(6.0, 60)).unwrap();
        assert_eq!(found.place, "keep_alive at server.c:10");
        let values: Vec<f64> = found.evidence.iter().map(|evidence| evidence.value).collect();
        assert_eq!(values, [0.6, 8.0, 4.0]);
    }

    #[test]
    fn few_unread_requests_are_no_problem() {
        assert!(find(&drawn(2.0, 20)).is_some());
        assert!(find(&drawn(1.9, 20)).is_none());
        assert!(find(&drawn(2.0, 5)).is_some());
        assert!(find(&drawn(2.0, 4)).is_none());
    }

    #[test]
    fn requests_that_no_thread_could_read_have_no_place() {
        let mut nobody = drawn(6.0, 60);
        nobody.unread.as_mut().unwrap().asleep.clear();
        assert!(find(&nobody).is_none());
        nobody.unread = None;
        assert!(find(&nobody).is_none());
    }
}
