//! Kubeconfig files: whatever is in them, they are read or an error says where it is, and no output has
//! a credential in it.

use std::path::Path;

use crate::{
    config::fuzzing::load,
    yaml::{self, Node, Value},
};

const FILE: &str = "some.kubeconfig";

/// What tells the credentials of the corpus from everything else.
const MARK: &str = "s3cr3t";

/// Fields of a user, and of its plugin's environment, that are secret.
const SECRET_FIELDS: [&str; 5] = ["token", "password", "client-key-data", "value", "auth-provider"];

/// What an error begins with, after the file.
const PLACES: [&str; 10] = [
    "not YAML: ",
    "is empty: ",
    "apiVersion: ",
    "clusters",
    "contexts",
    "current-context: ",
    "extensions",
    "kind: ",
    // The whole of it is no mapping.
    "line ",
    "users",
];

/// Reads the text.
pub fn kubeconfig(data: &[u8]) {
    let Ok(text) = std::str::from_utf8(data) else { return };
    let mut outputs = Vec::new();
    match load(text, Path::new(FILE)) {
        Ok(config) => {
            outputs.extend([format!("{config:?}"), format!("{config:#?}")]);
            outputs.push(format!("{:?} {}", config.to_builder(), config.server()));
        }
        Err(error) => {
            let told = error.to_string();
            let place = told.strip_prefix(FILE).and_then(|told| told.strip_prefix(": "));
            let place = place.unwrap_or_else(|| panic!("no file: {told}"));
            let named = PLACES.iter().any(|known| place.starts_with(known));
            assert!(named, "no field: {told}");
            outputs.extend([told, format!("{error:?}"), format!("{error:#?}")]);
            let mut cause = error.source();
            while let Some(error) = cause {
                outputs.push(error.to_string());
                cause = error.source();
            }
        }
    }
    let secrets = secrets(text);
    for output in outputs {
        for secret in &secrets {
            assert!(!output.contains(secret), "{secret:?} is in {output}");
        }
    }
}

/// The credentials in the text, as far as they are marked and nothing else is the same.
fn secrets(text: &str) -> Vec<String> {
    let Ok(documents) = yaml::parse_documents(text) else {
        // Nobody knows what is what: nothing may be told.
        return vec![MARK.to_owned()];
    };
    let mut found = Vec::new();
    for document in documents.iter().take(1) {
        for user in items(document, "users") {
            collect(user, false, &mut found);
        }
        for cluster in items(document, "clusters") {
            let cluster = member(cluster, "cluster");
            let proxy = cluster.and_then(|cluster| member(cluster, "proxy-url"));
            let url = proxy.and_then(scalar).and_then(|url| url.split_once("://"));
            let authority = url.map(|(_, rest)| rest.split(['/', '?', '#']).next().unwrap_or(rest));
            let user = authority.and_then(|authority| authority.rsplit_once('@'));
            found.extend(user.and_then(|(user, _)| user.split_once(':')).map(|(_, secret)| secret));
        }
    }
    // With an alias, any text may stand in two places.
    let is_clear = |secret: &&str| {
        secret.contains(MARK) && text.matches(*secret).count() <= 1 && !text.contains('*')
    };
    found.into_iter().filter(is_clear).map(str::to_owned).collect()
}

/// All text that is in a secret field, however deep.
fn collect<'a>(node: &'a Node, secret: bool, found: &mut Vec<&'a str>) {
    match &node.value {
        Value::Scalar(scalar) if secret => found.push(scalar.text.trim()),
        Value::Scalar(_) => {}
        Value::Sequence(items) => items.iter().for_each(|item| collect(item, secret, found)),
        Value::Mapping(entries) => {
            for entry in entries {
                let secret = secret || SECRET_FIELDS.contains(&entry.key.as_str());
                // The name of a provider is none.
                collect(&entry.value, secret && entry.key != "name", found);
            }
        }
    }
}

fn member<'a>(node: &'a Node, key: &str) -> Option<&'a Node> {
    let Value::Mapping(entries) = &node.value else { return None };
    entries.iter().find(|entry| entry.key == key).map(|entry| &entry.value)
}

fn items<'a>(node: &'a Node, key: &str) -> &'a [Node] {
    match member(node, key).map(|node| &node.value) {
        Some(Value::Sequence(items)) => items,
        _ => &[],
    }
}

fn scalar(node: &Node) -> Option<&str> {
    match &node.value {
        Value::Scalar(scalar) => Some(&scalar.text),
        _ => None,
    }
}
