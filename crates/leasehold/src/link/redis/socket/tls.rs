//! TLS, by rustls with the ring provider named, so that no other crate of the program decides for us.

use super::{CONNECT, Duplex, Stream, reason};
use crate::link::redis::url::Roots;
use std::{
    io,
    path::Path,
    sync::{Arc, OnceLock},
};
use tokio::{net::TcpStream, task::spawn_blocking, time::timeout};
use tokio_rustls::{
    TlsConnector,
    client::TlsStream,
    rustls::{
        ClientConfig, RootCertStore,
        crypto::ring,
        pki_types::{CertificateDer, ServerName, pem::PemObject},
    },
};

/// Speaks TLS over `stream` with the node called `host`. The error is a fragment for people.
pub(super) async fn wrap(stream: TcpStream, host: &str, roots: &Roots) -> Result<Stream, String> {
    let name = ServerName::try_from(host.to_owned())
        .map_err(|_| format!("{host} cannot be the name in a certificate"))?;
    let connector = TlsConnector::from(config(roots).await?);
    match timeout(CONNECT, connector.connect(name, stream)).await {
        Ok(Ok(stream)) => Ok(Box::new(stream)),
        Ok(Err(error)) => Err(format!("TLS failed: {}", reason(&error))),
        Err(_) => Err(format!("TLS took more than {CONNECT:?}")),
    }
}

impl Duplex for TlsStream<TcpStream> {
    fn change_runtime(&mut self) -> io::Result<()> {
        self.get_mut().0.change_runtime()
    }
}

/// Certificates are read where files may be waited for. Those of the system are read once per process;
/// a file of the user's own at each connection, so that it can be renewed.
async fn config(roots: &Roots) -> Result<Arc<ClientConfig>, String> {
    static SYSTEM: OnceLock<Arc<ClientConfig>> = OnceLock::new();
    let roots = roots.clone();
    let read = move || match roots {
        Roots::File(path) => trust(file_roots(&path)?),
        Roots::System => match SYSTEM.get() {
            Some(config) => Ok(config.clone()),
            None => {
                let config = trust(system_roots()?)?;
                Ok(SYSTEM.get_or_init(|| config).clone())
            }
        },
    };
    spawn_blocking(read)
        .await
        .map_err(|error| format!("the certificates could not be read: {error}"))?
}

fn trust(roots: RootCertStore) -> Result<Arc<ClientConfig>, String> {
    let config = ClientConfig::builder_with_provider(Arc::new(ring::default_provider()))
        .with_safe_default_protocol_versions()
        .map_err(|error| error.to_string())?
        .with_root_certificates(roots)
        .with_no_client_auth();
    Ok(Arc::new(config))
}

fn system_roots() -> Result<RootCertStore, String> {
    let mut roots = RootCertStore::empty();
    // A system's store often has an odd certificate or two; the others still count.
    roots.add_parsable_certificates(rustls_native_certs::load_native_certs().certs);
    if roots.is_empty() {
        return Err("the system has no root certificates, name some with ?ca=".to_owned());
    }
    Ok(roots)
}

fn file_roots(path: &Path) -> Result<RootCertStore, String> {
    let told = |error: &dyn std::fmt::Display| {
        format!("the root certificates in {}: {error}", path.display())
    };
    let mut roots = RootCertStore::empty();
    for certificate in CertificateDer::pem_file_iter(path).map_err(|error| told(&error))? {
        let certificate = certificate.map_err(|error| told(&error))?;
        roots.add(certificate).map_err(|error| told(&error))?;
    }
    if roots.is_empty() {
        return Err(told(&"there are none"));
    }
    Ok(roots)
}
