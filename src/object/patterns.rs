//! Objects of one source that are like each other: texts that others are kept as differences from.
//!
//! The pods of a workload differ in names, addresses and times, and in nothing else; workloads differ in their image, their
//! environment and the like. So a few pods are kept whole, of the first one of each workload only what is different from one of
//! those, and of the others what is different from the first. What has no owner is a family with the others of its namespace.

use std::{
    cell::OnceCell,
    collections::HashMap,
    fmt,
    hash::{BuildHasher, RandomState},
    mem,
    ops::Range,
    sync::{Arc, Weak},
};

use super::{
    sketch::Sketch,
    text::{Comparison, Text, Unlike},
};

/// The fewest families among which to look for those that are gone.
const FEWEST: usize = 64;

/// So little may always be kept: to make another pattern for less takes more.
const FEW: usize = 256;

/// The patterns of one source.
#[derive(Default)]
pub(super) struct Patterns {
    /// More of them than a family has, for families are of more kinds.
    all: Family<16>,
    /// By hash of namespace and owners.
    families: HashMap<u64, Family<2>>,
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
struct Family<const KNOWN: usize> {
    /// The one that fitted last in front; behind it what did not fit, which is the next one in front if
    /// others turn out to be like it. So neither an odd object nor texts of two kinds by turns leave
    /// everybody else without a pattern.
    known: [Known; KNOWN],
}

/// A text that others are kept as differences from.
#[derive(Default)]
struct Known {
    pattern: Weak<Text>,
    /// Whose text it was, by hash. Its own other states are much like it, and say nothing about others.
    maker: u64,
    /// How much there was to keep of the first other object that was compared with it.
    usual: Option<u16>,
    /// Of the pattern, once somebody has wanted it.
    sketch: OnceCell<Sketch>,
}

impl Known {
    /// How much there may be to keep of a text: more, and another pattern is better. `fair` is never too much, unless
    /// it is the maker's.
    fn most(
        &self,
        pattern: &Text,
        is_first: bool,
        object: u64,
        length: usize,
        fair: usize,
    ) -> usize {
        // A pattern of which there is little to keep is replaced sooner.
        let kept = pattern.own_size();
        let half = (length / 2).min((kept / 4 * 3).max(FEW));
        match self.usual.map(usize::from) {
            Some(usual) => {
                let more = usual / 4 + 64;
                // The maker differs from its text in what it has changed. If that is much, then others change
                // likewise, and would leave the pattern to it alone.
                half.min(if self.maker == object { more } else { fair.max(usual + more) })
            }
            // There is nobody else for whom it would be kept.
            None if self.maker == object && pattern.is_difference() => kept / 8,
            None if self.maker == object => half,
            // It may be an odd one; if what came after it is no better, that one is asked next.
            None if is_first => half.min(fair.max(length / 8)),
            None => half,
        }
    }

    fn is_gone(&self) -> bool {
        self.pattern.strong_count() == 0
    }

    fn sketch(&self) -> Sketch {
        let of_pattern = || Some(Sketch::of(&self.pattern.upgrade()?.whole()));
        *self.sketch.get_or_init(|| of_pattern().unwrap_or_default())
    }
}

impl<const KNOWN: usize> Default for Family<KNOWN> {
    fn default() -> Self {
        Self { known: std::array::from_fn(|_| Known::default()) }
    }
}

impl<const KNOWN: usize> Family<KNOWN> {
    fn is_gone(&self) -> bool {
        self.known.iter().all(Known::is_gone)
    }

    /// Keeps a text as what it differs in from others, if it is much like them.
    fn difference(
        &mut self,
        object: u64,
        candidate: &Candidate<'_>,
        by: &mut Comparison,
        fair: usize,
    ) -> Option<Text> {
        // Most texts differ in values alone.
        by.allow_no_search();
        let mut to_search = [false; KNOWN];
        for (at, to_search) in to_search.iter_mut().enumerate() {
            match self.compare(at, object, candidate, by, fair) {
                Ok(kept) => return Some(kept),
                Err(unlike) => *to_search = unlike == Unlike::NotSearched,
            }
        }
        // In patterns of other kinds all of the search would be in vain, so they come last.
        by.allow_search(candidate.text.len());
        while by.may_search()
            && let Some(at) = self.most_alike(&to_search, candidate)
        {
            if let Ok(kept) = self.compare(at, object, candidate, by, fair) {
                return Some(kept);
            }
            to_search[at] = false;
        }
        None
    }

