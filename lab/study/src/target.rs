//! The machine on which a command measures: this one, or a simulated one.

use std::path::Path;

use syncline_sim::{Machine, machine};

use crate::on;
use crate::world::{Here, Placement, World};

/// SSYNC's four machines, which are built in.
pub const MACHINES: [&str; 4] = ["opteron", "xeon", "niagara", "tilera"];

/// A machine that can be measured.
#[derive(Debug)]
pub enum Target {
    /// The machine that this process runs on.
    Native(Here),
    /// A simulated machine.
    Simulated(Box<Machine>),
}

/// The reason why a name has no machine.
#[derive(Debug, thiserror::Error)]
#[allow(missing_docs, reason = "the messages say it")]
pub enum Error {
    #[error("`{name}` is neither a machine nor a file; the machines are native, {known}")]
    Unknown { name: String, known: String },
    #[error(transparent)]
    Description(#[from] machine::Error),
}

impl Target {
    /// Finds the machine with this name: `native`, a built-in one, or the one that the file of this
    /// name describes.
    ///
    /// # Errors
    /// If there is no such machine or file, or if the file does not describe a machine.
    pub fn named(name: &str) -> Result<Target, Error> {
        if name == "native" {
            return Ok(Target::Native(Here::new()));
        }
        if let Some(machine) = Machine::named(name) {
            return Ok(Target::Simulated(Box::new(machine)));
        }
        let path = Path::new(name);
        if !path.exists() {
            let known: Vec<&str> = Machine::names().collect();
            return Err(Error::Unknown { name: name.to_owned(), known: known.join(", ") });
        }
        Ok(Target::Simulated(Box::new(Machine::load(path)?)))
    }

    /// The name of the machine.
    pub fn name(&self) -> &str {
        match self {
            Target::Native(_) => "native",
            Target::Simulated(machine) => &machine.description.name,
        }
    }

    /// Clock cycles per second.
    pub fn hertz(&self) -> f64 {
        on!(self, world => world.hertz())
    }

    /// The numbers of threads that are worth measuring.
    pub fn steps(&self) -> Vec<usize> {
        on!(self, world => world.steps())
    }

    /// The most seconds that a cache line needs to get from one of `threads` threads to another, if
    /// the threads are placed in the order `order`.
    pub fn transfer(&self, threads: usize, order: Placement) -> f64 {
        on!(self, world => world.transfer(&world.places(threads, order)) as f64 / world.hertz())
    }

    /// The machine's title, in one line of text.
    pub fn title(&self) -> String {
        match self {
            Target::Native(_) => "this machine".to_owned(),
            Target::Simulated(machine) => machine.description.title.clone(),
        }
    }
}

/// Evaluates an expression with the target's [`World`](crate::world::World) as `$world`.
#[macro_export]
macro_rules! on {
    ($target:expr, $world:ident => $value:expr) => {
        match $target {
            $crate::target::Target::Native($world) => $value,
            $crate::target::Target::Simulated(machine) => {
                let $world = &$crate::world::Elsewhere(machine);
                $value
            }
        }
    };
}
