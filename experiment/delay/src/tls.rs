//! Words of thread-local storage.

use syncline_interpose::thread_words;

thread_words! {
    "syncline_delay_thread" of 16 bytes;
    /// The address of the thread's line of counters; 0 if it has none yet.
    line, set_line at 0: usize;
    /// 1 while the thread finds out where a call comes from, which may itself use a lock; otherwise
    /// 0.
    looking, set_looking at 8: usize;
}
