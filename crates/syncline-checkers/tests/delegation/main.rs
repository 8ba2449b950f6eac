//! Every delegation lock of the catalogue, under checkers; and mutants of them.

mod broken;
mod cases;
mod loom;
mod mutants;
mod shuttle;

/// The locks with queues and groups so small that checkers reach their ends.
mod small {
    pub use syncline::delegation::CcSynch;
    use syncline::delegation::line::Line;

    pub type Qd<W, M> = syncline::delegation::Qd<W, M, 2>;
    pub type Hqd<W, M> = syncline::delegation::Hqd<W, M, <W as Line>::Lock<M>, 2, 2>;
}
