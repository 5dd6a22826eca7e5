//! Things that must be unlike each other.

/// A random UUID of version 4.
pub(super) fn uuid() -> String {
    let mut bytes: [u8; 16] = random();
    bytes[6] = bytes[6] & 0x0f | 0x40;
    bytes[8] = bytes[8] & 0x3f | 0x80;
    let hex: String = bytes.iter().map(|byte| format!("{byte:02x}")).collect();
    [&hex[..8], &hex[8..12], &hex[12..16], &hex[16..20], &hex[20..]].join("-")
}

/// What the server appends to a `generateName`: five letters that spell no word.
pub(super) fn name_suffix() -> String {
    const LETTERS: &[u8; 27] = b"bcdfghjklmnpqrstvwxz2456789";
    random::<5>().iter().map(|byte| char::from(LETTERS[usize::from(*byte) % 27])).collect()
}

fn random<const N: usize>() -> [u8; N] {
    let mut bytes = [0; N];
    // Only fails where the system has no source of randomness at all; then names collide, which the
    // store reports.
    let _ = rustls::crypto::ring::default_provider().secure_random.fill(&mut bytes);
    bytes
}

#[cfg(test)]
mod tests {
    use super::*;

    #[test]
    fn uuids_have_their_shape_and_differ() {
        let (one, other) = (uuid(), uuid());
        assert_eq!(one.len(), 36);
        assert_eq!(&one[14..15], "4");
        assert_ne!(one, other);
        assert_eq!(name_suffix().len(), 5);
    }
}
