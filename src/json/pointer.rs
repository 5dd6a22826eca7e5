//! One value of a document, found by its JSON pointer (RFC 6901) without decoding the rest.

use std::borrow::Cow;

use super::scan::{Members, skip_white_space, value_end};

/// The text of the value at `pointer`; `None` if it leads nowhere. Of duplicate members the last counts.
pub(crate) fn find<'a>(text: &'a str, pointer: &str) -> Option<&'a str> {
    let mut value = text.trim_ascii();
    if pointer.is_empty() {
        return Some(value);
    }
    for token in pointer.strip_prefix('/')?.split('/') {
        value = step(value, &unescape(token)?)?;
    }
    Some(value)
}

/// How many elements an array has, or members an object; `None` for anything else.
#[cfg(feature = "capi")]
pub(crate) fn count(value: &str) -> Option<usize> {
    match value.as_bytes().first()? {
        b'{' => Members::new(value.as_bytes(), 0).ok()?.try_fold(0, |n, member| {
            member.ok()?;
            Some(n + 1)
        }),
        b'[' => Elements { text: value.as_bytes(), at: 1 }.try_fold(0, |n, element| {
            element?;
            Some(n + 1)
        }),
        _ => None,
    }
}

fn step<'a>(value: &'a str, token: &str) -> Option<&'a str> {
    let text = value.as_bytes();
    let range = match text.first()? {
        b'{' => {
            let members = Members::new(text, 0).ok()?.map_while(Result::ok);
            members.filter(|member| member.key == token).last()?.value
        }
        b'[' => Elements { text, at: 1 }.nth(index(token)?)??,
        _ => return None,
    };
    value.get(range)
}

/// Digits without a leading zero.
fn index(token: &str) -> Option<usize> {
    let canonical = token == "0" || !token.starts_with(['0', '+']);
    canonical.then(|| token.parse().ok())?
}

fn unescape(token: &str) -> Option<Cow<'_, str>> {
    if !token.contains('~') {
        return Some(Cow::Borrowed(token));
    }
    let mut parts = token.split('~');
    let mut plain = parts.next()?.to_owned();
    for part in parts {
        let (escape, rest) = part.split_at_checked(1)?;
        plain.push(match escape {
            "0" => '~',
            "1" => '/',
            _ => return None,
        });
        plain.push_str(rest);
    }
    Some(Cow::Owned(plain))
}

/// Where the elements of an array are; `None` for what is not JSON, after which nothing follows.
struct Elements<'a> {
    text: &'a [u8],
    /// After the opening bracket, or after an element.
    at: usize,
}

impl Iterator for Elements<'_> {
    type Item = Option<std::ops::Range<usize>>;

    fn next(&mut self) -> Option<Self::Item> {
        let first = self.at == 1;
        let mut at = skip_white_space(self.text, self.at);
        match self.text.get(at)? {
            b']' => return None,
            b',' if !first => at = skip_white_space(self.text, at + 1),
            _ if first => {}
            _ => return self.malformed(),
        }
        match value_end(self.text, at) {
            Ok(end) => {
                self.at = end;
                Some(Some(at..end))
            }
            Err(_) => self.malformed(),
        }
    }
}

impl Elements<'_> {
    fn malformed(&mut self) -> Option<Option<std::ops::Range<usize>>> {
        self.at = self.text.len();
        Some(None)
    }
}

#[cfg(test)]
mod tests {
    use super::*;

    const TEXT: &str = r#" {"a":{"b/c":[10,{"d":"x"} , [] ],"m~n":null,"":true},"e":"1","e":"2"} "#;

    #[test]
    fn values_are_found_as_they_are_written() {
        for (pointer, expected) in [
            ("/a/b~1c/0", "10"),
            ("/a/b~1c/1", r#"{"d":"x"}"#),
            ("/a/b~1c/1/d", r#""x""#),
            ("/a/b~1c/2", "[]"),
            ("/a/m~0n", "null"),
            ("/a/", "true"),
            ("/e", r#""2""#),
            ("", TEXT.trim()),
        ] {
            assert_eq!(find(TEXT, pointer), Some(expected), "{pointer}");
        }
    }

    #[test]
    fn what_leads_nowhere_is_nothing() {
        for pointer in [
            "a",
            "/b",
            "/a/b~1c/3",
            "/a/b~1c/01",
            "/a/b~1c/-",
            "/a/b~1c/+1",
            "/e/0",
            "/a/m~2n",
            "/a/m~",
            "/a/b~1c/2/0",
            "//",
        ] {
            assert_eq!(find(TEXT, pointer), None, "{pointer}");
        }
        for text in ["", "{", "[1", "[1 2]", "[,1]", "nul", "{\"a\":}"] {
            assert_eq!(find(text, "/1"), None, "{text}");
        }
    }

    #[test]
    fn the_same_is_found_as_by_decoding() {
        let tree: serde_json::Value = serde_json::from_str(TEXT).unwrap();
        for pointer in ["", "/a", "/a/b~1c", "/a/b~1c/1/d", "/e", "/a/", "/x", "/a/b~1c/9"] {
            let found = find(TEXT, pointer).map(|text| serde_json::from_str(text).unwrap());
            assert_eq!(found.as_ref(), tree.pointer(pointer), "{pointer}");
        }
    }

    #[cfg(feature = "capi")]
    #[test]
    fn elements_and_members_are_counted() {
        for (text, expected) in [
            ("[]", Some(0)),
            ("[ 1 , [2,3] ]", Some(2)),
            ("{}", Some(0)),
            (r#"{"a":1,"b":{"c":2}}"#, Some(2)),
            ("7", None),
            ("", None),
            ("[1,", None),
        ] {
            assert_eq!(count(text), expected, "{text}");
        }
    }
}
