//! Texts as C wants them.

/// Texts in one block, each with a NUL after it.
#[derive(Debug, Default)]
pub(crate) struct Texts {
    block: Box<[u8]>,
    /// Where each of them ends, after its NUL.
    ends: Box<[usize]>,
}

impl Texts {
    pub(crate) fn len(&self) -> usize {
        self.ends.len()
    }

    /// One of them, with its NUL.
    pub(crate) fn get(&self, at: usize) -> Option<&[u8]> {
        let start = at.checked_sub(1).map_or(Some(&0), |before| self.ends.get(before))?;
        self.block.get(*start..*self.ends.get(at)?)
    }
}

impl<T: AsRef<str>> FromIterator<T> for Texts {
    fn from_iter<I: IntoIterator<Item = T>>(texts: I) -> Self {
        let (mut block, mut ends) = (Vec::new(), Vec::new());
        for text in texts {
            block.extend_from_slice(text.as_ref().as_bytes());
            block.push(0);
            ends.push(block.len());
        }
        Self { block: block.into(), ends: ends.into() }
    }
}

#[cfg(test)]
mod tests {
    use super::*;

    #[test]
    fn each_text_has_a_nul_after_it() {
        let texts: Texts = ["ab", "", "c"].into_iter().collect();
        assert_eq!(texts.len(), 3);
        assert_eq!(texts.get(0), Some(&b"ab\0"[..]));
        assert_eq!(texts.get(1), Some(&b"\0"[..]));
        assert_eq!(texts.get(2), Some(&b"c\0"[..]));
        assert_eq!(texts.get(3), None);
        assert_eq!(Texts::default().get(0), None);
    }
}
