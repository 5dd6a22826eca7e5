//! Which cluster an example talks to: yours, or one inside the process.

use kinformer::{Client, Config, Error, Result, testing::ApiServer};

/// A client, and the server behind it if it is the embedded one.
pub(crate) struct Cluster {
    pub(crate) client: Client,
    #[allow(dead_code, reason = "not every example asks")]
    pub(crate) embedded: Option<ApiServer>,
}

impl Cluster {
    /// The cluster that `--context NAME`, `KUBECONFIG`, the pod or `~/.kube/config` name; where there
    /// is none, the embedded API server with a small workload.
    pub(crate) fn find() -> Result<Self> {
        let mut arguments = std::env::args().skip_while(|argument| argument != "--context");
        let config = match arguments.nth(1) {
            Some(context) => Config::loader().context(&context).load(),
            None => Config::infer(),
        };
        match config {
            Ok(config) => {
                println!("cluster: {}", config.server());
                Ok(Self { client: Client::new(config)?, embedded: None })
            }
            Err(Error::Config(error)) if error.is_empty() => {
                println!("no cluster is configured: using the embedded API server");
                let server = ApiServer::demo().map_err(|error| unavailable(&error))?;
                let client = Client::new(server.config())?;
                Ok(Self { client, embedded: Some(server) })
            }
            Err(error) => Err(error),
        }
    }
}

fn unavailable(error: &std::io::Error) -> Error {
    panic!("the embedded API server cannot listen on the loopback interface: {error}")
}
