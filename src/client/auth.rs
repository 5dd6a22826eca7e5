//! The `Authorization` header, kept fresh.

use std::{
    path::Path,
    sync::Arc,
    time::{Duration, Instant, SystemTime},
};

use base64::{Engine, prelude::BASE64_STANDARD};
use parking_lot::{Condvar, Mutex};

use super::transport::{ClientCertificate, files::Files};
use crate::{
    config::{Credentials, ExecCredential, ExecPlugin, Secret},
    error::{ConfigError, Result},
    stop::{Interrupt, StopToken},
};

/// A token file is read again after this time, whatever its time stamp says.
const TOKEN_FILE_AGE: Duration = Duration::from_secs(60);

/// A plugin's credential is renewed this long before it expires, or when a quarter of its life is left.
const RENEW_BEFORE: Duration = Duration::from_secs(30);

/// Knows what to put into the `Authorization` header now.
#[derive(Debug)]
pub(super) enum Auth {
    /// No header, or always the same.
    Fixed(Option<Secret>),
    File(Mutex<TokenFile>),
    Plugin(Arc<Plugin>),
}

/// A header, and what it was made from.
#[derive(Clone, Debug, Default)]
pub(super) struct Authorization {
    pub(super) header: Option<Secret>,
    /// From a plugin: to be presented in the handshake.
    pub(super) certificate: Option<ClientCertificate>,
    /// Tells credentials of one plugin apart.
    generation: u64,
}

impl Auth {
    pub(super) fn new(credentials: &Credentials) -> Result<Self> {
        Ok(match credentials {
            Credentials::Anonymous => Self::Fixed(None),
            Credentials::Basic { username, password } => {
                let pair = format!("{username}:{}", password.expose());
                let header = format!("Basic {}", BASE64_STANDARD.encode(pair));
                Self::Fixed(Some(Secret::new(header)))
            }
            Credentials::Token(token) => Self::Fixed(Some(bearer(token, "token")?)),
            Credentials::TokenFile { path, initial } => {
                let initial = initial.as_ref().map(|token| bearer(token, "token")).transpose()?;
                Self::File(Mutex::new(TokenFile::new(path, initial, Instant::now())?))
            }
            Credentials::Exec(plugin) => Self::Plugin(Arc::new(Plugin {
                plugin: plugin.clone(),
                state: Mutex::default(),
                settled: Condvar::new(),
            })),
        })
    }

    /// What to send with the next request. Blocks while a plugin runs.
    pub(super) fn current(&self, stop: &StopToken) -> Result<Authorization> {
        match self {
            Self::Fixed(header) => {
                Ok(Authorization { header: header.clone(), ..Authorization::default() })
            }
            Self::File(file) => {
                let read = file.lock().current(Instant::now());
                let header = told(read);
                Ok(Authorization { header: Some(header), ..Authorization::default() })
            }
            Self::Plugin(plugin) => plugin.current(stop),
        }
    }

    /// After the server refused `used`: whether there may be something better now.
    pub(super) fn refused(&self, used: &Authorization) -> bool {
        match self {
            Self::Fixed(_) => false,
            Self::File(file) => {
                let read = file.lock().read_again(Instant::now());
                let fresh = told(read);
                used.header.as_ref().is_none_or(|used| used.expose() != fresh.expose())
            }
            Self::Plugin(plugin) => {
                plugin.forget(used.generation);
                true
            }
        }
    }
}

/// A header value; a token that would break out of its header is refused.
fn bearer(token: &Secret, field: &str) -> Result<Secret, ConfigError> {
    let token = token.expose().trim();
    if token.is_empty() {
        return Err(ConfigError::new(field, "the token is empty"));
    }
    if !token.bytes().all(|byte| byte.is_ascii_graphic()) {
        return Err(ConfigError::new(field, "the token has characters that no token has"));
    }
    Ok(Secret::new(format!("Bearer {token}")))
}

/// A token that somebody else renews on disk, as a kubelet does.
#[derive(Debug)]
pub(super) struct TokenFile {
    path: std::path::PathBuf,
    files: Files,
    header: Secret,
    read: Instant,
}

impl TokenFile {
    fn new(path: &Path, initial: Option<Secret>, now: Instant) -> Result<Self> {
        let files = Files::new([path.to_owned()], now);
        let header = match (read_token(path), initial) {
            (Ok(header), _) => header,
            (Err(error), Some(initial)) => {
                log::warn!("using the token of the configuration for now: {error}");
                initial
            }
            (Err(error), None) => return Err(error.into()),
        };
        Ok(Self { path: path.to_owned(), files, header, read: now })
    }

    fn current(&mut self, now: Instant) -> (Secret, Option<ConfigError>) {
        let old = now.saturating_duration_since(self.read) >= TOKEN_FILE_AGE;
        if self.files.changed(now) || old {
            self.read_again(now)
        } else {
            (self.header.clone(), None)
        }
    }

    /// The token, and what is wrong with the file if it is the one read before.
    fn read_again(&mut self, now: Instant) -> (Secret, Option<ConfigError>) {
        self.read = now;
        let problem = match read_token(&self.path) {
            Ok(header) => {
                self.header = header;
                None
            }
            Err(error) => Some(error),
        };
        (self.header.clone(), problem)
    }
}

