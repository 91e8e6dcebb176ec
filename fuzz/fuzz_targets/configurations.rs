//! Configuration files.

#![no_main]

use leasehold::config::Config;
use libfuzzer_sys::fuzz_target;
use std::{env, fs, path::PathBuf, process, sync::LazyLock};

static FILE: LazyLock<PathBuf> = LazyLock::new(|| {
    let name = format!("leasehold-fuzz-{}.toml", process::id());
    env::temp_dir().join(name)
});

fuzz_target!(|text: &str| {
    fs::write(&*FILE, text).expect("there is room");
    match Config::read(&FILE) {
        Ok(config) => {
            drop(config.requires_nodes());
            drop(config.cluster(None));
            drop(config.cluster(Some("main")));
        }
        Err(error) => assert!(!error.to_string().is_empty()),
    }
    drop(fs::remove_file(&*FILE));
});
