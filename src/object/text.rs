//! The text of an object, kept as what it differs in from a similar one.

use std::{
    borrow::Cow,
    ops::Range,
    sync::{Arc, Weak},
};

use memchr::{memchr, memmem};

use super::meta::Span;

/// How many bytes must be the same for two texts to be compared from there on.
const ALIKE: usize = 16;

/// The same after values at one place.
const ALIKE_AFTER_A_VALUE: usize = 8;

/// How much is searched for what is alike again, before a text counts as unlike: so many times the length of the text,
/// and no more than this. A search counts as these many bytes at least.
const SEARCHED_TIMES: usize = 12;
const SEARCHED_MOST: usize = 64 << 10;
const SEARCHED_LEAST: usize = 256;

/// A JSON text.
#[derive(Debug)]
pub(super) struct Text {
    /// What it is copied from in part; of which there may be a pattern in turn.
    pattern: Option<Arc<Self>>,
    /// Empty if it is all of its pattern.
    steps: Box<[Step]>,
    /// All of it, as [`with_nul`], if there is no pattern.
    own: Box<str>,
}

/// A piece of the pattern, and then a piece of what is the text's own.
#[derive(Clone, Copy, Debug)]
struct Step {
    from: u16,
    copied: u16,
    own: u16,
}

impl Text {
    /// The lengths of texts that may have patterns: those that are worth it, and can be told in a [`Step`].
    pub(super) const LENGTHS: Range<usize> = 512..1 << 16;

    /// A text that has nothing to do with others.
    pub(super) fn alone(text: &str) -> Self {
        Self { pattern: None, steps: Box::default(), own: with_nul(text) }
    }

    /// What others can be copied from: the text, and itself again as a copy of that.
    pub(super) fn into_pattern(self) -> (Arc<Self>, Self) {
        let pattern = match self.pattern {
            Some(pattern) if self.steps.is_empty() => pattern,
            _ => Arc::new(self),
        };
        let copy =
            Self { pattern: Some(pattern.clone()), steps: Box::default(), own: Box::default() };
        (pattern, copy)
    }

    /// All of it; copied unless it is kept in one piece.
    pub(super) fn whole(&self) -> Cow<'_, str> {
        match &self.pattern {
            None => Cow::Borrowed(without_nul(&self.own)),
            Some(pattern) if self.steps.is_empty() => pattern.whole(),
            Some(pattern) => {
                let mut whole = String::with_capacity(self.len());
                let pattern = pattern.whole();
                let mut rest = &*self.own;
                for step in &self.steps {
                    let (own, after) = rest.split_at(step.own.into());
                    let from = usize::from(step.from);
                    whole.push_str(&pattern[from..from + usize::from(step.copied)]);
                    whole.push_str(own);
                    rest = after;
                }
                Cow::Owned(whole)
            }
        }
    }

    /// All of it with a NUL, if it is kept in one piece.
    #[cfg(feature = "capi")]
    pub(super) fn with_nul(&self) -> Option<&str> {
        match &self.pattern {
            None => Some(&self.own),
            Some(pattern) if self.steps.is_empty() => pattern.with_nul(),
            Some(_) => None,
        }
    }

    pub(super) fn len(&self) -> usize {
        match &self.pattern {
            None => without_nul(&self.own).len(),
            Some(pattern) if self.steps.is_empty() => pattern.len(),
            Some(_) => {
                let copied: usize = self.steps.iter().map(|step| usize::from(step.copied)).sum();
                copied + self.own.len()
            }
        }
    }

    /// The part of it that a span of its metadata is about.
    pub(super) fn part(&self, span: Span) -> &str {
        let mut text = self;
        for _ in 0..span.depth() {
            match &text.pattern {
                Some(pattern) => text = pattern,
                None => return "",
            }
        }
        span.of(&text.own)
    }

    /// Whether there is more to it than what is kept for it, or for others because of it.
    pub(super) fn is_difference(&self) -> bool {
        match &self.pattern {
            Some(pattern) if self.steps.is_empty() => pattern.is_difference(),
            pattern => pattern.is_some(),
        }
    }

    /// How much is kept for it alone, or for others because of it.
    pub(super) fn own_size(&self) -> usize {
        match &self.pattern {
            Some(pattern) if self.steps.is_empty() => pattern.own_size(),
            _ => self.own.len() + size_of_val(&*self.steps),
        }
    }

    /// Where a part of the whole text is; `None` if it is not in one piece.
    pub(super) fn find(&self, part: Range<usize>) -> Option<Span> {
        let Some(pattern) = &self.pattern else { return Some(Span::new(part)) };
        if self.steps.is_empty() {
            return pattern.find(part)?.deeper();
        }
        let (mut at, mut own) = (0, 0);
        for step in &self.steps {
            let copied = at..at + usize::from(step.copied);
            let written = copied.end..copied.end + usize::from(step.own);
            let moved = |range: &Range<usize>, to: usize| {
                let start = to + part.start.checked_sub(range.start)?;
                (part.end <= range.end).then(|| start..start + part.len())
            };
            if let Some(part) = moved(&copied, step.from.into()) {
                return pattern.find(part)?.deeper();
            }
            if let Some(part) = moved(&written, own) {
                return Some(Span::new(part));
            }
            (at, own) = (written.end, own + usize::from(step.own));
        }
        None
    }
}

