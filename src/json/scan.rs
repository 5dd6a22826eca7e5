//! Looking into JSON text: where values end, what members an object has.
//!
//! Checks only as much grammar as it needs to find its way, and never panics on what is not JSON;
//! decoding finds the rest.

use std::{borrow::Cow, ops::Range};

use memchr::memchr2;

use super::outline::Container;

/// What is a short string.
const SHORT: usize = 32;

/// The text is not JSON, or ends too soon.
#[derive(Clone, Copy, Debug, Eq, PartialEq)]
pub(crate) struct Malformed;

/// The members of a JSON object, in order, without looking into their values.
#[derive(Clone, Debug)]
pub(crate) struct Members<'a> {
    text: &'a [u8],
    /// The same, if it is known to be one.
    string: Option<&'a str>,
    /// After the last member, or after the opening brace.
    at: usize,
    state: State,
    ends: Ends<'a>,
    /// The number of the next container, if there is an outline.
    next: usize,
}

/// Where containers end.
#[derive(Clone, Copy, Debug)]
enum Ends<'a> {
    /// That is still to be found out.
    Unknown,
    /// Of all that there are, in order.
    Outlined(&'a [Container]),
}

#[derive(Clone, Copy, Debug, Eq, PartialEq)]
enum State {
    First,
    Later,
    Over,
}

/// One member of an object.
#[derive(Clone, Debug)]
pub(crate) struct Member<'a> {
    pub(crate) key: Cow<'a, str>,
    /// From the opening quote of the key to the end of the value.
    pub(crate) whole: Range<usize>,
    pub(crate) value: Range<usize>,
    /// How many containers begin before the value, if there is an outline.
    pub(crate) number: usize,
}

impl<'a> Members<'a> {
    /// The members of the object that begins at `at`, after white space.
    pub(crate) fn new(text: &'a [u8], at: usize) -> Result<Self, Malformed> {
        let at = skip_white_space(text, at);
        match text.get(at) {
            Some(b'{') => {
                let state = State::First;
                Ok(Self { text, string: None, at: at + 1, state, ends: Ends::Unknown, next: 0 })
            }
            _ => Err(Malformed),
        }
    }

    /// The members of the object that is all of `text`.
    pub(crate) fn of(text: &'a str) -> Result<Self, Malformed> {
        Ok(Self { string: Some(text), ..Self::new(text.as_bytes(), 0)? })
    }

    /// The same in a text whose outline is known: `next` is the number of the first container inside.
    pub(crate) fn outlined(
        text: &'a [u8],
        at: usize,
        outline: &'a [Container],
        next: usize,
    ) -> Result<Self, Malformed> {
        Ok(Self { ends: Ends::Outlined(outline), next, ..Self::new(text, at)? })
    }

    fn step(&mut self) -> Result<Option<Member<'a>>, Malformed> {
        let mut at = skip_white_space(self.text, self.at);
        match (self.text.get(at), self.state) {
            (_, State::Over) => return Ok(None),
            (Some(b'}'), _) => {
                self.at = at + 1;
                self.state = State::Over;
                return Ok(None);
            }
            (Some(b','), State::Later) => at = skip_white_space(self.text, at + 1),
            (_, State::Later) => return Err(Malformed),
            (_, State::First) => {}
        }
        let start = at;
        let (key_end, has_escapes) = string(self.text, start)?;
        let inner = start + 1..key_end - 1;
        let key = match self.string {
            _ if has_escapes => unescape(&self.text[start..key_end])?,
            Some(text) => Cow::Borrowed(text.get(inner).ok_or(Malformed)?),
            None => Cow::Borrowed(str::from_utf8(&self.text[inner]).map_err(|_| Malformed)?),
        };
        at = skip_white_space(self.text, key_end);
        if self.text.get(at) != Some(&b':') {
            return Err(Malformed);
        }
        at = skip_white_space(self.text, at + 1);
        let number = self.next;
        let end = self.value_end(at)?;
        self.at = end;
        self.state = State::Later;
        Ok(Some(Member { key, whole: start..end, value: at..end, number }))
    }

    fn value_end(&mut self, at: usize) -> Result<usize, Malformed> {
        let (Some(b'{' | b'['), Ends::Outlined(outline)) = (self.text.get(at), self.ends) else {
            return value_end(self.text, at);
        };
        let container = outline.get(self.next).ok_or(Malformed)?;
        self.next = container.next();
        let Range { start, end } = container.range();
        // Nothing that is not JSON may lead out of the text.
        if start == at && end <= self.text.len() { Ok(end) } else { Err(Malformed) }
    }
}

