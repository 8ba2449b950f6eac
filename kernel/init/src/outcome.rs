//! Reports how the load ended, in one line on the console. The host looks for this line.

/// Prints the line.
pub fn tell(outcome: &Result<(), String>) {
    match outcome {
        Ok(()) => println!("\nSYNCLINE: done"),
        Err(why) => println!("\nSYNCLINE: failed: {}", why.replace('\n', "; ")),
    }
}
