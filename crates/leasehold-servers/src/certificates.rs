//! Certificates for servers with TLS.

use crate::scratch::Scratch;
use std::{
    fs, io,
    path::{Path, PathBuf},
    process::{Command, Stdio},
    sync::Arc,
};

/// A fresh certificate authority and a certificate for `localhost` and `127.0.0.1`, valid for two days.
/// The files are removed with the last clone.
#[derive(Clone, Debug)]
pub struct Certificates {
    folder: Arc<Scratch>,
}

impl Certificates {
    /// Makes them with the `openssl` program, version 3 or later.
    ///
    /// # Errors
    /// If there is no such program, or it fails.
    pub fn generate() -> io::Result<Self> {
        let folder = Scratch::create()?;
        fs::write(folder.path().join("openssl.cnf"), CONFIGURATION)?;
        openssl(
            folder.path(),
            "-extensions authority -subj /CN=leasehold-test-authority -keyout ca.key -out ca.crt",
        )?;
        openssl(
            folder.path(),
            "-CA ca.crt -CAkey ca.key -extensions server -subj /CN=localhost \
             -keyout server.key -out server.crt",
        )?;
        Ok(Self {
            folder: Arc::new(folder),
        })
    }

    /// The authority's certificate, in PEM: what a client must trust.
    #[must_use]
    pub fn authority(&self) -> PathBuf {
        self.file("ca.crt")
    }

    /// The server's certificate, in PEM.
    #[must_use]
    pub fn certificate(&self) -> PathBuf {
        self.file("server.crt")
    }

    /// The server's private key, in PEM.
    #[must_use]
    pub fn key(&self) -> PathBuf {
        self.file("server.key")
    }

    /// As words of a command line.
    pub(crate) fn options(&self, port: u16) -> Vec<String> {
        let pairs = self.settings(port).into_iter();
        pairs
            .flat_map(|(name, value)| [format!("--{name}"), value])
            .collect()
    }

    /// As lines of a configuration file.
    #[cfg(feature = "laboratory")]
    pub(crate) fn lines(&self, port: u16) -> String {
        let pairs = self.settings(port).into_iter();
        pairs
            .map(|(name, value)| format!("{name} {value}\n"))
            .collect()
    }

    fn settings(&self, port: u16) -> [(&'static str, String); 5] {
        let path = |file: PathBuf| file.display().to_string();
        [
            ("tls-port", port.to_string()),
            ("tls-cert-file", path(self.certificate())),
            ("tls-key-file", path(self.key())),
            ("tls-ca-cert-file", path(self.authority())),
            ("tls-auth-clients", "no".to_owned()),
        ]
    }

    fn file(&self, name: &str) -> PathBuf {
        self.folder.path().join(name)
    }
}

fn openssl(folder: &Path, arguments: &str) -> io::Result<()> {
    let output = Command::new("openssl")
        .args(COMMON.split_whitespace())
        .args(arguments.split_whitespace())
        .current_dir(folder)
        .stdin(Stdio::null())
        .output()?;
    if output.status.success() {
        return Ok(());
    }
    let said = String::from_utf8_lossy(&output.stderr).into_owned();
    Err(io::Error::other(format!("openssl: {said}")))
}

const COMMON: &str = "req -x509 -config openssl.cnf -newkey ec -pkeyopt ec_paramgen_curve:prime256v1 \
                      -nodes -days 2";

// The server's certificate must not be an authority itself: rustls refuses such a one.
const CONFIGURATION: &str = "\
[req]
distinguished_name = name
[name]
[authority]
basicConstraints = critical,CA:TRUE
keyUsage = critical,keyCertSign
subjectKeyIdentifier = hash
[server]
basicConstraints = critical,CA:FALSE
keyUsage = critical,digitalSignature
extendedKeyUsage = serverAuth
subjectAltName = DNS:localhost,IP:127.0.0.1
authorityKeyIdentifier = keyid
";
