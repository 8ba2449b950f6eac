//! How the load ended, told on the console in one line that the host looks for.

/// Says it.
pub fn tell(outcome: &Result<(), String>) {
    match outcome {
        Ok(()) => println!("\nSYNCLINE: done"),
        Err(why) => println!("\nSYNCLINE: failed: {}", why.replace('\n', "; ")),
    }
}
