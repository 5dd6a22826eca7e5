//! The kubeconfig file: what it may say, and reading it.
//!
//! Values are read by hand from YAML so that every complaint has the file, the path of the field
//! and the line. What a field means, and whether it fits the others, is decided in `resolve`, for
//! the chosen context only.

use std::{
    collections::{BTreeMap, BTreeSet},
    path::{Path, PathBuf, is_separator},
    sync::Arc,
};

use super::problems::Problems;
use crate::{
    error::ConfigError,
    yaml::{self, Entry, Node, Value},
};

/// The name of the extension that holds a cluster's settings for credential plugins.
const EXEC_EXTENSION: &str = "client.authentication.k8s.io/exec";

/// One file, or several merged. No `Debug`: most of it is secret.
#[derive(Clone, Default)]
pub(super) struct Kubeconfig {
    pub(super) current_context: Option<Text>,
    pub(super) contexts: Named<Context>,
    pub(super) clusters: Named<Cluster>,
    pub(super) users: Named<User>,
}

/// Entries with a name, each name once. One of them is looked for, once: that needs no map.
pub(super) type Named<T> = Vec<(String, T)>;

/// The entry of that name.
pub(super) fn find<'a, T>(entries: &'a [(String, T)], name: &str) -> Option<&'a T> {
    entries.iter().find(|(other, _)| other == name).map(|(_, entry)| entry)
}

/// A value and where it stands.
#[derive(Clone)]
pub(super) struct Located<T> {
    pub(super) value: T,
    pub(super) place: Place,
}

pub(super) type Text = Located<String>;

/// A line of a file. Line 0 is no line: the value was given by the program.
#[derive(Clone, Default)]
pub(super) struct Place {
    pub(super) file: Option<Arc<Path>>,
    line: usize,
}

#[derive(Clone, Default)]
pub(super) struct Context {
    pub(super) place: Place,
    pub(super) cluster: Option<Text>,
    pub(super) user: Option<Text>,
    pub(super) namespace: Option<Text>,
}

#[derive(Clone, Default)]
pub(super) struct Cluster {
    pub(super) place: Place,
    pub(super) server: Option<Text>,
    pub(super) tls_server_name: Option<Text>,
    pub(super) insecure_skip_tls_verify: Option<Located<bool>>,
    pub(super) certificate_authority: Option<Located<PathBuf>>,
    pub(super) certificate_authority_data: Option<Text>,
    pub(super) proxy_url: Option<Text>,
    pub(super) disable_compression: Option<Located<bool>>,
    pub(super) exec_config: Option<serde_json::Value>,
}

#[derive(Clone, Default)]
pub(super) struct User {
    pub(super) client_certificate: Option<Located<PathBuf>>,
    pub(super) client_certificate_data: Option<Text>,
    pub(super) client_key: Option<Located<PathBuf>>,
    pub(super) client_key_data: Option<Text>,
    pub(super) token: Option<Text>,
    pub(super) token_file: Option<Located<PathBuf>>,
    pub(super) username: Option<Text>,
    pub(super) password: Option<Text>,
    pub(super) act_as: Option<Text>,
    pub(super) act_as_uid: Option<Text>,
    pub(super) act_as_groups: Option<Located<Vec<String>>>,
    pub(super) act_as_extra: Option<Located<BTreeMap<String, Vec<String>>>>,
    /// The name of a removed authentication provider.
    pub(super) auth_provider: Option<Text>,
    pub(super) exec: Option<Exec>,
}

#[derive(Clone, Default)]
pub(super) struct Exec {
    pub(super) place: Place,
    pub(super) command: Option<Located<PathBuf>>,
    pub(super) args: Vec<String>,
    pub(super) env: Vec<(Text, String)>,
    pub(super) api_version: Option<Text>,
    pub(super) install_hint: Option<Text>,
    pub(super) provide_cluster_info: bool,
    pub(super) interactive_mode: Option<Text>,
}

impl Kubeconfig {
    /// Reads one file's text. Relative paths become relative to the directory of `file`, if any.
    pub(super) fn parse(text: &str, file: Option<&Path>) -> Result<Self, ConfigError> {
        let mut reader = Reader { file: file.map(Arc::from), problems: Problems::default() };
        let config = match yaml::parse_documents(text) {
            Err(error) => {
                reader.problems.add("", format!("not YAML: {error}"));
                Self::default()
            }
            // kubectl, too, reads the first document only.
            Ok(documents) => documents.first().map(|node| reader.config(node)).unwrap_or_default(),
        };
        reader.problems.finish(config).map_err(|error| match file {
            Some(file) => error.in_file(file),
            None => error,
        })
    }
}

