//! Credential plugins: programs that print a token or a client certificate.
//!
//! Caching and renewing is the caller's: [`ExecPlugin::run`] runs the program once.

use std::{
    fmt,
    io::{self, IsTerminal, PipeReader, PipeWriter, Read, Write},
    path::{Path, PathBuf},
    process::{Child, Command, ExitStatus, Stdio},
    sync::{
        Arc,
        atomic::{AtomicBool, Ordering},
    },
    thread::JoinHandle,
    time::{Duration, Instant, SystemTime},
};

use base64::{Engine, engine::general_purpose::STANDARD as BASE64};
use serde_json::{Map, Value, json};

use super::{
    Trust,
    pem::{self, BadIdentity},
    secret::{Secret, is_header_text},
    time::parse_rfc3339,
};
use crate::{
    StopToken,
    error::{ConfigError, ConfigErrorKind, Error, Result},
    thread,
};

/// How long a plugin that talks to nobody may take.
const DEADLINE: Duration = Duration::from_secs(60);

/// More output than this is not a credential.
const MOST_OUTPUT: usize = 1 << 20;

/// How much of the end of a plugin's standard error goes into an error.
const MOST_COMPLAINT: usize = 4 << 10;

/// The pauses between looks at whether the plugin has ended; they double.
const PAUSES: (Duration, Duration) = (Duration::from_millis(1), Duration::from_millis(16));

/// A program that prints credentials, with everything needed to run it.
///
/// `Debug` leaves out arguments and environment: they may hold secrets.
pub(crate) struct ExecPlugin {
    /// The file and the field that configure it, for errors.
    pub(super) file: Option<Arc<Path>>,
    pub(super) field: String,
    /// A path, or a name to be looked up in `PATH`.
    pub(super) command: PathBuf,
    pub(super) args: Vec<String>,
    pub(super) env: Vec<(String, String)>,
    pub(super) api_version: ApiVersion,
    pub(super) install_hint: Option<String>,
    pub(super) interactive: InteractiveMode,
    /// Given to the plugin if it asks for it.
    pub(super) cluster: Option<ClusterInfo>,
}

/// What a plugin printed.
#[derive(Clone, Debug)]
pub(crate) struct ExecCredential {
    pub(crate) token: Option<Secret>,
    /// Certificate and key, PEM encoded.
    pub(crate) identity: Option<(Arc<[u8]>, Secret)>,
    /// After this they are not to be used; without it they last until the server refuses them.
    pub(crate) expires: Option<SystemTime>,
}

#[derive(Clone, Copy, Debug, Eq, PartialEq)]
pub(super) enum ApiVersion {
    V1,
    V1Beta1,
}

/// Whether a plugin may talk to the user.
#[derive(Clone, Copy, Debug, Eq, PartialEq)]
pub(super) enum InteractiveMode {
    Never,
    IfAvailable,
    Always,
}

/// The cluster a credential is for, as a plugin sees it.
pub(super) struct ClusterInfo {
    pub(super) server: String,
    pub(super) tls_server_name: Option<String>,
    pub(super) trust: Trust,
    pub(super) proxy_url: Option<String>,
    pub(super) disable_compression: bool,
    /// The cluster's extension `client.authentication.k8s.io/exec`.
    pub(super) config: Option<Value>,
}

impl ExecPlugin {
    /// Blocks until the plugin has printed its credentials.
    ///
    /// A plugin that may talk to the user takes as long as the user does; any other one is ended after
    /// 60 seconds.
    ///
    /// # Errors
    ///
    /// [`Error::Stopped`] at once if `stop` is stopped, after ending the plugin; a [`ConfigError`] if
    /// the plugin fails, with the end of what it wrote to standard error.
    pub(crate) fn run(&self, stop: &StopToken) -> Result<ExecCredential> {
        stop.check()?;
        let interactive = self.is_interactive(io::stdin().is_terminal())?;
        let output = self.output(interactive, DEADLINE, stop)?;
        self.parse(&output)
    }

    fn is_interactive(&self, terminal: bool) -> Result<bool> {
        match self.interactive {
            InteractiveMode::Never => Ok(false),
            InteractiveMode::IfAvailable => Ok(terminal),
            InteractiveMode::Always if terminal => Ok(true),
            InteractiveMode::Always => Err(self.failure(
                "wants to talk to the user (interactiveMode: Always), but standard input is not a \
                 terminal",
            )),
        }
    }

