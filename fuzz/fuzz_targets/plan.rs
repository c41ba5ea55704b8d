#![no_main]

libfuzzer_sys::fuzz_target!(|data: &[u8]| stonet::reference::random_head(data));
