//! Finding objects by what they have in common.

use std::{
    any::Any,
    borrow::Cow,
    fmt,
    panic::{AssertUnwindSafe, catch_unwind},
    sync::Arc,
};

use smallvec::SmallVec;

use super::key_table::KeyTable;
use crate::error::Error;

/// Functions that say under which values an object is to be found, each with a name.
///
/// ```
/// use kinformer::cache::Indexers;
///
/// struct Pod { node: String, ips: Vec<String> }
///
/// let indexers = Indexers::new()
///     .with("ip", |pod: &Pod| pod.ips.clone())
///     .with_value("node", |pod: &Pod| Some(pod.node.as_str().into()));
/// assert_eq!(indexers.names().collect::<Vec<_>>(), ["ip", "node"]);
/// ```
///
/// # What an index function may do
///
/// It runs without any lock, when an object is stored, and should be cheap and give the same values
/// for the same object. Values that it gives twice count once. If it panics, the object is in the store
/// and under no value of that index, and an error is logged.
#[doc(alias = "IndexFunc")]
pub struct Indexers<T> {
    functions: Vec<Indexer<T>>,
}

struct Indexer<T> {
    name: Arc<str>,
    function: Function<T>,
}

enum Function<T> {
    /// One of this library's own, which may run under a lock.
    Field(FieldOf<T>),
    Values(Arc<ValuesOf<T>>),
    Value(Arc<ValueOf<T>>),
}

type FieldOf<T> = fn(&T) -> Option<&str>;
type ValuesOf<T> = dyn Fn(&T) -> Vec<String> + Send + Sync;
type ValueOf<T> = dyn for<'a> Fn(&'a T) -> Option<Cow<'a, str>> + Send + Sync;

impl<T> Indexers<T> {
    /// No index.
    #[must_use]
    pub fn new() -> Self {
        Self { functions: Vec::new() }
    }

    /// Adds an index with any number of values for each object; one of the same name is replaced.
    #[must_use]
    pub fn with(
        self,
        name: &str,
        values: impl Fn(&T) -> Vec<String> + Send + Sync + 'static,
    ) -> Self {
        self.with_function(name, Function::Values(Arc::new(values)))
    }

    /// Adds an index with at most one value for each object, which need not be copied.
    #[must_use]
    pub fn with_value(
        self,
        name: &str,
        value: impl for<'a> Fn(&'a T) -> Option<Cow<'a, str>> + Send + Sync + 'static,
    ) -> Self {
        self.with_function(name, Function::Value(Arc::new(value)))
    }

    /// The same for a field of the object, found by code of this library.
    #[must_use]
    pub(super) fn with_field(self, name: &str, field: FieldOf<T>) -> Self {
        self.with_function(name, Function::Field(field))
    }

    /// Whether none of them is the user's, so that they may run under a lock.
    pub(super) fn are_plain(&self) -> bool {
        self.functions.iter().all(|indexer| matches!(indexer.function, Function::Field(_)))
    }

    fn with_function(mut self, name: &str, function: Function<T>) -> Self {
        self.functions.retain(|indexer| &*indexer.name != name);
        self.functions.push(Indexer { name: name.into(), function });
        self
    }

    /// The same functions over another type, which `to` makes into theirs.
    pub(super) fn map_object<U: 'static>(self, to: fn(&U) -> T) -> Indexers<U>
    where
        T: 'static,
    {
        let functions = self.functions.into_iter().map(|Indexer { name, function }| {
            let function = match function {
                Function::Field(field) => Function::Value(Arc::new(move |object: &U| {
                    let value = field(&to(object)).map(str::to_owned);
                    value.map(Cow::Owned)
                })),
                Function::Values(values) => {
                    Function::Values(Arc::new(move |object: &U| values(&to(object))) as Arc<_>)
                }
                Function::Value(value) => Function::Value(Arc::new(move |object: &U| {
                    let value = value(&to(object)).map(Cow::into_owned);
                    value.map(Cow::Owned)
                })),
            };
            Indexer { name, function }
        });
        Indexers { functions: functions.collect() }
    }

    /// The names of the indices.
    pub fn names(&self) -> impl Iterator<Item = &str> {
        self.functions.iter().map(|indexer| &*indexer.name)
    }

    pub(super) fn len(&self) -> usize {
        self.functions.len()
    }

    pub(super) fn contains(&self, name: &str) -> bool {
        self.position(name).is_some()
    }

    pub(super) fn position(&self, name: &str) -> Option<usize> {
        self.functions.iter().position(|indexer| &*indexer.name == name)
    }

    pub(super) fn extend(&mut self, more: Self) {
        self.functions.extend(more.functions);
    }

    /// The values of those that are this library's own, each with the number of its index.
    pub(super) fn fields<'a>(&self, object: &'a T) -> impl Iterator<Item = (u32, &'a str)> {
        self.functions.iter().zip(0..).filter_map(|(indexer, index)| match indexer.function {
            Function::Field(field) => Some((index, field(object)?)),
            Function::Values(_) | Function::Value(_) => None,
        })
    }

    /// The values of all indices for one object. Runs the user's code.
    pub(super) fn values<'a>(&self, object: &'a T) -> SmallVec<[Values<'a>; 2]> {
        self.functions.iter().map(|indexer| indexer.values(object)).collect()
    }

    pub(super) fn values_of<'a>(&self, index: usize, object: &'a T) -> Values<'a> {
        self.functions[index].values(object)
    }
}

