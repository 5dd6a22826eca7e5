//! Runs the embedded API server on its own, for kubectl, client-go or anything else to be pointed
//! at.
//!
//! ```text
//! cargo run --example apiserver -- --listen 127.0.0.1:8001 --demo --kubeconfig /tmp/kubeconfig
//! kubectl --kubeconfig /tmp/kubeconfig get pods --all-namespaces --watch
//! ```

use std::{env, error::Error, fs, io::Write, net::SocketAddr, path::PathBuf, time::Duration};

use kinformer::{StopToken, testing::ApiServer};

const USAGE: &str = "\
usage: apiserver [options]
  --listen ADDRESS:PORT  where to listen (default: a free port of 127.0.0.1)
  --tls                  serve HTTPS, with a certificate made for the occasion
  --token TOKEN          refuse requests without this bearer token
  --kubeconfig FILE      write a kubeconfig for the server
  --demo                 fill it with a small workload in which something always changes
  --pods N               fill it with N pods of about 11 KB each
  --history N            how many changes to remember
  --bookmarks SECONDS    how often watches get a bookmark
  --control              take faults over HTTP, under /_testing
  --compress-streams     gzip streamed lists, as Kubernetes 1.37 does
  --seconds N            end after N seconds";

#[derive(Default)]
struct Options {
    listen: Option<SocketAddr>,
    tls: bool,
    token: Option<String>,
    kubeconfig: Option<PathBuf>,
    demo: bool,
    pods: usize,
    history: Option<usize>,
    bookmarks: Option<u64>,
    control: bool,
    compress_streams: bool,
    seconds: Option<u64>,
}

fn main() -> Result<(), Box<dyn Error>> {
    let options = match parse(env::args().skip(1)) {
        Ok(Some(options)) => options,
        Ok(None) => {
            println!("{USAGE}");
            return Ok(());
        }
        Err(problem) => return Err(format!("{problem}\n{USAGE}").into()),
    };
    let mut builder = ApiServer::builder()
        .tls(options.tls)
        .control(options.control)
        .compressed_streams(options.compress_streams);
    if let Some(address) = options.listen {
        builder = builder.listen(address);
    }
    if let Some(token) = options.token {
        builder = builder.token(token);
    }
    if let Some(changes) = options.history {
        builder = builder.history(changes);
    }
    if let Some(seconds) = options.bookmarks {
        builder = builder.bookmark_interval(Duration::from_secs(seconds));
    }
    let server = builder.start()?;
    if options.pods > 0 {
        server.create_sample_pods(options.pods)?;
    }
    if options.demo {
        server.live()?;
    }
    if let Some(file) = options.kubeconfig {
        fs::write(&file, server.kubeconfig())
            .map_err(|error| format!("--kubeconfig {}: {error}", file.display()))?;
    }
    println!("listening on {}", server.url());
    std::io::stdout().flush()?;
    let forever = StopToken::new();
    match options.seconds {
        Some(seconds) => _ = forever.wait_timeout(Duration::from_secs(seconds)),
        None => forever.wait(),
    }
    server.stop();
    Ok(())
}

/// `None` if the user asks for help.
fn parse(mut args: impl Iterator<Item = String>) -> Result<Option<Options>, String> {
    let mut options = Options::default();
    while let Some(flag) = args.next() {
        let mut value = || args.next().ok_or_else(|| format!("{flag} needs a value"));
        match flag.as_str() {
            "--listen" => options.listen = Some(number(&flag, &value()?)?),
            "--tls" => options.tls = true,
            "--token" => options.token = Some(value()?),
            "--kubeconfig" => options.kubeconfig = Some(value()?.into()),
            "--demo" => options.demo = true,
            "--pods" => options.pods = number(&flag, &value()?)?,
            "--history" => options.history = Some(number(&flag, &value()?)?),
            "--bookmarks" => options.bookmarks = Some(number(&flag, &value()?)?),
            "--control" => options.control = true,
            "--compress-streams" => options.compress_streams = true,
            "--seconds" => options.seconds = Some(number(&flag, &value()?)?),
            "-h" | "--help" => return Ok(None),
            _ => return Err(format!("unknown flag {flag}")),
        }
    }
    Ok(Some(options))
}

fn number<T: std::str::FromStr<Err: std::fmt::Display>>(
    flag: &str,
    text: &str,
) -> Result<T, String> {
    text.parse().map_err(|error| format!("{flag} {text}: {error}"))
}
