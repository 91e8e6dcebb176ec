//! What the command line asks for.

use crate::subject::Subject;

pub(crate) const USAGE: &str = "\
usage: leasehold-model [--large] [--shape NAME]
       leasehold-model --list";

/// What is to be done.
#[derive(Debug)]
pub(crate) enum Command {
    Help,
    List,
    Explore(Vec<Subject>),
}

/// Reads the arguments. Nothing is touched.
pub(crate) fn parse(args: impl Iterator<Item = String>) -> Result<Command, String> {
    let (mut list, mut large, mut named) = (false, false, Vec::new());
    let mut args = args;
    while let Some(arg) = args.next() {
        match arg.as_str() {
            "--help" | "-h" => return Ok(Command::Help),
            "--list" => list = true,
            "--large" => large = true,
            "--shape" => named.push(find(args.next().as_deref())?),
            _ => return Err(format!("unknown argument `{arg}`")),
        }
    }
    match (list, large, named.is_empty()) {
        (true, false, true) => Ok(Command::List),
        (false, large, true) => Ok(Command::Explore(Subject::usual(large))),
        (false, false, false) => Ok(Command::Explore(named)),
        _ => Err("one of `--list`, `--large` and `--shape` at most".to_owned()),
    }
}

fn find(name: Option<&str>) -> Result<Subject, String> {
    let name = name.ok_or("`--shape` needs a name")?;
    Subject::find(name).ok_or_else(|| format!("there is no shape `{name}`; `--list` shows all"))
}

#[cfg(test)]
mod tests {
    use super::*;

    fn parsed(line: &str) -> Result<Command, String> {
        parse(line.split_whitespace().map(str::to_owned))
    }

    #[test]
    fn a_line_asks_for_one_thing() {
        assert!(matches!(parsed("--list"), Ok(Command::List)));
        assert!(
            matches!(parsed("--shape lone"), Ok(Command::Explore(shapes)) if shapes.len() == 1)
        );
        assert!(
            matches!(parsed("--shape tokens"), Ok(Command::Explore(shapes)) if shapes.len() == 1)
        );
        let count = |line| match parsed(line) {
            Ok(Command::Explore(shapes)) => shapes.len(),
            _ => 0,
        };
        assert!(0 < count("") && count("") < count("--large"));
        for wrong in [
            "--shape",
            "--shape none",
            "--list --large",
            "--large --shape lone",
            "lone",
        ] {
            assert!(parsed(wrong).is_err(), "{wrong}");
        }
    }
}
