//! A hash table over keys that live elsewhere.

use std::{
    hash::{BuildHasher, RandomState},
    num::NonZeroU32,
};

/// Finds where in a collection a key is. The collection has the keys; this has eight bytes for each.
///
/// Open addressing, one step at a time: a key is where its hash says, or soon after. So most searches
/// look at one line of the processor's cache, where tables with a directory look at two.
#[derive(Debug)]
pub(super) struct KeyTable {
    seed: [u64; 2],
    /// A power of two of them, or none. Between a key and where its hash says, none is vacant.
    slots: Vec<Option<Slot>>,
    used: usize,
}

/// The hash of a key; keeps an operation from computing it twice.
#[derive(Clone, Copy, Debug, Eq, PartialEq)]
pub(super) struct KeyHash(NonZeroU32);

#[derive(Clone, Copy, Debug)]
struct Slot {
    hash: KeyHash,
    position: u32,
}

impl KeyTable {
    pub(super) fn new() -> Self {
        // Names are chosen by whoever may create objects: nobody must be able to choose colliding ones.
        let random = RandomState::new();
        let seed = [random.hash_one(0_u8), random.hash_one(1_u8) | 1];
        Self { seed, slots: Vec::new(), used: 0 }
    }

    /// An empty table with the same hashes.
    pub(super) fn sibling(&self) -> Self {
        Self { seed: self.seed, slots: Vec::new(), used: 0 }
    }

    #[inline]
    pub(super) fn hash(&self, key: impl AsRef<[u8]>) -> KeyHash {
        let bytes = key.as_ref();
        let mut state = self.seed[0];
        let mut rest = bytes;
        while let Some((chunk, after)) = rest.split_first_chunk::<16>()
            && !after.is_empty()
        {
            let (a, b) = ends(chunk);
            state = fold(a ^ self.seed[1], b ^ state);
            rest = after;
        }
        // The last sixteen, of which some may have been in the chunk before.
        let (a, b) = ends(bytes.last_chunk::<16>().map_or(bytes, |last| last));
        state = fold(a ^ self.seed[1], b ^ state);
        // The length after everything else: beside a word of the key, the key could make up for it.
        let mixed = fold(state ^ bytes.len() as u64, self.seed[1]);
        let hash = (mixed >> 32) as u32 ^ mixed as u32;
        KeyHash(NonZeroU32::new(hash).unwrap_or(NonZeroU32::MIN))
    }

    /// The position for which `is_key` says yes, among those whose keys have this hash.
    pub(super) fn find(&self, hash: KeyHash, is_key: impl Fn(u32) -> bool) -> Option<u32> {
        let mut at = self.home(hash);
        loop {
            let slot = (*self.slots.get(at)?)?;
            if slot.hash == hash && is_key(slot.position) {
                return Some(slot.position);
            }
            at = self.after(at);
        }
    }

    /// The same, or adds the key as one at `position` if there is none.
    pub(super) fn find_or_insert(
        &mut self,
        hash: KeyHash,
        position: u32,
        is_key: impl Fn(u32) -> bool,
    ) -> Option<u32> {
        self.reserve(1);
        let mut at = self.home(hash);
        while let Some(slot) = self.slots[at] {
            if slot.hash == hash && is_key(slot.position) {
                return Some(slot.position);
            }
            at = self.after(at);
        }
        self.slots[at] = Some(Slot { hash, position });
        self.used += 1;
        None
    }

    /// Adds a key that is not there.
    pub(super) fn insert(&mut self, hash: KeyHash, position: u32) {
        self.reserve(1);
        self.put(Slot { hash, position });
    }

    /// Removes the key at `position`.
    pub(super) fn remove(&mut self, hash: KeyHash, position: u32) {
        let mut at = self.home(hash);
        loop {
            match self.slots.get(at) {
                Some(Some(slot)) if slot.position == position => break,
                Some(Some(_)) => at = self.after(at),
                _ => return,
            }
        }
        self.used -= 1;
        // Whatever stands after it and may stand here moves up: nothing may be vacant before a key.
        let mut vacant = at;
        loop {
            at = self.after(at);
            let Some(slot) = self.slots[at] else { break };
            if self.distance(self.home(slot.hash), at) >= self.distance(vacant, at) {
                self.slots[vacant] = Some(slot);
                vacant = at;
            }
        }
        self.slots[vacant] = None;
    }

    /// Makes room for so many keys more.
    pub(super) fn reserve(&mut self, keys: usize) {
        let slots = slots_for(self.used + keys);
        if slots > self.slots.len() {
            self.rebuild(slots);
        }
    }

    /// Gives back what a burst of keys took.
    pub(super) fn shrink(&mut self) {
        self.rebuild(slots_for(self.used));
    }

    fn rebuild(&mut self, slots: usize) {
        let old = std::mem::replace(&mut self.slots, vec![None; slots]);
        self.used = 0;
        old.into_iter().flatten().for_each(|slot| self.put(slot));
    }

    fn put(&mut self, slot: Slot) {
        let mut at = self.home(slot.hash);
        while self.slots[at].is_some() {
            at = self.after(at);
        }
        self.slots[at] = Some(slot);
        self.used += 1;
    }

