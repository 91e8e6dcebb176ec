//! `leasehold completions` and `leasehold man`: what a package installs beside the command.

use crate::{
    args::{Arguments, views::ManArguments},
    exit_code,
    failure::Failure,
    manual_page, output,
};
use clap::CommandFactory;
use clap_complete::Shell;
use std::{
    fs::{self, create_dir_all},
    io,
    path::Path,
};

/// Prints what a shell reads, and tells the code to exit with.
pub(crate) fn run(shell: Shell) -> Result<u8, Failure> {
    let mut text = Vec::new();
    clap_complete::generate(shell, &mut Arguments::command(), "leasehold", &mut text);
    output::bytes(&text)?;
    Ok(exit_code::SUCCESS)
}

/// Prints or writes pages of the manual, and tells the code to exit with.
pub(crate) fn man(arguments: &ManArguments) -> Result<u8, Failure> {
    let mut command = Arguments::command().disable_help_subcommand(true);
    // So that the names of the commands below are whole: "leasehold-status".
    command.build();
    if let Some(folder) = &arguments.dir {
        let written = create_dir_all(folder).and_then(|()| write_pages(&command, folder));
        written.map_err(|error| {
            let folder = folder.display();
            Failure::own(format!("cannot write pages to {folder}: {error}"))
        })?;
        return Ok(exit_code::SUCCESS);
    }
    let mut text = Vec::new();
    let rendered = match &arguments.command[..] {
        [] => all(&command, &mut text),
        words => page(find(&command, words)?, &mut text),
    };
    rendered.map_err(|error| Failure::own(format!("cannot print the page: {error}")))?;
    output::bytes(&manual_page::polished(&text))?;
    Ok(exit_code::SUCCESS)
}

/// Writes a page of this command and one of each below it.
fn write_pages(command: &clap::Command, folder: &Path) -> io::Result<()> {
    for inner in shown(command) {
        write_pages(inner, folder)?;
    }
    let name = manual_page::of(command).get_filename();
    let mut text = Vec::new();
    page(command, &mut text)?;
    fs::write(folder.join(name), manual_page::polished(&text))
}

/// The commands below this one that people are told of.
fn shown(command: &clap::Command) -> impl Iterator<Item = &clap::Command> {
    command
        .get_subcommands()
        .filter(|inner| !inner.is_hide_set())
}

/// The command of these words.
fn find<'a>(all: &'a clap::Command, words: &[String]) -> Result<&'a clap::Command, Failure> {
    let mut inner = words.iter();
    let found = inner.try_fold(all, |command, word| command.find_subcommand(word));
    found.ok_or_else(|| {
        let text = format!("there is no command {:?}", words.join(" "));
        Failure::new(exit_code::USAGE, text)
            .hint("`leasehold --help` lists the commands".to_owned())
    })
}

/// One page with all commands.
fn all(command: &clap::Command, text: &mut Vec<u8>) -> io::Result<()> {
    page(command, text)?;
    let mut shown = command
        .get_subcommands()
        .filter(|inner| !inner.is_hide_set());
    shown.try_for_each(|inner| sections(inner, text))
}

fn page(command: &clap::Command, text: &mut Vec<u8>) -> io::Result<()> {
    manual_page::of(command).render(text)
}

/// A command's own part of the page.
fn sections(command: &clap::Command, text: &mut Vec<u8>) -> io::Result<()> {
    let man = manual_page::of(command);
    let mut part = Vec::new();
    man.render_synopsis_section(&mut part)?;
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
