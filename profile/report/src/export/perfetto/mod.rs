//! A trace for Perfetto: a track for each thread with its waits, tracks below it with its holds,
//! and arrows from the holder to the waiter.
//!
//! The trace has Perfetto's own format, not the older JSON of trace events. That JSON is five times
//! as large and has times in microseconds, as decimal text. And viewers attach its arrows to any
//! slice that covers the arrow's moment.
//!
//! Slices of one track must lie within each other. Waits of a thread never overlap; holds may
//! overlap in any way, so each hold goes to the first track on which no other hold is open.

mod event;
mod messages;

use std::io::{self, Write};

use prost::Message;

use super::parts::{nanoseconds, thread_name};
use event::event;
use messages::{
    EventType, ProcessDescriptor, ThreadDescriptor, Trace, TracePacket, TrackDescriptor, TrackEvent,
};
use syncline_analysis::Analysis;
use syncline_analysis::model::{Activity, Process, Span};

/// The number of the writer of a packet; all packets come from one writer.
const SEQUENCE: u32 = 1;
/// Each process has a range of `PER_PROCESS` track numbers, and each of its threads `PER_THREAD`
/// numbers of that range.
const PER_PROCESS: u64 = 1 << 32;
const PER_THREAD: u64 = 1 << 12;

/// Writes the timelines of all processes as a trace of Perfetto.
///
/// # Errors
/// Same errors as writing to `out`.
pub fn perfetto(analysis: &Analysis, out: &mut impl Write) -> io::Result<()> {
    let started = analysis.processes.iter().map(|process| process.started).min().unwrap_or(0);
    let mut writer = Writer { out, flows: 0 };
    for (number, process) in analysis.processes.iter().enumerate() {
        let track = (number as u64 + 1) * PER_PROCESS;
        let offset = process.started - started;
        writer.process(&Place { process, track, offset })?;
    }
    Ok(())
}

/// A process in the trace.
struct Place<'a> {
    process: &'a Process,
    /// The number of the process's track.
    track: u64,
    /// Nanoseconds from the beginning of the trace to the beginning of the process's recording.
    offset: u64,
}

impl Place<'_> {
    fn thread(&self, thread: usize) -> u64 {
        self.track + (thread as u64 + 1) * PER_THREAD
    }

    fn moment(&self, seconds: f64) -> u64 {
        self.offset + nanoseconds(seconds)
    }
}

/// A hold that an arrow may start from.
struct Held<'a> {
    span: &'a Span,
    track: u64,
    flows: Vec<u64>,
}

struct Writer<'a, W> {
    out: &'a mut W,
    /// The number of arrows so far.
    flows: u64,
}