    /// Of some of the patterns the one that is most like a text; of several the one that has fitted last.
    fn most_alike(&self, some: &[bool; KNOWN], candidate: &Candidate<'_>) -> Option<usize> {
        let mut these = (0..KNOWN).filter(|&at| some[at]).rev();
        if these.clone().count() < 2 {
            return these.next();
        }
        these.max_by_key(|&at| candidate.sketch().likeness(self.known[at].sketch()))
    }

    /// Compares a text with one of the patterns, which comes to the front if others are like it.
    fn compare(
        &mut self,
        at: usize,
        object: u64,
        Candidate { text, whole, .. }: &Candidate<'_>,
        by: &mut Comparison,
        fair: usize,
    ) -> Result<Text, Unlike> {
        let known = &mut self.known[at];
        let pattern = known.pattern.upgrade().filter(|pattern| pattern.len() <= 2 * text.len());
        let pattern = pattern.ok_or(Unlike::TooMuch)?;
        let most = known.most(&pattern, at == 0, object, text.len(), fair);
        let kept = by.compare(text, &pattern, whole, most)?;
        if known.maker != object {
            known.usual = known.usual.or_else(|| kept.own_size().try_into().ok());
            self.known[..=at].rotate_right(1);
        }
        Ok(kept)
    }

    /// Keeps a text as what it differs in from what it was, if that is a pattern of which this holds.
    fn difference_from_itself(
        &self,
        object: u64,
        Candidate { text, whole, .. }: &Candidate<'_>,
        by: &mut Comparison,
        holds: impl FnOnce(&Arc<Text>) -> bool,
    ) -> Option<Text> {
        let known = self.known.iter().find(|known| known.maker == object)?;
        let pattern = known.pattern.upgrade().filter(holds)?;
        by.allow_search(text.len());
        by.compare(text, &pattern, whole, text.len() / 2).ok()
    }

    /// Whether there is somebody for whom each of the patterns is kept.
    fn are_all_in_use(&self) -> bool {
        self.known.iter().all(|known| known.pattern.strong_count() > 1)
    }

    /// Makes a text a pattern for others.
    fn add(&mut self, object: u64, text: Text) -> Text {
        let (pattern, text) = text.into_pattern();
        let pattern = Arc::downgrade(&pattern);
        let made = Known { pattern, maker: object, ..Known::default() };
        // Instead of one that is gone, or else of the one that has fitted least lately.
        let at = self.known.iter().position(Known::is_gone).unwrap_or(KNOWN - 1);
        self.known[at] = made;
        self.known[at.min(1)..=at].rotate_right(1);
        text
    }
}

/// A text that is to be kept.
pub(super) struct Candidate<'a> {
    pub(super) text: &'a str,
    /// What must stay in one piece.
    pub(super) whole: &'a [Range<usize>],
    pub(super) namespace: &'a str,
    pub(super) name: &'a str,
    /// What the objects of one workload have in common, and no others; empty if it belongs to nothing.
    pub(super) owners: &'a str,
    /// Made when somebody wants it.
    pub(super) sketch: OnceCell<Sketch>,
}

impl Candidate<'_> {
    fn sketch(&self) -> Sketch {
        *self.sketch.get_or_init(|| Sketch::of(self.text))
    }
}

impl Patterns {
    /// Keeps room for the next text, unless that is a lot, or there may be none.
    pub(super) fn give_back(&mut self, scratch: Vec<u8>) {
        if mem::replace(&mut self.again, true) && scratch.capacity() <= Text::LENGTHS.end {
            self.scratch = scratch;
        }
    }

