//! What stands in a configuration file. Whatever is wrong is told with its line, and with the way out.

use super::{
    Agreement, Cluster, Config, NodeUrls, Waited, duration, nearest::nearest,
    node_urls::has_comma_in_host, secret, secret::Secrets, wrong,
};
use crate::{configuration::RestartGuard, error::SettingsError, link::redis::RedisUrl};
use std::{ops::Range, path::Path, str::FromStr, time::Duration};
use toml::{
    Spanned,
    de::{DeTable, DeValue},
};

type Value<'a> = Spanned<DeValue<'a>>;

/// Reads the text of the file at `path`.
pub(super) fn parse(path: &Path, text: &str) -> Result<Config, SettingsError> {
    let page = Page { path, text };
    let table = DeTable::parse(text).map_err(|error| {
        // The parser's words may show the line, and in the line a password.
        let message = error.message().lines().collect::<Vec<_>>().join(", ");
        page.wrong(
            error.span().unwrap_or_default(),
            &format!("not TOML: {message}"),
        )
    })?;
    let mut config = Config {
        path: path.to_owned(),
        default: None,
        clusters: Vec::new(),
        require_nodes: false,
        has_password: false,
        warnings: Vec::new(),
    };
    for (key, value) in table.get_ref() {
        match key.get_ref().as_ref() {
            "require_nodes" => config.require_nodes = page.truth(value)?,
            "default" => config.default = Some(page.text(value, "\"main\"")?),
            "clusters" => {
                for (name, value) in page.table(value)? {
                    let cluster = page.cluster(name.get_ref(), name.span(), value)?;
                    let has_one = |url: &String| secret::has_password(url);
                    config.has_password |= cluster.nodes.0.iter().any(has_one);
                    config.clusters.push(cluster);
                }
            }
            other => {
                return Err(page.unknown(
                    key.span(),
                    other,
                    &["default", "clusters", "require_nodes"],
                ));
            }
        }
    }
    Ok(config)
}

/// A file, for saying where in it something is wrong.
struct Page<'a> {
    path: &'a Path,
    text: &'a str,
}