impl<W: Write> Writer<'_, W> {
    fn process(&mut self, place: &Place) -> io::Result<()> {
        let process = place.process;
        self.describe(TrackDescriptor {
            uuid: Some(place.track),
            process: Some(ProcessDescriptor {
                pid: Some(process.pid as i32),
                cmdline: process.arguments.clone(),
                process_name: Some(process.name()),
            }),
            ..TrackDescriptor::default()
        })?;
        let mut holds = Vec::new();
        for (thread, spans) in process.timeline.threads.iter().enumerate() {
            holds.push(self.thread(place, thread, spans)?);
        }
        for (thread, spans) in process.timeline.threads.iter().enumerate() {
            let waits = spans.iter().filter(|span| span.activity == Activity::Wait);
            for span in waits {
                self.wait(place, thread, span, &mut holds)?;
            }
        }
        for hold in holds.into_iter().flatten() {
            self.slice(place, hold.track, hold.span, hold.flows, Vec::new())?;
        }
        Ok(())
    }

    /// Describes the tracks of a thread. Returns the thread's holds, each with its track.
    fn thread<'s>(
        &mut self,
        place: &Place,
        thread: usize,
        spans: &'s [Span],
    ) -> io::Result<Vec<Held<'s>>> {
        let own = place.thread(thread);
        let descriptor = ThreadDescriptor {
            pid: Some(place.process.pid as i32),
            tid: Some(place.process.threads[thread].tid as i32),
            thread_name: Some(thread_name(place.process, thread)),
        };
        self.describe(TrackDescriptor {
            uuid: Some(own),
            parent_uuid: Some(place.track),
            thread: Some(descriptor),
            ..TrackDescriptor::default()
        })?;
        let mut holds: Vec<&Span> =
            spans.iter().filter(|span| span.activity == Activity::Hold).collect();
        holds.sort_by(|a, b| a.began.total_cmp(&b.began));
        // The end of the latest hold on each track.
        let mut ends: Vec<f64> = Vec::new();
        let mut held = Vec::new();
        for span in holds {
            let free = ends.iter().position(|&end| end <= span.began);
            let lane = free.unwrap_or(ends.len());
            if free.is_none() {
                ends.push(0.0);
            }
            ends[lane] = span.ended;
            let track = own + 1 + (lane as u64).min(PER_THREAD - 2);
            held.push(Held { span, track, flows: Vec::new() });
        }
        for lane in 0..ends.len().min(PER_THREAD as usize - 1) {
            self.describe(TrackDescriptor {
                uuid: Some(own + 1 + lane as u64),
                parent_uuid: Some(own),
                name: Some("holds".to_owned()),
                ..TrackDescriptor::default()
            })?;
        }
        Ok(held)
    }

    /// Writes a wait, with an arrow from the hold for which the thread waited. If that hold was not
    /// recorded, the arrow starts from a mark on the holder's track. If no other thread is known as
    /// the holder, there is no arrow.
    fn wait(
        &mut self,
        place: &Place,
        thread: usize,
        span: &Span,
        holds: &mut [Vec<Held>],
    ) -> io::Result<()> {
        let mut ends = Vec::new();
        if let Some(by) = span.by.filter(|&by| by != thread) {
            self.flows += 1;
            ends.push(self.flows);
            let covers = |held: &&mut Held| {
                let hold = held.span;
                hold.lock == span.lock && hold.began <= span.began && span.began < hold.ended
            };
            match holds[by].iter_mut().find(covers) {
                Some(held) => held.flows.push(self.flows),
                None => self.event(
                    place.moment(span.began),
                    TrackEvent {
                        flow_ids: vec![self.flows],
                        ..event(EventType::Instant, place.thread(by), place.process, span)
                    },
                )?,
            }
        }
        self.slice(place, place.thread(thread), span, Vec::new(), ends)
    }

    /// Writes a slice, with the arrows that start from it and those that end at it.
    fn slice(
        &mut self,
        place: &Place,
        track: u64,
        span: &Span,
        flow_ids: Vec<u64>,
        terminating_flow_ids: Vec<u64>,
    ) -> io::Result<()> {
        let begin = event(EventType::SliceBegin, track, place.process, span);
        let begin = TrackEvent { flow_ids, terminating_flow_ids, ..begin };
        self.event(place.moment(span.began), begin)?;
        let end = TrackEvent {
            r#type: Some(EventType::SliceEnd.into()),
            track_uuid: Some(track),
            ..TrackEvent::default()
        };
        self.event(place.moment(span.ended), end)
    }

    fn describe(&mut self, track: TrackDescriptor) -> io::Result<()> {
        self.packet(TracePacket { track_descriptor: Some(track), ..TracePacket::default() })
    }

    fn event(&mut self, moment: u64, event: TrackEvent) -> io::Result<()> {
        self.packet(TracePacket {
            timestamp: Some(moment),
            track_event: Some(event),
            ..TracePacket::default()
        })
    }

    fn packet(&mut self, packet: TracePacket) -> io::Result<()> {
        let packet = TracePacket { trusted_packet_sequence_id: Some(SEQUENCE), ..packet };
        self.out.write_all(&Trace { packet: vec![packet] }.encode_to_vec())
    }
}