/// Why a text is not kept as what it differs in from another.
#[derive(Clone, Copy, Debug, Eq, PartialEq)]
pub(super) enum Unlike {
    /// It would be too much.
    TooMuch,
    /// What they have in common after a difference would have to be searched for.
    NotSearched,
}

/// Finds what texts differ in.
#[derive(Debug, Default)]
pub(super) struct Comparison {
    /// How many bytes may still be searched.
    to_search: usize,
    steps: Vec<Step>,
    own: String,
    /// The pattern of several pieces that was compared with last, and in one piece.
    pattern: Weak<Text>,
    pattern_whole: String,
}

impl Comparison {
    /// Lets so much be searched as is worth it for a text of that length, in all patterns that it is compared with then.
    pub(super) fn allow_search(&mut self, length: usize) {
        self.to_search = SEARCHED_MOST.min(SEARCHED_TIMES * length);
    }

    /// Whether there is something left of it.
    pub(super) fn may_search(&self) -> bool {
        self.to_search > 0
    }

    /// Lets texts be alike only if they differ in values and nothing else, which takes no search.
    pub(super) fn allow_no_search(&mut self) {
        self.to_search = 0;
    }

    /// Compares a text with a pattern; gives what is to be kept of it then. What is `whole` is in one piece each.
    ///
    /// # Errors
    ///
    /// If that is more than `most`, or if it would have to search for longer than it may.
    pub(super) fn compare(
        &mut self,
        text: &str,
        pattern: &Arc<Text>,
        whole: &[Range<usize>],
        most: usize,
    ) -> Result<Text, Unlike> {
        self.steps.clear();
        self.own.clear();
        let pattern_whole = if self.pattern.as_ptr() == Arc::as_ptr(pattern) {
            &self.pattern_whole
        } else {
            match pattern.whole() {
                Cow::Borrowed(whole) => whole,
                Cow::Owned(whole) => {
                    (self.pattern, self.pattern_whole) = (Arc::downgrade(pattern), whole);
                    &self.pattern_whole
                }
            }
        };
        let mut texts = Texts {
            text: text.as_bytes(),
            pattern: pattern_whole.as_bytes(),
            whole,
            to_search: &mut self.to_search,
        };
        let (mut at, mut from) = (0, 0);
        while at < text.len() {
            let copied = texts.alike(at, from);
            let own = at + copied;
            let (next, next_from) = if own == text.len() {
                (own, from)
            } else {
                texts.alike_again(own, from + copied).ok_or(Unlike::NotSearched)?
            };
            let kept = self.own.len() + next - own + size_of::<Step>() * (self.steps.len() + 1);
            if next == at || kept > most {
                return Err(Unlike::TooMuch);
            }
            self.own.push_str(&text[own..next]);
            let length = |range: usize| u16::try_from(range).map_err(|_| Unlike::TooMuch);
            self.steps.push(Step {
                from: length(from)?,
                copied: length(copied)?,
                own: length(next - own)?,
            });
            (at, from) = (next, next_from);
        }
        let kept = Text {
            pattern: Some(pattern.clone()),
            steps: self.steps.as_slice().into(),
            own: self.own.as_str().into(),
        };
        // What is in one piece of the pattern may be in several of the pattern's.
        let is_found = whole.iter().all(|part| kept.find(part.clone()).is_some());
        is_found.then_some(kept).ok_or(Unlike::TooMuch)
    }
}

