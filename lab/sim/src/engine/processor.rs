//! Hardware threads. Several simulated threads may share a hardware thread: one of them runs, and
//! the others wait for their turns. Time is divided into slices.
//!
//! Threads that are not pinned move as on Linux 2.6.32. A thread starts on the idlest hardware
//! thread (`SD_BALANCE_FORK`). A woken thread goes back to its own hardware thread, or to an idle
//! one of the same node (`select_idle_sibling`). Otherwise a thread moves only if an idle hardware
//! thread takes it over: idle hardware threads look for waiting threads from time to time. They
//! look often on their own node. They look rarely on other nodes, and take over a thread from there
//! only if that node's load is more than a given multiple of their own node's load
//! (`Documentation/scheduler/sched-domains`, `include/linux/topology.h`).
//!
//! One rule of Linux is not simulated: a hardware thread also looks when it becomes idle, unless it
//! is usually idle for short times only.

use std::collections::VecDeque;

use super::queue::{Event, Whom};
use super::{Engine, Then, ThreadId};

/// A hardware thread.
#[derive(Default)]
pub struct Processor {
    running: Option<ThreadId>,
    /// The threads that wait for this hardware thread, in the order of their arrival.
    queue: VecDeque<ThreadId>,
    /// The cycle in which the running thread's time slice ends. If other threads wait then, the
    /// first of them runs.
    slice_ends: u64,
    /// Whether an event is planned in which idle hardware threads look at this queue.
    looked_at: bool,
}

impl Processor {
    /// The number of threads that run on this hardware thread or wait for it.
    fn load(&self) -> usize {
        self.queue.len() + usize::from(self.running.is_some())
    }
}

