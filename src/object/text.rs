//! The text of an object, kept as what it differs in from a similar one.

use std::{borrow::Cow, ops::Range, sync::Arc};

use memchr::{memchr, memmem};

use super::meta::{Place, Span};

/// How many bytes must be the same for two texts to be compared from there on.
const ALIKE: usize = 16;

/// How much is searched for what is alike again, before two texts count as not alike: so many times the
/// length of the text, and no more than this. A search counts as these many bytes at least.
const SEARCHED_TIMES: usize = 12;
const SEARCHED_MOST: usize = 48 << 10;
const SEARCHED_LEAST: usize = 256;

/// A JSON text.
#[derive(Debug)]
pub(super) struct Text {
    pattern: Option<Arc<Pattern>>,
    steps: Box<[Step]>,
    /// All of it, as [`with_nul`], if there is no pattern.
    own: Box<str>,
}

/// A text from which others are copied in part.
#[derive(Debug)]
pub(super) struct Pattern {
    /// As [`with_nul`].
    text: Box<str>,
}

/// A piece of the pattern, and then a piece of what is the text's own.
#[derive(Clone, Copy, Debug)]
struct Step {
    from: u16,
    copied: u16,
    own: u16,
}

impl Pattern {
    /// The lengths of texts that are worth it, and can be told in a [`Step`].
    pub(super) const LENGTHS: Range<usize> = 512..1 << 16;

    pub(super) fn new(text: &str) -> Self {
        Self { text: with_nul(text) }
    }

    pub(super) fn len(&self) -> usize {
        self.text().len()
    }

    fn text(&self) -> &str {
        without_nul(&self.text)
    }
}

impl Text {
    /// A text that has nothing to do with others.
    pub(super) fn alone(text: &str) -> Self {
        Self { pattern: None, steps: Box::default(), own: with_nul(text) }
    }

    /// All of it; copied unless it is kept in one piece.
    pub(super) fn whole(&self) -> Cow<'_, str> {
        match &self.pattern {
            None => Cow::Borrowed(without_nul(&self.own)),
            Some(pattern) if self.steps.is_empty() => Cow::Borrowed(pattern.text()),
            Some(pattern) => {
                let copied: usize = self.steps.iter().map(|step| usize::from(step.copied)).sum();
                let mut whole = String::with_capacity(copied + self.own.len());
                let mut rest = &*self.own;
                for step in &self.steps {
                    let (own, after) = rest.split_at(step.own.into());
                    let from = usize::from(step.from);
                    whole.push_str(&pattern.text[from..from + usize::from(step.copied)]);
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
            Some(pattern) => self.steps.is_empty().then_some(&pattern.text),
        }
    }

    /// The part of it that a span of its metadata is about.
    pub(super) fn part(&self, span: Span) -> &str {
        match (span.place(), &self.pattern) {
            (Place::Pattern, Some(pattern)) => span.of(&pattern.text),
            _ => span.of(&self.own),
        }
    }

    /// How much of it is kept for it alone.
    #[cfg(test)]
    pub(super) fn own_size(&self) -> usize {
        let pattern = self.pattern.as_ref().filter(|_| self.steps.is_empty());
        pattern.map_or(0, |pattern| pattern.len()) + self.own.len() + size_of_val(&*self.steps)
    }

    /// Where a part of the whole text is; `None` if it is not in one piece.
    pub(super) fn find(&self, part: Range<usize>) -> Option<Span> {
        if self.steps.is_empty() {
            let place = if self.pattern.is_some() { Place::Pattern } else { Place::Own };
            return Some(Span::new(part, place));
        }
        let (mut at, mut own) = (0, 0);
        for step in &self.steps {
            let copied = at..at + usize::from(step.copied);
            let written = copied.end..copied.end + usize::from(step.own);
            for (range, to, place) in
                [(&copied, step.from.into(), Place::Pattern), (&written, own, Place::Own)]
            {
                if range.start <= part.start && part.end <= range.end {
                    let start = to + (part.start - range.start);
                    return Some(Span::new(start..start + part.len(), place));
                }
            }
            (at, own) = (written.end, own + usize::from(step.own));
        }
        None
    }
}

impl From<Arc<Pattern>> for Text {
    fn from(pattern: Arc<Pattern>) -> Self {
        Self { pattern: Some(pattern), steps: Box::default(), own: Box::default() }
    }
}

/// Finds what texts differ in.
#[derive(Debug, Default)]
pub(super) struct Comparison {
    steps: Vec<Step>,
    own: String,
}

impl Comparison {
    /// Compares a text with a pattern; says how much there is to keep of the text then, or `None` if it
    /// is more than `most`. What is `whole` is kept in one piece each.
    pub(super) fn compare(
        &mut self,
        text: &str,
        pattern: &Pattern,
        whole: &[Range<usize>],
        most: usize,
    ) -> Option<usize> {
        self.steps.clear();
        self.own.clear();
        let mut texts = Texts {
            text: text.as_bytes(),
            pattern: pattern.text().as_bytes(),
            whole,
            to_search: SEARCHED_MOST.min(SEARCHED_TIMES * text.len()),
        };
        let (mut at, mut from) = (0, 0);
        while at < text.len() {
            let copied = texts.alike(at, from);
            let own = at + copied;
            let (next, next_from) = if own == text.len() {
                (own, from)
            } else {
                texts.alike_again(own, from + copied)?
            };
            self.own.push_str(&text[own..next]);
            let length = |range: usize| u16::try_from(range).ok();
            self.steps.push(Step {
                from: length(from)?,
                copied: length(copied)?,
                own: length(next - own)?,
            });
            if next == at || self.size() > most {
                return None;
            }
            (at, from) = (next, next_from);
        }
        Some(self.size())
    }

