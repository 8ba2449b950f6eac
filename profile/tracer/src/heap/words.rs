//! What is kept about the heap in thread-local storage.

syncline_interpose::thread_words! {
    "syncline_inspect_heap" of "32" bytes;
    /// The number of blocks that this thread has allocated.
    allocations, set_allocations at "0": u32;
    /// The number of blocks that this thread has freed.
    frees, set_frees at "8": u32;
    /// The return address of C++'s operator new until the operator calls `malloc`; otherwise 0.
    caller_of_new, set_caller_of_new at "16": u64;
}
