//! Hardware threads that several threads share: one runs, the others wait for their turn, in
//! slices of time. A thread that is not pinned goes where it is wanted least.

use std::collections::VecDeque;

use super::{Engine, Event, Then, ThreadId, Whom};

/// A hardware thread.
#[derive(Default)]
pub struct Processor {
    running: Option<ThreadId>,
    /// The threads that want it, first come, first served.
    queue: VecDeque<ThreadId>,
    /// When the running one has to make room for another.
    slice_ends: u64,
}

impl Processor {
    /// How many threads want it.
    fn load(&self) -> usize {
        self.queue.len() + usize::from(self.running.is_some())
    }
}

impl Engine<'_> {
    /// The hardware thread for a new thread, as Linux balances: on the node with the fewest
    /// threads, there in the cache with the fewest, there where the fewest are; by chance among
    /// equals.
    pub(super) fn idlest(&mut self) -> usize {
        let machine = self.machine;
        let caches = machine.caches();
        let mut by_cache = vec![0; caches];
        let mut by_node = vec![0; machine.description.nodes];
        for (place, processor) in self.processors.iter().enumerate() {
            let cache = machine.cache_of(place);
            by_cache[cache] += processor.load();
            by_node[machine.node_of(cache)] += processor.load();
        }
        let crowd = |place: usize| {
            let cache = machine.cache_of(place);
            let load = self.processors[place].load();
            (by_node[machine.node_of(cache)], by_cache[cache], load)
        };
        let least = (0..machine.threads()).map(crowd).min();
        let equal: Vec<usize> =
            (0..machine.threads()).filter(|&place| Some(crowd(place)) == least).collect();
        equal[self.chance(equal.len() as u64) as usize]
    }

    /// An idle hardware thread for a thread that is not pinned and whose own is taken: on its
    /// node if there is one, else anywhere.
    fn idle_near(&self, place: u32) -> Option<u32> {
        let machine = self.machine;
        let node = |place: u32| machine.node_of(machine.cache_of(place as usize));
        let idle = |&other: &u32| self.processors[other as usize].load() == 0;
        let all = 0..machine.threads() as u32;
        let near = all.clone().filter(|&other| node(other) == node(place)).find(idle);
        near.or_else(|| all.clone().find(idle))
    }

    /// A thread that is not pinned and has to wait for its hardware thread goes to an idle one.
    fn balance(&mut self, thread: ThreadId) {
        let state = &self.threads[thread as usize];
        if state.pinned || self.processors[state.place as usize].load() == 0 {
            return;
        }
        if let Some(place) = self.idle_near(state.place) {
            self.settle(thread, place);
        }
    }

    /// A thread wants a processor, and goes on once it has it.
    pub(super) fn join_processor(&mut self, thread: ThreadId) {
        self.balance(thread);
        let place = self.threads[thread as usize].place;
        self.threads[thread as usize].due = true;
        let processor = &mut self.processors[place as usize];
        if processor.running.is_none() && processor.queue.is_empty() {
            return self.dispatch(place, thread, 0);
        }
        processor.queue.push_back(thread);
        if processor.queue.len() == 1 {
            let at = processor.slice_ends.max(self.now);
            self.plan_for(at, Whom::Slice(place));
        }
    }

    /// A thread sleeps, or is done: the next one's turn.
    pub(super) fn leave_processor(&mut self, thread: ThreadId) {
        let place = self.threads[thread as usize].place;
        let processor = &mut self.processors[place as usize];
        debug_assert_eq!(processor.running, Some(thread));
        processor.running = None;
        self.running[self.machine.cache_of(place as usize)] -= 1;
        let processor = &mut self.processors[place as usize];
        if let Some(next) = processor.queue.pop_front() {
            let switch = self.machine.in_cycles(self.machine.description.scheduler.switch);
            self.dispatch(place, next, switch);
        }
    }

    /// The current thread lets the next one run, and goes on at the end of the queue.
    pub(crate) fn yield_processor(&mut self) -> Then {
        /// Cycles of a call of the kernel that finds nobody else.
        const CALL: u64 = 500;
        let place = self.threads[self.current as usize].place;
        if self.processors[place as usize].queue.is_empty() {
            return self.delay(CALL);
        }
        let current = self.current;
        self.threads[current as usize].looks_at = None;
        self.leave_processor(current);
        self.join_processor(current);
        self.suspend()
    }

    /// A thread gets a processor.
    fn dispatch(&mut self, place: u32, thread: ThreadId, after: u64) {
        let slice = self.machine.in_cycles(self.machine.description.scheduler.slice);
        let processor = &mut self.processors[place as usize];
        if processor.running.replace(thread).is_none() {
            self.running[self.machine.cache_of(place as usize)] += 1;
        }
        processor.slice_ends = self.now + after + slice;
        if !processor.queue.is_empty() {
            let at = processor.slice_ends;
            self.plan_for(at, Whom::Slice(place));
        }
        if std::mem::take(&mut self.threads[thread as usize].due) {
            self.plan(self.now + after, thread);
            // What it was about to write when it lost its processor is written now; a thread that
            // has looked since then has seen the old value, and may watch.
            if let Some(line) = self.threads[thread as usize].writes_to {
                self.write(line, self.now + after + 1);
            }
        }
    }

    /// The thread that an event lets run, if there is one.
    pub(super) fn runs_next(&mut self, event: Event) -> Option<ThreadId> {
        match event.whom {
            Whom::Thread(thread, went_on) => {
                let state = &mut self.threads[thread as usize];
                if state.went_on != went_on || state.done {
                    return None;
                }
                if state.asleep {
                    state.asleep = false;
                    self.join_processor(thread);
                    return None;
                }
                if self.processors[state.place as usize].running != Some(thread) {
                    state.due = true;
                    return None;
                }
                Some(thread)
            }
            Whom::Buffer(thread) => {
                self.take_effect(thread);
                None
            }
            Whom::Slice(place) => {
                let processor = &mut self.processors[place as usize];
                let over = processor.slice_ends <= self.now;
                if let (Some(running), true) = (processor.running, over)
                    && let Some(next) = processor.queue.pop_front()
                {
                    self.preempt(running);
                    let switch = self.machine.in_cycles(self.machine.description.scheduler.switch);
                    self.dispatch(place, next, switch);
                }
                None
            }
        }
    }

    /// The thread that runs makes room: it queues up, or moves if it may and there is an idle
    /// hardware thread. What it has begun goes on meanwhile.
    fn preempt(&mut self, thread: ThreadId) {
        let state = &self.threads[thread as usize];
        let idle = if state.pinned { None } else { self.idle_near(state.place) };
        match idle {
            Some(place) => {
                self.settle(thread, place);
                self.dispatch(place, thread, 0);
            }
            None => self.processors[state.place as usize].queue.push_back(thread),
        }
    }

    /// A thread has another hardware thread from now on.
    fn settle(&mut self, thread: ThreadId, place: u32) {
        let state = &mut self.threads[thread as usize];
        state.place = place;
        state.cache = self.machine.cache_of(place as usize) as u32;
    }
}
