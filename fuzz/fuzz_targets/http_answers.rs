#![no_main]

libfuzzer_sys::fuzz_target!(|data: &[u8]| kinformer::fuzzing::http_answers(data));
