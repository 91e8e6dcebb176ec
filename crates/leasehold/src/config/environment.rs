//! Where to lock, from variables.

use super::{Agreement, Config, NodeUrls, Settings, duration, guard, places, wrong};
use crate::error::SettingsError;
use std::{env, ffi::OsString, fmt};

impl Settings {
    /// Reads the process's variables, and the configuration file if they do not name the nodes: see
    /// [`config`](crate::config).
    ///
    /// # Errors
    /// A [`SettingsError`] that names the variable, or the file and the line, and the way out: also if no server is named
    /// anywhere.
    pub fn from_env() -> Result<Self, SettingsError> {
        Self::from_variables(|name| env::var_os(name))
    }

    /// As [`from_env`](Self::from_env), with variables from elsewhere: for programs that have them in another place, and
    /// for tests. The folder of the configuration file is looked for in `variable("XDG_CONFIG_HOME")` and
    /// `variable("HOME")`.
    ///
    /// # Errors
    /// As [`from_env`](Self::from_env).
    pub fn from_variables(
        variable: impl Fn(&str) -> Option<OsString>,
    ) -> Result<Self, SettingsError> {
        let variables = Variables(&variable);
        let agreement = variables.agreement()?;
        let cluster = variables.text("LEASEHOLD_USE")?;
        if let Some(nodes) = variables.nodes()? {
            if cluster.is_some() {
                let text = "LEASEHOLD_NODES and LEASEHOLD_USE both say which servers are meant";
                return Err(wrong(text.to_owned()).hint("set one of them"));
            }
            return Ok(Self {
                nodes,
                agreement,
                warnings: Vec::new(),
            });
        }
        let given = variable("LEASEHOLD_CONFIG");
        let config = Config::find_in(given.as_deref(), &variable)?;
        let Some(config) = config else {
            return Err(nowhere(cluster.as_deref(), &variable));
        };
        let settings = config.settings(cluster.as_deref())?;
        Ok(Self {
            agreement: agreement.or(settings.agreement),
            ..settings
        })
    }
}

/// No file and no variable. What would be left is a store that excludes fewer than its user believes.
fn nowhere(cluster: Option<&str>, variable: &impl Fn(&str) -> Option<OsString>) -> SettingsError {
    let text = match cluster {
        Some(name) => format!("no configuration file to find the cluster {name:?} in"),
        None => {
            "no servers are named: LEASEHOLD_NODES is not set, and there is no configuration file"
                .to_owned()
        }
    };
    let places: Vec<_> = places(variable)
        .iter()
        .map(|path| path.display().to_string())
        .collect();
    wrong(text).hint(format!(
        "set LEASEHOLD_NODES=redis://db1,redis://db2,redis://db3, or LEASEHOLD_CONFIG=FILE, or write {}; for locks on \
         this machine only, LEASEHOLD_NODES=file:///folder",
        places.join(" or ")
    ))
}

struct Variables<'a, F>(&'a F);

impl<F: Fn(&str) -> Option<OsString>> Variables<'_, F> {
    fn text(&self, name: &str) -> Result<Option<String>, SettingsError> {
        let text = (self.0)(name).map(OsString::into_string).transpose();
        text.map_err(|_| wrong(format!("{name} is not text")).hint("write it as UTF-8"))
    }

    /// What `read` makes of the variable; what it says is wrong is told with the variable's name.
    fn read<T, E: fmt::Display>(
        &self,
        name: &str,
        read: impl FnOnce(&str) -> Result<T, E>,
    ) -> Result<Option<T>, SettingsError> {
        let text = self.text(name)?;
        let read = text.as_deref().map(read).transpose();
        read.map_err(|why| wrong(format!("{name}: {why}")))
    }

    fn nodes(&self) -> Result<Option<NodeUrls>, SettingsError> {
        self.read("LEASEHOLD_NODES", NodeUrls::parse)
    }

    fn agreement(&self) -> Result<Agreement, SettingsError> {
        let quoted = |text: &str| duration::parse(text).map_err(|why| format!("{text:?}: {why}"));
        let number = |text: &str| {
            let number = text.parse::<u8>();
            number.map_err(|_| format!("{text:?} is no number of servers, such as 1"))
        };
        Ok(Agreement {
            max_ttl: self.read("LEASEHOLD_MAX_TTL", quoted)?,
            restart_guard: self.read("LEASEHOLD_RESTART_GUARD", guard)?,
            namespace: self.text("LEASEHOLD_NAMESPACE")?,
            cluster: self.text("LEASEHOLD_CLUSTER")?,
            key_format: self.read("LEASEHOLD_KEY_FORMAT", str::parse)?,
            tolerate_forgetful: self.read("LEASEHOLD_TOLERATE_FORGETFUL", number)?,
            clock_skew: self.read("LEASEHOLD_CLOCK_SKEW", quoted)?,
            replicated: self.read("LEASEHOLD_REPLICATED", str::parse)?,
            on_disk: self.read("LEASEHOLD_ON_DISK", str::parse)?,
            origin: None,
        })
    }
}

