//! What is said of sections whose address sets are known, since they are made by hand.

mod advice;
mod enough;
mod hand;
mod independence;
mod thresholds;
mod touched;
mod tree;
mod uncertainty;
