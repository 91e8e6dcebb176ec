//! The names of the lock that is to be acquired, extended or released: one, or several that are locked together.

use super::values;
use clap::{Arg, ArgAction, ArgMatches, Args, Command, Error, FromArgMatches, error::ErrorKind};
use leasehold::Resource;

/// What is locked.
#[derive(Clone, Debug)]
pub(crate) struct Names(Resource);

impl Names {
    /// One name, or several as one resource.
    pub(crate) const fn resource(&self) -> &Resource {
        &self.0
    }

    /// For a command that takes one name. An argument that is changed comes behind all others, so it needs to be told where
    /// it stands.
    pub(crate) fn only_one(argument: Arg) -> Arg {
        let argument = argument.index(1).num_args(1).action(ArgAction::Set);
        argument.value_parser(values::resource).help(ONE_NAME)
    }
}

impl Args for Names {
    fn augment_args(command: Command) -> Command {
        let argument = Arg::new(ID).value_name("RESOURCE").required(true);
        let argument = argument.num_args(1..).action(ArgAction::Append);
        command.arg(argument.value_parser(lines).help(ANY_NAMES))
    }

    fn augment_args_for_update(command: Command) -> Command {
        Self::augment_args(command)
    }
}

impl FromArgMatches for Names {
    fn from_arg_matches(matches: &ArgMatches) -> Result<Self, Error> {
        let words = matches.get_many::<String>(ID).into_iter().flatten();
        let resource = Resource::several(words.flat_map(|word| word.split('\n')));
        let wrong = |error| Error::raw(ErrorKind::ValueValidation, format!("{error}\n"));
        resource.map(Self).map_err(wrong)
    }

    fn update_from_arg_matches(&mut self, matches: &ArgMatches) -> Result<(), Error> {
        *self = Self::from_arg_matches(matches)?;
        Ok(())
    }
}

/// A name; or names one a line, as `LEASEHOLD_RESOURCE` has them: a script can give that back as one word.
fn lines(text: &str) -> Result<String, String> {
    let text = text.strip_suffix('\n').unwrap_or(text);
    text.split('\n')
        .try_for_each(|name| values::resource(name).map(drop))?;
    Ok(text.to_owned())
}

const ID: &str = "resource";

const ONE_NAME: &str = "The name of the lock: the same for all processes that share it";

const ANY_NAMES: &str = "The name of the lock: the same for all processes that share it. Several names are locked together, \
                         all or none, in any order";

#[cfg(test)]
mod tests {
    use super::*;

    fn names(words: &[&str]) -> Result<Resource, String> {
        let command = Names::augment_args(Command::new("x").no_binary_name(true));
        let matches = command.try_get_matches_from(words);
        let names = matches.and_then(|matches| Names::from_arg_matches(&matches));
        let told = |error: Error| error.render().to_string();
        names.map(|names| names.0).map_err(told)
    }

    #[test]
    fn names_are_words_or_lines_in_any_order_and_count_once() {
        let both = Resource::several(["a b", "c"]).expect("good names");
        for words in [
            &["a b", "c"][..],
            &["c", "a b", "c"],
            &["c\na b"],
            &["a b\nc\n", "c"],
        ] {
            assert_eq!(names(words).as_ref(), Ok(&both), "{words:?}");
        }
        assert_eq!(names(&["a", "a"]), Ok(Resource::new("a").expect("a name")));
    }

    #[test]
    fn names_that_cannot_be_locked_together_are_refused_with_the_reason() {
        for (word, why) in [
            ("", "the resource's name is empty"),
            ("\n", "the resource's name is empty"),
            ("a\n\nb", "the resource's name is empty"),
            ("a\r\nb", r"the control character '\r' at byte 1"),
            ("a\tb", r"the control character '\t' at byte 1"),
        ] {
            let told = names(&["x", word]).expect_err(why);
            assert!(told.contains(why), "{word:?}: {told}");
        }
        let many: Vec<String> = (0..65).map(|number| number.to_string()).collect();
        let told = names(&many.iter().map(String::as_str).collect::<Vec<_>>());
        let why = "error: 65 names are to be locked together, at most 64 are allowed\n";
        assert_eq!(told, Err(why.to_owned()));
        let long: Vec<String> = (0..9)
            .map(|number| number.to_string().repeat(1024))
            .collect();
        let told = names(&long.iter().map(String::as_str).collect::<Vec<_>>());
        assert!(
            told.expect_err("too long")
                .contains("have 9216 bytes, at most 8192")
        );
    }
}
