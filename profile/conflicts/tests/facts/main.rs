//! Tests the facts and the advice for hand-made traces, whose address sets are known.

mod advice;
mod enough;
mod hand;
mod independence;
mod thresholds;
mod touched;
mod tree;
mod uncertainty;