impl<T> Located<T> {
    /// A value that the program gave, in place of any file's.
    pub(super) fn given(value: T) -> Self {
        Self { value, place: Place::default() }
    }

    /// Whether the program gave this value.
    pub(super) fn is_given(&self) -> bool {
        self.place.is_given()
    }

    /// Says what is wrong with this value of the field `path`.
    pub(super) fn problem(&self, path: &str, message: impl Into<String>) -> ConfigError {
        self.place.problem_at(path, message.into())
    }

    /// Says what is wrong with this value, which is `key` of `owner` unless the program gave it.
    pub(super) fn problem_in(
        &self,
        owner: &str,
        key: &str,
        message: impl Into<String>,
    ) -> ConfigError {
        self.place.problem_at(&self.place.path(owner, key), message.into())
    }
}

impl Place {
    pub(super) fn problem(&self, path: &str, message: impl Into<String>) -> ConfigError {
        self.problem_at(path, message.into())
    }

    fn problem_at(&self, path: &str, message: String) -> ConfigError {
        let message = match self.line {
            0 => message,
            line => format!("line {line}: {message}"),
        };
        let error = ConfigError::new(path, message);
        match &self.file {
            Some(file) => error.in_file(file),
            None => error,
        }
    }

    /// The path of `key` of `owner`, unless the program gave what is here.
    fn path(&self, owner: &str, key: &str) -> String {
        if self.is_given() { format!("{key} (override)") } else { format!("{owner}.{key}") }
    }

    fn is_given(&self) -> bool {
        self.line == 0
    }
}

struct Reader {
    file: Option<Arc<Path>>,
    problems: Problems,
}

/// The entries of a mapping and the path of the field it is.
struct Fields<'a> {
    path: String,
    entries: &'a [Entry],
}

impl<'a> Fields<'a> {
    fn get(&self, key: &str) -> Option<&'a Node> {
        self.entries.iter().find(|entry| entry.key == key).map(|entry| &entry.value)
    }

    fn path(&self, key: &str) -> String {
        if self.path.is_empty() { key.to_owned() } else { format!("{}.{key}", self.path) }
    }
}

impl Reader {
    fn config(&mut self, node: &Node) -> Kubeconfig {
        let Some(fields) = self.fields(node, String::new()) else { return Kubeconfig::default() };
        for (key, wanted) in [("apiVersion", "v1"), ("kind", "Config")] {
            if let Some(text) = self.text(&fields, key)
                && text.value != wanted
            {
                self.problems.push(text.problem(key, format!("must be {wanted}")));
            }
        }
        self.named(&fields, "extensions", |_, _, _| ());
        Kubeconfig {
            current_context: self.text(&fields, "current-context"),
            contexts: self.named(&fields, "contexts", Self::context),
            clusters: self.named(&fields, "clusters", Self::cluster),
            users: self.named(&fields, "users", Self::user),
        }
    }

    fn context(&mut self, item: &Fields<'_>, place: Place) -> Context {
        let fields = &self.content(item, "context");
        Context {
            place,
            cluster: self.text(fields, "cluster"),
            user: self.text(fields, "user"),
            namespace: self.text(fields, "namespace"),
        }
    }

    fn cluster(&mut self, item: &Fields<'_>, place: Place) -> Cluster {
        let fields = &self.content(item, "cluster");
        let extensions = self.named(fields, "extensions", |_, extension, _| {
            extension.get("extension").map(Node::to_json)
        });
        Cluster {
            place,
            server: self.text(fields, "server"),
            tls_server_name: self.text(fields, "tls-server-name"),
            insecure_skip_tls_verify: self.flag(fields, "insecure-skip-tls-verify"),
            certificate_authority: self.file_path(fields, "certificate-authority"),
            certificate_authority_data: self.text(fields, "certificate-authority-data"),
            proxy_url: self.text(fields, "proxy-url"),
            disable_compression: self.flag(fields, "disable-compression"),
            exec_config: find(&extensions, EXEC_EXTENSION).cloned().flatten(),
        }
    }

