//! A profile for the Firefox Profiler: markers for each wait and each hold, and a sample for
//! each wait.
//!
//! The profile has one sample for a whole wait, as if the waiting thread had been sampled once a
//! microsecond. The sample's weight is the wait in microseconds, so call tree and flame graph add
//! up to the time waited.

use std::io::{self, Write};
use std::time::Duration;

use fxprof_processed_profile::{
    CategoryColor, CategoryHandle, CpuDelta, Frame, FrameFlags, FrameInfo, MarkerFieldFlags,
    MarkerFieldFormat, MarkerTiming, Profile, ReferenceTimestamp, SamplingInterval, StackHandle,
    StaticSchemaMarker, StaticSchemaMarkerField, StringHandle, ThreadHandle, Timestamp, WeightType,
};

use super::parts::{nanoseconds, object, thread_name};
use syncline_analysis::Analysis;
use syncline_analysis::model::{self, Activity, Process, Span};

/// Writes the timelines of all processes as a profile for the Firefox Profiler.
///
/// # Errors
/// Same errors as writing to `out`.
pub fn firefox(analysis: &Analysis, out: &mut impl Write) -> io::Result<()> {
    let started = analysis.processes.iter().map(|process| process.started).min().unwrap_or(0);
    let product = analysis.processes.first().map_or("nothing".to_owned(), Process::name);
    let mut profile = Profile::new(
        &product,
        ReferenceTimestamp::from_duration_since_unix_epoch(Duration::from_nanos(started)),
        SamplingInterval::from_nanos(1_000),
    );
    profile.set_os_name("Linux");
    // The profile has all names, so the viewer need not ask a server for them.
    profile.set_symbolicated(true);
    let wait = profile.add_category("Waits", CategoryColor::Red);
    let hold = profile.add_category("Holds", CategoryColor::Blue);
    for process in &analysis.processes {
        let offset = process.started - started;
        add(&mut profile, process, offset, [wait, hold]);
    }
    serde_json::to_writer(&mut *out, &profile)?;
    writeln!(out)
}

fn add(profile: &mut Profile, process: &Process, offset: u64, categories: [CategoryHandle; 2]) {
    let moment = |seconds| Timestamp::from_nanos_since_reference(offset + nanoseconds(seconds));
    let end = moment(process.seconds);
    let handle = profile.add_process(&process.name(), process.pid, moment(0.0));
    profile.set_process_end_time(handle, end);
    for (place, thread) in process.threads.iter().enumerate() {
        let own = profile.add_thread(handle, thread.tid, moment(thread.started), place == 0);
        profile.set_thread_name(own, &thread_name(process, place));
        profile.set_thread_show_markers_in_timeline(own, true);
        profile.set_thread_samples_weight_type(own, WeightType::Samples);
        if thread.ended {
            profile.set_thread_end_time(own, moment(thread.started + thread.seconds));
        }
        for span in process.timeline.threads.get(place).into_iter().flatten() {
            let stack = stack(profile, own, process, span, categories[0]);
            if span.activity == Activity::Wait {
                // An `i32` has room for 36 minutes; a longer wait counts as 36 minutes.
                let weight = ((span.ended - span.began) * 1e6).round() as i32;
                profile.add_sample(own, moment(span.began), stack, CpuDelta::ZERO, weight);
            }
            let marker = Marker::new(profile, process, span, categories);
            let timing = MarkerTiming::Interval(moment(span.began), moment(span.ended));
            let marker = profile.add_marker(own, timing, marker);
            profile.set_marker_stack(own, marker, stack);
        }
    }
}

/// The stack of a span, with the names of functions and their lines; `None` for a stack without
/// frames.
fn stack(
    profile: &mut Profile,
    thread: ThreadHandle,
    process: &Process,
    span: &Span,
    category: CategoryHandle,
) -> Option<StackHandle> {
    let frames: Vec<&model::Frame> = process.frames_of(span.stack).collect();
    let mut handle = None;
    for frame in frames.into_iter().rev() {
        let name = match frame.file_line() {
            Some(line) => format!("{} ({line})", frame.function),
            None => frame.function.clone(),
        };
        let info = FrameInfo {
            frame: Frame::Label(profile.intern_string(&name)),
            category_pair: category.into(),
            flags: FrameFlags::empty(),
        };
        let frame = profile.intern_frame(thread, info);
        handle = Some(profile.intern_stack(thread, handle, frame));
    }
    handle
}

/// A wait or a hold.
struct Marker {
    name: StringHandle,
    category: CategoryHandle,
    fields: [StringHandle; 4],
}

impl Marker {
    fn new(
        profile: &mut Profile,
        process: &Process,
        span: &Span,
        [wait, hold]: [CategoryHandle; 2],
    ) -> Marker {
        let (name, category) = match span.activity {
            Activity::Wait => ("Wait", wait),
            Activity::Hold => ("Hold", hold),
        };
        let by = span.by.map_or(String::new(), |by| thread_name(process, by));
        let place = span.site.map_or("unknown place", |site| &process.sites[site].place);
        let mut text = |text: &str| profile.intern_string(text);
        let fields = [object(process, span), span.op.label(), place, &by].map(&mut text);
        Marker { name: text(name), category, fields }
    }
}

const fn field(key: &'static str, label: &'static str) -> StaticSchemaMarkerField {
    let (format, flags) = (MarkerFieldFormat::String, MarkerFieldFlags::SEARCHABLE);
    StaticSchemaMarkerField { key, label, format, flags }
}

impl StaticSchemaMarker for Marker {
    const UNIQUE_MARKER_TYPE_NAME: &'static str = "Synchronization";
    const CHART_LABEL: Option<&'static str> = Some("{marker.data.object}");
    const TABLE_LABEL: Option<&'static str> = Some("{marker.data.object} at {marker.data.place}");
    const FIELDS: &'static [StaticSchemaMarkerField] = &[
        field("object", "Lock"),
        field("operation", "Operation"),
        field("place", "Place"),
        field("by", "Waited for"),
    ];

    fn name(&self, _profile: &mut Profile) -> StringHandle {
        self.name
    }

    fn category(&self, _profile: &mut Profile) -> CategoryHandle {
        self.category
    }

    fn string_field_value(&self, field: u32) -> StringHandle {
        self.fields[field as usize]
    }

    fn number_field_value(&self, _field: u32) -> f64 {
        f64::NAN
    }
}
