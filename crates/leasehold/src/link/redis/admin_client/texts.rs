//! What operators say to nodes. Sent in full, since it is rare.

/// All of them, by what they do.
#[cfg(feature = "wire")]
pub(in crate::link::redis) const TEXTS: [(&str, &str); 5] = [
    ("survey", SURVEY),
    ("admit", ADMIT),
    ("block", BLOCK),
    ("succeed", SUCCEED),
    ("settle", SETTLE),
];

pub(super) const SURVEY: &str = concat!(
    "#!lua flags=no-writes\n",
    include_str!("../wait.lua"),
    include_str!("../counters.lua"),
    include_str!("../survey.lua")
);
pub(super) const ADMIT: &str = concat!("#!lua flags=allow-oom\n", include_str!("../admit.lua"));
pub(super) const BLOCK: &str = concat!(
    "#!lua flags=allow-oom\n",
    include_str!("../look.lua"),
    include_str!("../counters.lua"),
    include_str!("../block.lua")
);
pub(super) const SUCCEED: &str = concat!(
    "#!lua flags=allow-oom\n",
    include_str!("../look.lua"),
    include_str!("../counters.lua"),
    include_str!("../succeed.lua")
);
pub(super) const SETTLE: &str = concat!(
    "#!lua flags=allow-oom\n",
    include_str!("../wait.lua"),
    include_str!("../settle.lua")
);