impl<'a> Iterator for Members<'a> {
    type Item = Result<Member<'a>, Malformed>;

    fn next(&mut self) -> Option<Self::Item> {
        let step = self.step();
        if step.is_err() {
            self.text = &[];
            self.state = State::Over;
        }
        step.transpose()
    }
}

pub(crate) fn skip_white_space(text: &[u8], mut at: usize) -> usize {
    while let Some(b' ' | b'\n' | b'\r' | b'\t') = text.get(at) {
        at += 1;
    }
    at
}

/// Where the value that starts at `at` ends.
pub(crate) fn value_end(text: &[u8], at: usize) -> Result<usize, Malformed> {
    match text.get(at) {
        Some(b'"') => string_end(text, at),
        Some(b'{' | b'[') => container_end(text, at),
        Some(b't' | b'f' | b'n' | b'-' | b'0'..=b'9') => {
            let length = text[at..].iter().position(|&byte| ends_scalar(byte));
            Ok(length.map_or(text.len(), |length| at + length))
        }
        _ => Err(Malformed),
    }
}

/// Whether a number or a word is over at this byte.
pub(crate) fn ends_scalar(byte: u8) -> bool {
    matches!(byte, b',' | b'}' | b']' | b' ' | b'\n' | b'\r' | b'\t')
}

/// Where the string whose opening quote is at `at` ends, after its closing quote.
pub(crate) fn string_end(text: &[u8], at: usize) -> Result<usize, Malformed> {
    string(text, at).map(|(end, _)| end)
}

/// The same, and whether there are escapes in it.
fn string(text: &[u8], at: usize) -> Result<(usize, bool), Malformed> {
    if text.get(at) != Some(&b'"') {
        return Err(Malformed);
    }
    let (mut at, mut has_escapes) = (at + 1, false);
    loop {
        at += find_quote(text.get(at..).ok_or(Malformed)?).ok_or(Malformed)?;
        if text[at] == b'"' {
            return Ok((at + 1, has_escapes));
        }
        has_escapes = true;
        at += 2;
    }
}

/// Where the first quote or backslash is.
#[inline]
pub(crate) fn find_quote(text: &[u8]) -> Option<usize> {
    const ONES: u64 = u64::from_le_bytes([1; 8]);
    const HIGHS: u64 = ONES << 7;
    const QUOTES: u64 = u64::from_le_bytes([b'"'; 8]);
    const BACKSLASHES: u64 = u64::from_le_bytes([b'\\'; 8]);
    // A byte that is zero, and perhaps some after it, gets its high bit.
    let zeros = |word: u64| word.wrapping_sub(ONES) & !word & HIGHS;
    // Most strings are so short that a search for long ones takes longer to begin than to end.
    let mut at = 0;
    while at < SHORT
        && let Some(bytes) = text.get(at..).and_then(<[u8]>::first_chunk)
    {
        let word = u64::from_le_bytes(*bytes);
        let found = zeros(word ^ QUOTES) | zeros(word ^ BACKSLASHES);
        if found != 0 {
            return Some(at + found.trailing_zeros() as usize / 8);
        }
        at += 8;
    }
    memchr2(b'"', b'\\', &text[at..]).map(|found| at + found)
}

fn container_end(text: &[u8], at: usize) -> Result<usize, Malformed> {
    let mut depth = 0_usize;
    let mut at = at;
    loop {
        match text.get(at).ok_or(Malformed)? {
            b'"' => {
                at = string_end(text, at)?;
                continue;
            }
            b'{' | b'[' => depth += 1,
            b'}' | b']' => {
                depth -= 1;
                if depth == 0 {
                    return Ok(at + 1);
                }
            }
            _ => {}
        }
        at += 1;
    }
}

