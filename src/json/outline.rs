//! Where the objects and arrays of a JSON value are, found in one pass over it.

use std::ops::Range;

use super::{
    block::{Before, Block},
    scan::{Malformed, Members, ends_scalar, skip_white_space},
};

/// The objects and arrays of one value, each before those inside it; those that are deep inside may be left out.
///
/// Found while the value arrives, and then nobody has to look for their ends again.
#[derive(Debug)]
pub(crate) struct Outline {
    containers: Vec<Container>,
    /// The number of the innermost that has begun and not ended.
    open: Option<u32>,
    /// How many have begun and not ended, of those that are noted.
    depth: usize,
    /// How many of them there can be: what is inside the last of them is not noted.
    deepest: usize,
    /// How many have begun and not ended inside that one.
    below: usize,
    scanned: usize,
    before: Before,
}

/// Where an object or array is.
#[derive(Clone, Copy, Debug, Eq, PartialEq)]
pub(crate) struct Container {
    start: u32,
    end: u32,
    /// The number of the first container after it that is not inside it. Before it has ended, that of the
    /// one it is in; its own if it is in none.
    next: u32,
}

/// A value, and the outline of the text it is in.
#[derive(Clone, Copy, Debug)]
pub(crate) struct Value<'a> {
    pub(crate) text: &'a [u8],
    pub(crate) containers: &'a [Container],
    start: usize,
    end: usize,
    /// Its own number if it is an object or array.
    number: usize,
}

impl Container {
    pub(crate) fn range(self) -> Range<usize> {
        self.start as usize..self.end as usize
    }

    pub(crate) fn next(self) -> usize {
        self.next as usize
    }
}

impl Default for Outline {
    fn default() -> Self {
        Self::to_depth(usize::MAX)
    }
}

/// How many containers of the next value there is room for, whatever the last one had.
const MOST_CONTAINERS: usize = 1024;

impl Outline {
    /// One of a value that is still to be seen. Nobody will want to know of what is inside of more than so many
    /// others: most of the brackets of an object are there.
    pub(crate) fn to_depth(deepest: usize) -> Self {
        let (containers, before) = (Vec::new(), Before::default());
        Self { containers, open: None, depth: 0, deepest, below: 0, scanned: 0, before }
    }

    /// The outline of a text that is one value.
    pub(crate) fn of(text: &[u8]) -> Result<(Self, Range<usize>), Malformed> {
        Self::default().outlining(text)
    }

    /// The same for an outline that has seen nothing yet.
    pub(crate) fn outlining(mut self, text: &[u8]) -> Result<(Self, Range<usize>), Malformed> {
        // Offsets are kept in 31 bits.
        i32::try_from(text.len()).map_err(|_| Malformed)?;
        let start = skip_white_space(text, 0);
        self.scanned = start;
        let end = self.find_end(text).ok_or(Malformed)?;
        if skip_white_space(text, end) == text.len() {
            Ok((self, start..end))
        } else {
            Err(Malformed)
        }
    }

    /// Forgets everything, for another value.
    pub(crate) fn clear(&mut self) {
        self.containers.clear();
        self.open = None;
        (self.depth, self.below) = (0, 0);
        (self.scanned, self.before) = (0, Before::default());
    }

    /// Keeps no more room than most values take.
    pub(crate) fn give_back_room(&mut self) {
        self.containers.shrink_to(MOST_CONTAINERS);
    }

    /// How far it has looked.
    pub(crate) fn scanned(&self) -> usize {
        self.scanned
    }

    /// The value at `range` of `text`, which this is the outline of.
    pub(crate) fn value<'a>(&'a self, text: &'a [u8], range: Range<usize>) -> Value<'a> {
        Value { text, containers: &self.containers, start: range.start, end: range.end, number: 0 }
    }

    /// Where the object, array or string ends that `seen` begins with, if its end is in it. Goes on
    /// where it was when it is called again with more.
    pub(crate) fn find_end(&mut self, seen: &[u8]) -> Option<usize> {
        loop {
            let ends = match seen[self.scanned..].first_chunk() {
                // A string alone has no brackets to find.
                Some(bytes) if self.open.is_some() => self.block(bytes),
                _ => self.byte(*seen.get(self.scanned)?),
            };
            if ends {
                return Some(self.scanned);
            }
        }
    }

    /// Looks at some bytes; says whether the value ends with one of them, which is then the last that was
    /// looked at.
    #[inline]
    fn block(&mut self, bytes: &[u8; Block::SIZE]) -> bool {
        let block = Block::of(bytes, &mut self.before);
        let (opening, closing) = (block.opening(), block.closing());
        let (opens, closes) = (opening.count_ones() as usize, closing.count_ones() as usize);
        // Most brackets are inside of what is not noted, and in whatever order they come do not lead out of it.
        if self.depth == self.deepest && closes <= self.below {
            self.below = self.below + opens - closes;
            self.scanned += Block::SIZE;
            return false;
        }
        self.brackets(bytes, opening | closing)
    }