impl<T> Indexer<T> {
    fn values<'a>(&self, object: &'a T) -> Values<'a> {
        let run = || match &self.function {
            Function::Field(field) => Values::from(field(object).map(Cow::Borrowed)),
            Function::Value(value) => Values::from(value(object)),
            Function::Values(values) => Values::from(values(object)),
        };
        catch_unwind(AssertUnwindSafe(run)).unwrap_or_else(|panic| {
            let text = panic_text(panic);
            log::error!("index function {:?} panicked: {text}", self.name);
            Values::None
        })
    }
}

/// What a panic said. Whatever else it carries is dropped, and panics no more. Not to be called in the
/// arguments of a line of the log, which may not be looked at.
pub(crate) fn panic_text(panic: Box<dyn Any + Send>) -> String {
    let text = panic.downcast_ref::<&str>().copied();
    let text = text.or_else(|| panic.downcast_ref::<String>().map(String::as_str));
    let text = text.unwrap_or("no message").to_owned();
    if let Err(another) = catch_unwind(AssertUnwindSafe(|| drop(panic))) {
        std::mem::forget(another);
    }
    text
}

impl<T> Default for Indexers<T> {
    fn default() -> Self {
        Self::new()
    }
}

impl<T> Clone for Indexers<T> {
    fn clone(&self) -> Self {
        let functions = self.functions.iter().map(|Indexer { name, function }| Indexer {
            name: name.clone(),
            function: match function {
                Function::Field(field) => Function::Field(*field),
                Function::Values(values) => Function::Values(values.clone()),
                Function::Value(value) => Function::Value(value.clone()),
            },
        });
        Self { functions: functions.collect() }
    }
}

impl<T> fmt::Debug for Indexers<T> {
    fn fmt(&self, f: &mut fmt::Formatter<'_>) -> fmt::Result {
        f.debug_set().entries(self.names()).finish()
    }
}

/// The different values of one object in one index.
#[derive(Debug)]
pub(super) enum Values<'a> {
    None,
    One(Cow<'a, str>),
    Many(Vec<String>),
}

impl<'a> From<Option<Cow<'a, str>>> for Values<'a> {
    fn from(value: Option<Cow<'a, str>>) -> Self {
        value.map_or(Self::None, Self::One)
    }
}

impl From<Vec<String>> for Values<'_> {
    fn from(mut values: Vec<String>) -> Self {
        if values.len() > 1 {
            values.sort_unstable();
            values.dedup();
        }
        match (values.pop(), values.is_empty()) {
            (None, _) => Self::None,
            (Some(only), true) => Self::One(Cow::Owned(only)),
            (Some(last), false) => {
                values.push(last);
                Self::Many(values)
            }
        }
    }
}

