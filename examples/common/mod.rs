//! Which cluster an example talks to: yours, or one inside the process.

#![allow(dead_code, reason = "not every example needs all of it")]

use std::{env, fmt, time::Duration};

use kinformer::{Client, Config, Error, StopToken, testing::ApiServer};

/// What the examples' `main` returns.
pub(crate) type Result<T = ()> = std::result::Result<T, Failure>;

/// Any error, printed with its causes for a person to read.
pub(crate) struct Failure(String);

impl Failure {
    pub(crate) fn new(text: impl Into<String>) -> Self {
        Self(text.into())
    }
}

impl<E: std::error::Error> From<E> for Failure {
    fn from(error: E) -> Self {
        let mut text = error.to_string();
        let mut cause = error.source();
        while let Some(error) = cause {
            text = format!("{text}: {error}");
            cause = error.source();
        }
        Self(text)
    }
}

/// What the standard library prints of an error that `main` returns.
impl fmt::Debug for Failure {
    fn fmt(&self, f: &mut fmt::Formatter<'_>) -> fmt::Result {
        f.write_str(&self.0)
    }
}

/// The arguments of the program; those that somebody understands are taken out.
pub(crate) struct Arguments(Vec<String>);

impl Arguments {
    pub(crate) fn of_process() -> Self {
        Self(env::args().skip(1).collect())
    }

    /// The value of a flag, as in `--context NAME` or `--context=NAME`.
    pub(crate) fn take(&mut self, flag: &str) -> Result<Option<String>> {
        let value = |argument: &String| {
            let rest = argument.strip_prefix(flag)?;
            rest.strip_prefix('=').map(str::to_owned).or_else(|| rest.is_empty().then(String::new))
        };
        let Some(at) = self.0.iter().position(|argument| value(argument).is_some()) else {
            return Ok(None);
        };
        let argument = self.0.remove(at);
        let value = match argument.split_once('=') {
            Some((_, value)) => value.to_owned(),
            None if at < self.0.len() => self.0.remove(at),
            None => String::new(),
        };
        // Empty is what a shell makes of a variable that is not set: that names nothing.
        if value.is_empty() {
            return Err(Failure::new(format!("{flag} needs a value")));
        }
        Ok(Some(value))
    }

    /// Whether a flag without a value is there.
    pub(crate) fn take_switch(&mut self, flag: &str) -> bool {
        let before = self.0.len();
        self.0.retain(|argument| argument != flag);
        self.0.len() < before
    }

    /// The first argument that is left.
    pub(crate) fn next(&mut self) -> Option<String> {
        (!self.0.is_empty()).then(|| self.0.remove(0))
    }

    /// Whether a cluster is named that has not been taken yet.
    pub(crate) fn name_a_cluster(&self) -> bool {
        let flags = ["--kubeconfig", "--context", "--server"];
        self.0
            .iter()
            .any(|argument| flags.contains(&argument.split('=').next().unwrap_or_default()))
    }

    /// # Errors
    ///
    /// If something is left.
    pub(crate) fn finish(mut self) -> Result {
        self.next().map_or(Ok(()), |left| Err(Failure::new(format!("what is {left}?"))))
    }
}

/// A client, and the server behind it if it is the embedded one.
pub(crate) struct Cluster {
    pub(crate) client: Client,
    pub(crate) embedded: Option<ApiServer>,
}

impl Cluster {
    /// The cluster that the arguments of the program name, and nothing else is among them.
    pub(crate) fn find() -> Result<Self> {
        let mut arguments = Arguments::of_process();
        let cluster = Self::named_by(&mut arguments)?;
        arguments.finish()?;
        Ok(cluster)
    }

    /// The cluster that `--kubeconfig FILE`, `--context NAME` or `--server URL` name, or `KUBECONFIG`,
    /// the pod or `~/.kube/config`; where there is none, the embedded API server with a small workload.
    pub(crate) fn named_by(arguments: &mut Arguments) -> Result<Self> {
        let mut loader = Config::loader();
        if let Some(file) = arguments.take("--kubeconfig")? {
            loader = loader.path(file);
        }
        if let Some(context) = arguments.take("--context")? {
            loader = loader.context(context);
        }
        if let Some(server) = arguments.take("--server")? {
            loader = loader.server(server);
        }
        match loader.load() {
            Ok(config) => {
                println!("cluster: {}", config.server());
                Ok(Self { client: Client::new(config)?, embedded: None })
            }
            Err(Error::Config(error)) if error.is_empty() && !has_kubeconfig() => {
                Self::embedded("embedded")
            }
            Err(error) => Err(error.into()),
        }
    }

    /// A server inside this process, known to its clients by this name.
    pub(crate) fn embedded(name: &str) -> Result<Self> {
        println!("no cluster is configured: using the embedded API server");
        let server = ApiServer::demo()?;
        let config = server.config().to_builder().cluster(name).build()?;
        Ok(Self { client: Client::new(config)?, embedded: Some(server) })
    }

    /// Lets time pass: until Ctrl-C, or so long where the server is the embedded one and there is nobody
    /// to press it.
    pub(crate) fn linger(&self, seconds: u64) {
        let limit = self.embedded.as_ref().map_or(Duration::MAX, |_| Duration::from_secs(seconds));
        let _ = StopToken::new().wait_timeout(limit);
    }
}

/// Files that do not exist are a mistake, not a reason to make up a cluster.
fn has_kubeconfig() -> bool {
    env::var_os("KUBECONFIG").is_some_and(|files| !files.is_empty())
}
