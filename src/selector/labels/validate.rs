//! What a label's key and value may look like.

/// The longest name or value.
const MOST: usize = 63;

/// The longest prefix of a key.
const MOST_PREFIX: usize = 253;

/// `[PREFIX/]NAME`, the prefix a DNS subdomain.
pub(super) fn key(key: &str) -> Result<(), String> {
    let (prefix, name) = match key.split_once('/') {
        Some((prefix, name)) => (Some(prefix), name),
        None => (None, key),
    };
    if let Some(prefix) = prefix {
        if prefix.len() > MOST_PREFIX {
            return Err(format!("the prefix is longer than {MOST_PREFIX} bytes"));
        }
        if !prefix.split('.').all(is_dns_label) {
            return Err("the prefix is not a DNS name in lower case".into());
        }
    }
    match name {
        "" => Err("the name is empty".into()),
        name if name.len() > MOST => Err(format!("the name is longer than {MOST} bytes")),
        name if !is_name(name) => Err("the name is not letters, digits, - _ and . \
             with a letter or digit at both ends"
            .into()),
        _ => Ok(()),
    }
}

/// Empty, or like the name of a key.
pub(super) fn value(value: &str) -> Result<(), String> {
    match value {
        "" => Ok(()),
        value if value.len() > MOST => Err(format!("longer than {MOST} bytes")),
        value if !is_name(value) => Err(format!(
            "{value:?} is not letters, digits, - _ and . with a letter or digit at both ends"
        )),
        _ => Ok(()),
    }
}

fn is_name(text: &str) -> bool {
    let bytes = text.as_bytes();
    bytes.iter().all(|byte| byte.is_ascii_alphanumeric() || b"-_.".contains(byte))
        && bytes.first().is_some_and(u8::is_ascii_alphanumeric)
        && bytes.last().is_some_and(u8::is_ascii_alphanumeric)
}

fn is_dns_label(text: &str) -> bool {
    let bytes = text.as_bytes();
    let is_inner = |byte: &u8| byte.is_ascii_lowercase() || byte.is_ascii_digit();
    bytes.iter().all(|byte| is_inner(byte) || *byte == b'-')
        && bytes.first().is_some_and(is_inner)
        && bytes.last().is_some_and(is_inner)
}
