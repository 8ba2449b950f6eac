//! The event of a span: its name, and the details that a viewer shows when it is selected.

use super::messages::{AnnotationValue, DebugAnnotation, EventType, TrackEvent};
use crate::export::parts::{object, thread_name};
use syncline_analysis::model::{Activity, Process, Span};

/// An event of the given kind, which describes a span.
pub fn event(kind: EventType, track: u64, process: &Process, span: &Span) -> TrackEvent {
    let object = object(process, span);
    let (name, category) = match (kind, span.activity) {
        (EventType::Instant, _) => (format!("in the way: {object}"), "hold"),
        (_, Activity::Wait) => (format!("waits: {object}"), "wait"),
        (_, Activity::Hold) => (object.to_owned(), "hold"),
    };
    let text = |name: &str, text: String| DebugAnnotation {
        name: Some(name.to_owned()),
        value: Some(AnnotationValue::String(text)),
    };
    let mut annotations = vec![text("operation", span.op.label().to_owned())];
    if kind != EventType::Instant {
        if let Some(site) = span.site {
            annotations.push(text("place", process.sites[site].place.clone()));
        }
        if let Some(by) = span.by {
            annotations.push(text("waited for", thread_name(process, by)));
        }
    }
    if let Some(lock) = span.lock {
        annotations.push(DebugAnnotation {
            name: Some("address".to_owned()),
            value: Some(AnnotationValue::Pointer(process.locks[lock].address)),
        });
    }
    TrackEvent {
        debug_annotations: annotations,
        r#type: Some(kind.into()),
        track_uuid: Some(track),
        categories: vec![category.to_owned()],
        name: Some(name),
        ..TrackEvent::default()
    }
}