    fn user(&mut self, item: &Fields<'_>, _: Place) -> User {
        let fields = &self.content(item, "user");
        let auth_provider = fields.get("auth-provider").filter(|node| !node.is_null());
        let auth_provider = auth_provider.and_then(|node| {
            let provider = self.fields(node, fields.path("auth-provider"))?;
            let name = self.text(&provider, "name");
            Some(name.unwrap_or_else(|| Located { value: String::new(), place: self.place(node) }))
        });
        let exec = fields.get("exec").filter(|node| !node.is_null());
        let exec = exec.and_then(|node| {
            let exec = self.fields(node, fields.path("exec"))?;
            Some(self.exec(&exec, node))
        });
        User {
            client_certificate: self.file_path(fields, "client-certificate"),
            client_certificate_data: self.text(fields, "client-certificate-data"),
            client_key: self.file_path(fields, "client-key"),
            client_key_data: self.text(fields, "client-key-data"),
            token: self.text(fields, "token"),
            token_file: self.file_path(fields, "tokenFile"),
            username: self.text(fields, "username"),
            password: self.text(fields, "password"),
            act_as: self.text(fields, "as"),
            act_as_uid: self.text(fields, "as-uid"),
            act_as_groups: self.texts(fields, "as-groups"),
            act_as_extra: self.extra(fields, "as-user-extra"),
            auth_provider,
            exec,
        }
    }

    fn exec(&mut self, fields: &Fields<'_>, node: &Node) -> Exec {
        let mut command = self.text(fields, "command").map(|text| text.map(PathBuf::from));
        // A bare name is looked up in PATH.
        if let Some(command) = &mut command
            && command.value.to_string_lossy().contains(is_separator)
        {
            self.resolve(&mut command.value);
        }
        Exec {
            place: self.place(node),
            command,
            args: self.texts(fields, "args").map(|args| args.value).unwrap_or_default(),
            env: self.environment(fields),
            api_version: self.text(fields, "apiVersion"),
            install_hint: self.text(fields, "installHint"),
            provide_cluster_info: self
                .flag(fields, "provideClusterInfo")
                .is_some_and(|flag| flag.value),
            interactive_mode: self.text(fields, "interactiveMode"),
        }
    }

    /// `[{name: .., value: ..}]`; a name that is missing is kept as an empty one.
    fn environment(&mut self, fields: &Fields<'_>) -> Vec<(Text, String)> {
        let mut variables = Vec::new();
        for (at, node) in self.items(fields, "env").iter().enumerate() {
            let path = format!("{}[{at}]", fields.path("env"));
            let Some(variable) = self.fields(node, path) else { continue };
            let name = self.text(&variable, "name");
            let name =
                name.unwrap_or_else(|| Located { value: String::new(), place: self.place(node) });
            let value = self.text(&variable, "value").map(|text| text.value).unwrap_or_default();
            variables.push((name, value));
        }
        variables
    }

    /// `[{name: .., ..}]`, each name once; the path of an item has its name in it.
    fn named<T>(
        &mut self,
        fields: &Fields<'_>,
        key: &str,
        read: impl Fn(&mut Self, &Fields<'_>, Place) -> T,
    ) -> Named<T> {
        let mut found = Vec::new();
        let mut names = BTreeSet::new();
        for (at, node) in self.items(fields, key).iter().enumerate() {
            let Some((name, item)) = self.item(node, &fields.path(key), at) else { continue };
            let entry = read(self, &item, self.place(node));
            if !names.insert(name.value.clone()) {
                self.problems.push(name.problem(&item.path, "this name is there twice"));
            }
            found.push((name.value, entry));
        }
        found
    }

    /// An item of a list of named ones, and its name.
    fn item<'a>(&mut self, node: &'a Node, list: &str, at: usize) -> Option<(Text, Fields<'a>)> {
        let mut item = self.fields(node, format!("{list}[{at}]"))?;
        let Some(name) = self.text(&item, "name") else {
            let problem = self.place(node).problem(&item.path("name"), "is missing");
            self.problems.push(problem);
            return None;
        };
        item.path = format!("{list}[{}]", name.value);
        Some((name, item))
    }

