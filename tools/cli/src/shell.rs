//! `syncline completions` and `syncline man`: texts for a shell and for `man`, made from
//! the definition of the command line.

use std::io::{self, Write, stdout};
use std::process::ExitCode;

use clap::{Command, CommandFactory};
use clap_mangen::Man;

use crate::args::Args;
use crate::failure::{Failure, REPORT_FAILED};

/// Print the completions of a shell
///
/// For example: `syncline completions bash > ~/.local/share/bash-completion/completions/syncline`
#[derive(clap::Args)]
pub struct Completions {
    pub shell: clap_complete::Shell,
}

/// Prints the completions of a shell.
pub fn completions(args: &Completions) -> Result<ExitCode, Failure> {
    let mut text = Vec::new();
    clap_complete::generate(args.shell, &mut Args::command(), "syncline", &mut text);
    print(&text)
}

/// Prints the man page: the command, then each of its subcommands.
pub fn man() -> Result<ExitCode, Failure> {
    let mut command = Args::command();
    command.build();
    let mut text = Vec::new();
    page(&command, &mut text).map_err(|e| Failure::new(REPORT_FAILED, e))?;
    print(&text)
}

fn page(command: &Command, text: &mut Vec<u8>) -> io::Result<()> {
    let main = Man::new(command.clone());
    main.render_title(text)?;
    main.render_name_section(text)?;
    main.render_synopsis_section(text)?;
    main.render_description_section(text)?;
    for subcommand in command.get_subcommands().filter(|c| c.get_name() != "help") {
        writeln!(text, ".SH \"SYNCLINE {}\"", subcommand.get_name().to_uppercase())?;
        let part = Man::new(subcommand.clone());
        part.render_description_section(text)?;
        part.render_synopsis_section(text)?;
        part.render_options_section(text)?;
    }
    main.render_extra_section(text)
}

fn print(text: &[u8]) -> Result<ExitCode, Failure> {
    stdout().write_all(text).map_err(|e| Failure::new(REPORT_FAILED, e))?;
    Ok(ExitCode::SUCCESS)
}
