//! Every delegation lock of the catalogue, and the server, under checkers; and mutants of them.

// Some of the mutants are sources of the library, which is built without std.
extern crate alloc;

mod broken;
mod cases;
mod loom;
mod mutants;
mod servers;
mod shuttle;

/// The locks with queues and groups so small that checkers fill them.
mod small {
    pub use syncline::delegation::CcSynch;
    use syncline::delegation::line::Line;

    pub type Qd<W, M> = syncline::delegation::Qd<W, M, 2>;
    pub type Hqd<W, M> = syncline::delegation::Hqd<W, M, <W as Line>::Lock<M>, 2, 2>;
}