/// The token. Not under the lock: a logger may use the client.
fn told((header, problem): (Secret, Option<ConfigError>)) -> Secret {
    if let Some(error) = problem {
        log::warn!("using the token read before: {error}");
    }
    header
}

fn read_token(path: &Path) -> Result<Secret, ConfigError> {
    Secret::from_file(path)
        .map_err(|problem| ConfigError::new("tokenFile", problem))
        .and_then(|token| bearer(&token, "tokenFile"))
        .map_err(|error| error.in_file(path))
}

/// A credential plugin, run by one thread at a time, its credential shared by all.
#[derive(Debug)]
pub(super) struct Plugin {
    plugin: Arc<ExecPlugin>,
    state: Mutex<PluginState>,
    settled: Condvar,
}

#[derive(Debug, Default)]
struct PluginState {
    running: bool,
    generation: u64,
    credential: Option<Credential>,
}

#[derive(Debug)]
struct Credential {
    authorization: Authorization,
    renew_at: Option<SystemTime>,
}

impl Plugin {
    fn current(self: &Arc<Self>, stop: &StopToken) -> Result<Authorization> {
        let interruptible = stop.on_stop(Arc::new(Waiter(self.clone())))?;
        let mut state = self.state.lock();
        loop {
            if let Some(fresh) = state.fresh(SystemTime::now()) {
                return Ok(fresh);
            }
            stop.check()?;
            if !state.running {
                break;
            }
            self.settled.wait(&mut state);
        }
        state.running = true;
        drop(state);
        drop(interruptible);

        let result = self.run(stop);
        let mut state = self.state.lock();
        state.running = false;
        // Also after a failure: the next in line tries for itself.
        self.settled.notify_all();
        let (mut authorization, renew_at) = result?;
        state.generation += 1;
        authorization.generation = state.generation;
        state.credential = Some(Credential { authorization: authorization.clone(), renew_at });
        Ok(authorization)
    }

    fn run(&self, stop: &StopToken) -> Result<(Authorization, Option<SystemTime>)> {
        let started = SystemTime::now();
        let ExecCredential { token, identity, expires } = self.plugin.run(stop)?;
        let header = token.map(|token| bearer(&token, "users[].exec")).transpose()?;
        let certificate = identity.map(|(certificate, key)| ClientCertificate { certificate, key });
        let renew_at = expires.map(|expires| {
            let life = expires.duration_since(started).unwrap_or_default();
            expires - RENEW_BEFORE.min(life / 4)
        });
        Ok((Authorization { header, certificate, generation: 0 }, renew_at))
    }

    /// The credential was refused: unless a newer one is there already, get one next time.
    fn forget(&self, generation: u64) {
        let mut state = self.state.lock();
        if state.credential.as_ref().is_some_and(|c| c.authorization.generation == generation) {
            state.credential = None;
        }
    }
}

impl PluginState {
    fn fresh(&self, now: SystemTime) -> Option<Authorization> {
        let credential = self.credential.as_ref()?;
        let fresh = credential.renew_at.is_none_or(|renew_at| now < renew_at);
        fresh.then(|| credential.authorization.clone())
    }
}

/// Wakes whoever waits for a plugin that another thread runs.
struct Waiter(Arc<Plugin>);

impl Interrupt for Waiter {
    fn interrupt(&self) {
        // The lock orders this after the waiter's check of its token, so that it cannot be missed.
        drop(self.0.state.lock());
        self.0.settled.notify_all();
    }
}

#[cfg(test)]
mod tests {
    use std::fs;

    use super::*;

    #[test]
    fn a_token_cannot_break_out_of_its_header() {
        let header = bearer(&Secret::new(" abc\n"), "token").unwrap();
        assert_eq!(header.expose(), "Bearer abc");
        for bad in ["", " \n", "a\r\nHost: b", "a b", "\u{e9}"] {
            let error = bearer(&Secret::new(bad), "token").unwrap_err().to_string();
            assert!(
                error.starts_with("token: ") && (bad.is_empty() || !error.contains(bad)),
                "{error}"
            );
        }
    }

    #[test]
    fn a_token_file_is_read_again_when_it_changes_and_kept_when_it_vanishes() {
        let path = std::env::temp_dir().join(format!("kinf-token-{}", std::process::id()));
        fs::write(&path, "one\n").unwrap();
        let start = Instant::now();
        let mut file = TokenFile::new(&path, None, start).unwrap();
        assert_eq!(file.current(start).0.expose(), "Bearer one");
        fs::write(&path, "second").unwrap();
        assert_eq!(file.current(start).0.expose(), "Bearer one", "looks once a second");
        assert_eq!(file.current(start + Duration::from_secs(2)).0.expose(), "Bearer second");
        fs::write(&path, "").unwrap();
        assert_eq!(file.current(start + Duration::from_secs(99)).0.expose(), "Bearer second");
        fs::remove_file(&path).unwrap();
        assert_eq!(file.current(start + Duration::from_secs(200)).0.expose(), "Bearer second");
        let error = TokenFile::new(&path, None, start).unwrap_err().to_string();
        assert!(error.contains("kinf-token") && error.contains("tokenFile"), "{error}");
        let inline = TokenFile::new(&path, Some(Secret::new("Bearer x")), start).unwrap();
        assert_eq!(inline.header.expose(), "Bearer x");
    }
}
