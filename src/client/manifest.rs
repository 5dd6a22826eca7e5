//! Objects written as YAML.

use serde_json::Value;

use super::Client;
use crate::{
    error::{Error, Result},
    object::{DynamicObject, Object},
    yaml,
};

impl Client {
    /// Makes the objects of a YAML text, which may have several documents and `List`s.
    ///
    /// Objects without a namespace go to the [default one](Self::default_namespace). Discovery says
    /// how each kind is served.
    ///
    /// # Errors
    ///
    /// If the text is not YAML, a document is not an object, its kind is not served, or the server
    /// refuses it. Nothing is made if the text itself is at fault; objects before the one that the
    /// server refused have been made.
    ///
    /// ```no_run
    /// # let client = kinformer::Client::try_default()?;
    /// let made = client.create_from_yaml("{apiVersion: v1, kind: ConfigMap, metadata: {name: a}}")?;
    /// assert_eq!(made[0].kind(), "ConfigMap");
    /// # Ok::<(), kinformer::Error>(())
    /// ```
    pub fn create_from_yaml(&self, text: &str) -> Result<Vec<Object<DynamicObject>>> {
        let objects = parse(text)?;
        let discovery = self.discovery();
        let mut made = Vec::with_capacity(objects.len());
        for object in objects {
            let field = |name: &str| object[name].as_str().unwrap_or_default();
            let kind = format!("{}/{}", field("apiVersion"), field("kind"));
            let resource = discovery.find_kind(&kind)?.resource;
            let mut api = self.dynamic(&resource);
            if resource.is_namespaced() {
                let namespace = object["metadata"]["namespace"].as_str();
                let namespace = namespace.filter(|namespace| !namespace.is_empty());
                api = api.namespace(namespace.unwrap_or(self.default_namespace()));
            }
            made.push(api.create(&object)?);
        }
        Ok(made)
    }
}

/// The objects of all documents, those of lists included.
fn parse(text: &str) -> Result<Vec<Value>> {
    let documents = yaml::parse_documents(text)
        .map_err(|error| Error::invalid("manifest", error.to_string()))?;
    let mut objects = Vec::new();
    for (at, document) in documents.iter().enumerate() {
        let mut document = document.to_json();
        let is_list = document["kind"].as_str() == Some("List");
        let found = match document.get_mut("items") {
            Some(Value::Array(items)) if is_list => std::mem::take(items),
            _ => vec![document],
        };
        for object in &found {
            let missing =
                ["apiVersion", "kind"].into_iter().find(|&name| !object[name].is_string());
            if let Some(missing) = missing {
                let text = format!("document {} has no {missing}", at + 1);
                return Err(Error::invalid("manifest", text));
            }
        }
        objects.extend(found);
    }
    Ok(objects)
}

#[cfg(test)]
mod tests {
    use super::*;

    #[test]
    fn documents_and_lists_become_objects() {
        let text = "---\napiVersion: v1\nkind: ConfigMap\ndata: {a: 'yes', n: \"1\"}\n---\n---\n\
                    {apiVersion: v1, kind: List, items: [{kind: A, apiVersion: v1}, {kind: B, apiVersion: v1}]}\n";
        let objects = parse(text).unwrap();
        assert_eq!(objects.len(), 3);
        assert_eq!(objects[0]["data"]["a"], "yes");
        assert_eq!(objects[2]["kind"], "B");
    }

    #[test]
    fn what_is_not_a_manifest_says_which_document() {
        for (text, fragment) in [
            ("a: [", "line"),
            ("apiVersion: v1\n", "document 1 has no kind"),
            ("{apiVersion: v1, kind: A}\n---\n3\n", "document 2 has no apiVersion"),
        ] {
            let error = parse(text).unwrap_err().to_string();
            assert!(error.contains(fragment), "{error}");
        }
    }
}
