//! Hardware threads that several threads share: one runs, the others wait for their turn, in
//! slices of time.

use std::collections::VecDeque;

use super::{Engine, Event, Then, ThreadId, Whom};

/// A hardware thread.
#[derive(Default)]
pub struct Processor {
    running: Option<ThreadId>,
    /// Who wants it, first come, first served.
    queue: VecDeque<ThreadId>,
    /// When the running one has to make room for another.
    slice_ends: u64,
}

impl Engine<'_> {
    /// A thread wants its processor, and goes on once it has it.
    pub(super) fn join_processor(&mut self, thread: ThreadId) {
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
        processor.running = Some(thread);
        processor.slice_ends = self.now + after + slice;
        if !processor.queue.is_empty() {
            let at = processor.slice_ends;
            self.plan_for(at, Whom::Slice(place));
        }
        if std::mem::take(&mut self.threads[thread as usize].due) {
            self.plan(self.now + after, thread);
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
            Whom::Slice(place) => {
                let processor = &mut self.processors[place as usize];
                let over = processor.slice_ends <= self.now;
                if let (Some(running), true) = (processor.running, over)
                    && let Some(next) = processor.queue.pop_front()
                {
                    processor.queue.push_back(running);
                    let switch = self.machine.in_cycles(self.machine.description.scheduler.switch);
                    self.dispatch(place, next, switch);
                }
                None
            }
        }
    }
}
