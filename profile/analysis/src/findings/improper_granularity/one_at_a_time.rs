//! One thread does pieces of work that sleep, one after the other, while several other threads
//! wait: a pool of one worker, or an event loop that a request blocks.
//!
//! The rule looks for one thread that sleeps during much of the run, while hardly any thread has a
//! processor, and at least two threads of one kind wait during most of their time. If only one
//! thread waited, there would be nothing to do at the same time. The waiting threads must also use
//! some processor time for each sleep: the threads of an idle server, whose housekeeping sleeps, do
//! not. And the function must sleep once in each call: a loop that sleeps may poll for something
//! ([`polling-sleep`](crate::model::Rule::PollingSleep)), or simulate arrivals.

use syncline_recording::{Op, Primitive};

use crate::findings::evidence::{count, rate, seconds, share};
use crate::model::{Finding, Process, Remedy, Rule, Site, Thread};
use crate::name;
use crate::options::Thresholds;

/// The share of the run for which the thread sleeps, minus the processor time of all threads as a
/// share of the run, must be at least this.
const MUCH: f64 = 0.3;
/// Fewer sleeps than this may be pauses.
const OFTEN: u64 = 100;
/// The least processor time for each sleep, in seconds, of the threads that wait: about what it
/// takes to send a request and receive the answer.
const A_REQUEST: f64 = 10e-6;
/// If the mean sleep is longer than this, in seconds, the thread is a timer.
const LONGEST: f64 = 0.1;
/// The least number of threads that wait.
const FEWEST: usize = 2;
/// A thread counts as waiting if it waits for at least this share of its time: in the kernel, in
/// futexes or for events.
const WAITS: f64 = 0.5;

/// The call site with most sleeping, if one thread sleeps there while several others wait for it.
pub fn find(process: &Process, _: &Thresholds) -> Vec<Finding> {
    let sleeps = process.sites.iter().enumerate().filter(|(_, site)| site.op == Op::Sleep);
    let most = sleeps.max_by(|(_, a), (_, b)| a.figures.waited.total_cmp(&b.figures.waited));
    most.and_then(|(number, site)| finding(process, number, site)).into_iter().collect()
}

fn finding(process: &Process, number: usize, site: &Site) -> Option<Finding> {
    let [(sleeper, sleeps)] = site.by_thread[..] else { return None };
    let slept = site.figures.waited / process.seconds.max(f64::MIN_POSITIVE);
    let meanwhile = process.ran() / process.seconds.max(f64::MIN_POSITIVE);
    let mean = site.figures.waited / sleeps.max(1) as f64;
    let for_a_piece = site.repeats == Some(false);
    if sleeps < OFTEN || mean > LONGEST || slept - meanwhile < MUCH || !for_a_piece {
        return None;
    }
    let waiting = most_alike(process, sleeper);
    let ran: f64 = waiting.iter().map(|&thread| process.threads[thread].ran()).sum();
    if waiting.len() < FEWEST || ran < A_REQUEST * sleeps as f64 {
        return None;
    }
    Some(Finding {
        rule: Rule::OneAtATime,
        title: "Pieces of work that sleep are done one at a time, and others wait for them"
            .to_owned(),
        place: site.place.clone(),
        sites: vec![number],
        locks: Vec::new(),
        evidence: vec![
            share("share of the run in which one thread sleeps", slept.min(1.0)),
            share("processor time of all threads", meanwhile),
            rate("sleeps", sleeps as f64 / process.seconds),
            seconds("mean sleep", mean),
            count("threads of one kind that wait meanwhile", waiting.len() as u64),
        ],
        advice: "Do several pieces of work at a time: use more threads for it (a larger pool, a \
                 thread for each connection), or work that does not occupy a thread while it \
                 sleeps (asynchronous calls, requests that are suspended)."
            .to_owned(),
        open_question: None,
        remedy: Remedy::AtOnce { seconds: site.figures.waited, pieces: waiting.len() },
        gain: None,
    })
}