#[cfg(test)]
mod tests {
    use super::*;

    fn settings(variables: &[(&str, &str)]) -> Result<Settings, SettingsError> {
        Settings::from_variables(|name| {
            // No file of the user who runs the tests.
            let said = variables.iter().find(|(known, _)| *known == name);
            said.map(|(_, value)| (*value).into())
                .or_else(|| (name == "HOME").then(|| "/nowhere".into()))
        })
    }

    fn nodes(urls: &str) -> [(&'static str, &str); 1] {
        [("LEASEHOLD_NODES", urls)]
    }

    #[test]
    fn variables_name_nodes_and_what_is_agreed() {
        let read = settings(&[
            ("LEASEHOLD_NODES", "redis://a, redis://b"),
            ("LEASEHOLD_MAX_TTL", "1m"),
            ("LEASEHOLD_RESTART_GUARD", "trust-aof"),
            ("LEASEHOLD_KEY_FORMAT", "k:{}"),
            ("LEASEHOLD_TOLERATE_FORGETFUL", "1"),
            ("LEASEHOLD_REPLICATED", "2,50ms"),
            ("LEASEHOLD_ON_DISK", "server"),
            // Not read, since the nodes are named.
            ("LEASEHOLD_CONFIG", "/nowhere/at/all.toml"),
        ]);
        let Settings {
            nodes, agreement, ..
        } = read.expect("it is right");
        assert_eq!(nodes.urls(), ["redis://a", "redis://b"]);
        let expected = Agreement {
            max_ttl: Some(std::time::Duration::from_secs(60)),
            restart_guard: Some(crate::RestartGuard::TrustAof),
            key_format: Some("k:{}".parse().expect("one place")),
            tolerate_forgetful: Some(1),
            replicated: Some("2,50ms".parse().expect("a number and a time")),
            on_disk: Some("server".parse().expect("a disk")),
            ..Agreement::default()
        };
        assert_eq!(agreement, expected);
        let here = settings(&nodes_here()).expect("it is right");
        assert!(here.nodes.folder().is_some());
    }

    fn nodes_here() -> [(&'static str, &'static str); 1] {
        nodes("file:///locks")
    }

    #[test]
    fn what_is_wrong_is_told_with_the_variable_and_the_way_out() {
        for (name, value, told) in [
            ("LEASEHOLD_NODES", " , ", "LEASEHOLD_NODES: no node in it"),
            (
                "LEASEHOLD_NODES",
                "u:p,w@a",
                "LEASEHOLD_NODES: cannot tell where an address ends",
            ),
            (
                "LEASEHOLD_MAX_TTL",
                "30",
                "LEASEHOLD_MAX_TTL: \"30\": no unit: say 30s or 30ms",
            ),
            (
                "LEASEHOLD_RESTART_GUARD",
                "on",
                "LEASEHOLD_RESTART_GUARD: no restart guard is called \"on\"; known are",
            ),
            (
                "LEASEHOLD_KEY_FORMAT",
                "k",
                "LEASEHOLD_KEY_FORMAT: the key format \"k\" has no {}",
            ),
            (
                "LEASEHOLD_TOLERATE_FORGETFUL",
                "-1",
                "LEASEHOLD_TOLERATE_FORGETFUL: \"-1\" is no number",
            ),
            (
                "LEASEHOLD_REPLICATED",
                "0",
                "LEASEHOLD_REPLICATED: \"0\" is no number of replicas",
            ),
            (
                "LEASEHOLD_ON_DISK",
                "ram",
                "LEASEHOLD_ON_DISK: \"ram\" names no disks: say server",
            ),
            (
                "LEASEHOLD_CONFIG",
                "/nowhere/l.toml",
                "cannot read /nowhere/l.toml: there is no such file",
            ),
            (
                "LEASEHOLD_USE",
                "main",
                "no configuration file to find the cluster \"main\" in; set LEASEHOLD_NODES",
            ),
        ] {
            let error = settings(&[(name, value)]).expect_err(name).to_string();
            assert!(error.starts_with(told), "{error}");
        }
        let both = [("LEASEHOLD_NODES", "a"), ("LEASEHOLD_USE", "main")];
        let error = settings(&both).expect_err("which one?").to_string();
        assert!(error.starts_with("LEASEHOLD_NODES and LEASEHOLD_USE both say"));
    }

    #[test]
    fn without_an_address_nothing_is_locked_and_never_on_this_machine_alone() {
        for variables in [&[][..], &[("LEASEHOLD_CONFIG", "")]] {
            let error = settings(variables).expect_err("no address").to_string();
            assert!(error.starts_with("no servers are named: "), "{error}");
            assert!(error.contains("/nowhere/.config/leasehold/leasehold.toml"));
        }
    }
}
