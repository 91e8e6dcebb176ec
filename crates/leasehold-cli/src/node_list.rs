//! The list of nodes, as `--nodes` and `LEASEHOLD_NODES` have it.

use clap::{
    Arg, Command, Error,
    builder::{StringValueParser, TypedValueParser},
    error::ErrorKind,
    parser::ValueSource,
};
use std::ffi::OsStr;

pub(crate) use leasehold::config::NodeUrls as NodeList;
use leasehold::link::redis::RedisUrl;

/// Reads a [`NodeList`] for clap, whose own message for a wrong value would repeat it.
#[derive(Clone, Copy, Debug)]
pub(crate) struct NodeListParser;

impl TypedValueParser for NodeListParser {
    type Value = NodeList;

    fn parse_ref(
        &self,
        command: &Command,
        argument: Option<&Arg>,
        value: &OsStr,
    ) -> Result<NodeList, Error> {
        self.parse_ref_(command, argument, value, ValueSource::CommandLine)
    }

    fn parse_ref_(
        &self,
        command: &Command,
        argument: Option<&Arg>,
        value: &OsStr,
        source: ValueSource,
    ) -> Result<NodeList, Error> {
        let text = StringValueParser::new().parse_ref(command, argument, value)?;
        let list = NodeList::parse(&text).map_err(str::to_owned);
        // Of what is typed, the builder tells. Of what a variable says, it would not tell where it stands.
        let list = match source {
            ValueSource::EnvVariable => list.and_then(checked),
            _ => list,
        };
        list.map_err(|why| {
            let variable = argument.and_then(Arg::get_env);
            let place = match variable.filter(|_| source == ValueSource::EnvVariable) {
                Some(variable) => format!("in {}", variable.display()),
                None => {
                    let name = argument.map(ToString::to_string).unwrap_or_default();
                    format!("invalid value for '{name}'")
                }
            };
            let text = format!("{place}: {why}\n\nFor more information, try '--help'.\n");
            Error::raw(ErrorKind::ValueValidation, text).with_cmd(command)
        })
    }
}

/// A list whose addresses can be read.
fn checked(list: NodeList) -> Result<NodeList, String> {
    let mut urls = list.urls().iter().filter(|_| list.folder().is_none());
    let wrong = urls.find_map(|url| url.parse::<RedisUrl>().err());
    wrong.map_or(Ok(list), |wrong| Err(wrong.to_string()))
}
