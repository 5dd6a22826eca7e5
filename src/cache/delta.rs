//! What happened to an object.

use std::{fmt, slice, vec};

use crate::object::{Object, ObjectKey};

/// An object that is gone.
///
/// ```
/// use kinformer::cache::Deleted;
///
/// let seen = Deleted::Known("its last state");
/// let missed = Deleted::FinalStateUnknown { key: "prod/web-0".into(), last: Some("an older state") };
/// assert_eq!([seen.object(), missed.object()], [Some(&"its last state"), Some(&"an older state")]);
/// ```
#[derive(Clone, Debug, Eq, PartialEq)]
#[expect(clippy::exhaustive_enums, reason = "the end of an object was seen, or it was not")]
#[doc(alias = "DeletedFinalStateUnknown")]
#[doc(alias = "DeletedObject")]
pub enum Deleted<T> {
    /// Its deletion was seen: its last state.
    Known(T),
    /// It vanished while nobody was looking.
    FinalStateUnknown {
        /// Its key.
        key: ObjectKey,
        /// Its last known state, which may not have been its last.
        last: Option<T>,
    },
}

impl<T> Deleted<T> {
    /// The last state that is known.
    pub fn object(&self) -> Option<&T> {
        match self {
            Self::Known(object) => Some(object),
            Self::FinalStateUnknown { last, .. } => last.as_ref(),
        }
    }

    /// The last state that is known.
    pub fn into_object(self) -> Option<T> {
        match self {
            Self::Known(object) => Some(object),
            Self::FinalStateUnknown { last, .. } => last,
        }
    }

    /// Whether the deletion itself was seen.
    pub fn is_final_state_known(&self) -> bool {
        matches!(self, Self::Known(_))
    }
}

impl<K> Deleted<Object<K>> {
    /// The key of the object, whether its last state is known or not.
    #[must_use]
    pub fn key(&self) -> &ObjectKey {
        match self {
            Self::Known(object) => object.key(),
            Self::FinalStateUnknown { key, .. } => key,
        }
    }
}

/// One thing that happened to an object.
#[derive(Clone, Debug, Eq, PartialEq)]
#[expect(clippy::exhaustive_enums, reason = "whoever applies deltas must know all of them")]
#[doc(alias = "DeltaType")]
pub enum Delta<T> {
    /// It was added.
    Added(T),
    /// It was changed.
    Updated(T),
    /// It was in a new list: it may have changed or not.
    Replaced(T),
    /// It is told again.
    Sync(T),
    /// It is gone.
    Deleted(Deleted<T>),
}

impl<T> Delta<T> {
    /// The object after it; for a deletion the last state that is known.
    pub fn object(&self) -> Option<&T> {
        match self {
            Self::Added(object)
            | Self::Updated(object)
            | Self::Replaced(object)
            | Self::Sync(object) => Some(object),
            Self::Deleted(deleted) => deleted.object(),
        }
    }

    /// The object, unless it is gone.
    pub(super) fn live(&self) -> Option<&T> {
        match self {
            Self::Deleted(_) => None,
            other => other.object(),
        }
    }

    /// Whether it is a deletion.
    pub fn is_deleted(&self) -> bool {
        matches!(self, Self::Deleted(_))
    }
}

/// What happened to one object since it was last popped, oldest first; never empty.
#[derive(Clone, PartialEq)]
pub struct Deltas<T> {
    /// Apart, because most have only this one.
    first: Delta<T>,
    rest: Vec<Delta<T>>,
}

impl<T> Deltas<T> {
    pub(super) fn new(first: Delta<T>) -> Self {
        Self { first, rest: Vec::new() }
    }

    /// Adds one. Of two deletions in a row one is kept: the first, unless only the second was seen.
    pub(super) fn push(&mut self, delta: Delta<T>) {
        let last = self.rest.last_mut().unwrap_or(&mut self.first);
        match (&*last, &delta) {
            (Delta::Deleted(Deleted::Known(_)), Delta::Deleted(_)) if !cfg!(kinf_bug = "2") => {}
            (Delta::Deleted(_), Delta::Deleted(_)) => *last = delta,
            _ => self.rest.push(delta),
        }
    }

