#![no_main]

libfuzzer_sys::fuzz_target!(|data: &[u8]| kinformer::fuzzing::delta_fifo(data));