    /// Runs the plugin and returns its standard output.
    fn output(&self, interactive: bool, deadline: Duration, stop: &StopToken) -> Result<Vec<u8>> {
        let info = self.info(interactive)?;
        let cannot_run = |error: io::Error| self.failure(format!("cannot be run: {error}"));
        let (stdout, child_stdout) =
            Capture::start("exec-out", Keep::First(MOST_OUTPUT)).map_err(cannot_run)?;
        let mut command = Command::new(&self.command);
        command
            .args(&self.args)
            .envs(self.env.iter().map(|(name, value)| (name, value)))
            .env("KUBERNETES_EXEC_INFO", info.to_string())
            .stdin(if interactive { Stdio::inherit() } else { Stdio::null() })
            .stdout(child_stdout);
        // A user who is asked for something must see the question.
        let stderr = if interactive {
            None
        } else {
            let (stderr, child_stderr) =
                Capture::start("exec-err", Keep::Last(MOST_COMPLAINT)).map_err(cannot_run)?;
            command.stderr(child_stderr);
            Some(stderr)
        };

        log::debug!("running the credential plugin {}", self.command.display());
        let child = command.spawn().map_err(|error| self.cannot_start(error))?;
        // Our copies of the plugin's ends.
        drop(command);
        let deadline = (!interactive).then_some(deadline);
        let ended = Running(child).wait(deadline, stop);
        let (output, complete) = stdout.finish();
        let complaint = stderr.map(|stderr| visible(&stderr.finish().0)).unwrap_or_default();
        for line in complaint.lines() {
            log::debug!("{}: {line}", self.command.display());
        }
        match ended.map_err(cannot_run)? {
            Ended::Stopped => Err(Error::Stopped),
            Ended::TimedOut => {
                let limit = deadline.unwrap_or_default().as_secs();
                Err(self.failure(said(format!("did not end within {limit} s"), &complaint)))
            }
            Ended::Exited(status) if !status.success() => {
                Err(self.failure(said(format!("failed: {status}"), &complaint)))
            }
            Ended::Exited(_) if !complete => {
                Err(self.failure(format!("printed more than {MOST_OUTPUT} bytes")))
            }
            Ended::Exited(_) => Ok(output),
        }
    }

    fn info(&self, interactive: bool) -> Result<Value> {
        let mut spec = Map::new();
        spec.insert("interactive".into(), interactive.into());
        if let Some(cluster) = &self.cluster {
            let info = cluster.to_json().map_err(|why| self.failure(why))?;
            spec.insert("cluster".into(), info);
        }
        Ok(json!({
            "kind": "ExecCredential",
            "apiVersion": self.api_version.as_str(),
            "spec": spec,
        }))
    }

    /// Reads what the plugin printed, which must not become part of any error.
    fn parse(&self, output: &[u8]) -> Result<ExecCredential> {
        let answer: Value = serde_json::from_slice(output).map_err(|error| {
            let (line, column) = (error.line(), error.column());
            self.failure(format!("printed no JSON object: line {line}, column {column}"))
        })?;
        if answer["kind"] != "ExecCredential" {
            return Err(self.failure("printed something else than an ExecCredential"));
        }
        if answer["apiVersion"] != self.api_version.as_str() {
            let wanted = self.api_version.as_str();
            return Err(self.failure(format!("answered in another apiVersion than {wanted}")));
        }
        let Value::Object(status) = &answer["status"] else {
            return Err(self.failure("printed an ExecCredential without a status"));
        };
        let text = |name: &str| match status.get(name) {
            None | Some(Value::Null) => Ok(None),
            Some(Value::String(text)) => {
                Ok(Some(text.trim()).filter(|text| !text.is_empty()).map(str::to_owned))
            }
            Some(_) => Err(self.failure(format!("printed a status.{name} that is not a string"))),
        };
        let token = text("token")?;
        if token.as_deref().is_some_and(|token| !is_header_text(token)) {
            return Err(self.failure("printed a token that cannot be sent in a header"));
        }
        let identity = match (text("clientCertificateData")?, text("clientKeyData")?) {
            (None, None) => None,
            (Some(certificate), Some(key)) => {
                self.check_identity(&certificate, &key)?;
                Some((Arc::from(certificate.into_bytes()), Secret::new(key)))
            }
            (Some(_), None) => return Err(self.failure("printed a certificate without a key")),
            (None, Some(_)) => return Err(self.failure("printed a key without a certificate")),
        };
        if token.is_none() && identity.is_none() {
            return Err(self.failure("printed neither a token nor a certificate"));
        }
        let expires = text("expirationTimestamp")?
            .map(|time| {
                parse_rfc3339(&time).ok_or_else(|| {
                    self.failure("printed an expirationTimestamp that is not an RFC 3339 time")
                })
            })
            .transpose()?;
        Ok(ExecCredential { token: token.map(Secret::new), identity, expires })
    }

