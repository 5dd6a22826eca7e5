//! Scripting faults into the embedded server.

use http::Request;
use kube::Client;
use serde_json::{Value, json};

use crate::Result;

pub struct Control {
    client: Client,
    namespace: String,
}

impl Control {
    pub fn new(client: &Client, namespace: &str) -> Self {
        Self { client: client.clone(), namespace: namespace.to_owned() }
    }

    /// A fault that befalls so many watches of each kind in this namespace.
    pub async fn script(&self, kinds: &[&str], fault: &Value, times: Option<usize>) -> Result<()> {
        for kind in kinds {
            let when = json!({"verb": "watch", "resource": kind, "namespace": self.namespace, "times": times});
            self.call("POST", "faults", &json!({"when": when, "fault": fault})).await?;
        }
        Ok(())
    }

    pub async fn command(&self, method: &str, command: &str) -> Result<()> {
        self.call(method, command, &Value::Null).await.map(drop)
    }

    /// The faults of this namespace that have not happened.
    pub async fn unused(&self) -> Result<Vec<String>> {
        let answer = self.call("GET", "faults", &Value::Null).await?;
        let pending = answer["pending"].as_array().ok_or("no list of pending faults")?;
        Ok(pending
            .iter()
            .filter(|rule| rule["when"]["namespace"] == self.namespace.as_str())
            .map(ToString::to_string)
            .collect())
    }

    async fn call(&self, method: &str, command: &str, body: &Value) -> Result<Value> {
        let body = if body.is_null() { Vec::new() } else { serde_json::to_vec(body)? };
        let request = Request::builder()
            .method(method)
            .uri(format!("/_testing/{command}"))
            .header("content-type", "application/json")
            .body(body)?;
        Ok(self.client.request(request).await?)
    }
}