    /// The first thing that happened.
    pub fn oldest(&self) -> &Delta<T> {
        &self.first
    }

    /// The last thing that happened.
    pub fn newest(&self) -> &Delta<T> {
        self.rest.last().unwrap_or(&self.first)
    }

    /// How many there are; at least one.
    #[expect(clippy::len_without_is_empty, reason = "there is always one")]
    pub fn len(&self) -> usize {
        1 + self.rest.len()
    }

    /// All of them, oldest first.
    pub fn iter(&self) -> Iter<'_, T> {
        Iter { first: Some(&self.first), rest: self.rest.iter() }
    }
}

impl<T: fmt::Debug> fmt::Debug for Deltas<T> {
    fn fmt(&self, f: &mut fmt::Formatter<'_>) -> fmt::Result {
        f.debug_list().entries(self).finish()
    }
}

/// Iterates over [`Deltas`].
#[derive(Clone, Debug)]
pub struct Iter<'a, T> {
    first: Option<&'a Delta<T>>,
    rest: slice::Iter<'a, Delta<T>>,
}

impl<'a, T> Iterator for Iter<'a, T> {
    type Item = &'a Delta<T>;

    fn next(&mut self) -> Option<Self::Item> {
        self.first.take().or_else(|| self.rest.next())
    }
}

impl<'a, T> IntoIterator for &'a Deltas<T> {
    type Item = &'a Delta<T>;
    type IntoIter = Iter<'a, T>;

    fn into_iter(self) -> Iter<'a, T> {
        self.iter()
    }
}

/// Takes [`Deltas`] apart.
#[derive(Debug)]
pub struct IntoIter<T> {
    first: Option<Delta<T>>,
    rest: vec::IntoIter<Delta<T>>,
}

impl<T> Iterator for IntoIter<T> {
    type Item = Delta<T>;

    fn next(&mut self) -> Option<Self::Item> {
        self.first.take().or_else(|| self.rest.next())
    }
}

impl<T> IntoIterator for Deltas<T> {
    type Item = Delta<T>;
    type IntoIter = IntoIter<T>;

    fn into_iter(self) -> IntoIter<T> {
        IntoIter { first: Some(self.first), rest: self.rest.into_iter() }
    }
}

/// One object's worth of work, taken from a queue.
#[derive(Clone, Debug, PartialEq)]
#[non_exhaustive]
#[doc(alias = "PopProcessFunc")]
pub struct Popped<T> {
    /// The key of the object.
    pub key: ObjectKey,
    /// What happened to it.
    pub deltas: Deltas<T>,
    /// Whether it is part of what there was at the start.
    #[doc(alias = "isInInitialList")]
    pub initial: bool,
}

#[cfg(test)]
mod tests {
    use super::*;

    fn known(n: u8) -> Delta<u8> {
        Delta::Deleted(Deleted::Known(n))
    }

    fn unknown(n: u8) -> Delta<u8> {
        Delta::Deleted(Deleted::FinalStateUnknown { key: "k".into(), last: Some(n) })
    }

    #[test]
    fn two_deletions_in_a_row_become_the_better_known_one() {
        for (first, second, kept) in [
            (known(1), known(2), known(1)),
            (known(1), unknown(2), known(1)),
            (unknown(1), known(2), known(2)),
            (unknown(1), unknown(2), unknown(2)),
        ] {
            let mut deltas = Deltas::new(Delta::Added(0));
            deltas.push(first);
            deltas.push(second);
            assert_eq!(deltas.iter().collect::<Vec<_>>(), [&Delta::Added(0), &kept]);
        }
    }

    #[test]
    fn nothing_else_is_ever_merged() {
        let mut deltas = Deltas::new(known(1));
        for delta in
            [Delta::Added(1), Delta::Updated(1), Delta::Updated(1), Delta::Sync(1), known(1)]
        {
            deltas.push(delta);
        }
        assert_eq!(deltas.len(), 6);
        assert_eq!((deltas.oldest(), deltas.newest()), (&known(1), &known(1)));
        assert_eq!(deltas.into_iter().filter(Delta::is_deleted).count(), 2);
    }
}
