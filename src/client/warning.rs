//! What the server wants its client's people to know: `Warning` headers.

use std::collections::VecDeque;

use parking_lot::Mutex;

/// How many different warnings are remembered.
const REMEMBERED: usize = 256;

/// The warnings a client was given, each once.
#[derive(Debug, Default)]
pub(super) struct Warnings(Mutex<VecDeque<String>>);

impl Warnings {
    /// Takes in the value of a `Warning` header; logs what is new in it.
    pub(super) fn receive(&self, header: &str) {
        for text in parse(header) {
            let mut known = self.0.lock();
            if known.contains(&text) {
                continue;
            }
            if known.len() == REMEMBERED {
                known.pop_front();
            }
            known.push_back(text.clone());
            drop(known);
            log::warn!("from the API server: {text}");
        }
    }

    pub(super) fn all(&self) -> Vec<String> {
        self.0.lock().iter().cloned().collect()
    }
}

/// The texts of the warnings with code 299 in one header (RFC 7234 section 5.5: code, agent, quoted
/// text, perhaps a quoted date; several separated by commas). What cannot be understood ends it.
fn parse(header: &str) -> Vec<String> {
    let mut texts = Vec::new();
    let mut rest = header.trim_start();
    while let Some((code, agent, text, after)) = parse_one(rest) {
        if code == "299" && !agent.is_empty() && !text.is_empty() {
            texts.push(text);
        }
        let after = after.trim_start();
        rest = match after.strip_prefix(',') {
            Some(next) => next.trim_start(),
            None => break,
        };
    }
    texts
}

fn parse_one(header: &str) -> Option<(&str, &str, String, &str)> {
    let (code, rest) = header.split_once(' ')?;
    if code.len() != 3 || !code.bytes().all(|byte| byte.is_ascii_digit()) {
        return None;
    }
    let (agent, rest) = rest.split_once(' ')?;
    let (text, rest) = quoted(rest)?;
    if text.chars().any(char::is_control) {
        return None;
    }
    let rest = match quoted(rest.trim_start()) {
        Some((_date, rest)) => rest,
        None => rest,
    };
    Some((code, agent, text, rest))
}

fn quoted(text: &str) -> Option<(String, &str)> {
    let mut unquoted = String::new();
    let mut chars = text.strip_prefix('"')?.char_indices();
    while let Some((at, c)) = chars.next() {
        match c {
            '"' => return Some((unquoted, &text[at + 2..])),
            '\\' => unquoted.push(chars.next()?.1),
            c => unquoted.push(c),
        }
    }
    None
}

#[cfg(test)]
mod tests {
    use super::*;

    #[test]
    fn texts_of_code_299_are_found() {
        for (header, expected) in [
            (r#"299 - "a""#, &["a"][..]),
            (r#"299 - "a \"b\" \\ c" "Wed, 21 Oct 2015 07:28:00 GMT""#, &[r#"a "b" \ c"#]),
            (r#"299 - "a",  299 agent "b, c" , 199 - "d", 299 - "e""#, &["a", "b, c", "e"]),
            (r#"299 - "a"x"#, &["a"]),
            (r#"299 - """#, &[]),
            (r#"299 "a""#, &[]),
            (r#"29 - "a""#, &[]),
            (r#"299 - "a"#, &[]),
            (r#"299 - a"#, &[]),
            ("299 - \"a\u{7}b\"", &[]),
            ("", &[]),
        ] {
            assert_eq!(parse(header), expected, "{header}");
        }
    }

    #[test]
    fn each_warning_is_kept_once_and_only_so_many() {
        let warnings = Warnings::default();
        for _ in 0..3 {
            warnings.receive(r#"299 - "deprecated""#);
        }
        assert_eq!(warnings.all(), ["deprecated"]);
        for n in 0..REMEMBERED {
            warnings.receive(&format!(r#"299 - "{n}""#));
        }
        assert_eq!(warnings.all().len(), REMEMBERED);
        assert_eq!(warnings.all()[0], "0");
    }
}