    /// The text that was compared last, as its differences from that pattern.
    pub(super) fn text(&self, pattern: Arc<Pattern>) -> Text {
        Text {
            pattern: Some(pattern),
            steps: self.steps.as_slice().into(),
            own: self.own.as_str().into(),
        }
    }

    fn size(&self) -> usize {
        self.own.len() + size_of_val(self.steps.as_slice())
    }
}

/// Two texts that are compared.
struct Texts<'a> {
    text: &'a [u8],
    pattern: &'a [u8],
    /// Parts of the text that must not be divided.
    whole: &'a [Range<usize>],
    /// How many bytes may still be searched.
    to_search: usize,
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
    /// are whole. The end of the text if they never are.
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
                && self.pattern[there..].starts_with(wanted)
            {
                return Some((quote, there));
            }
            let rest = &self.pattern[from..];
            let found = memmem::find(rest, wanted);
            let searched = found.unwrap_or(rest.len()).max(SEARCHED_LEAST);
            self.to_search = self.to_search.checked_sub(searched)?;
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

    /// The text as differences from the pattern, and how much there is to keep of it.
    fn compared(text: &str, pattern: &str, whole: &[Range<usize>]) -> Option<(Text, usize)> {
        let (mut comparison, pattern) = (Comparison::default(), Arc::new(Pattern::new(pattern)));
        let size = comparison.compare(text, &pattern, whole, text.len())?;
        let kept = comparison.text(pattern);
        assert_eq!(kept.whole(), text);
        Some((kept, size))
    }

    const POD: &str = r#"{"name":"web-0","labels":{"app":"web"},"spec":{"node":"n1","größe":"ö","port":80},"ip":"10.0.0.1","ready":true}"#;

    #[test]
    fn only_what_is_different_is_kept() {
        let other = POD.replace("web-0", "web-17").replace("10.0.0.1", "10.0.7.2");
        let (kept, _) = compared(&other, POD, &[]).unwrap();
        assert_eq!(&*kept.own, r#"177.2","ready":true}"#, "too little is left to be alike again");
        let (kept, _) = compared(POD, POD, &[]).unwrap();
        assert_eq!((kept.steps.len(), &*kept.own), (1, ""));
    }

    #[test]
    fn texts_are_alike_again_after_more_or_less() {
        let more = POD.replace("\"port\"", "\"added\":{\"a\":[1,2,3]},\"port\"");
        for (text, pattern) in [(&*more, POD), (POD, &*more)] {
            let (kept, _) = compared(text, pattern, &[]).unwrap();
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
        let (kept, _) = compared(&other, POD, &whole).unwrap();
        for (part, range) in parts.into_iter().zip(whole) {
            assert_eq!(kept.part(kept.find(range).unwrap()), part);
        }
    }

    #[test]
    fn characters_are_never_divided() {
        for (one, other) in [("ö", "ä"), ("ö", "öö"), ("語", "誤"), ("ö", "o"), ("a\u{300}", "a")]
        {
            compared(&POD.replace('ö', other), &POD.replace('ö', one), &[]).unwrap();
        }
    }

    #[test]
    fn texts_that_are_not_alike_are_given_up_on() {
        let unlike: String = (0..200).map(|n| format!("\"key-{n}\":{n},")).collect();
        assert!(compared(&unlike, POD, &[]).is_none());
    }
}