    fn check_identity(&self, certificate: &str, key: &str) -> Result<()> {
        pem::check_identity(certificate.as_bytes(), key.as_bytes()).map_err(|bad| match bad {
            BadIdentity::Certificate(why) => self.failure(format!("clientCertificateData: {why}")),
            BadIdentity::Key(why) => self.failure(format!("clientKeyData: {why}")),
        })
    }

    fn cannot_start(&self, error: io::Error) -> Error {
        let mut message = match error.kind() {
            io::ErrorKind::NotFound => "executable not found".to_owned(),
            _ => format!("cannot be run: {error}"),
        };
        if let Some(hint) = &self.install_hint {
            message.push_str(". ");
            message.push_str(hint.trim());
        }
        self.failure(message)
    }

    fn failure(&self, message: impl fmt::Display) -> Error {
        let message = format!("the plugin {} {message}", self.command.display());
        let error = ConfigError::new(&self.field, message).with_kind(ConfigErrorKind::Plugin);
        match &self.file {
            Some(file) => error.in_file(file).into(),
            None => error.into(),
        }
    }
}

impl fmt::Debug for ExecPlugin {
    fn fmt(&self, f: &mut fmt::Formatter<'_>) -> fmt::Result {
        f.debug_struct("ExecPlugin")
            .field("command", &self.command)
            .field("api_version", &self.api_version)
            .field("interactive", &self.interactive)
            .finish_non_exhaustive()
    }
}

impl ApiVersion {
    pub(super) fn as_str(self) -> &'static str {
        match self {
            Self::V1 => "client.authentication.k8s.io/v1",
            Self::V1Beta1 => "client.authentication.k8s.io/v1beta1",
        }
    }
}

impl ClusterInfo {
    fn to_json(&self) -> Result<Value, String> {
        let mut info = Map::new();
        info.insert("server".into(), self.server.clone().into());
        if let Some(name) = &self.tls_server_name {
            info.insert("tls-server-name".into(), name.clone().into());
        }
        let authorities = match &self.trust {
            Trust::System => None,
            Trust::Insecure => {
                info.insert("insecure-skip-tls-verify".into(), true.into());
                None
            }
            Trust::Pem(pem) => Some(BASE64.encode(pem)),
            Trust::File(path) => Some(BASE64.encode(pem::read(path).map_err(|error| {
                format!("needs {}, which cannot be read: {error}", path.display())
            })?)),
        };
        if let Some(authorities) = authorities {
            info.insert("certificate-authority-data".into(), authorities.into());
        }
        if let Some(url) = &self.proxy_url {
            info.insert("proxy-url".into(), url.clone().into());
        }
        if self.disable_compression {
            info.insert("disable-compression".into(), true.into());
        }
        if let Some(config) = &self.config {
            info.insert("config".into(), config.clone());
        }
        Ok(info.into())
    }
}

/// A plugin that is running; it does not outlive this.
struct Running(Child);

enum Ended {
    Exited(ExitStatus),
    Stopped,
    TimedOut,
}

impl Running {
    fn wait(mut self, deadline: Option<Duration>, stop: &StopToken) -> io::Result<Ended> {
        let deadline = deadline.and_then(|limit| Instant::now().checked_add(limit));
        let (mut pause, longest) = PAUSES;
        loop {
            if let Some(status) = self.0.try_wait()? {
                return Ok(Ended::Exited(status));
            }
            if stop.wait_timeout(pause) {
                return Ok(Ended::Stopped);
            }
            if deadline.is_some_and(|deadline| deadline <= Instant::now()) {
                return Ok(Ended::TimedOut);
            }
            pause = longest.min(pause * 2);
        }
    }
}

