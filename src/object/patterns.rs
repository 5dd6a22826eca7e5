//! Objects of one source that are like each other: texts that others are kept as differences from.
//!
//! The pods of a workload differ in names, addresses and times, and in nothing else. So one of them is
//! kept whole, and of the others only what is different.

use std::{
    collections::HashMap,
    fmt,
    hash::{BuildHasher, RandomState},
    ops::Range,
    sync::{Arc, Weak},
};

use super::text::{Comparison, Pattern, Text};

/// The fewest families among which to look for those that are gone.
const FEWEST: usize = 64;

/// The patterns of one source.
#[derive(Default)]
pub(super) struct Patterns {
    families: HashMap<u64, Family>,
    /// With how many families to look for those that are gone.
    sweep_at: usize,
    random: RandomState,
    comparison: Comparison,
    /// Where texts are put together before they are kept.
    pub(super) scratch: Vec<u8>,
    /// Whether there was one before: most of those that come alone come once.
    again: bool,
}

/// Objects that are expected to be like each other.
#[derive(Default)]
struct Family {
    /// The first of them that was seen, by hash.
    first: u64,
    /// The one that fitted last in front; behind it what did not fit, which is the next one in front if
    /// others turn out to be like it. So neither an odd object nor texts of two kinds by turns leave
    /// everybody else without a pattern.
    known: [Known; 2],
}

/// A text that others are kept as differences from.
#[derive(Default)]
struct Known {
    pattern: Weak<Pattern>,
    /// Whose text it was, by hash. Its own other states are much like it, and say nothing about others.
    maker: u64,
    /// How much there was to keep of the first other object that was compared with it.
    usual: Option<usize>,
}

impl Known {
    /// How much there may be to keep of a text: more, and another pattern is better.
    fn most(&self, is_first: bool, object: u64, length: usize) -> usize {
        let half = length / 2;
        match self.usual {
            Some(usual) => {
                let more = usual / 8 + 64;
                // The maker differs from its text in what it has changed. If that is much, then others change
                // likewise, and would leave the pattern to it alone.
                half.min(if self.maker == object { more } else { usual + more })
            }
            None if self.maker == object => half,
            // It may be an odd one; if what came after it is no better, that one is asked next.
            None if is_first => length / 8,
            None => half,
        }
    }

    fn has_others(&self) -> bool {
        self.pattern.strong_count() > 1
    }

    fn is_gone(&self) -> bool {
        self.pattern.strong_count() == 0
    }
}

impl Family {
    fn is_gone(&self) -> bool {
        self.known.iter().all(Known::is_gone)
    }
}

/// A text that is to be kept.
pub(super) struct Candidate<'a> {
    pub(super) text: &'a str,
    /// What must stay in one piece.
    pub(super) whole: &'a [Range<usize>],
    pub(super) namespace: &'a str,
    pub(super) name: &'a str,
    /// What the objects of one workload have in common; empty if it belongs to nothing.
    pub(super) owners: &'a str,
}

impl Patterns {
    /// Keeps room for the next text, unless that is a lot, or there may be none.
    pub(super) fn give_back(&mut self, scratch: Vec<u8>) {
        if std::mem::replace(&mut self.again, true) && scratch.capacity() <= Pattern::LENGTHS.end {
            self.scratch = scratch;
        }
    }

    pub(super) fn keep(&mut self, candidate: &Candidate<'_>) -> Text {
        let Candidate { text, namespace, name, owners, .. } = *candidate;
        if !Pattern::LENGTHS.contains(&text.len()) {
            return Text::alone(text);
        }
        self.sweep();
        let namespace_family = self.random.hash_one(namespace);
        let object = self.random.hash_one((namespace, name));
        if owners.is_empty() {
            return self.keep_in(namespace_family, object, candidate);
        }
        let hash = self.random.hash_one((namespace, owners));
        let family =
            self.families.entry(hash).or_insert(Family { first: object, ..Family::default() });
        // One alone, in however many states, is no family yet.
        let (first, is_new) = (family.first, family.is_gone());
        if is_new && first == object {
            return self.keep_in(namespace_family, object, candidate);
        }
        if is_new && let Some(pattern) = self.pattern_of(namespace_family, first) {
            // What the first of them left to its namespace will do for its own.
            let family = self.families.entry(hash).or_default();
            family.known[0] = Known { pattern, maker: first, usual: None };
        }
        self.keep_in(hash, object, candidate)
    }

    /// What an object is the pattern of a family with.
    fn pattern_of(&self, family: u64, maker: u64) -> Option<Weak<Pattern>> {
        let known = &self.families.get(&family)?.known;
        known.iter().find(|known| known.maker == maker).map(|known| known.pattern.clone())
    }

