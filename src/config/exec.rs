//! Credential plugins: programs that print a token or a client certificate.
//!
//! Caching and renewing is the caller's: [`ExecPlugin::run`] runs the program once.

use std::{
    fmt,
    io::{self, IsTerminal},
    path::{Path, PathBuf},
    process::Command,
    sync::Arc,
    time::{Duration, SystemTime},
};

use base64::{Engine, engine::general_purpose::STANDARD as BASE64};
use serde_json::{Map, Value, json};

use super::{
    Trust,
    pem::{self, BadIdentity},
    process::{self, Ended},
    secret::{Secret, is_header_text},
};
use crate::{
    StopToken,
    error::{ConfigError, ConfigErrorKind, Error, Result},
    rfc3339,
};

/// How long a plugin that talks to nobody may take.
const DEADLINE: Duration = Duration::from_secs(60);

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
    /// A plugin that may talk to the user takes as long as the user does; any other one is ended
    /// after 60 seconds.
    ///
    /// # Errors
    ///
    /// [`Error::Stopped`] at once if `stop` is stopped, after ending the plugin; a [`ConfigError`]
    /// if the plugin fails, with the end of what it wrote to standard error.
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
        let mut command = Command::new(&self.command);
        command
            .args(&self.args)
            .envs(self.env.iter().map(|(name, value)| (name, value)))
            .env("KUBERNETES_EXEC_INFO", self.info(interactive)?.to_string());
        log::debug!("running the credential plugin {}", self.command.display());
        let deadline = (!interactive).then_some(deadline);
        let outcome = process::run(command, interactive, deadline, stop)
            .map_err(|error| self.cannot_start(&error))?;
        let complaint = visible(&outcome.stderr);
        for line in complaint.lines() {
            log::debug!("{}: {line}", self.command.display());
        }
        match outcome.ended {
            Ended::Stopped => Err(Error::Stopped),
            Ended::TimedOut => {
                let limit = deadline.unwrap_or_default().as_secs();
                Err(self.failure(said(format!("did not end within {limit} s"), &complaint)))
            }
            Ended::Exited(status) if !status.success() => {
                Err(self.failure(said(format!("failed: {status}"), &complaint)))
            }
            Ended::Exited(_) => outcome.stdout.ok_or_else(|| {
                self.failure(format!("printed more than {} bytes", process::MOST_OUTPUT))
            }),
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
        let output = str::from_utf8(output)
            .map_err(|_| self.failure("printed no JSON object: it is not UTF-8"))?;
        let answer: Value = serde_json::from_str(output).map_err(|error| {
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
                rfc3339::parse(&time).ok_or_else(|| {
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

    fn cannot_start(&self, error: &io::Error) -> Error {
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

#[cfg(test)]
#[cfg(unix)]
mod tests {
    use std::{
        fs,
        time::{Instant, UNIX_EPOCH},
    };

    use super::{super::scratch::*, *};

    const LIMIT: Duration = Duration::from_secs(30);

    /// A plugin that is a shell script.
    fn plugin(script: &str) -> ExecPlugin {
        ExecPlugin {
            file: Some(Path::new("/home/me/config").into()),
            field: "users[me].exec".into(),
            command: "sh".into(),
            args: vec!["-c".into(), script.into()],
            env: Vec::new(),
            api_version: ApiVersion::V1,
            install_hint: None,
            interactive: InteractiveMode::Never,
            cluster: None,
        }
    }

    fn answer(status: &Value) -> String {
        json!({
            "apiVersion": "client.authentication.k8s.io/v1",
            "kind": "ExecCredential",
            "status": status,
        })
        .to_string()
    }

    fn run(script: &str) -> Result<ExecCredential> {
        plugin(script).run(&StopToken::new())
    }

    /// What the plugin sees in `KUBERNETES_EXEC_INFO`.
    fn info_seen_by(plugin: &mut ExecPlugin, interactive: bool) -> Value {
        plugin.args[1] = "printf %s \"$KUBERNETES_EXEC_INFO\"".into();
        let output = plugin.output(interactive, LIMIT, &StopToken::new()).unwrap();
        serde_json::from_slice(&output).unwrap()
    }

    #[test]
    fn a_token_and_its_expiry_are_read() {
        let status = json!({"token": "t0k\n", "expirationTimestamp": "2026-01-31T10:20:30Z"});
        let credential = run(&format!("printf %s '{}'", answer(&status))).unwrap();
        assert_eq!(credential.token.as_ref().map(Secret::expose), Some("t0k"));
        assert!(credential.identity.is_none());
        let expires = credential.expires.unwrap().duration_since(UNIX_EPOCH).unwrap();
        assert_eq!(expires.as_secs(), 1_769_854_830);
        assert!(!format!("{credential:?}").contains("t0k"));
    }

    #[test]
    fn a_client_certificate_is_read_and_checked() {
        let (certificate, key) = certificate();
        let (_, other_key) = super::super::scratch::certificate();
        let parse = |status: Value| plugin("").parse(answer(&status).as_bytes());
        let credential =
            parse(json!({"clientCertificateData": certificate, "clientKeyData": key})).unwrap();
        let (found, _) = credential.identity.as_ref().unwrap();
        assert_eq!(&**found, certificate.trim().as_bytes());
        assert!(credential.token.is_none() && credential.expires.is_none());

        for (status, why) in [
            (json!({"clientCertificateData": certificate}), "a certificate without a key"),
            (json!({"clientKeyData": key}), "a key without a certificate"),
            (
                json!({"clientCertificateData": "zzz", "clientKeyData": key}),
                "clientCertificateData: not PEM",
            ),
            (
                json!({"clientCertificateData": certificate, "clientKeyData": "zzz"}),
                "clientKeyData: not PEM",
            ),
            (
                json!({"clientCertificateData": certificate, "clientKeyData": other_key}),
                "clientKeyData: does not fit the certificate",
            ),
        ] {
            let error = parse(status).unwrap_err().to_string();
            assert!(error.contains(why), "{error}");
        }
    }

    #[test]
    fn an_answer_that_cannot_be_used_is_an_error_that_does_not_repeat_it() {
        let v1beta1 = answer(&json!({"token": "s3same"})).replace("/v1", "/v1beta1");
        let no_version = answer(&json!({"token": "s3same"})).replace("apiVersion", "version");
        let other_kind = answer(&json!({"token": "s3same"})).replace("ExecCred", "TestCred");
        for (output, why) in [
            ("", "printed no JSON object"),
            ("s3same", "printed no JSON object: line 1, column 1"),
            ("\"s3same\"", "something else than an ExecCredential"),
            ("{\"token\": \"s3same\"", "printed no JSON object"),
            (&v1beta1, "another apiVersion than client.authentication.k8s.io/v1"),
            (&no_version, "another apiVersion"),
            (&other_kind, "something else than an ExecCredential"),
            (&answer(&Value::Null), "without a status"),
            (&answer(&json!("s3same")), "without a status"),
            (&answer(&json!({})), "neither a token nor a certificate"),
            (&answer(&json!({"token": ""})), "neither a token nor a certificate"),
            (&answer(&json!({"token": ["s3same"]})), "status.token that is not a string"),
            (&answer(&json!({"token": "s3same\r\nX: y"})), "cannot be sent in a header"),
            (
                &answer(&json!({"token": "s3same", "expirationTimestamp": "tomorrow"})),
                "not an RFC 3339 time",
            ),
        ] {
            let error = plugin("").parse(output.as_bytes()).unwrap_err();
            let text = error.to_string();
            assert!(text.contains(why), "{output}: {text}");
            let place = "config: /home/me/config: users[me].exec: the plugin sh ";
            assert!(text.starts_with(place), "{text}");
            assert!(!format!("{error:?} {text}").contains("s3same"), "{text}");
            assert!(matches!(error, Error::Config(error) if error.is_plugin_failure()));
        }
    }

    #[test]
    fn the_plugin_is_told_who_asks_and_about_the_cluster_only_if_configured() {
        let mut plugin = plugin("");
        assert_eq!(
            info_seen_by(&mut plugin, false),
            json!({
                "kind": "ExecCredential",
                "apiVersion": "client.authentication.k8s.io/v1",
                "spec": {"interactive": false},
            })
        );
        let scratch = Scratch::new();
        plugin.api_version = ApiVersion::V1Beta1;
        plugin.cluster = Some(ClusterInfo {
            server: "https://example.com/p".into(),
            tls_server_name: Some("name".into()),
            trust: Trust::File(scratch.write("ca", "pem")),
            proxy_url: Some("http://proxy".into()),
            disable_compression: true,
            config: Some(json!({"audience": [1]})),
        });
        assert_eq!(
            info_seen_by(&mut plugin, true),
            json!({
                "kind": "ExecCredential",
                "apiVersion": "client.authentication.k8s.io/v1beta1",
                "spec": {"interactive": true, "cluster": {
                    "server": "https://example.com/p",
                    "tls-server-name": "name",
                    "certificate-authority-data": "cGVt",
                    "proxy-url": "http://proxy",
                    "disable-compression": true,
                    "config": {"audience": [1]},
                }},
            })
        );
        let cluster = plugin.cluster.as_mut().unwrap();
        cluster.trust = Trust::Pem(Arc::from(*b"pem"));
        let info = info_seen_by(&mut plugin, false);
        assert_eq!(info["spec"]["cluster"]["certificate-authority-data"], "cGVt");
        plugin.cluster.as_mut().unwrap().trust = Trust::Insecure;
        let info = info_seen_by(&mut plugin, false);
        assert_eq!(info["spec"]["cluster"]["insecure-skip-tls-verify"], true);
    }

    #[test]
    fn configured_variables_and_arguments_reach_the_plugin_and_standard_input_does_not() {
        let mut plugin = plugin("printf '%s/%s/' \"$A\" \"$1\"; test -n \"$PATH\"; cat");
        plugin.args.extend(["sh".into(), "arg".into()]);
        plugin.env = vec![("A".into(), "one".into()), ("EMPTY".into(), String::new())];
        let output = plugin.output(false, LIMIT, &StopToken::new()).unwrap();
        assert_eq!(output, b"one/arg/");
        assert!(!format!("{plugin:?}").contains("arg"), "{plugin:?}");
    }

    #[test]
    fn a_failing_plugin_is_an_error_with_its_code_and_what_it_said() {
        let script = "echo s3same; printf 'no \\033[31mlogin\\nat all\\n' >&2; exit 3";
        let error = run(script).unwrap_err().to_string();
        assert!(error.contains("the plugin sh failed: exit status: 3; it said: "), "{error}");
        assert!(error.ends_with("no U+001B[31mlogin\nat all"), "{error}");
        assert!(!error.contains("s3same"));
    }

    #[test]
    fn only_the_end_of_a_long_complaint_is_kept() {
        let script = "yes noise | head -c 100000 >&2; echo the cause >&2; exit 1";
        let error = run(script).unwrap_err().to_string();
        assert!(error.ends_with("the cause") && error.len() < 5000, "{}", error.len());
    }

    #[test]
    fn output_without_end_is_an_error_and_not_memory() {
        let error = run("yes | head -c 2000000").unwrap_err().to_string();
        assert!(error.contains("printed more than 1048576 bytes"), "{error}");
    }

    #[test]
    fn a_missing_executable_is_an_error_with_the_hint() {
        let mut plugin = plugin("");
        plugin.command = "/nonexistent/plugin".into();
        let error = plugin.run(&StopToken::new()).unwrap_err().to_string();
        assert!(error.ends_with("the plugin /nonexistent/plugin executable not found"), "{error}");
        plugin.install_hint = Some("Get it at example.com".into());
        let error = plugin.run(&StopToken::new()).unwrap_err().to_string();
        assert!(error.ends_with("executable not found. Get it at example.com"), "{error}");
    }

    #[test]
    fn a_plugin_may_talk_to_the_user_only_on_a_terminal() {
        use InteractiveMode::*;
        let mut plugin = plugin("");
        for (mode, terminal, interactive) in [
            (Never, true, Some(false)),
            (Never, false, Some(false)),
            (IfAvailable, true, Some(true)),
            (IfAvailable, false, Some(false)),
            (Always, true, Some(true)),
            (Always, false, None),
        ] {
            plugin.interactive = mode;
            let found = plugin.is_interactive(terminal);
            assert_eq!(found.ok(), interactive, "{mode:?} {terminal}");
        }
    }

    #[test]
    fn a_plugin_that_takes_too_long_is_ended() {
        let plugin = plugin("echo waiting >&2; exec sleep 100");
        // Long enough to say it, however busy the machine is.
        let limit = Duration::from_secs(4);
        let error = plugin.output(false, limit, &StopToken::new()).unwrap_err().to_string();
        assert!(error.contains("did not end within 4 s; it said: waiting"), "{error}");
    }

    /// The first line that somebody writes to a file.
    fn line_of(path: &Path) -> String {
        let pause = StopToken::new();
        let deadline = Instant::now() + LIMIT;
        loop {
            if let Ok(text) = fs::read_to_string(path)
                && text.ends_with('\n')
            {
                return text.trim().to_owned();
            }
            assert!(Instant::now() < deadline, "nobody wrote {}", path.display());
            let _ = pause.wait_timeout(Duration::from_millis(1));
        }
    }

    #[test]
    fn a_stop_ends_a_hanging_plugin_at_once_though_a_grandchild_keeps_its_pipes() {
        let scratch = Scratch::new();
        let pid_file = scratch.path("pid");
        let script =
            format!("sleep 40 & echo $$ >{}; while :; do sleep 1; done", pid_file.display());
        let (plugin, stop) = (plugin(&script), StopToken::new());
        std::thread::scope(|scope| {
            let running = scope.spawn(|| plugin.run(&stop));
            let pid = line_of(&pid_file);
            let started = Instant::now();
            stop.stop();
            assert!(running.join().unwrap().unwrap_err().is_stopped());
            assert!(started.elapsed() < Duration::from_secs(20), "{:?}", started.elapsed());
            assert!(!Path::new("/proc").join(pid).exists(), "the plugin is still there");
        });
        assert!(
            plugin.run(&stop).unwrap_err().is_stopped(),
            "nothing is run under a stopped token"
        );
    }

    #[test]
    fn a_grandchild_that_keeps_the_pipes_does_not_delay_the_answer() {
        let started = Instant::now();
        let script = format!("sleep 40 & echo '{}'", answer(&json!({"token": "t0k"})));
        let credential = run(&script).unwrap();
        assert_eq!(credential.token.as_ref().map(Secret::expose), Some("t0k"));
        assert!(started.elapsed() < Duration::from_secs(20), "{:?}", started.elapsed());
    }

    #[test]
    fn control_characters_are_shown_and_everything_readable_is_kept() {
        let readable = "a\tb\nc\r\u{e9}\u{4e2d}\u{1f600} $+\u{a0}";
        assert_eq!(show_control_characters(readable), readable);
        assert_eq!(
            show_control_characters("\u{1b}[1m\u{7}\u{0}\u{202e}\u{9b}"),
            "U+001B[1mU+0007U+0000U+202EU+009B"
        );
    }
}
