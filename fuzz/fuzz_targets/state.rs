#![no_main]

libfuzzer_sys::fuzz_target!(|data: &[u8]| stonet_cli::attacks::state(data));