    /// What stands in `key` of a named item, under the item's own path, which says enough.
    fn content<'a>(&mut self, item: &Fields<'a>, key: &str) -> Fields<'a> {
        let empty = Fields { path: item.path.clone(), entries: &[] };
        match item.get(key) {
            None => empty,
            Some(node) if node.is_null() => empty,
            Some(Node { value: Value::Mapping(entries), .. }) => Fields { entries, ..empty },
            Some(node) => {
                self.wrong_type(node, &item.path(key), "a mapping");
                empty
            }
        }
    }

    fn items<'a>(&mut self, fields: &Fields<'a>, key: &str) -> &'a [Node] {
        match fields.get(key) {
            None => &[],
            Some(node) if node.is_null() => &[],
            Some(Node { value: Value::Sequence(items), .. }) => items,
            Some(node) => {
                self.wrong_type(node, &fields.path(key), "a list");
                &[]
            }
        }
    }

    /// The entries of a mapping; null is an empty one.
    fn fields<'a>(&mut self, node: &'a Node, path: String) -> Option<Fields<'a>> {
        match &node.value {
            Value::Mapping(entries) => Some(Fields { path, entries }),
            _ if node.is_null() => Some(Fields { path, entries: &[] }),
            _ => {
                self.wrong_type(node, &path, "a mapping");
                None
            }
        }
    }

    /// Any scalar is text; null and the empty string are no value.
    fn text(&mut self, fields: &Fields<'_>, key: &str) -> Option<Text> {
        let node = fields.get(key)?;
        match &node.value {
            Value::Scalar(scalar) if scalar.is_null() || scalar.text.is_empty() => None,
            Value::Scalar(scalar) => {
                Some(Located { value: scalar.text.clone(), place: self.place(node) })
            }
            Value::Sequence(_) | Value::Mapping(_) => {
                self.wrong_type(node, &fields.path(key), "a string");
                None
            }
        }
    }

    fn flag(&mut self, fields: &Fields<'_>, key: &str) -> Option<Located<bool>> {
        let node = fields.get(key).filter(|node| !node.is_null())?;
        let value = match &node.value {
            Value::Scalar(scalar) => scalar.as_bool(),
            Value::Sequence(_) | Value::Mapping(_) => None,
        };
        if value.is_none() {
            self.wrong_type(node, &fields.path(key), "true or false");
        }
        Some(Located { value: value?, place: self.place(node) })
    }

    fn file_path(&mut self, fields: &Fields<'_>, key: &str) -> Option<Located<PathBuf>> {
        let mut path = self.text(fields, key)?.map(PathBuf::from);
        self.resolve(&mut path.value);
        Some(path)
    }

    fn texts(&mut self, fields: &Fields<'_>, key: &str) -> Option<Located<Vec<String>>> {
        let mut value = Vec::new();
        for (at, node) in self.items(fields, key).iter().enumerate() {
            match &node.value {
                Value::Scalar(scalar) if scalar.is_null() => value.push(String::new()),
                Value::Scalar(scalar) => value.push(scalar.text.clone()),
                _ => self.wrong_type(node, &format!("{}[{at}]", fields.path(key)), "a string"),
            }
        }
        let place = self.place(fields.get(key)?);
        (!value.is_empty()).then_some(Located { value, place })
    }

    fn extra(
        &mut self,
        fields: &Fields<'_>,
        key: &str,
    ) -> Option<Located<BTreeMap<String, Vec<String>>>> {
        let node = fields.get(key)?;
        let extra = self.fields(node, fields.path(key))?;
        let mut value = BTreeMap::new();
        for Entry { key, .. } in extra.entries {
            let values = self.texts(&extra, key).map(|values| values.value);
            value.insert(key.clone(), values.unwrap_or_default());
        }
        (!value.is_empty()).then(|| Located { value, place: self.place(node) })
    }

    fn wrong_type(&mut self, node: &Node, path: &str, wanted: &str) {
        let found = match &node.value {
            Value::Scalar(_) => "a single value",
            Value::Sequence(_) => "a list",
            Value::Mapping(_) => "a mapping",
        };
        let problem = self.place(node).problem(path, format!("must be {wanted}, and is {found}"));
        self.problems.push(problem);
    }

    fn place(&self, node: &Node) -> Place {
        Place { file: self.file.clone(), line: node.line }
    }

    /// Makes a relative path relative to the directory of the file that names it.
    fn resolve(&self, path: &mut PathBuf) {
        if let Some(directory) = self.file.as_deref().and_then(Path::parent) {
            *path = directory.join(&*path);
        }
    }
}

impl Text {
    fn map<U>(self, f: impl FnOnce(String) -> U) -> Located<U> {
        Located { value: f(self.value), place: self.place }
    }
}
