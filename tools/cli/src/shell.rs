//! `syncline completions` and `syncline man`: completions for a shell, and man pages, both made
//! from the definition of the command line.

use std::fs;
use std::io::{self, Write, stdout};
use std::path::{Path, PathBuf};
use std::process::ExitCode;

use anyhow::Context as _;
use clap::Command;
use clap_mangen::Man;

use crate::failure::{Failure, REPORT_FAILED};

/// The end of every man page of a command.
const SEE_ALSO: &str = "\
.SH \"SEE ALSO\"
\\fBsyncline\\fR(1), \\fBsyncline\\-policy\\fR(5)
.PP
The pages that are named \\fIdocs/NAME.md\\fR here are in the folder \\fIshare/doc/syncline\\fR of \
an installation, and in Syncline's repository.
";

/// Print completions for a shell
///
/// For example: `syncline completions bash > ~/.local/share/bash-completion/completions/syncline`
#[derive(clap::Args)]
pub struct Completions {
    /// Shell that will read the completions
    pub shell: clap_complete::Shell,
}

/// Print one man page for all commands, or write a page for each
///
/// For example: `syncline man | man -l -`, or `syncline man --out ~/.local/share/man`
#[derive(clap::Args)]
pub struct ManPages {
    /// Folder to write the pages to: one for each command in DIR/man1, one for policy files in DIR/man5
    #[arg(short, long, value_name = "DIR")]
    out: Option<PathBuf>,
}

/// Prints the completions of a shell for this command line.
pub fn completions(args: &Completions, mut command: Command) -> Result<ExitCode, Failure> {
    let mut text = Vec::new();
    clap_complete::generate(args.shell, &mut command, "syncline", &mut text);
    print(&text)
}

/// Prints one man page with all commands of this command line, or writes a page for each.
pub fn man(args: &ManPages, mut command: Command) -> Result<ExitCode, Failure> {
    command.build();
    match &args.out {
        Some(folder) => {
            write_pages(&command, folder).map_err(|e| Failure::new(REPORT_FAILED, e))?;
            Ok(ExitCode::SUCCESS)
        }
        None => {
            let mut text = Vec::new();
            page(&command, &mut text).map_err(|e| Failure::new(REPORT_FAILED, e))?;
            print(&text)
        }
    }
}

/// Writes the man page of the command, which contains the main sections of each subcommand's page.
fn page(command: &Command, text: &mut Vec<u8>) -> io::Result<()> {
    let main = Man::new(command.clone());
    main.render_title(text)?;
    main.render_name_section(text)?;
    main.render_synopsis_section(text)?;
    main.render_description_section(text)?;
    for subcommand in subcommands(command) {
        writeln!(text, ".SH \"SYNCLINE {}\"", subcommand.get_name().to_uppercase())?;
        let part = Man::new(subcommand.clone());
        part.render_description_section(text)?;
        part.render_synopsis_section(text)?;
        part.render_options_section(text)?;
    }
    main.render_extra_section(text)
}

fn subcommands(command: &Command) -> impl Iterator<Item = &Command> {
    command.get_subcommands().filter(|subcommand| subcommand.get_name() != "help")
}

/// Writes `man1/syncline.1`, `man1/syncline-COMMAND.1` for each command, and the page on policy
/// files.
fn write_pages(command: &Command, folder: &Path) -> anyhow::Result<()> {
    write_page(command, "syncline", &folder.join("man1"))?;
    write(&folder.join("man5/syncline-policy.5"), syncline_policy::MAN_PAGE.as_bytes())
}

/// Writes the man page of a command with this name, and the pages of its subcommands.
fn write_page(command: &Command, name: &str, folder: &Path) -> anyhow::Result<()> {
    // There is no page for `help`, which would only say how to read the other pages.
    let command = command.clone().disable_help_subcommand(true);
    let mut text = Vec::new();
    Man::new(command.clone()).title(name.to_uppercase()).render(&mut text)?;
    text.extend_from_slice(SEE_ALSO.as_bytes());
    write(&folder.join(format!("{name}.1")), &text)?;
    let mut subcommands = subcommands(&command);
    subcommands.try_for_each(|one| write_page(one, &format!("{name}-{}", one.get_name()), folder))
}

fn write(path: &Path, text: &[u8]) -> anyhow::Result<()> {
    let parent = path.parent().unwrap_or(Path::new("."));
    fs::create_dir_all(parent).with_context(|| format!("can't create {}", parent.display()))?;
    fs::write(path, text).with_context(|| format!("can't write {}", path.display()))
}

fn print(text: &[u8]) -> Result<ExitCode, Failure> {
    stdout().write_all(text).map_err(|e| Failure::new(REPORT_FAILED, e))?;
    Ok(ExitCode::SUCCESS)
}
