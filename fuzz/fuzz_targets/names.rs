//! Names of locks, the keys that they become, and the values under them.

#![no_main]

use leasehold::KeyFormat;
use leasehold_core::{Owner, Resource};
use libfuzzer_sys::fuzz_target;

fuzz_target!(|words: (&str, &str, &[u8])| {
    let (pattern, name, value) = words;
    if let (Ok(format), Ok(resource)) = (KeyFormat::new(pattern), Resource::new(name)) {
        assert!(format.key(resource.as_str()).contains(name));
    }
    if let Ok(several) = Resource::several(name.split('\t')) {
        assert_eq!(several.each().count(), several.names().count());
    }
    if let Some(owner) = Owner::from_bytes(value) {
        assert_eq!(owner.as_bytes(), value);
        let _ = (
            owner.label(),
            owner.permit(),
            owner.done_until(),
            owner.is_usual(),
        );
        drop((owner.done_by(), owner.to_string()));
    }
});