/// Two texts that are compared.
struct Texts<'a> {
    text: &'a [u8],
    pattern: &'a [u8],
    /// Parts of the text that must not be divided.
    whole: &'a [Range<usize>],
    to_search: &'a mut usize,
}

impl Texts<'_> {
    /// For how long the texts are alike from there on, without part of a character or of what is whole.
    fn alike(&self, at: usize, from: usize) -> usize {
        let same = same_length(&self.text[at..], &self.pattern[from..]);
        let mut end = at + same;
        if let Some(whole) = self.divided(end) {
            end = whole.start.max(at);
        }
        while end > at && self.text.get(end).is_some_and(|byte| byte & 0xC0 == 0x80) {
            end -= 1;
        }
        end - at
    }

    /// Where the texts are alike again, after a place where they are not: at a quote, so that characters
    /// are whole. The end of the text if they never are; `None` if no more may be searched.
    fn alike_again(&mut self, at: usize, from: usize) -> Option<(usize, usize)> {
        let end = Some((self.text.len(), from));
        let next_quote = |text: &[u8], at: usize| memchr(b'"', &text[at..]).map(|found| at + found);
        // Most differences are of one value.
        let after_value = next_quote(self.pattern, from);
        let mut next = at;
        loop {
            while let Some(whole) = self.whole.iter().find(|whole| whole.contains(&next)) {
                next = whole.end;
            }
            let Some(quote) = next_quote(self.text, next) else { return end };
            if self.divided(quote).is_some() {
                next = quote;
                continue;
            }
            let Some(wanted) = self.text[quote..].first_chunk::<ALIKE>() else { return end };
            if let Some(there) = after_value
                && self.pattern[there..].starts_with(&wanted[..ALIKE_AFTER_A_VALUE])
            {
                return Some((quote, there));
            }
            if *self.to_search == 0 {
                return None;
            }
            let rest = &self.pattern[from..];
            let rest = &rest[..rest.len().min(*self.to_search)];
            let found = memmem::find(rest, wanted);
            let searched = found.unwrap_or(rest.len()).max(SEARCHED_LEAST);
            *self.to_search = self.to_search.saturating_sub(searched);
            if let Some(found) = found {
                return Some((quote, from + found));
            }
            next = quote + 1;
        }
    }

    /// What is whole and would be divided there.
    fn divided(&self, at: usize) -> Option<&Range<usize>> {
        self.whole.iter().find(|whole| whole.start < at && at < whole.end)
    }
}

/// A text with a NUL after it, so that C can read it as it is.
fn with_nul(text: &str) -> Box<str> {
    let mut with_nul = String::with_capacity(text.len() + 1);
    with_nul.push_str(text);
    with_nul.push('\0');
    with_nul.into()
}

fn without_nul(text: &str) -> &str {
    text.strip_suffix('\0').unwrap_or(text)
}

/// How many bytes two texts have in common at their beginning.
fn same_length(one: &[u8], other: &[u8]) -> usize {
    let (chunks, _) = one.as_chunks::<32>();
    let (others, _) = other.as_chunks::<32>();
    let mut same = 32 * chunks.iter().zip(others).take_while(|(one, other)| one == other).count();
    // The difference is near: by the word, and which byte of it without looking for that.
    while let (Some(word), Some(other)) = (one[same..].first_chunk(), other[same..].first_chunk()) {
        let differ = u64::from_le_bytes(*word) ^ u64::from_le_bytes(*other);
        if differ != 0 {
            return same + differ.trailing_zeros() as usize / 8;
        }
        same += 8;
    }
    let rest = one[same..].iter().zip(&other[same..]);
    same + rest.take_while(|(one, other)| one == other).count()
}

#[cfg(test)]
mod tests {
    use super::*;

    fn pattern(text: &str) -> Arc<Text> {
        Text::alone(text).into_pattern().0
    }

    /// The text as differences from the pattern.
    fn compared(text: &str, pattern: &Arc<Text>, whole: &[Range<usize>]) -> Option<Text> {
        let mut comparison = Comparison::default();
        comparison.allow_search(text.len());
        let kept = comparison.compare(text, pattern, whole, text.len()).ok()?;
        assert_eq!((&*kept.whole(), kept.len()), (text, text.len()));
        Some(kept)
    }

