//! Words of thread-local storage.

syncline_interpose::thread_words! {
    "syncline_inspect_heap" of "32" bytes;
    /// Blocks that this thread allocated.
    allocations, set_allocations at "0": u32;
    /// Blocks that this thread freed.
    frees, set_frees at "8": u32;
    /// The return address of C++'s operator new until the operator calls `malloc`; otherwise 0.
    caller_of_new, set_caller_of_new at "16": u64;
}
