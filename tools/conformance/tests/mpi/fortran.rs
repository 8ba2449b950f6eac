//! The schemes apply to the windows of Fortran programs too, with each of the three ways to use
//! MPI.

use std::process::Command;

use syncline_conformance::Program;

use crate::libraries::{Mpi, SCHEMES, all, printed, side_by_side};

/// The ways to use MPI: `mpif.h`, and the two modules.
const WAYS: [&str; 3] = ["-DMPIF_H", "-DMODULE", "-DMPI_F08"];

fn program(mpi: &Mpi, way: &str) -> Option<Program> {
    if !mpi.is_packaged() {
        eprintln!("skipped: {} was fetched without its part for Fortran", mpi.name);
        return None;
    }
    let compiler = format!("mpifort.{}", mpi.name);
    if Command::new(&compiler).arg("--version").output().is_ok_and(|made| made.status.success()) {
        return Some(Program::compile_by_with(&compiler, "mpi_fortran.F90", &[way]));
    }
    eprintln!("skipped: {compiler} has no compiler for Fortran; `./x setup` installs it");
    None
}

#[test]
fn a_program_prints_the_same_under_every_scheme() {
    let libraries = all();
    let ways: Vec<_> = libraries.iter().flat_map(|mpi| WAYS.map(|way| (mpi, way))).collect();
    side_by_side(&ways, |(mpi, way)| {
        let Some(program) = program(mpi, way) else { return };
        for scheme in SCHEMES {
            let mut command = mpi.command_of(&["--scheme", scheme], &program, 3, &[]);
            let expected = format!("{scheme}\ncreated: 0 too few\nallocated: 0 too few\n");
            assert_eq!(printed(&mut command), expected, "{way}, {scheme} on {}", mpi.name);
        }
    });
}
