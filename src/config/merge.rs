//! Which files to read, and what several of them say together.

use std::{io, path::Path};

use super::{
    kubeconfig::{Cluster, Kubeconfig, Named, User, find},
    pem,
    problems::Problems,
};
use crate::{error::ConfigError, yaml};

/// A kubeconfig larger than this is something else.
const MOST_BYTES: u64 = 3 << 20;

/// Reads one file; `None` if it does not exist.
pub(super) fn read(path: &Path) -> Result<Option<Kubeconfig>, ConfigError> {
    // So that a later change of the working directory changes nothing.
    let file = std::path::absolute(path).unwrap_or_else(|_| path.to_owned());
    let bytes = match pem::read_at_most(&file, MOST_BYTES) {
        Ok(bytes) => bytes,
        Err(error) if error.kind() == io::ErrorKind::NotFound => return Ok(None),
        Err(error) => return Err(ConfigError::unreadable("", &error).in_file(&file)),
    };
    let text = yaml::decode_text(&bytes)
        .map_err(|error| ConfigError::new("", error.to_string()).in_file(&file))?;
    Kubeconfig::parse(&text, Some(&file)).map(Some)
}

/// Reads one file, which must exist.
pub(super) fn read_existing(path: &Path) -> Result<Kubeconfig, ConfigError> {
    read(path)?.ok_or_else(|| ConfigError::new("", "no such file").in_file(path))
}

/// Reads those of several files that exist, and merges them; complains about all of them at once.
pub(super) fn read_all<'a>(
    paths: impl IntoIterator<Item = &'a Path>,
) -> Result<Kubeconfig, ConfigError> {
    let mut problems = Problems::default();
    let mut merged = Kubeconfig::default();
    for path in paths {
        match read(path) {
            Ok(Some(config)) => merged.merge(config),
            Ok(None) => log::debug!("{}: no such file", path.display()),
            Err(error) => problems.push(error),
        }
    }
    problems.finish(merged)
}

impl Kubeconfig {
    /// Adds what is not there yet. Entries are taken whole or not at all: the first file that names
    /// a cluster, a user or a context defines it.
    fn merge(&mut self, later: Self) {
        self.current_context = self.current_context.take().or(later.current_context);
        add_new(&mut self.contexts, later.contexts);
        add_new(&mut self.clusters, later.clusters);
        add_new(&mut self.users, later.users);
    }

    pub(super) fn is_empty(&self) -> bool {
        let Self { current_context, contexts, clusters, users } = self;
        current_context.is_none() && contexts.is_empty() && clusters.is_empty() && users.is_empty()
    }
}

fn add_new<T>(entries: &mut Named<T>, later: Named<T>) {
    for (name, entry) in later {
        if find(entries, &name).is_none() {
            entries.push((name, entry));
        }
    }
}

impl Cluster {
    /// What these overrides make of an entry of a file. Settings that belong together are replaced
    /// together.
    pub(super) fn over(&self, file: Self) -> Self {
        let given = self.clone();
        let (authority, data, insecure) = if given.certificate_authority.is_some()
            || given.certificate_authority_data.is_some()
            || given.insecure_skip_tls_verify.is_some()
        {
            let data = given.certificate_authority_data;
            (given.certificate_authority, data, given.insecure_skip_tls_verify)
        } else {
            let data = file.certificate_authority_data;
            (file.certificate_authority, data, file.insecure_skip_tls_verify)
        };
        Self {
            place: file.place,
            tls_server_name: if given.server.is_some() || given.tls_server_name.is_some() {
                given.tls_server_name
            } else {
                file.tls_server_name
            },
            server: given.server.or(file.server),
            insecure_skip_tls_verify: insecure,
            certificate_authority: authority,
            certificate_authority_data: data,
            proxy_url: given.proxy_url.or(file.proxy_url),
            disable_compression: given.disable_compression.or(file.disable_compression),
            exec_config: file.exec_config,
        }
    }
}

impl User {
    /// What these overrides make of an entry of a file. Settings that belong together are replaced
    /// together.
    pub(super) fn over(&self, file: Self) -> Self {
        fn pair<A, B>(
            given: (Option<A>, Option<B>),
            file: (Option<A>, Option<B>),
        ) -> (Option<A>, Option<B>) {
            if given.0.is_some() || given.1.is_some() { given } else { file }
        }
        let given = self.clone();
        let (client_certificate, client_certificate_data) = pair(
            (given.client_certificate, given.client_certificate_data),
            (file.client_certificate, file.client_certificate_data),
        );
        let (client_key, client_key_data) = pair(
            (given.client_key, given.client_key_data),
            (file.client_key, file.client_key_data),
        );
        let (token, token_file) =
            pair((given.token, given.token_file), (file.token, file.token_file));
        Self {
            client_certificate,
            client_certificate_data,
            client_key,
            client_key_data,
            token,
            token_file,
            username: given.username.or(file.username),
            password: given.password.or(file.password),
            act_as: given.act_as.or(file.act_as),
            act_as_uid: given.act_as_uid.or(file.act_as_uid),
            act_as_groups: given.act_as_groups.or(file.act_as_groups),
            act_as_extra: given.act_as_extra.or(file.act_as_extra),
            auth_provider: file.auth_provider,
            exec: file.exec,
        }
    }
}