/// The largest group of threads with one origin that mostly wait, without the thread that
/// sleeps.
fn most_alike(process: &Process, sleeper: usize) -> Vec<usize> {
    let waits = |&thread: &usize| thread != sleeper && waits(&process.threads[thread]);
    let alike = name::by_origin(process).into_values();
    let waiting = alike.map(|threads| threads.into_iter().filter(waits).collect());
    waiting.max_by_key(Vec::len).unwrap_or_default()
}

/// Whether a thread mostly waits for something other than the end of a thread or of a sleep.
fn waits(thread: &Thread) -> bool {
    let ends = [Primitive::Thread, Primitive::Sleep];
    let others: f64 = ends.iter().filter_map(|kind| thread.waited_for.get(kind)).sum();
    let waited = thread.times.kernel + thread.times.futexes + thread.times.events - others;
    waited >= WAITS * (thread.seconds - thread.times.ready) && waited > 0.0
}

#[cfg(test)]
mod tests {
    use super::*;
    use crate::findings::testing::{Drawn, Use, process};
    use crate::gain::Predictor;

    /// A thread that sleeps 800 times for 8 of 10 seconds in all, and clients that each wait in the
    /// kernel for `kernel` seconds.
    fn server(clients: usize, kernel: f64, repeats: Option<bool>) -> Drawn {
        let mut drawn = process(10.0, 2);
        let worker = drawn.threads("serve", 1, 10.0);
        let first = drawn.threads("client", clients, 10.0);
        let time = drawn.lock(Primitive::Sleep, "sleep");
        let site = drawn.site(Op::Sleep, "ask at backend.c:10");
        drawn.uses(time, site, Use { calls: 800, waits: 800, waited: 8.0, ..Use::default() });
        drawn.by_thread(site, [(worker, 800)]);
        drawn.sites[site].repeats = repeats;
        for thread in &mut drawn.threads {
            thread.cpu = Some(0.1);
        }
        for client in first..first + clients {
            drawn.threads[client].times.kernel = kernel;
        }
        drawn
    }

    fn places(drawn: &Drawn) -> Vec<String> {
        let found = find(drawn, &Thresholds::default());
        found.into_iter().map(|finding| finding.place).collect()
    }

    #[test]
    fn one_worker_that_sleeps_for_several_clients() {
        assert_eq!(places(&server(4, 9.0, Some(false))), ["ask at backend.c:10"]);
        assert_eq!(places(&server(2, 5.0, Some(false))).len(), 1);
    }

    #[test]
    fn a_worker_for_each_of_four_clients_leaves_a_quarter_of_the_sleep() {
        let drawn = server(4, 9.0, Some(false));
        let finding = &find(&drawn, &Thresholds::default())[0];
        let gain = Predictor::new(&drawn).gain(&finding.remedy).expect("it is predicted");
        assert!((gain.share - 0.6).abs() < 1e-9, "{}", gain.share);
    }

    #[test]
    fn threads_of_an_idle_server_wait_for_nothing() {
        let mut idle = server(4, 9.0, Some(false));
        for thread in &mut idle.threads {
            thread.cpu = Some(1e-3);
        }
        assert!(places(&idle).is_empty(), "4 ms for 800 sleeps");
    }

    #[test]
    fn one_client_or_working_clients_have_no_finding() {
        assert!(places(&server(1, 9.0, Some(false))).is_empty());
        assert!(places(&server(4, 4.9, Some(false))).is_empty());
    }

    #[test]
    fn several_sleepers_and_polling_loops_have_no_finding() {
        assert!(places(&server(4, 9.0, Some(true))).is_empty());
        assert!(places(&server(4, 9.0, None)).is_empty(), "it may stand for arrivals");
        let mut two = server(4, 9.0, Some(false));
        two.by_thread(0, [(1, 400), (2, 400)]);
        assert!(places(&two).is_empty());
    }
}
