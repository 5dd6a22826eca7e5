#![no_main]

libfuzzer_sys::fuzz_target!(|data: &[u8]| kinformer::fuzzing::alike_objects(data));
