//! Random sequences of operations against models: the same that `fuzz/` runs, for a few seconds.

use kinformer::fuzzing;
use proptest::{collection::vec, prelude::*};

proptest! {
    #![proptest_config(ProptestConfig { cases: 2_000, ..ProptestConfig::default() })]

    #[test]
    fn a_queue_does_what_its_model_does(data in vec(any::<u8>(), 0..120)) {
        fuzzing::delta_fifo(&data);
    }

    #[test]
    fn indices_are_what_one_finds_by_looking_at_everything(data in vec(any::<u8>(), 0..120)) {
        fuzzing::store_index(&data);
    }

    #[test]
    fn selectors_are_read_printed_and_matched_as_they_are_meant(data in vec(any::<u8>(), 0..60)) {
        fuzzing::labels(&data);
    }
}

#[test]
fn an_index_function_that_panics_now_and_then_spoils_nothing() {
    // Few cases: each panic prints its message.
    let config = ProptestConfig { cases: 3, ..ProptestConfig::default() };
    proptest!(config, |(data in vec(any::<u8>(), 0..40))| {
        fuzzing::store_index_with_panics(&data);
    });
}