impl Drop for Running {
    fn drop(&mut self) {
        if !matches!(self.0.try_wait(), Ok(Some(_))) {
            // Fails only if it has just ended by itself.
            let _ = self.0.kill();
            let _ = self.0.wait();
        }
    }
}

/// Reads one output of a plugin to its end, on a thread.
///
/// A process that the plugin left behind may hold the pipe open for ever, so the end is not the end of
/// the file but a mark that we write ourselves, once the plugin has ended: what the plugin wrote comes
/// before it. So the thread can always be joined.
struct Capture {
    mark: PipeWriter,
    marked: Arc<AtomicBool>,
    /// There until it is joined.
    reader: Option<JoinHandle<(Vec<u8>, bool)>>,
}

/// Which part of an output to keep when it is long.
#[derive(Clone, Copy)]
enum Keep {
    First(usize),
    Last(usize),
}

impl Capture {
    /// What neither JSON nor a message to a user has in it.
    const MARK: u8 = 0;

    /// Starts to read from a pipe whose other end is returned too.
    fn start(name: &str, keep: Keep) -> io::Result<(Self, PipeWriter)> {
        let (reader, writer) = io::pipe()?;
        let mark = writer.try_clone()?;
        let marked = Arc::new(AtomicBool::new(false));
        let seen = marked.clone();
        let reader = thread::spawn(name, move || Self::read(reader, &seen, keep))?;
        Ok((Self { mark, marked, reader: Some(reader) }, writer))
    }

    fn read(mut pipe: PipeReader, marked: &AtomicBool, keep: Keep) -> (Vec<u8>, bool) {
        let (mut kept, mut complete) = (Vec::new(), true);
        let mut chunk = [0; 4096];
        loop {
            let length = match pipe.read(&mut chunk) {
                Ok(length) => length,
                Err(error) if error.kind() == io::ErrorKind::Interrupted => continue,
                Err(_) => 0,
            };
            let chunk = &chunk[..length];
            let end = chunk
                .iter()
                .position(|byte| *byte == Self::MARK)
                .filter(|_| marked.load(Ordering::SeqCst));
            kept.extend_from_slice(&chunk[..end.unwrap_or(length)]);
            match keep {
                Keep::First(most) if kept.len() > most => {
                    kept.truncate(most);
                    complete = false;
                }
                Keep::Last(most) if kept.len() > most => {
                    kept.drain(..kept.len() - most);
                    complete = false;
                }
                _ => {}
            }
            if end.is_some() || length == 0 {
                return (kept, complete);
            }
        }
    }

    /// Returns what was read, and whether that is all; to be called when the plugin has ended.
    fn finish(mut self) -> (Vec<u8>, bool) {
        self.end()
    }

    fn end(&mut self) -> (Vec<u8>, bool) {
        let Some(reader) = self.reader.take() else { return Default::default() };
        self.marked.store(true, Ordering::SeqCst);
        // The reader is there until it sees the mark, so this neither fails nor blocks for long.
        let _ = self.mark.write_all(&[Self::MARK]);
        reader.join().unwrap_or_default()
    }
}

impl Drop for Capture {
    fn drop(&mut self) {
        self.end();
    }
}

/// Text that cannot play tricks on a terminal.
fn visible(bytes: &[u8]) -> String {
    let text = String::from_utf8_lossy(bytes);
    show_control_characters(text.trim())
}

/// Replaces control characters other than line breaks and tabs by their code points.
pub(super) fn show_control_characters(text: &str) -> String {
    let mut shown = String::with_capacity(text.len());
    for c in text.chars() {
        if is_printable(c) {
            shown.push(c);
        } else {
            shown.push_str(&format!("U+{:04X}", u32::from(c)));
        }
    }
    shown
}

fn is_printable(c: char) -> bool {
    let invisible = matches!(c,
        '\u{ad}' | '\u{200b}'..='\u{200f}' | '\u{202a}'..='\u{202e}' | '\u{2060}'..='\u{206f}'
        | '\u{feff}' | '\u{fff9}'..='\u{fffb}' | '\u{e000}'..='\u{f8ff}'
        | '\u{e0000}'..='\u{e007f}' | '\u{f0000}'..='\u{10ffff}');
    matches!(c, '\t'..='\r') || c == '\u{85}' || !(c.is_control() || invisible)
}

fn said(what: String, complaint: &str) -> String {
    if complaint.is_empty() { what } else { format!("{what}; it said: {complaint}") }
}
