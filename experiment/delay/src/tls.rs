//! The thread's own words.

use syncline_interpose::thread_words;

thread_words! {
    "syncline_delay_thread" of 16 bytes;
    /// The address of the thread's line of counters; 0 while it has none.
    line, set_line at 0: usize;
    /// Whether the thread is finding out where a call comes from, which may itself use a lock.
    looking, set_looking at 8: usize;
}
