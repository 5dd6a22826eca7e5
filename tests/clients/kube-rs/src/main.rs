//! Watchers and reflectors of kube-rs against an API server: everything that is written must be told.
//!
//! KUBECONFIG names the server. With CONTROL set it is the embedded one, and faults are scripted into it.

mod control;
mod journal;
mod scenario;
mod witness;

use std::process::ExitCode;

use kube::Client;

use crate::scenario::Scenario;

pub type Error = Box<dyn std::error::Error>;
pub type Result<T> = std::result::Result<T, Error>;

#[tokio::main(flavor = "current_thread")]
async fn main() -> ExitCode {
    let mut report = Report::default();
    if let Err(error) = run(&mut report).await {
        report.check("cannot go on", &[error.to_string()]);
    }
    ExitCode::from(u8::from(report.failed))
}

async fn run(report: &mut Report) -> Result<()> {
    let client = Client::try_default().await?;
    Scenario::steady().run(&client, report).await?;
    if std::env::var_os("CONTROL").is_some_and(|value| !value.is_empty()) {
        for scenario in Scenario::faulty() {
            scenario.run(&client, report).await?;
        }
    }
    Ok(())
}

#[derive(Debug, Default)]
pub struct Report {
    failed: bool,
}

impl Report {
    pub fn check(&mut self, what: &str, differences: &[String]) {
        if differences.is_empty() {
            println!("ok   {what}");
            return;
        }
        self.failed = true;
        println!("FAIL {what}");
        for difference in differences.iter().take(10) {
            println!("         {difference}");
        }
        if differences.len() > 10 {
            println!("         ... and {} more", differences.len() - 10);
        }
    }
}
