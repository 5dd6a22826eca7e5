//! What namespaces can be called.

use crate::error::{Error, Result};

/// Whether a namespace could be called this: a DNS label.
///
/// # Errors
///
/// If not: it names the argument.
pub(crate) fn check_namespace(name: &str) -> Result<()> {
    let is_end = |byte: Option<&u8>| {
        byte.is_some_and(|byte| byte.is_ascii_lowercase() || byte.is_ascii_digit())
    };
    let bytes = name.as_bytes();
    let is_label = bytes.len() <= 63
        && is_end(bytes.first())
        && is_end(bytes.last())
        && bytes.iter().all(|byte| is_end(Some(byte)) || *byte == b'-');
    if is_label {
        return Ok(());
    }
    let text = format!(
        "{name:?} cannot be the name of one: at most 63 lower-case letters, digits and hyphens, \
         the first and the last not a hyphen"
    );
    Err(Error::invalid("namespace", text))
}

#[cfg(test)]
mod tests {
    use super::*;

    #[test]
    fn a_namespace_is_called_by_a_dns_label() {
        for good in ["a", "kube-system", "0", "a0-1", &"a".repeat(63)] {
            assert!(check_namespace(good).is_ok(), "{good}");
        }
        for bad in ["", "-", "a-", "-a", "A", "a.b", "a_b", "a/b", "é", " a", &"a".repeat(64)] {
            let error = check_namespace(bad).unwrap_err().to_string();
            assert!(error.contains("namespace") && error.contains(&format!("{bad:?}")), "{error}");
        }
    }
}
