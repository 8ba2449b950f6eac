//! The timeline of each thread: when it waited, held locks and ran.
//!
//! The script draws the picture, since users can zoom it. The picture's data is included in the
//! page, in whole nanoseconds. A table has the timeline in numbers.

mod reduce;
mod table;

use std::collections::HashMap;
use std::fmt::Write;

use reduce::{MOST, Piece, What, reduce};
use syncline_analysis::model::{Kind, Process, Span, Times};
use syncline_analysis::name;
use syncline_present::page::Json;
use syncline_present::page::number::{compact, counted, duration};
use table::title;

/// The most threads that are drawn: those that waited and held locks for longest.
const LANES: usize = 128;

/// A timeline with at least this share of the run counts as complete, since the first moments of a
/// run are in no window.
const WHOLE: f64 = 0.999;

/// The section about the timeline. Its ids begin with `id`.
pub fn section(process: &Process, id: &str) -> String {
    let timeline = &process.timeline;
    if timeline.threads.iter().all(Vec::is_empty) {
        return "<p class=\"empty\">No thread waited, or the recording has no log of waits. A \
                recording made with <code>syncline record --timeline</code> also says when each \
                thread held which lock.</p>"
            .to_owned();
    }
    let (pieces, cell) = reduce(timeline, MOST);
    let lanes = lanes(process, &pieces);
    let mut html = remarks(process, lanes.len(), cell);
    let _ = write!(
        html,
        "<div class=\"timeline\" id=\"{id}view\">\n<p class=\"tools\"><button type=\"button\" data-do=\"in\">\
         Zoom in</button> <button type=\"button\" data-do=\"out\">Zoom out</button> <button type=\"button\" \
         data-do=\"left\">Earlier</button> <button type=\"button\" data-do=\"right\">Later</button> <button \
         type=\"button\" data-do=\"all\">Whole run</button></p>\n<div class=\"view\" tabindex=\"0\" \
         role=\"application\" aria-label=\"Timeline of {}\" aria-describedby=\"{id}keys\"><canvas \
         aria-hidden=\"true\"></canvas></div>\n<p class=\"status\" role=\"status\"></p>\n<p class=\"keys\" \
         id=\"{id}keys\">Keys: <kbd>+</kbd> <kbd>−</kbd> zoom, <kbd>←</kbd> <kbd>→</kbd> move, <kbd>↑</kbd> \
         <kbd>↓</kbd> choose a thread, <kbd>Shift</kbd> with <kbd>←</kbd> <kbd>→</kbd> its previous or next \
         wait or hold, <kbd>Enter</kbd> zoom to it, <kbd>Home</kbd> the whole run. Mouse: drag to move, \
         <kbd>Ctrl</kbd> with the wheel to zoom, click to choose.</p>\n{}</div>\n\
         <noscript><p class=\"empty\">The picture needs JavaScript; the table does not.</p></noscript>\n",
        counted(lanes.len(), "thread"),
        data(process, &pieces, &lanes, cell)
    );
    let table = table::table(process, format!("{id}row"));
    let _ = writeln!(html, "<details><summary>The timeline as a table</summary>{table}</details>");
    html
}

fn remarks(process: &Process, lanes: usize, cell: f64) -> String {
    let timeline = &process.timeline;
    let mut remarks = Vec::new();
    if !timeline.holds {
        remarks.push(
            "Only waits are shown: <code>syncline record --timeline</code> also logs which thread \
             held which lock."
                .to_owned(),
        );
    }
    let kept: f64 = timeline.windows.iter().map(|(from, to)| to - from).sum();
    if timeline.windows.len() != 1 || kept < timeline.to * WHOLE {
        remarks.push(format!(
            "The logs had no room for all events: of {}, they have {}, {} in all. The shaded parts \
             are incomplete.",
            duration(timeline.to),
            counted(timeline.windows.len(), "window"),
            duration(kept)
        ));
    }
    if cell > 0.0 {
        remarks.push(format!(
            "The page has no room for all events: those shorter than {} are added up.",
            duration(cell)
        ));
    }
    if lanes < process.timeline.threads.iter().filter(|spans| !spans.is_empty()).count() {
        remarks.push(format!(
            "Of {}, only the {lanes} that waited and held locks longest are shown.",
            counted(process.threads.len(), "thread")
        ));
    }
    let legend = "<p class=\"legend\">outside of waits, in all: <span class=\"key run\"></span> on a processor \
                  <span class=\"key ready\"></span> ready, no processor <span class=\"key kernel\"></span> in \
                  the kernel otherwise or not known; <span class=\"key \
                  wait\"></span> waiting for a lock <span class=\"key futex\"></span> in a futex <span \
                  class=\"key event\"></span> waiting for an event <span class=\"key hold\"></span> holding \
                  a lock</p>\n";
    match remarks.is_empty() {
        true => legend.to_owned(),
        false => format!("<p class=\"remark\">{}</p>\n{legend}", remarks.join(" ")),
    }
}