    /// Keeps a text as one of a family: if it is much like the others, then as what it differs in.
    fn keep_in(&mut self, family: u64, object: u64, candidate: &Candidate<'_>) -> Text {
        let text = candidate.text;
        let family = self.families.entry(family).or_default();
        let mut made_of_it = None;
        for at in 0..family.known.len() {
            let known = &mut family.known[at];
            let pattern = known.pattern.upgrade().filter(|pattern| pattern.len() <= 2 * text.len());
            let Some(pattern) = pattern else { continue };
            let most = known.most(at == 0, object, text.len());
            if let Some(size) = self.comparison.compare(text, &pattern, candidate.whole, most) {
                if known.maker != object {
                    known.usual.get_or_insert(size);
                    family.known[..=at].rotate_right(1);
                }
                return self.comparison.text(pattern);
            }
            if known.maker == object {
                made_of_it = Some(pattern);
            }
        }
        // Another pattern would take the place of one that others are like.
        if let Some(pattern) = made_of_it
            && family.known.iter().all(Known::has_others)
        {
            let half = text.len() / 2;
            if self.comparison.compare(text, &pattern, candidate.whole, half).is_some() {
                return self.comparison.text(pattern);
            }
        }
        let pattern = Arc::new(Pattern::new(text));
        let made = Known { pattern: Arc::downgrade(&pattern), maker: object, usual: None };
        let [first, second] = &mut family.known;
        *(if first.is_gone() { first } else { second }) = made;
        pattern.into()
    }

    /// Forgets families without a pattern, now and then.
    fn sweep(&mut self) {
        if self.families.len() >= self.sweep_at.max(FEWEST) {
            self.families.retain(|_, family| !family.is_gone());
            self.sweep_at = 2 * self.families.len();
            self.families.shrink_to(self.sweep_at);
        }
    }
}

impl fmt::Debug for Patterns {
    fn fmt(&self, f: &mut fmt::Formatter<'_>) -> fmt::Result {
        f.debug_struct("Patterns").field("families", &self.families.len()).finish_non_exhaustive()
    }
}

#[cfg(test)]
mod tests {
    use super::*;