impl Engine<'_> {
    /// The hardware thread for a new thread, chosen as Linux does. The node with the fewest threads
    /// is chosen first, then its cache with the fewest threads, then that cache's hardware thread
    /// with the fewest threads. The choice among equals is random.
    pub(super) fn idlest(&mut self) -> usize {
        let machine = self.machine;
        let caches = machine.caches();
        let mut by_cache = vec![0; caches];
        let mut by_node = vec![0; machine.description.nodes];
        for (number, processor) in self.processors.iter().enumerate() {
            let cache = machine.cache_of(number);
            by_cache[cache] += processor.load();
            by_node[machine.node_of(cache)] += processor.load();
        }
        let crowd = |number: usize| {
            let cache = machine.cache_of(number);
            let load = self.processors[number].load();
            (by_node[machine.node_of(cache)], by_cache[cache], load)
        };
        let least = (0..machine.threads()).map(crowd).min();
        let equal: Vec<usize> =
            (0..machine.threads()).filter(|&number| Some(crowd(number)) == least).collect();
        equal[self.chance(equal.len() as u64) as usize]
    }

    fn node_at(&self, number: u32) -> usize {
        self.machine.node_of(self.machine.cache_of(number as usize))
    }

    /// The number of threads that run on a node's hardware threads or wait for them.
    fn crowd(&self, node: usize) -> usize {
        let all = (0u32..).zip(&self.processors);
        all.filter(|(number, _)| self.node_at(*number) == node).map(|(_, one)| one.load()).sum()
    }

    /// An idle hardware thread of the same node as hardware thread `number`. If there is none and
    /// `far` is set, an idle one of the node with the fewest threads, provided that Linux would
    /// move a thread to a node with so few. `None` if there is neither.
    fn idle_for(&self, number: u32, far: bool) -> Option<u32> {
        let here = self.node_at(number);
        let all = 0..self.machine.threads() as u32;
        let idle = all.filter(|&other| self.processors[other as usize].load() == 0);
        let near = idle.clone().find(|&other| self.node_at(other) == here);
        if near.is_some() || !far {
            return near;
        }
        let crowd = |other: &u32| self.crowd(self.node_at(*other));
        let threshold = self.machine.description.scheduler.imbalance;
        let least = idle.min_by_key(crowd)?;
        (self.crowd(here) as f64 > threshold * crowd(&least) as f64).then_some(least)
    }

    /// Queues a thread at its hardware thread. If the thread may move, idle hardware threads find
    /// it when they look.
    fn queue_up(&mut self, thread: ThreadId) {
        let state = &self.threads[thread as usize];
        let (number, pinned) = (state.processor, state.pinned);
        let processor = &mut self.processors[number as usize];
        processor.queue.push_back(thread);
        if !pinned && !std::mem::replace(&mut processor.looked_at, true) {
            self.plan_look(number);
        }
    }

    /// Plans the next moment at which idle hardware threads look at this hardware thread's queue.
    fn plan_look(&mut self, number: u32) {
        let every = self.machine.in_cycles(self.machine.description.scheduler.near).max(1);
        let at = (self.now / every + 1) * every;
        self.events.plan(at, Whom::Look(number));
    }

    /// Lets idle hardware threads take over threads that wait for hardware thread `number`.
    fn take_over(&mut self, number: u32) {
        let scheduler = self.machine.description.scheduler;
        let (near, far) = (scheduler.near, scheduler.far);
        // Hardware threads of other nodes look only once in every `far` cycles: at the first of
        // these moments after a multiple of `far`.
        let (near, far) = (self.machine.in_cycles(near).max(1), self.machine.in_cycles(far).max(1));
        let far = self.now / far != self.now.saturating_sub(near) / far;
        let waits = |engine: &Self| {
            let mut queue = engine.processors[number as usize].queue.iter();
            queue.position(|&thread| !engine.threads[thread as usize].pinned)
        };
        while let Some(position) = waits(self) {
            let Some(idle) = self.idle_for(number, far) else { return self.plan_look(number) };
            let thread = self.processors[number as usize].queue.remove(position);
            let thread = thread.expect("it is where it was found");
            self.settle(thread, idle);
            self.dispatch(idle, thread, self.machine.in_cycles(scheduler.switch));
        }
        self.processors[number as usize].looked_at = false;
    }

    /// Moves a thread that would have to wait for its own hardware thread to an idle one of its
    /// node, if there is one and the thread is not pinned.
    fn wake_near(&mut self, thread: ThreadId) {
        let state = &self.threads[thread as usize];
        if state.pinned || self.processors[state.processor as usize].load() == 0 {
            return;
        }
        if let Some(number) = self.idle_for(state.processor, false) {
            self.settle(thread, number);
        }
    }

    /// Lets a thread run on its hardware thread, or queues it there if another thread runs.
    pub(super) fn join_processor(&mut self, thread: ThreadId) {
        self.wake_near(thread);
        let number = self.threads[thread as usize].processor;
        self.threads[thread as usize].due = true;
        let processor = &mut self.processors[number as usize];
        if processor.running.is_none() && processor.queue.is_empty() {
            return self.dispatch(number, thread, 0);
        }
        let (first, ends) = (processor.queue.is_empty(), processor.slice_ends);
        self.queue_up(thread);
        if first {
            self.events.plan(ends.max(self.now), Whom::Slice(number));
        }
    }

    /// Removes a thread that yields, sleeps or has ended from its hardware thread, and lets the
    /// next one run there.
    pub(super) fn leave_processor(&mut self, thread: ThreadId) {
        let number = self.threads[thread as usize].processor;
        let processor = &mut self.processors[number as usize];
        debug_assert_eq!(processor.running, Some(thread));
        processor.running = None;
        self.running[self.machine.cache_of(number as usize)] -= 1;
        let processor = &mut self.processors[number as usize];
        if let Some(next) = processor.queue.pop_front() {
            let switch = self.machine.in_cycles(self.machine.description.scheduler.switch);
            self.dispatch(number, next, switch);
        }
    }

    /// Lets the next thread of the queue run, and queues the current one after the others.
    pub(crate) fn yield_processor(&mut self) -> Then {
        /// Cycles of a system call that finds no other thread to run.
        const CALL: u64 = 500;
        let number = self.threads[self.current as usize].processor;
        if self.processors[number as usize].queue.is_empty() {
            return self.delay(CALL);
        }
        let current = self.current;
        self.threads[current as usize].looks_at = None;
        self.leave_processor(current);
        self.join_processor(current);
        self.suspend()
    }

    /// Gives hardware thread `number` to a thread, which goes on after `after` cycles.
    fn dispatch(&mut self, number: u32, thread: ThreadId, after: u64) {
        let slice = self.machine.in_cycles(self.machine.description.scheduler.slice);
        let processor = &mut self.processors[number as usize];
        if processor.running.replace(thread).is_none() {
            self.running[self.machine.cache_of(number as usize)] += 1;
        }
        processor.slice_ends = self.now + after + slice;
        if !processor.queue.is_empty() {
            let at = processor.slice_ends;
            self.events.plan(at, Whom::Slice(number));
        }
        if std::mem::take(&mut self.threads[thread as usize].due) {
            self.plan(self.now + after, thread);
            // The write that the thread was about to make when it lost its processor takes effect
            // now. A thread that has read the line in the meantime has seen the old value, and may
            // be watching the line, so it has to be woken.
            if let Some(line) = self.threads[thread as usize].writes_to {
                self.write(line, self.now + after + 1);
            }
        }
    }

    /// Handles an event. Returns the thread that goes on because of the event; `None` if none does.
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
                if self.processors[state.processor as usize].running != Some(thread) {
                    state.due = true;
                    return None;
                }
                Some(thread)
            }
            Whom::Buffer(thread) => {
                self.take_effect(thread);
                None
            }
            Whom::Slice(number) => {
                let processor = &mut self.processors[number as usize];
                let over = processor.slice_ends <= self.now;
                if let (Some(running), true) = (processor.running, over)
                    && let Some(next) = processor.queue.pop_front()
                {
                    // Accesses that the thread has begun continue while the thread waits.
                    self.queue_up(running);
                    let switch = self.machine.in_cycles(self.machine.description.scheduler.switch);
                    self.dispatch(number, next, switch);
                }
                None
            }
            Whom::Look(number) => {
                self.take_over(number);
                None
            }
        }
    }

    /// Assigns a thread to another hardware thread.
    fn settle(&mut self, thread: ThreadId, number: u32) {
        let state = &mut self.threads[thread as usize];
        state.processor = number;
        state.cache = self.machine.cache_of(number as usize) as u32;
    }
}
