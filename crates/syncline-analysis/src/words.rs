//! What things are called.

use syncline_recording::Primitive;

/// What a primitive is called.
pub fn primitive(primitive: Primitive) -> &'static str {
    match primitive {
        Primitive::Mutex => "mutex",
        Primitive::Rwlock => "rwlock",
        Primitive::Spinlock => "spinlock",
        Primitive::Condvar => "condvar",
        Primitive::Barrier => "barrier",
        Primitive::Semaphore => "semaphore",
        Primitive::Thread => "join",
        Primitive::Futex => "futex",
        Primitive::OmpCritical => "omp critical",
        Primitive::OmpLock => "omp lock",
        Primitive::OmpBarrier => "omp barrier",
    }
}