impl Page<'_> {
    fn cluster(
        &self,
        name: &str,
        place: Range<usize>,
        value: &Value<'_>,
    ) -> Result<Cluster, SettingsError> {
        let (mut nodes, mut secrets) = (Vec::new(), Secrets::default());
        let mut agreement = Agreement::default();
        for (key, value) in self.table(value)? {
            match key.get_ref().as_ref() {
                "nodes" => nodes = self.nodes(value)?,
                "nodes_file" => secrets.nodes = Some(self.text(value, "\"nodes\"")?.into()),
                "password_file" => {
                    secrets.password = Some(self.text(value, "\"password\"")?.into());
                }
                "sentinel_password_file" => {
                    let path = self.text(value, "\"sentinel-password\"")?;
                    secrets.sentinel_password = Some(path.into());
                }
                "max_ttl" => agreement.max_ttl = Some(self.duration(value)?),
                "clock_skew" => agreement.clock_skew = Some(self.duration(value)?),
                "restart_guard" => agreement.restart_guard = Some(self.guard(value)?),
                "namespace" => agreement.namespace = Some(self.text(value, "\"leasehold\"")?),
                "cluster" => agreement.cluster = Some(self.text(value, "\"locks\"")?),
                "key_format" => {
                    let format = self.text(value, "\"{}\"")?.parse();
                    let wrong = |error| self.wrong(value.span(), &error);
                    agreement.key_format = Some(format.map_err(wrong)?);
                }
                "replicated" => agreement.replicated = Some(self.waited(value, "\"1,100ms\"")?),
                "on_disk" => agreement.on_disk = Some(self.waited(value, "\"server,100ms\"")?),
                "tolerate_forgetful" => agreement.tolerate_forgetful = Some(self.number(value)?),
                other => return Err(self.unknown(key.span(), other, &KEYS)),
            }
        }
        if nodes.is_empty() && secrets.nodes.is_none() {
            let wrong = self.wrong(place, &format!("cluster {name:?} has no nodes"));
            return Err(wrong.hint(NODES));
        }
        let (name, nodes) = (name.to_owned(), NodeUrls(nodes));
        Ok(Cluster {
            name,
            nodes,
            secrets,
            agreement,
        })
    }

    fn nodes(&self, value: &Value<'_>) -> Result<Vec<String>, SettingsError> {
        let Some(list) = value.get_ref().as_array() else {
            let wrong = self.wrong(value.span(), &"nodes must be a list of addresses");
            return Err(wrong.hint(NODES));
        };
        let mut nodes = Vec::new();
        for node in list {
            let url = self.text(node, "\"redis://db1\"")?;
            if has_comma_in_host(&url) {
                let what = "there is a comma in an address: each is a text of its own";
                return Err(self.wrong(node.span(), &what).hint(NODES));
            }
            let is_folder = url.starts_with("file:///") && list.len() == 1;
            if !is_folder {
                url.parse::<RedisUrl>()
                    .map_err(|error| self.wrong(node.span(), &error))?;
            }
            nodes.push(url);
        }
        Ok(nodes)
    }

    fn duration(&self, value: &Value<'_>) -> Result<Duration, SettingsError> {
        let text = self.text(value, "\"30s\"")?;
        duration::parse(&text).map_err(|why| self.wrong(value.span(), &format!("{text:?}: {why}")))
    }

    /// A text, or a number of replicas.
    fn waited<T>(&self, value: &Value<'_>, example: &str) -> Result<Waited<T>, SettingsError>
    where
        Waited<T>: FromStr<Err = String>,
    {
        let text = match value.get_ref().as_integer() {
            Some(number) => number.as_str().to_owned(),
            None => self.text(value, example)?,
        };
        text.parse()
            .map_err(|why: String| self.wrong(value.span(), &why))
    }

    fn guard(&self, value: &Value<'_>) -> Result<RestartGuard, SettingsError> {
        let text = self.text(value, "\"quarantine\"")?;
        super::guard(&text).map_err(|what| self.wrong(value.span(), &what))
    }

    fn truth(&self, value: &Value<'_>) -> Result<bool, SettingsError> {
        value.get_ref().as_bool().ok_or_else(|| {
            let what = format!("must be true or false, not {}", kind(value));
            self.wrong(value.span(), &what)
        })
    }

    fn number(&self, value: &Value<'_>) -> Result<u8, SettingsError> {
        let number = value.get_ref().as_integer();
        let number = number.and_then(|number| number.as_str().parse().ok());
        number.ok_or_else(|| {
            let what = format!(
                "must be a number of servers, such as 1, not {}",
                kind(value)
            );
            self.wrong(value.span(), &what)
        })
    }

    fn text(&self, value: &Value<'_>, example: &str) -> Result<String, SettingsError> {
        let text = value.get_ref().as_str().map(str::to_owned);
        text.ok_or_else(|| {
            let what = format!("must be a text, such as {example}, not {}", kind(value));
            self.wrong(value.span(), &what)
        })
    }

    fn table<'v, 'a>(&self, value: &'v Value<'a>) -> Result<&'v DeTable<'a>, SettingsError> {
        value.get_ref().as_table().ok_or_else(|| {
            let what = format!(
                "must be a table, such as [clusters.main], not {}",
                kind(value)
            );
            self.wrong(value.span(), &what)
        })
    }

    fn unknown(&self, place: Range<usize>, key: &str, known: &[&str]) -> SettingsError {
        let hint = match nearest(key, known) {
            Some(near) => format!("did you mean {near}?"),
            None => format!("known are {}", known.join(", ")),
        };
        let what = format!("nothing is called {key:?} here");
        self.wrong(place, &what).hint(hint)
    }

    /// `/etc/leasehold/leasehold.toml:7: what is wrong`.
    fn wrong(&self, place: Range<usize>, what: &dyn std::fmt::Display) -> SettingsError {
        let before = self.text.get(..place.start).unwrap_or(self.text);
        let line = before.matches('\n').count() + 1;
        wrong(format!("{}:{line}: {what}", self.path.display()))
    }
}

