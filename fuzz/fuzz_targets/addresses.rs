//! Addresses of nodes, and lists of them. What is shown of one is an address again, and the same.

#![no_main]

use leasehold::{config::NodeUrls, link::redis::RedisUrl};
use libfuzzer_sys::fuzz_target;

fuzz_target!(|text: &str| {
    match text.parse::<RedisUrl>() {
        Ok(url) => {
            let shown = url.to_string();
            let again: RedisUrl = shown.parse().expect("it was shown");
            assert_eq!(again.to_string(), shown, "{text:?}");
            assert_eq!(again.name(), url.name(), "{text:?}");
            assert_eq!(format!("{url:?}"), format!("RedisUrl({shown})"));
        }
        Err(error) => assert!(!error.to_string().is_empty()),
    }
    if let Ok(list) = NodeUrls::parse(text) {
        assert!(!list.urls().is_empty());
    }
});