    const POD: &str = r#"{"name":"web-0","labels":{"app":"web"},"spec":{"node":"n1","größe":"ö","port":80},"ip":"10.0.0.1","ready":true}"#;

    #[test]
    fn only_what_is_different_is_kept() {
        let other = POD.replace("web-0", "web-17").replace("10.0.0.1", "10.0.7.2");
        let kept = compared(&other, &pattern(POD), &[]).unwrap();
        assert_eq!(&*kept.own, r#"177.2","ready":true}"#, "too little is left to be alike again");
        let kept = compared(POD, &pattern(POD), &[]).unwrap();
        assert_eq!((kept.steps.len(), &*kept.own), (1, ""));
    }

    #[test]
    fn texts_are_alike_again_after_more_or_less() {
        let more = POD.replace("\"port\"", "\"added\":{\"a\":[1,2,3]},\"port\"");
        for (text, other) in [(&*more, POD), (POD, &*more)] {
            let kept = compared(text, &pattern(other), &[]).unwrap();
            assert!(kept.own.len() < 30, "{}", kept.own);
        }
    }

    #[test]
    fn what_must_be_whole_is_found_in_one_piece() {
        let other = POD.replace("web-0", "web-17").replace(r#""app":"web""#, r#""app":"weber""#);
        let range = |part: &str| {
            let start = other.find(part).unwrap();
            start..start + part.len()
        };
        let parts = ["web-17", r#"{"app":"weber"}"#, "n1"];
        let whole = parts.map(range);
        let kept = compared(&other, &pattern(POD), &whole).unwrap();
        for (part, range) in parts.into_iter().zip(whole) {
            assert_eq!(kept.part(kept.find(range).unwrap()), part);
        }
    }

    #[test]
    fn a_pattern_may_have_a_pattern() {
        let long = |name: &str, node: &str, ip: &str| {
            let pod = POD.replace("web-0", name).replace("\"n1\"", &format!("\"{node}\""));
            pod.replace("10.0.0.1", ip)
                .replace("true}", &format!("true,\"rest\":\"{}\"}}", "x".repeat(60)))
        };
        let (first, second, third) = (
            long("db-7", "n1", "10.0.0.1"),
            long("web-7", "n22", "10.0.0.1"),
            long("web-9", "n22", "10.0.9.1"),
        );
        let middle = compared(&second, &pattern(&first), &[]).unwrap().into_pattern().0;
        let range = |part: &str| {
            let start = third.find(part).unwrap();
            start..start + part.len()
        };
        let parts = ["web-9", "10.0.9.1", r#"{"app":"web"}"#, "xxxxx"];
        let whole = parts.map(range);
        let kept = compared(&third, &middle, &whole).unwrap();
        for (part, range) in parts.into_iter().zip(whole) {
            assert_eq!(kept.part(kept.find(range).unwrap()), part);
        }
        assert_eq!((&*kept.own, middle.steps.len()), ("web-910.0.9.1", 3), "{middle:?}");
    }

    #[test]
    fn what_must_be_whole_is_not_copied_from_where_it_is_divided() {
        let first = POD.replace("web-0", "db-00000000000000000-0");
        let middle =
            compared(&POD.replace("web-0", "db-00000000000000000-17"), &pattern(&first), &[]);
        let middle = middle.unwrap().into_pattern().0;
        let third = middle.whole().replace("10.0.0.1", "10.0.0.2");
        let name = third.find("db-").unwrap();
        let name = name..name + "db-00000000000000000-17".len();
        assert!(
            middle.find(name.clone()).is_none(),
            "it was not said that it is whole: {middle:?}"
        );
        assert!(
            compared(&third, &middle, &[]).is_some()
                && compared(&third, &middle, &[name]).is_none()
        );
    }

    #[test]
    fn characters_are_never_divided() {
        for (one, other) in [("ö", "ä"), ("ö", "öö"), ("語", "誤"), ("ö", "o"), ("a\u{300}", "a")]
        {
            let one = pattern(&POD.replace('ö', one));
            compared(&POD.replace('ö', other), &one, &[]).unwrap();
        }
    }

    #[test]
    fn texts_that_are_not_alike_are_given_up_on() {
        let unlike: String = (0..200).map(|n| format!("\"key-{n}\":{n},")).collect();
        assert!(compared(&unlike, &pattern(POD), &[]).is_none());
    }
}