    fn home(&self, hash: KeyHash) -> usize {
        hash.0.get() as usize & self.slots.len().wrapping_sub(1)
    }

    fn after(&self, at: usize) -> usize {
        (at + 1) & (self.slots.len() - 1)
    }

    fn distance(&self, from: usize, to: usize) -> usize {
        to.wrapping_sub(from) & (self.slots.len() - 1)
    }
}

/// How many slots it takes to leave a fifth of them vacant.
fn slots_for(keys: usize) -> usize {
    if keys == 0 { 0 } else { (keys + keys.div_ceil(4)).next_power_of_two().max(8) }
}

fn fold(a: u64, b: u64) -> u64 {
    let product = u128::from(a) * u128::from(b);
    (product >> 64) as u64 ^ product as u64
}

/// Two numbers with everything there is in up to sixteen bytes.
#[inline]
fn ends(bytes: &[u8]) -> (u64, u64) {
    if let (Some(first), Some(last)) = (bytes.first_chunk(), bytes.last_chunk()) {
        return (u64::from_le_bytes(*first), u64::from_le_bytes(*last));
    }
    if let (Some(first), Some(last)) = (bytes.first_chunk(), bytes.last_chunk()) {
        return (u32::from_le_bytes(*first).into(), u32::from_le_bytes(*last).into());
    }
    let byte = |at: usize| bytes.get(at).copied().map_or(0, u64::from);
    (byte(0) | byte(1) << 8, byte(2))
}

#[cfg(test)]
mod tests {
    use super::*;

    #[test]
    fn keys_are_found_until_they_are_removed() {
        let keys: Vec<_> = (0..10_000).map(|n| format!("namespace-{}/pod-{n}", n % 7)).collect();
        let mut table = KeyTable::new();
        for (at, key) in keys.iter().enumerate() {
            table.insert(table.hash(key), at as u32);
        }
        let find = |table: &KeyTable, key: &str| {
            table.find(table.hash(key), |position| keys[position as usize] == key)
        };
        for (at, key) in keys.iter().enumerate() {
            assert_eq!(find(&table, key), Some(at as u32));
        }
        assert_eq!(find(&table, "namespace-1/pod-0"), None);
        for at in (0..10_000).step_by(2) {
            table.remove(table.hash(&keys[at]), at as u32);
        }
        table.shrink();
        for (at, key) in keys.iter().enumerate() {
            assert_eq!(find(&table, key), (at % 2 == 1).then_some(at as u32));
        }
    }

    #[test]
    fn positions_may_be_any_and_room_is_given_back() {
        let mut table = KeyTable::new();
        assert_eq!(table.find(table.hash("a"), |_| true), None);
        table.remove(table.hash("a"), 0);
        for (key, position) in [("a", u32::MAX), ("b", 0), ("c", 7)] {
            table.insert(table.hash(key), position);
        }
        assert_eq!(table.find(table.hash("a"), |position| position == u32::MAX), Some(u32::MAX));
        table.reserve(1_000);
        assert_eq!(table.slots.len(), 2_048);
        table.shrink();
        assert_eq!((table.slots.len(), table.used), (8, 3));
        for (key, position) in [("a", u32::MAX), ("b", 0), ("c", 7)] {
            assert_eq!(table.find(table.hash(key), |at| at == position), Some(position));
            table.remove(table.hash(key), position);
        }
        table.shrink();
        assert_eq!((table.slots.len(), table.used), (0, 0));
    }

    #[test]
    fn hashes_of_similar_keys_differ_and_depend_on_the_seed() {
        let table = KeyTable::new();
        let mut hashes: Vec<_> =
            (0..100_000).map(|n| table.hash(format!("default/web-{n}")).0).collect();
        hashes.extend((0..40).map(|n| table.hash("x".repeat(n)).0));
        hashes.sort_unstable();
        hashes.dedup();
        assert!(hashes.len() > 100_000, "{} different of 100,040", hashes.len());
        let other = KeyTable::new();
        let same = (0..1000).filter(|n| table.hash(n.to_string()) == other.hash(n.to_string()));
        assert!(same.count() < 10);
    }

    /// With the length beside a word of the key, a key could make up for it: "xxxxxxxx" and
    /// "xxxxxxxx`xxxxxxx" were one for every seed.
    #[test]
    fn nobody_can_choose_keys_of_the_same_hash() {
        // Equal words in other places, and every difference that two lengths can make.
        let mut keys: Vec<Vec<u8>> = Vec::new();
        for length in 0..40 {
            keys.push(vec![b'x'; length]);
            for (at, change) in (0..length).flat_map(|at| (1..64).map(move |change| (at, change))) {
                let mut key = vec![b'x'; length];
                key[at] ^= change;
                keys.push(key);
            }
        }
        let tables = [(); 3].map(|()| KeyTable::new());
        let hashes: std::collections::HashSet<_> =
            keys.iter().map(|key| tables.each_ref().map(|table| table.hash(key).0)).collect();
        assert_eq!(hashes.len(), keys.len(), "two keys have one hash, whatever the seed");
    }
}