    /// The same for the brackets of a block, one after the other.
    fn brackets(&mut self, bytes: &[u8; Block::SIZE], mut brackets: u64) -> bool {
        let start = self.scanned;
        loop {
            if self.depth == self.deepest {
                brackets = self.pass_over(bytes, brackets);
            }
            if brackets == 0 {
                break;
            }
            let at = brackets.trailing_zeros() as usize;
            brackets &= brackets - 1;
            if self.bracket(bytes[at], start + at) {
                self.scanned = start + at + 1;
                return true;
            }
        }
        self.scanned = start + Block::SIZE;
        false
    }

    /// Counts brackets that are not noted; gives those that are left.
    fn pass_over(&mut self, bytes: &[u8; Block::SIZE], mut brackets: u64) -> u64 {
        while brackets != 0 {
            let byte = bytes[brackets.trailing_zeros() as usize];
            let (opens, closes) = (usize::from(is_opening(byte)), usize::from(is_closing(byte)));
            if closes > self.below {
                break;
            }
            // Without a branch: which comes next is anybody's guess.
            self.below = self.below + opens - closes;
            brackets &= brackets - 1;
        }
        brackets
    }

    /// The same for one byte.
    fn byte(&mut self, byte: u8) -> bool {
        let at = self.scanned;
        self.scanned += 1;
        let Before { in_string, escaped } = &mut self.before;
        let was_escaped = std::mem::take(escaped);
        match byte {
            b'\\' => *escaped = !was_escaped,
            b'"' if !was_escaped => {
                *in_string = !*in_string;
                return !*in_string && self.open.is_none();
            }
            _ if !*in_string => return self.bracket(byte, at),
            _ => {}
        }
        false
    }

    /// A byte that is in no string; says whether the value ends with it.
    #[inline]
    fn bracket(&mut self, byte: u8, at: usize) -> bool {
        if is_opening(byte) {
            if self.depth == self.deepest {
                self.below += 1;
                return false;
            }
            self.depth += 1;
            let (start, number) = (at as u32, self.containers.len() as u32);
            let outer = self.open.replace(number).unwrap_or(number);
            self.containers.push(Container { start, end: start, next: outer });
            false
        } else if is_closing(byte) {
            if self.below > 0 {
                self.below -= 1;
                return false;
            }
            self.depth = self.depth.saturating_sub(1);
            let next = self.containers.len() as u32;
            if let Some(ended) = self.open
                && let Some(container) = self.containers.get_mut(ended as usize)
            {
                let outer = container.next;
                self.open = (outer != ended).then_some(outer);
                (container.end, container.next) = (at as u32 + 1, next);
            }
            self.open.is_none()
        } else {
            false
        }
    }

    /// The same for a number or a word.
    pub(crate) fn find_scalar_end(&mut self, seen: &[u8]) -> Option<usize> {
        let found = seen[self.scanned..].iter().position(|&byte| ends_scalar(byte));
        let end = found.map(|length| self.scanned + length);
        self.scanned = seen.len();
        end
    }
}

fn is_opening(byte: u8) -> bool {
    matches!(byte, b'{' | b'[')
}

fn is_closing(byte: u8) -> bool {
    matches!(byte, b'}' | b']')
}

impl Value<'static> {
    /// What stands for nothing.
    pub(crate) const NULL: Self =
        Self { text: b"null", containers: &[], start: 0, end: 4, number: 0 };
}

impl<'a> Value<'a> {
    /// A text that is no value: it has no members.
    pub(crate) fn malformed(text: &'a [u8]) -> Self {
        Self { text, containers: &[], start: 0, end: text.len(), number: 0 }
    }

    /// Its bytes.
    pub(crate) fn bytes(&self) -> &'a [u8] {
        &self.text[self.range()]
    }

    /// Where it is in the text.
    pub(crate) fn range(&self) -> Range<usize> {
        self.start..self.end
    }

    /// Its number among the containers of the text, if it is one of them.
    pub(crate) fn number(&self) -> Option<usize> {
        let found = self.containers.get(self.number)?;
        (found.start as usize == self.start).then_some(self.number)
    }

    /// Its members, if it is an object.
    pub(crate) fn members(&self) -> Result<Members<'a>, Malformed> {
        let number = self.number().ok_or(Malformed)?;
        Members::outlined(&self.text[..self.end], self.start, self.containers, number + 1)
    }

    /// The objects and arrays that are its own members or elements.
    pub(crate) fn containers_within(self) -> impl Iterator<Item = Self> {
        let end = self.number().map_or(0, |number| self.containers[number].next());
        let mut number = self.number + 1;
        std::iter::from_fn(move || {
            let container = *self.containers[..end].get(number)?;
            let part = self.part(container.range(), number);
            number = container.next();
            Some(part)
        })
    }

    /// A part of it: what is at `range`, before which `number` containers begin.
    pub(crate) fn part(&self, range: Range<usize>, number: usize) -> Self {
        Self { start: range.start, end: range.end, number, ..*self }
    }
}

