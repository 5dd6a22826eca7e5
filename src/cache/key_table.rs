//! A hash table over keys that live elsewhere.

use std::hash::{BuildHasher, RandomState};

use hashbrown::HashTable;

/// Finds where in a collection a key is. The collection has the keys; this has eight bytes for each.
#[derive(Debug)]
pub(super) struct KeyTable {
    seed: [u64; 2],
    table: HashTable<Slot>,
}

/// The hash of a key; keeps an operation from computing it twice.
#[derive(Clone, Copy, Debug, Eq, PartialEq)]
pub(super) struct KeyHash(u32);

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
        Self { seed, table: HashTable::new() }
    }

    /// An empty table with the same hashes.
    pub(super) fn sibling(&self) -> Self {
        Self { seed: self.seed, table: HashTable::new() }
    }

    pub(super) fn hash(&self, key: &str) -> KeyHash {
        let bytes = key.as_bytes();
        let mut state = self.seed[0] ^ bytes.len() as u64;
        let mut rest = bytes;
        while let Some((chunk, after)) = rest.split_first_chunk::<16>() {
            let (a, b) = chunk.split_at(8);
            state = fold(word(a) ^ self.seed[1], word(b) ^ state);
            rest = after;
        }
        let (a, b) = rest.split_at(rest.len().min(8));
        state = fold(word(a) ^ self.seed[1], word(b) ^ state);
        let mixed = fold(state, self.seed[1]);
        KeyHash((mixed >> 32) as u32 ^ mixed as u32)
    }

    /// The position for which `is_key` says yes, among those whose keys have this hash.
    pub(super) fn find(&self, hash: KeyHash, is_key: impl Fn(u32) -> bool) -> Option<u32> {
        let same = |slot: &Slot| slot.hash == hash && is_key(slot.position);
        self.table.find(spread(hash), same).map(|slot| slot.position)
    }

    /// Adds a key that is not there.
    pub(super) fn insert(&mut self, hash: KeyHash, position: u32) {
        self.table.insert_unique(spread(hash), Slot { hash, position }, |slot| spread(slot.hash));
    }

    /// Removes the key at `position`.
    pub(super) fn remove(&mut self, hash: KeyHash, position: u32) {
        let found = self.table.find_entry(spread(hash), |slot| slot.position == position);
        if let Ok(entry) = found {
            entry.remove();
        }
    }

    /// Makes room for so many keys more.
    pub(super) fn reserve(&mut self, keys: usize) {
        self.table.reserve(keys, |slot| spread(slot.hash));
    }

    /// Gives back what a burst of keys took.
    pub(super) fn shrink(&mut self) {
        self.table.shrink_to_fit(|slot| spread(slot.hash));
    }
}

fn fold(a: u64, b: u64) -> u64 {
    let product = u128::from(a) * u128::from(b);
    (product >> 64) as u64 ^ product as u64
}

/// Up to eight bytes as a number.
fn word(bytes: &[u8]) -> u64 {
    match *bytes {
        [a, b, c, d, e, f, g, h] => u64::from_le_bytes([a, b, c, d, e, f, g, h]),
        [a, b, c, d, ref rest @ ..] => {
            u64::from(u32::from_le_bytes([a, b, c, d])) | tail(rest) << 32
        }
        ref rest => tail(rest),
    }
}

fn tail(bytes: &[u8]) -> u64 {
    bytes.iter().rev().fold(0, |word, &byte| word << 8 | u64::from(byte))
}

/// The table takes its bucket from the low bits and its tag from the high ones.
fn spread(hash: KeyHash) -> u64 {
    u64::from(hash.0).wrapping_mul(0x9E37_79B9_7F4A_7C15)
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
    fn hashes_of_similar_keys_differ_and_depend_on_the_seed() {
        let table = KeyTable::new();
        let mut hashes: Vec<_> =
            (0..100_000).map(|n| table.hash(&format!("default/web-{n}")).0).collect();
        hashes.extend((0..40).map(|n| table.hash(&"x".repeat(n)).0));
        hashes.sort_unstable();
        hashes.dedup();
        assert!(hashes.len() > 100_000, "{} different of 100,040", hashes.len());
        let other = KeyTable::new();
        let same = (0..1000).filter(|n| table.hash(&n.to_string()) == other.hash(&n.to_string()));
        assert!(same.count() < 10);
    }
}
