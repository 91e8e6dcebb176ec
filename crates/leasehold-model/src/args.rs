//! What the command line asks for.

use crate::subject::Subject;
use clap::Parser;

/// Explores every course that a few clients and nodes of leasehold can take.
#[derive(Debug, Parser)]
#[command(name = "leasehold-model")]
pub(crate) struct Args {
    /// Say what each shape is, and explore none.
    #[arg(long, conflicts_with_all = ["large", "shape", "write_docs"])]
    pub(crate) list: bool,
    /// Those that take minutes as well.
    #[arg(long)]
    large: bool,
    /// This one alone; may be given several times.
    #[arg(long, value_name = "NAME", value_parser = find, conflicts_with = "large")]
    shape: Vec<Subject>,
    /// Write the table of docs/SAFETY.md, which has all shapes.
    #[arg(long, requires = "large")]
    pub(crate) write_docs: bool,
}

impl Args {
    /// What is to be explored.
    pub(crate) fn subjects(&self) -> Vec<Subject> {
        match self.shape.is_empty() {
            true => Subject::usual(self.large),
            false => self.shape.clone(),
        }
    }
}

fn find(name: &str) -> Result<Subject, String> {
    Subject::find(name).ok_or_else(|| "there is no such shape; `--list` shows all".to_owned())
}

#[cfg(test)]
mod tests {
    use super::*;

    fn parsed(line: &str) -> Result<Args, clap::Error> {
        Args::try_parse_from(
            ["leasehold-model"]
                .into_iter()
                .chain(line.split_whitespace()),
        )
    }

    #[test]
    fn a_line_asks_for_one_thing() {
        let count = |line: &str| parsed(line).expect("it is right").subjects().len();
        assert!(parsed("--list").expect("it is right").list);
        assert_eq!(count("--shape lone"), 1);
        assert_eq!(count("--shape lone --shape tokens"), 2);
        assert!(0 < count("") && count("") < count("--large"));
        for wrong in [
            "--shape",
            "--shape none",
            "--list --large",
            "--large --shape lone",
            "--write-docs",
            "lone",
        ] {
            assert!(parsed(wrong).is_err(), "{wrong}");
        }
    }
}
