//! `leasehold completions` and `leasehold man`: what a package installs beside the command.

use crate::{args::Arguments, exit_code, failure::Failure, output};
use clap::CommandFactory;
use clap_complete::Shell;
use std::io;

/// Prints what a shell reads, and tells the code to exit with.
pub(crate) fn run(shell: Shell) -> Result<u8, Failure> {
    let mut text = Vec::new();
    clap_complete::generate(shell, &mut Arguments::command(), "leasehold", &mut text);
    output::bytes(&text)?;
    Ok(exit_code::SUCCESS)
}

/// Prints the page of the manual, with all commands, and tells the code to exit with.
pub(crate) fn man() -> Result<u8, Failure> {
    let mut command = Arguments::command();
    // So that the names of the commands below are whole: "leasehold-status".
    command.build();
    let mut text = Vec::new();
    let pages = page(&command, &mut text).and_then(|()| {
        command
            .get_subcommands()
            .filter(|inner| inner.get_name() != "help")
            .try_for_each(|inner| sections(inner, &mut text))
    });
    pages.map_err(|error| Failure::own(format!("cannot write the page: {error}")))?;
    output::bytes(&text)?;
    Ok(exit_code::SUCCESS)
}

fn page(command: &clap::Command, text: &mut Vec<u8>) -> io::Result<()> {
    clap_mangen::Man::new(command.clone()).render(text)
}

/// A command's own part of the page.
fn sections(command: &clap::Command, text: &mut Vec<u8>) -> io::Result<()> {
    let man = clap_mangen::Man::new(command.clone());
    let mut part = Vec::new();
    man.render_description_section(&mut part)?;
    man.render_options_section(&mut part)?;
    man.render_extra_section(&mut part)?;
    let part = String::from_utf8_lossy(&part);
    // What are sections of a page of its own are parts of one here.
    let part = part.replace(".SH ", ".SS ");
    let name = command.get_name().to_uppercase();
    text.extend(format!(".SH \"LEASEHOLD {name}\"\n{part}").bytes());
    Ok(())
}