impl Values<'_> {
    pub(super) fn into_owned(self) -> Values<'static> {
        match self {
            Self::None => Values::None,
            Self::One(value) => Values::One(Cow::Owned(value.into_owned())),
            Self::Many(values) => Values::Many(values),
        }
    }

    pub(super) fn iter(&self) -> impl Iterator<Item = &str> {
        let (one, many) = match self {
            Self::None => (None, &[][..]),
            Self::One(value) => (Some(&**value), &[][..]),
            Self::Many(values) => (None, &values[..]),
        };
        one.into_iter().chain(many.iter().map(String::as_str))
    }
}

/// One index: from values to the slots of the objects that have them.
#[derive(Debug)]
pub(super) struct Index {
    values: KeyTable,
    sets: Vec<ValueSet>,
    free: Vec<u32>,
    /// Whether every object that is stored is in it.
    pub(super) complete: bool,
}

/// The objects of one value.
#[derive(Debug, Default)]
struct ValueSet {
    value: Arc<str>,
    slots: Vec<u32>,
}

/// Where in an index an object is, so that it can be taken out without a search.
#[derive(Clone, Copy, Debug)]
pub(super) struct Place {
    pub(super) index: u32,
    set: u32,
    at: u32,
}

impl Index {
    pub(super) fn new(complete: bool) -> Self {
        Self { values: KeyTable::new(), sets: Vec::new(), free: Vec::new(), complete }
    }

    pub(super) fn insert(&mut self, index: u32, value: &str, slot: u32) -> Place {
        let hash = self.values.hash(value);
        let is_value = |set: u32| &*self.sets[set as usize].value == value;
        let set = match self.values.find(hash, is_value) {
            Some(set) => set,
            None => {
                let set = self.free.pop().unwrap_or(self.sets.len() as u32);
                if set as usize == self.sets.len() {
                    self.sets.push(ValueSet::default());
                }
                self.sets[set as usize].value = value.into();
                self.values.insert(hash, set);
                set
            }
        };
        let slots = &mut self.sets[set as usize].slots;
        slots.push(slot);
        Place { index, set, at: slots.len() as u32 - 1 }
    }

    /// Takes an object out. The slot that took its place in the set, if any, is returned: its own
    /// [`Place`] is then this one.
    pub(super) fn remove(&mut self, place: Place) -> Option<u32> {
        let set = &mut self.sets[place.set as usize];
        set.slots.swap_remove(place.at as usize);
        let moved = set.slots.get(place.at as usize).copied();
        if set.slots.is_empty() {
            // A value that nobody has any more must not stay: values may be without number.
            let value = std::mem::take(set).value;
            self.values.remove(self.values.hash(&*value), place.set);
            self.free.push(place.set);
        }
        moved
    }

    pub(super) fn slots(&self, value: &str) -> &[u32] {
        let is_value = |set: u32| &*self.sets[set as usize].value == value;
        let set = self.values.find(self.values.hash(value), is_value);
        set.map_or(&[], |set| &self.sets[set as usize].slots)
    }

    pub(super) fn values(&self) -> impl Iterator<Item = &Arc<str>> {
        self.sets.iter().filter(|set| !set.slots.is_empty()).map(|set| &set.value)
    }

    /// The value of a place.
    pub(super) fn value(&self, place: Place) -> &str {
        &self.sets[place.set as usize].value
    }
}

impl Place {
    /// Whether `other` is in the same set.
    pub(super) fn is_beside(self, other: Self) -> bool {
        (self.index, self.set) == (other.index, other.set)
    }

    pub(super) fn moved_to(self, other: Self) -> Self {
        Self { at: other.at, ..self }
    }
}

/// There is no index of that name; as an [`Error`], an [`Error::Invalid`].
#[derive(Clone, Debug, Eq, PartialEq)]
pub struct UnknownIndex(pub(super) String);

impl fmt::Display for UnknownIndex {
    fn fmt(&self, f: &mut fmt::Formatter<'_>) -> fmt::Result {
        write!(f, "no index {:?}", self.0)
    }
}

impl std::error::Error for UnknownIndex {}

impl From<UnknownIndex> for Error {
    fn from(unknown: UnknownIndex) -> Self {
        Self::invalid("index", format!("there is none called {:?}", unknown.0))
    }
}
