//! Pages of the manual as a reader of manuals expects them.

use clap_mangen::Man;

/// The page of a command, whose synopsis is the usage that its help shows.
pub(crate) fn of(command: &clap::Command) -> Man {
    let usage = command.clone().render_usage().to_string();
    let usage = usage.strip_prefix("Usage: ").unwrap_or(&usage).to_owned();
    Man::new(command.clone().override_usage(usage))
        .source(concat!("leasehold ", env!("CARGO_PKG_VERSION")))
}

/// The same page, in which a line that is set in, of an example or a list, stays a line, and what stands below a help's
/// list of options has sections of its own.
pub(crate) fn polished(page: &[u8]) -> Vec<u8> {
    let mut text = String::new();
    let (mut is_list, mut extra) = (false, Extra::default());
    for line in String::from_utf8_lossy(page).lines() {
        if line.starts_with(' ') != is_list {
            is_list = !is_list;
            text.push_str(if is_list { ".nf\n" } else { ".fi\n" });
        }
        for line in extra.lines(line) {
            text.push_str(&line);
            text.push('\n');
        }
        // A long address in a narrow column leaves gaps between words that are made even.
        if line.starts_with(".TH ") {
            text.push_str(".ad l\n");
        }
    }
    text.into_bytes()
}

/// The section that a page maker knows no name for.
#[derive(Default)]
struct Extra {
    /// How its sections begin: `.SH` or `.SS`. None outside of it.
    macro_name: Option<String>,
    is_noted: bool,
}

impl Extra {
    /// A line of the page, behind the heading that begins with it.
    fn lines(&mut self, line: &str) -> Vec<String> {
        if let Some((macro_name, title)) = line.split_once(' ')
            && [".SH", ".SS"].contains(&macro_name)
        {
            self.is_noted = false;
            self.macro_name = (title == "EXTRA").then(|| macro_name.to_owned());
            return match title {
                "EXTRA" => Vec::new(),
                _ => vec![line.to_owned()],
            };
        }
        let Some(macro_name) = &self.macro_name else {
            return vec![line.to_owned()];
        };
        match line {
            "Examples:" => vec![format!("{macro_name} EXAMPLES")],
            "Exit codes:" => vec![format!("{macro_name} \"EXIT STATUS\"")],
            text if self.is_noted || text.is_empty() || text.starts_with(' ') => {
                vec![text.to_owned()]
            }
            text => {
                self.is_noted = true;
                vec![format!("{macro_name} NOTES"), text.to_owned()]
            }
        }
    }
}
