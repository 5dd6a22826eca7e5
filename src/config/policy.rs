//! Which credential plugins may be run.

use std::path::{Path, PathBuf};

/// Which credential plugins a kubeconfig may make this program run.
///
/// A kubeconfig names a program to run: one from a stranger is as dangerous as a script from a
/// stranger.
#[derive(Clone, Debug, Default, Eq, PartialEq)]
#[non_exhaustive]
pub enum PluginPolicy {
    /// Any.
    #[default]
    AllowAll,
    /// None: a configuration that needs one is an error.
    DenyAll,
    /// These, by the name the kubeconfig uses or by the path of the program.
    AllowOnly(Vec<PathBuf>),
}

impl PluginPolicy {
    /// Whether `command` may be run, names being looked up in `directories`.
    pub(super) fn allows(&self, command: &Path, directories: &[PathBuf]) -> bool {
        match self {
            Self::AllowAll => true,
            Self::DenyAll => false,
            Self::AllowOnly(allowed) => {
                let found = find(command, directories);
                allowed.iter().any(|allowed| {
                    allowed == command || found.is_some() && find(allowed, directories) == found
                })
            }
        }
    }
}

/// The file that a command stands for.
fn find(command: &Path, directories: &[PathBuf]) -> Option<PathBuf> {
    if command.components().count() > 1 {
        return Some(command.to_owned());
    }
    directories.iter().map(|directory| directory.join(command)).find(|path| path.is_file())
}

#[cfg(test)]
mod tests {
    use super::{super::scratch::Scratch, *};

    #[test]
    fn a_plugin_is_allowed_by_name_or_by_the_path_it_is_found_at() {
        let scratch = Scratch::new();
        let path = scratch.write("bin/plugin", "");
        let directories = [scratch.path("none"), scratch.path("bin")];
        let allows = |policy: &PluginPolicy, command: &Path| policy.allows(command, &directories);
        let name = Path::new("plugin");
        let only = |allowed: &Path| PluginPolicy::AllowOnly(vec!["other".into(), allowed.into()]);

        assert!(allows(&PluginPolicy::AllowAll, name) && !allows(&PluginPolicy::DenyAll, name));
        assert!(allows(&only(name), name) && allows(&only(&path), name));
        assert!(allows(&only(name), &path) && allows(&only(&path), &path));
        assert!(!allows(&only(name), Path::new("/elsewhere/plugin")));
        assert!(!allows(&only(Path::new("/elsewhere/plugin")), name));
        assert!(!allows(&PluginPolicy::AllowOnly(Vec::new()), name));
        assert!(!allows(&only(Path::new("missing")), Path::new("gone")));
    }
}