#[cfg(test)]
mod tests {
    use super::*;

    #[test]
    fn every_object_and_array_is_found_each_before_those_inside_it() {
        let text = br#" {"a":[1,{"b":"]}\\"}],"c":{},"d":"{"} "#;
        let (outline, range) = Outline::of(text).unwrap();
        let value = outline.value(text, range);
        let found: Vec<_> = outline
            .containers
            .iter()
            .map(|container| (&text[container.range()], container.next()))
            .collect();
        let expected: [(&[u8], usize); 4] =
            [(value.bytes(), 4), (br#"[1,{"b":"]}\\"}]"#, 3), (br#"{"b":"]}\\"}"#, 3), (b"{}", 4)];
        assert_eq!(found, expected);
        let within: Vec<_> = value.containers_within().map(|part| part.bytes()).collect();
        assert_eq!(within, [expected[1].0, expected[3].0]);
    }

    #[test]
    fn what_is_deeper_than_anybody_looks_is_not_noted() {
        let text = br#"{"a":[1,{"b":"]}\\"},[[]]],"c":{"d":{"e":[{}]}},"f":"{"} "#.repeat(3);
        let (whole, _) = Outline::of(&text[..text.len() / 3]).unwrap();
        for deepest in 1..6 {
            // In blocks, and byte by byte.
            for seen in [text.len(), text.len() / 3 - 1] {
                let mut outline = Outline::to_depth(deepest);
                assert_eq!(outline.find_end(&text[..seen]), Some(text.len() / 3 - 1));
                let within = |part: &Container| {
                    let around =
                        |other: &&Container| other.start < part.start && part.end <= other.end;
                    whole.containers.iter().filter(around).count()
                };
                let noted = |all: &[Container]| all.iter().map(|c| c.range()).collect::<Vec<_>>();
                let expected: Vec<_> =
                    whole.containers.iter().copied().filter(|c| within(c) < deepest).collect();
                assert_eq!(noted(&outline.containers), noted(&expected), "{deepest}, {seen}");
                let value = outline.value(&text, 0..text.len() / 3 - 1);
                let parts = value.containers_within().count();
                assert_eq!(parts, if deepest > 1 { 2 } else { 0 });
            }
        }
    }

    #[test]
    fn members_are_those_that_are_found_without_an_outline() {
        let text = br#"{"a":[[],{"x":{}}],"b":{"c":[1,2]},"d":3,"e":[]}"#;
        let (outline, range) = Outline::of(text).unwrap();
        let value = outline.value(text, range);
        let plain: Vec<_> = Members::new(text, 0).unwrap().map(|m| m.unwrap().whole).collect();
        let outlined: Vec<_> = value.members().unwrap().map(|m| m.unwrap().whole).collect();
        assert_eq!(outlined, plain);
        let b = value.members().unwrap().nth(1).unwrap().unwrap();
        let inner = value.part(b.value, b.number).members().unwrap().next().unwrap().unwrap();
        assert_eq!(&text[inner.value], b"[1,2]");
    }

    #[test]
    fn bytes_alone_are_what_they_are_in_a_block() {
        let odd = r#"{"a":[1,\}{"b":"\\\"]}\\"}\"],"c":{"#.repeat(20);
        let mut whole = Outline::default();
        let end = whole.find_end(odd.as_bytes());
        for piece in 1..200 {
            let mut pieces = Outline::default();
            let mut seen = (0..=odd.len()).step_by(piece).chain([odd.len()]);
            assert_eq!(seen.find_map(|seen| pieces.find_end(&odd.as_bytes()[..seen])), end);
            assert_eq!(pieces.containers, whole.containers, "in pieces of {piece}");
            for deepest in 1..4 {
                let mut whole = Outline::to_depth(deepest);
                let mut pieces = Outline::to_depth(deepest);
                let mut seen = (0..=odd.len()).step_by(piece).chain([odd.len()]);
                assert_eq!(whole.find_end(odd.as_bytes()), end);
                assert_eq!(seen.find_map(|seen| pieces.find_end(&odd.as_bytes()[..seen])), end);
                assert_eq!(pieces.containers, whole.containers, "{deepest}, {piece}");
            }
        }
    }

    #[test]
    fn what_is_not_one_value_has_no_outline_or_no_members() {
        for bad in ["", "{", "{}{}", "[", "{\"", "x", "3", "{} x", "}"] {
            let found = Outline::of(bad.as_bytes());
            let members = found.map(|(outline, range)| {
                outline.value(bad.as_bytes(), range).members().map(Iterator::count)
            });
            assert!(!matches!(members, Ok(Ok(_))), "{bad}: {members:?}");
        }
    }
}
