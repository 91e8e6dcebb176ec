//! TLS, by rustls with the ring provider.

use super::socket::reason;
use std::{path::Path, sync::Arc};
use tokio::net::TcpStream;
use tokio_rustls::{
    TlsConnector,
    client::TlsStream,
    rustls::{
        ClientConfig, RootCertStore,
        crypto::ring,
        pki_types::{CertificateDer, ServerName, pem::PemObject},
    },
};

/// Speaks TLS over a connection to `host`, trusting `authority`, or the system if there is none.
pub(super) async fn secure(
    stream: TcpStream,
    host: &str,
    authority: Option<&Path>,
) -> Result<TlsStream<TcpStream>, String> {
    let name = ServerName::try_from(host.to_owned())
        .map_err(|_| format!("{host} is no name that a certificate can have"))?;
    let config = ClientConfig::builder_with_provider(Arc::new(ring::default_provider()))
        .with_safe_default_protocol_versions()
        .map_err(|error| format!("TLS cannot be used: {error}"))?
        .with_root_certificates(roots(authority)?)
        .with_no_client_auth();
    let connector = TlsConnector::from(Arc::new(config));
    connector
        .connect(name, stream)
        .await
        .map_err(|error| format!("TLS failed: {}", reason(&error)))
}

fn roots(authority: Option<&Path>) -> Result<RootCertStore, String> {
    let mut roots = RootCertStore::empty();
    let Some(path) = authority else {
        roots.add_parsable_certificates(rustls_native_certs::load_native_certs().certs);
        return match roots.is_empty() {
            true => Err("the system has no certificates to trust; name one with ?ca=".to_owned()),
            false => Ok(roots),
        };
    };
    let unusable = |error: &dyn std::fmt::Display| {
        format!("the certificate {} cannot be used: {error}", path.display())
    };
    for certificate in CertificateDer::pem_file_iter(path).map_err(|error| unusable(&error))? {
        let certificate = certificate.map_err(|error| unusable(&error))?;
        roots.add(certificate).map_err(|error| unusable(&error))?;
    }
    if roots.is_empty() {
        Err(unusable(&"there is none in it"))
    } else {
        Ok(roots)
    }
}