/// The threads to draw, in the order of their creation: those that waited and held locks for
/// longest.
fn lanes(process: &Process, pieces: &[Vec<Piece>]) -> Vec<usize> {
    let busy = |thread: usize| pieces[thread].iter().map(|piece| piece.busy).sum::<f64>();
    let known = pieces.len().min(process.threads.len());
    let mut lanes: Vec<(usize, f64)> =
        (0..known).filter(|&t| !pieces[t].is_empty()).map(|t| (t, busy(t))).collect();
    lanes.sort_by(|a, b| b.1.total_cmp(&a.1));
    lanes.truncate(LANES);
    let mut lanes: Vec<usize> = lanes.into_iter().map(|(thread, _)| thread).collect();
    lanes.sort_unstable();
    lanes
}

/// The data for the script. Each thread has its name, its start and end, what it did between waits,
/// and eight numbers for each piece. These are the nanoseconds from the start of the previous piece
/// to the start of this one; the piece's length in nanoseconds; its kind; the number of spans that
/// it represents; the share of its time that these spans take, in thousandths; and three indexes of
/// the list of texts. The three texts are the name of the lock, the operation with its call site,
/// and the name of the other thread; index 0 stands for none.
fn data(process: &Process, pieces: &[Vec<Piece>], lanes: &[usize], cell: f64) -> String {
    let mut texts = Texts { places: HashMap::from([(String::new(), 0)]), list: "\"\"".to_owned() };
    let mut threads = Vec::new();
    for &lane in lanes {
        let thread = &process.threads[lane];
        let (mut numbers, mut last) = (String::new(), 0i64);
        for piece in &pieces[lane] {
            let began = nanoseconds(piece.began);
            let comma = if numbers.is_empty() { "" } else { "," };
            let span = &piece.longest;
            let _ = write!(
                numbers,
                "{comma}{},{},{},{},{},{},{},{}",
                began - last,
                nanoseconds(piece.ended) - began,
                code(span),
                piece.count,
                thousandths(piece),
                texts.place(span.lock.and_then(|l| Some(process.locks.get(l)?.name.clone()))),
                texts.place(Some(place(process, span))),
                texts.place(span.by.and_then(|t| Some(title(process.threads.get(t)?))))
            );
            last = began;
        }
        threads.push(format!(
            "{{\"name\":{},\"began\":{},\"ended\":{},\"between\":[{}],\"pieces\":[{numbers}]}}",
            Json(&title(thread)),
            nanoseconds(thread.started),
            nanoseconds(thread.started + thread.seconds),
            between(&thread.times)
        ));
    }
    let timeline = &process.timeline;
    let window = |&(from, to): &(f64, f64)| format!("[{},{}]", nanoseconds(from), nanoseconds(to));
    let windows: Vec<String> = timeline.windows.iter().map(window).collect();
    format!(
        "<script type=\"application/json\">{{\"windows\":[{}],\"to\":{},\"cell\":{},\"texts\":[{}],\"threads\":[\n{}\
         ]}}</script>\n",
        windows.join(","),
        nanoseconds(timeline.to),
        compact(cell * 1e9),
        texts.list,
        threads.join(",\n")
    )
}

/// The shares of the time between a thread's waits, in thousandths: on a processor, then ready
/// without one. The moments at which the thread did these are not recorded.
fn between(times: &Times) -> String {
    let running = times.running + times.spinning;
    let all = running + times.ready + times.kernel + times.unknown;
    let share = |seconds: f64| if all > 0.0 { (1000.0 * seconds / all).round() } else { 0.0 };
    format!("{},{}", share(running), share(times.ready))
}

/// The list of texts, each text once, and the index of each text.
struct Texts {
    places: HashMap<String, usize>,
    list: String,
}

impl Texts {
    fn place(&mut self, text: Option<String>) -> usize {
        let text = text.unwrap_or_default();
        if let Some(&place) = self.places.get(&text) {
            return place;
        }
        let place = self.places.len();
        let _ = write!(self.list, ",{}", Json(&text));
        self.places.insert(text, place);
        place
    }
}

fn nanoseconds(seconds: f64) -> i64 {
    (seconds * 1e9).round() as i64
}

fn thousandths(piece: &Piece) -> u64 {
    let length = piece.ended - piece.began;
    if length > 0.0 { (1000.0 * (piece.busy / length).min(1.0)).round() as u64 } else { 1000 }
}

/// The script's number for a kind of span.
fn code(span: &Span) -> u8 {
    match What::of(span) {
        What::Wait(Kind::Lock) => 0,
        What::Wait(Kind::Futex) => 1,
        What::Wait(Kind::Event) => 2,
        What::Hold => 3,
    }
}

fn place(process: &Process, span: &Span) -> String {
    let site = span.site.and_then(|site| process.sites.get(site));
    let place =
        site.map_or_else(|| name::stack(process, span.stack), |site| name::site(process, site));
    format!("{} at {place}", span.op.label())
}
