#![no_main]

libfuzzer_sys::fuzz_target!(|bytes: &[u8]| ocorl_fuzz::measured_csv(bytes));
