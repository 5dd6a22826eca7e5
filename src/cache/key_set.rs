//! A set of keys that shares its hashes with a table.

use super::key_table::{KeyHash, KeyTable};
use crate::object::ObjectKey;

/// Keys that can be looked up by a hash which somebody else has computed already.
#[derive(Debug)]
pub(super) struct KeySet {
    table: KeyTable,
    /// With those that were removed.
    keys: Vec<ObjectKey>,
    removed: usize,
}

impl KeySet {
    /// An empty set whose hashes are those of `table`.
    pub(super) fn beside(table: &KeyTable) -> Self {
        Self { table: table.sibling(), keys: Vec::new(), removed: 0 }
    }

    pub(super) fn len(&self) -> usize {
        self.keys.len() - self.removed
    }

    pub(super) fn contains(&self, hash: KeyHash, key: &ObjectKey) -> bool {
        self.find(hash, key).is_some()
    }

    pub(super) fn insert(&mut self, hash: KeyHash, key: &ObjectKey) {
        if !self.contains(hash, key) {
            self.table.insert(hash, self.keys.len() as u32);
            self.keys.push(key.clone());
        }
    }

    pub(super) fn remove(&mut self, hash: KeyHash, key: &ObjectKey) {
        if let Some(position) = self.find(hash, key) {
            self.table.remove(hash, position);
            self.removed += 1;
        }
    }

    fn find(&self, hash: KeyHash, key: &ObjectKey) -> Option<u32> {
        self.table.find(hash, |position| self.keys[position as usize] == *key)
    }
}

#[cfg(test)]
mod tests {
    use super::*;

    #[test]
    fn keys_are_in_it_from_insert_to_remove() {
        let table = KeyTable::new();
        let mut set = KeySet::beside(&table);
        let hashed = |key: &str| (table.hash(key), ObjectKey::from(key));
        let ((hash_a, a), (hash_b, b)) = (hashed("a"), hashed("b"));
        set.insert(hash_a, &a);
        set.insert(hash_a, &a);
        set.insert(hash_b, &b);
        assert_eq!(set.len(), 2);
        set.remove(hash_a, &a);
        set.remove(hash_a, &a);
        assert_eq!(
            (set.len(), set.contains(hash_a, &a), set.contains(hash_b, &b)),
            (1, false, true)
        );
        set.insert(hash_a, &a);
        assert_eq!((set.len(), set.contains(hash_a, &a)), (2, true));
    }
}