    pub(super) fn keep(&mut self, candidate: &Candidate<'_>) -> Text {
        let Candidate { text, namespace, name, owners, .. } = *candidate;
        if !Text::LENGTHS.contains(&text.len()) {
            return Text::alone(text);
        }
        self.sweep();
        let object = self.random.hash_one((namespace, name));
        let Self { all, families, comparison, .. } = self;
        let family = families.entry(self.random.hash_one((namespace, owners))).or_default();
        if let Some(kept) = family.difference(object, candidate, comparison, 0) {
            return kept;
        }
        // Workloads have more and less in common with each other, and all is better than a whole text more.
        let fair = text.len() / 4;
        let kept = all.difference(object, candidate, comparison, fair).or_else(|| {
            // Another pattern would take the place of one that others are like.
            let crowded = all.are_all_in_use();
            all.difference_from_itself(object, candidate, comparison, |_| crowded)
        });
        if let Some(kept) = kept {
            return family.add(object, kept);
        }
        // It is like nobody any more, and nobody is like what it was: what that is kept as differences from will do.
        let is_alone = |was: &Arc<Text>| was.is_difference() && Arc::strong_count(was) <= 2;
        family
            .difference_from_itself(object, candidate, comparison, is_alone)
            .unwrap_or_else(|| family.add(object, all.add(object, Text::alone(text))))
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
        let rest = vec![format!("\"{}\"", rest.repeat(10)); 20].join(",");
        format!(r#"{{"name":"{name}","rest":[{rest}]}}"#)
    }

    fn keep(patterns: &mut Patterns, text: &str, name: usize, owners: &str) -> Text {
        keep_in(patterns, "n", text, name, owners)
    }

    fn keep_in(
        patterns: &mut Patterns,
        namespace: &str,
        text: &str,
        name: usize,
        owners: &str,
    ) -> Text {
        let name = name.to_string();
        let kept = patterns.keep(&Candidate {
            text,
            whole: &[],
            namespace,
            name: &name,
            owners,
            sketch: OnceCell::new(),
        });
        assert_eq!(kept.whole(), text);
        kept
    }

    fn own_sizes(kept: &[Text]) -> Vec<usize> {
        kept.iter().map(Text::own_size).collect()
    }

    #[test]
    fn the_first_of_all_is_the_pattern_of_its_own_family_too() {
        let mut patterns = Patterns::default();
        let kept: Vec<_> =
            (0..5).map(|name| keep(&mut patterns, &text(name, "alike"), name, "web")).collect();
        let own = own_sizes(&kept);
        assert!(own[0] > 1000 && own[1..].iter().all(|own| *own < 20), "{own:?}");
    }

    /// A fifth of it is its workload's.
    fn of_workload(name: usize, workload: usize) -> String {
        let workload = workload.to_string().repeat(100);
        text(name, "alike").replacen(':', &format!(r#":"","workload":"{workload}","name":"#), 1)
    }

    fn kept_whole(kept: &[Text]) -> Vec<usize> {
        let own = own_sizes(kept).into_iter().enumerate();
        own.filter(|(_, own)| *own > 1000).map(|(at, _)| at).collect()
    }

    #[test]
    fn small_workloads_need_no_pattern_but_those_of_others() {
        let mut patterns = Patterns::default();
        let mut of_two = |name: usize| {
            let workload = 10 + name / 2;
            keep(&mut patterns, &of_workload(name, workload), name, &workload.to_string())
        };
        let mut kept: Vec<_> = (0..40).map(&mut of_two).collect();
        assert_eq!(kept_whole(&kept), [0]);
        for name in (4..40).chain(4..40) {
            kept[name] = of_two(name);
        }
        assert_eq!(kept_whole(&kept), [0], "however often they change");
    }

    #[test]
    fn a_workload_is_kept_as_differences_from_one_that_is_kept_as_differences() {
        let mut patterns = Patterns::default();
        let _others: Vec<_> = (100..104)
            .map(|name| keep(&mut patterns, &of_workload(name, name), name, &name.to_string()))
            .collect();
        let kept: Vec<_> =
            (0..40).map(|name| keep(&mut patterns, &of_workload(name, 77), name, "web")).collect();
        let own = own_sizes(&kept);
        assert!((200..300).contains(&own[0]), "what it differs in from other workloads: {own:?}");
        assert!(own[1..].iter().all(|own| *own < 20), "{own:?}");
    }

    #[test]
    fn a_workload_that_differs_little_from_another_keeps_its_first_as_the_pattern() {
        let mut patterns = Patterns::default();
        let _other = keep(&mut patterns, &text(1, "alike"), 1, "db");
        let _first = keep(&mut patterns, &text(2, "alike"), 2, "web");
        let _others: Vec<_> = (3..10)
            .map(|name| {
                let more = format!(r#":"","own":"{}","name":"#, name.to_string().repeat(90));
                keep(&mut patterns, &text(name, "alike").replacen(':', &more, 1), name, "web")
            })
            .collect();
        let first = patterns.random.hash_one(("n", "2"));
        let makers = |family: &Family<2>| family.known.each_ref().map(|known| known.maker);
        assert!(patterns.families.values().any(|family| makers(family) == [first, 0]));
    }

    #[test]
    fn one_alone_that_changes_is_kept_as_differences_from_others_and_not_from_what_it_was() {
        let mut patterns = Patterns::default();
        let of_one = |stamp| of_workload(1, 77).replacen("77", &format!("7{stamp}"), 1);
        let _others = [10, 11]
            .map(|name| keep(&mut patterns, &of_workload(name, name), name, &name.to_string()));
        let first = Arc::downgrade(&keep(&mut patterns, &of_one(0), 1, "web").into_pattern().0);
        for stamp in 1..9 {
            let kept = keep(&mut patterns, &of_one(stamp), 1, "web");
            assert!(kept.own_size() < 300 && patterns.patterns() == [1, 2], "{stamp}");
            assert_eq!(first.strong_count(), 0, "{stamp}");
        }
    }

    #[test]
    fn workloads_are_like_those_of_other_namespaces() {
        let mut patterns = Patterns::default();
        let kept: Vec<_> = (10..30)
            .map(|n| keep_in(&mut patterns, &n.to_string(), &of_workload(n, n), n, "web"))
            .collect();
        assert_eq!(kept_whole(&kept), [0]);
    }

    /// With a member more, unless that is `NONE`: what comes after it has to be searched for.
    fn of_kind(kind: usize, name: usize, more: usize) -> String {
        let members = (0..60).map(|n| {
            let more =
                if n == more { format!(r#""more-{name}":"{name}","#) } else { String::new() };
            format!(r#"{more}"{kind}-{n}":"{}""#, (100 + kind * 60 + n).pow(3))
        });
        let members: Vec<_> = members.collect();
        format!(r#"{{"name":"{name}",{}}}"#, members.join(","))
    }

    const NONE: usize = usize::MAX;

    #[test]
    fn what_has_more_in_it_than_its_pattern_is_not_searched_for_in_those_of_other_kinds() {
        for owners in ["", "web"] {
            let mut patterns = Patterns::default();
            let kept: Vec<_> = (0..120)
                .map(|name| {
                    let more = if name % 3 == 0 { NONE } else { name * 7 % 60 };
                    let kind = name % 4;
                    keep(&mut patterns, &of_kind(kind, name, more), name, owners)
                })
                .collect();
            assert!(kept_whole(&kept).len() <= 8, "{:?}", kept_whole(&kept));
            assert!(mean(&kept) < 200, "{}", mean(&kept));
        }
    }

    #[test]
    fn of_many_kinds_what_is_new_from_the_beginning_finds_its_own() {
        let mut patterns = Patterns::default();
        let kept: Vec<_> = (0..120)
            .map(|name| keep(&mut patterns, &of_kind(name % 12, name, 0), name, &name.to_string()))
            .collect();
        assert!(kept_whole(&kept).len() <= 12, "{:?}", kept_whole(&kept));
        assert!(mean(&kept[12..]) < 100, "{}", mean(&kept[12..]));
    }

    /// What comes of a list is in order, and changes come in any.
    #[test]
    fn however_many_namespaces_there_are_what_is_like_others_of_its_own_stays_so() {
        for owned in [false, true] {
            let mut patterns = Patterns::default();
            let mut keep = |n: usize, stamp: usize| {
                let text = of_kind(n / 10, n, NONE).replace("name", &format!("name-{stamp}"));
                let owner = if owned { n.to_string() } else { String::new() };
                keep_in(&mut patterns, &(n / 10).to_string(), &text, n, &owner)
            };
            let mut kept: Vec<_> = (0..300).map(|n| keep(n, 0)).collect();
            let at_first = mean(&kept);
            for (stamp, step) in [(1, 7), (2, 11), (3, 13)] {
                for n in (0..300).map(|n| n * step % 300) {
                    kept[n] = keep(n, stamp);
                }
                assert!(mean(&kept) < at_first + 40, "{owned}: {} after {at_first}", mean(&kept));
            }
        }
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
        assert_eq!(patterns.patterns()[0], 1);
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
        assert_eq!(patterns.patterns()[0], 1);
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
            assert_eq!(patterns.patterns()[0], 1, "{stamp}");
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
            assert!(mean(&kept[2..]) < 100 && patterns.patterns()[0] <= 3, "{}", mean(&kept));
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
        /// How many texts are kept for others, by whether they are kept whole.
        fn patterns(&self) -> [usize; 2] {
            let known = self.families.values().flat_map(|family| &family.known);
            let known = known.chain(&self.all.known);
            let patterns: HashMap<_, _> = known
                .filter_map(|known| known.pattern.upgrade())
                .map(|pattern| (Arc::as_ptr(&pattern), pattern.is_difference()))
                .collect();
            let differences = patterns.values().filter(|is_difference| **is_difference).count();
            [patterns.len() - differences, differences]
        }
    }
}