    fn text(name: usize, rest: &str) -> String {
        format!(r#"{{"name":"{name}","rest":"{}"}}"#, rest.repeat(200))
    }

    fn keep(patterns: &mut Patterns, text: &str, name: usize, owners: &str) -> Text {
        let name = name.to_string();
        let kept =
            patterns.keep(&Candidate { text, whole: &[], namespace: "n", name: &name, owners });
        assert_eq!(kept.whole(), text);
        kept
    }

    fn own_sizes(kept: &[Text]) -> Vec<usize> {
        kept.iter().map(Text::own_size).collect()
    }

    #[test]
    fn the_first_of_a_namespace_is_the_pattern_of_its_own_family_too() {
        let mut patterns = Patterns::default();
        let kept: Vec<_> =
            (0..5).map(|name| keep(&mut patterns, &text(name, "alike"), name, "web")).collect();
        let own = own_sizes(&kept);
        assert!(own[0] > 1000 && own[1..].iter().all(|own| *own < 20), "{own:?}");
    }

    #[test]
    fn the_second_of_another_family_is_the_pattern_of_the_others() {
        let mut patterns = Patterns::default();
        let _first = keep(&mut patterns, &text(9, "alike"), 9, "db");
        let kept: Vec<_> =
            (0..5).map(|name| keep(&mut patterns, &text(name, "alike"), name, "web")).collect();
        let own = own_sizes(&kept);
        // The first is kept as what it differs in from its namespace's.
        assert!(own[0] < 20 && own[1] > 1000, "{own:?}");
        assert!(own[2..].iter().all(|own| *own < 20), "{own:?}");
    }

    #[test]
    fn a_first_one_that_is_odd_is_nobodys_pattern() {
        let mut patterns = Patterns::default();
        let odd = keep(&mut patterns, &text(0, "other"), 0, "web");
        let kept: Vec<_> =
            (1..5).map(|name| keep(&mut patterns, &text(name, "alike"), name, "web")).collect();
        let own = own_sizes(&kept);
        assert!(odd.own_size() > 1000 && own[0] > 1000, "{own:?}");
        assert!(own[1..].iter().all(|own| *own < 20), "{own:?}");
    }

    #[test]
    fn one_object_in_many_states_makes_no_pattern_of_its_own() {
        let mut patterns = Patterns::default();
        let other = keep(&mut patterns, &text(0, "alike"), 0, "");
        let mut last = keep(&mut patterns, &text(1, "alike"), 1, "web");
        for _ in 0..10 {
            last = keep(&mut patterns, &text(1, "alike"), 1, "web");
        }
        assert!(last.own_size() < 20 && other.own_size() > 1000);
        assert_eq!(patterns.live(), 1);
    }

    #[test]
    fn when_all_have_changed_there_is_a_new_pattern_and_the_old_one_goes() {
        let mut patterns = Patterns::default();
        let mut kept: Vec<_> =
            (0..10).map(|name| keep(&mut patterns, &text(name, "alike"), name, "")).collect();
        for (name, kept) in kept.iter_mut().enumerate() {
            *kept =
                keep(&mut patterns, &text(name, "alike").replace("alikealike", "other"), name, "");
        }
        let own: usize = kept.iter().map(Text::own_size).sum();
        assert!(own < 1_500, "{own}");
        assert_eq!(patterns.live(), 1);
    }

    /// As an annotation that a controller sets on every object of a workload.
    #[test]
    fn however_often_all_change_alike_no_pattern_is_left_to_its_maker_alone() {
        let mut patterns = Patterns::default();
        let mut kept: Vec<_> = (0..20)
            .map(|name| keep(&mut patterns, &stamped(name, "alike", 10), name, "web"))
            .collect();
        for stamp in 11..20 {
            for (name, kept) in kept.iter_mut().enumerate() {
                *kept = keep(&mut patterns, &stamped(name, "alike", stamp), name, "web");
            }
            assert_eq!(patterns.live(), 1, "{stamp}");
            assert!(mean(&kept) < 100, "{}", mean(&kept));
        }
    }

    /// A text with a part that is different each time.
    fn stamped(name: usize, rest: &str, stamp: usize) -> String {
        let stamp = stamp.to_string().repeat(100);
        text(name, rest).replacen(rest, &format!("{rest}\",\"stamp\":\"{stamp}\",\"more\":\""), 1)
    }

    #[test]
    fn a_maker_that_alone_changes_makes_one_pattern_more() {
        let mut patterns = Patterns::default();
        let mut kept: Vec<_> =
            (0..20).map(|name| keep(&mut patterns, &text(name, "alike"), name, "web")).collect();
        for stamp in 10..20 {
            kept[1] = keep(&mut patterns, &stamped(1, "alike", stamp), 1, "web");
            kept[2] = keep(&mut patterns, &text(2, "alike"), 2, "web");
            assert!(mean(&kept[2..]) < 100 && patterns.live() <= 3, "{}", mean(&kept));
        }
    }

    #[test]
    fn a_maker_that_changes_takes_no_pattern_away_from_texts_of_another_kind() {
        let mut patterns = Patterns::default();
        let kind = |name: usize| if name.is_multiple_of(2) { "alike" } else { "other" };
        let mut kept: Vec<_> =
            (0..20).map(|name| keep(&mut patterns, &text(name, kind(name)), name, "")).collect();
        for name in 2..20 {
            kept[0] = keep(&mut patterns, &stamped(0, kind(0), name), 0, "");
            kept[name] = keep(&mut patterns, &text(name, kind(name)), name, "");
        }
        assert!(mean(&kept[2..]) < 60, "{}", mean(&kept[2..]));
    }

    /// All together, in bytes for each.
    fn mean(kept: &[Text]) -> usize {
        kept.iter().map(Text::own_size).sum::<usize>() / kept.len()
    }

    #[test]
    fn an_object_that_comes_twice_in_a_row_says_nothing_about_others() {
        for owners in ["", "web"] {
            let mut patterns = Patterns::default();
            let kept: Vec<_> = (0..100)
                .map(|name| {
                    let made = text(name, "alike");
                    keep(&mut patterns, &made, name, owners);
                    keep(&mut patterns, &made.replace("rest", "last"), name, owners)
                })
                .collect();
            assert!(mean(&kept) < 100, "{}", mean(&kept));
        }
    }

    #[test]
    fn an_odd_one_is_no_pattern_for_others() {
        // Like others for more than half of it, so that it could be one.
        let odd = |name| text(name, "alike").replace("alikealikealike", "something else");
        for place in [0, 1, 50, 99] {
            let mut patterns = Patterns::default();
            let kept: Vec<_> = (0..100)
                .map(|name| {
                    let text = if name == place { odd(name) } else { text(name, "alike") };
                    keep(&mut patterns, &text, name, "")
                })
                .collect();
            assert!(mean(&kept) < 60, "the odd one at {place}: {}", mean(&kept));
        }
    }

    /// As transforms give them: the text that arrived, and the one that is left of it.
    #[test]
    fn texts_of_two_kinds_by_turns_have_a_pattern_each() {
        let mut patterns = Patterns::default();
        let kept: Vec<_> = (0..100)
            .flat_map(|name| ["alike", "other"].map(|rest| (name, rest)))
            .map(|(name, rest)| keep(&mut patterns, &text(name, rest), name, ""))
            .collect();
        assert!(mean(&kept) < 60, "{}", mean(&kept));
    }

    #[test]
    fn room_for_the_next_text_is_kept_only_if_there_may_be_one_and_never_much() {
        let mut patterns = Patterns::default();
        patterns.give_back(Vec::with_capacity(1_000));
        assert_eq!(patterns.scratch.capacity(), 0);
        patterns.give_back(Vec::with_capacity(1_000));
        assert_eq!(patterns.scratch.capacity(), 1_000);
        patterns.scratch = Vec::new();
        patterns.give_back(Vec::with_capacity(3_000_000));
        assert_eq!(patterns.scratch.capacity(), 0);
    }

    #[test]
    fn families_that_are_gone_are_forgotten() {
        let mut patterns = Patterns::default();
        for name in 0..10_000 {
            keep(&mut patterns, &text(name, "alike"), name, &name.to_string());
        }
        assert!(patterns.families.len() <= 2 * FEWEST, "{}", patterns.families.len());
    }

    impl Patterns {
        fn live(&self) -> usize {
            let known = self.families.values().flat_map(|family| &family.known);
            known.filter(|known| !known.is_gone()).count()
        }
    }
}