/// The text of a JSON string, quotes included, that is part of a text; as [`unescape`].
pub(crate) fn unescape_str(quoted: &str) -> Result<Cow<'_, str>, Malformed> {
    match quoted.strip_prefix('"').and_then(|rest| rest.strip_suffix('"')) {
        Some(inner) if memchr::memchr(b'\\', inner.as_bytes()).is_none() => {
            Ok(Cow::Borrowed(inner))
        }
        _ => unescape(quoted.as_bytes()),
    }
}

/// The text of a JSON string, quotes included; allocates only if there are escapes.
pub(crate) fn unescape(quoted: &[u8]) -> Result<Cow<'_, str>, Malformed> {
    let [b'"', inner @ .., b'"'] = quoted else { return Err(Malformed) };
    if memchr::memchr(b'\\', inner).is_none() {
        return std::str::from_utf8(inner).map(Cow::Borrowed).map_err(|_| Malformed);
    }
    let quoted = str::from_utf8(quoted).map_err(|_| Malformed)?;
    serde_json::from_str(quoted).map(Cow::Owned).map_err(|_| Malformed)
}

#[cfg(test)]
mod tests {
    use super::*;

    fn members(text: &str) -> Result<Vec<(String, String)>, Malformed> {
        Members::new(text.as_bytes(), 0)?
            .map(|member| {
                let Member { key, value, .. } = member?;
                Ok((key.into_owned(), text[value].to_owned()))
            })
            .collect()
    }

    #[test]
    fn members_come_in_order_with_their_values_untouched() {
        let text = r#" { "a" : [1, {"b":"]}"}] ,"c":"x\"y\\","d":-1.5e3,"e":{} , "\u0066":null } "#;
        let expected = [
            ("a", r#"[1, {"b":"]}"}]"#),
            ("c", r#""x\"y\\""#),
            ("d", "-1.5e3"),
            ("e", "{}"),
            ("f", "null"),
        ];
        let expected = expected.map(|(k, v)| (k.to_owned(), v.to_owned()));
        assert_eq!(members(text).unwrap(), expected);
        assert_eq!(members("{}").unwrap(), []);
    }

    #[test]
    fn what_is_not_json_is_malformed_and_never_a_panic() {
        for bad in [
            "",
            "x",
            "[",
            "{",
            "{\"",
            "{\"a",
            "{\"a\"",
            "{\"a\":",
            "{\"a\":1",
            "{\"a\":1,",
            "{a:1}",
            "{\"a\" 1}",
            "{\"a\":}",
            "{\"a\":1 \"b\":2}",
            "{,}",
            "{\"a\":\"\\",
            "{\"a\":{\"b\":[}",
            "{\"a\":\"\\u00\"",
            "{\"\\q\":1}",
            "{1:2}",
        ] {
            assert_eq!(members(bad), Err(Malformed), "{bad}");
        }
        assert!(members("{\"a\":1,}").is_err(), "a trailing comma");
    }

    #[test]
    fn the_first_quote_or_backslash_is_found_wherever_it_is() {
        for length in 0..70 {
            // Bytes that differ by one bit from those that are looked for.
            let near: Vec<_> = (0..length).map(|n| [b'#', b'!', b']', 0xDC, 0xA2][n % 5]).collect();
            assert_eq!(find_quote(&near), None);
            for at in 0..length {
                for found in *b"\"\\" {
                    let mut text = near.clone();
                    text[at] = found;
                    text[length - 1] = b'"';
                    assert_eq!(find_quote(&text), Some(at), "{at} of {length}");
                }
            }
        }
    }

    #[test]
    fn every_prefix_of_a_document_is_malformed() {
        let text = r#"{"metadata":{"name":"a","labels":{"x":"y\n"}},"spec":[1,2,{"z":null}]}"#;
        for end in 0..text.len() {
            assert!(members(&text[..end]).is_err(), "{}", &text[..end]);
        }
        assert!(members(text).is_ok());
    }
}