fn kind(value: &Value<'_>) -> String {
    match value.get_ref().type_str() {
        "string" => "a text".to_owned(),
        "integer" | "float" => "a number".to_owned(),
        "array" => "a list".to_owned(),
        "boolean" => "true or false".to_owned(),
        other => format!("a {other}"),
    }
}

const KEYS: [&str; 13] = [
    "nodes",
    "nodes_file",
    "password_file",
    "sentinel_password_file",
    "max_ttl",
    "restart_guard",
    "namespace",
    "cluster",
    "key_format",
    "tolerate_forgetful",
    "clock_skew",
    "replicated",
    "on_disk",
];

pub(super) const NODES: &str = "nodes = [\"redis://db1\", \"redis://db2\", \"redis://db3\"]";

#[cfg(test)]
mod tests {
    use super::{super::Settings, *};

    fn read(text: &str) -> Result<Config, SettingsError> {
        parse(Path::new("/l.toml"), text)
    }

    #[test]
    fn a_cluster_is_read_with_everything_that_is_agreed() {
        let config = read(
            "default = 'main'\n[clusters.main]\nnodes = ['redis://:p@a', 'b:1']\nmax_ttl = '1m'\n\
             restart_guard = 'trust-aof'\nnamespace = 'n'\ncluster = 'c'\nkey_format = 'k:{}'\n\
             tolerate_forgetful = 1\nclock_skew = '1s'\nreplicated = 2\non_disk = 'server+1,70ms'\n[clusters.here]\nnodes = ['file:///x']\n",
        )
        .expect("it is right");
        assert!(config.has_password);
        let main = config.cluster(None).expect("it is there");
        let Settings {
            nodes, agreement, ..
        } = config
            .open(main.expect("there is a default"))
            .expect("no file");
        assert_eq!(nodes.0, ["redis://:p@a", "b:1"]);
        let expected = Agreement {
            max_ttl: Some(Duration::from_secs(60)),
            restart_guard: Some(RestartGuard::TrustAof),
            namespace: Some("n".to_owned()),
            cluster: Some("c".to_owned()),
            key_format: Some("k:{}".parse().expect("one place")),
            tolerate_forgetful: Some(1),
            clock_skew: Some(Duration::from_secs(1)),
            replicated: Some("2".parse().expect("a number")),
            on_disk: Some("server+1,70ms".parse().expect("disks and a time")),
            origin: Some("[clusters.main] of /l.toml".to_owned()),
        };
        assert_eq!(agreement, expected);
        let here = config.cluster(Some("here")).expect("it is there");
        let here = config.open(here.expect("it was named")).expect("no file");
        assert_eq!(here.nodes.folder(), Some(Path::new("/x")));
    }

    #[test]
    fn the_file_that_the_page_shows_is_right() {
        let page = include_str!("../../../../docs/COMMAND.md");
        let rest = page.split("\n```toml\n").nth(1).expect("it shows one");
        let text = rest.split("\n```").next().unwrap_or_default();
        let config = read(text).expect("it is right");
        assert_eq!(config.names(), ["here", "main"]);
        assert!(!config.has_password);
        for key in KEYS {
            assert!(
                page.contains(&format!("`{key}`")),
                "the page does not tell of {key}"
            );
        }
    }

    #[test]
    fn without_a_default_the_only_cluster_is_meant_and_of_several_none() {
        let one = read("[clusters.a]\nnodes = ['a']\n").expect("it is right");
        assert!(one.cluster(None).expect("it is meant").is_some());
        let two = "[clusters.a]\nnodes = ['a']\n[clusters.b]\nnodes = ['b']\n";
        let two = read(two).expect("it is right");
        let refused = two.cluster(None).expect_err("which one?");
        assert_eq!(
            refused.way_out(),
            Some(
                "choose one of a|b, by --use or LEASEHOLD_USE, or write default = \"…\" in the file"
            )
        );
        assert!(
            read("")
                .expect("it is right")
                .cluster(None)
                .expect("none")
                .is_none()
        );
    }
}
