//! Narrated timelines: stories of one engine, told in `testdata/*.txt` and played against the engine.
//!
//! A story begins with a comment that says what happens and why it must. Then:
//!
//! ```text
//! engine nodes=5 ttl=10s drift=1%+2ms limit=500ms tries=3 pause=100ms patience=2s unreachable=3s
//! 0ms acquire a              # also: extend a, extend a ttl=20s, heartbeat a, release a, cancel a,
//!                            # handover a, takeover a by=bob, inspect a, evict a by=bob
//! 2ms n0 n1 granted          # answers the oldest request that the node has not answered yet
//! 3ms n2 refused by=bob left=4s
//! 4ms n3 down                # also: busy, rejected, disconnected, timedout
//! 5ms n0 granted again       # the answer to the node's last answered request, once more
//! 6ms n4 granted to a.0.0    # the answer to this request: operation, attempt, step
//! 7ms n3 link up             # also: link down
//! 8ms asleep                 # the engine's timers are not heard …
//! 9s awake                   # … until now
//! 20s wait                   # nothing happens until then, but timers
//! ----
//! ```
//!
//! Further options: `renew=thirds` or `renew=2s`, `most=3` extensions, `hold=60s` at most, `least=5s`,
//! `heartbeat=2s`, `danger=3s`, `margin=5ms`, `delay=1s`.
//!
//! Below the line stands everything that the engine asked, told, and had left at the end. Timers are
//! heard in time unless the story says otherwise, also the last ones before a moment that is the story's
//! own. `TIMELINES=print` shows what the engine did; no run ever writes to the files.

mod difference;
mod picture;
mod script;
mod stage;

use std::{fs, io::Write, path::PathBuf};

macro_rules! stories {
    ($($name:ident)*) => {
        const STORIES: &[&str] = &[$(stringify!($name)),*];
        $(
            #[test]
            fn $name() {
                play(stringify!($name));
            }
        )*
    };
}

stories! {
    a_clean_release_needs_no_delay
    a_danger_may_come_twice
    a_decided_loss_is_released_everywhere_at_once
    a_failed_extension_counts_nodes_and_changes_nothing
    a_hold_may_be_shorter_than_the_ttl
    a_holder_that_reports_no_progress_loses_the_lease
    a_hurried_caller_rests_for_half_of_the_time_before_its_last_try
    a_late_grant_of_the_winner_is_kept
    a_lease_is_extended_by_itself_in_thirds
    a_lease_is_not_extended_more_often_than_it_may_be
    a_lease_is_not_held_longer_than_it_may_be
    a_lease_that_nobody_confirms_is_lost_at_its_end
    a_lease_that_was_lost_keeps_nothing
    a_lease_that_was_over_is_not_called_released
    a_margin_is_taken_off_the_lease
    a_node_that_cannot_be_asked_is_no_reason_to_wait_for_the_others
    a_node_that_comes_back_is_asked_at_once_if_the_lease_is_in_trouble
    a_node_that_lost_the_key_is_given_it_again
    a_node_that_refused_is_asked_to_release_again
    a_node_that_tells_after_the_end_that_it_lost_the_key_gets_none
    a_node_that_tells_late_that_it_lost_the_key_is_given_it_again
    a_patient_caller_gets_one_last_try_before_the_deadline
    a_refusing_node_is_asked_to_release_with_growing_pauses
    a_release_is_told_at_a_quorum_of_deletions
    a_release_of_what_another_holds_says_so
    a_release_that_is_repeated_asks_again
    a_release_that_too_few_answered_is_not_called_done
    a_renewal_that_fails_is_tried_again_until_it_succeeds
    a_repair_that_lands_after_the_release_is_released
    a_short_hold_keeps_the_keys_for_the_rest
    a_short_ttl_does_not_hurry_the_nodes_for_ever
    a_shorter_extension_takes_nothing_away
    a_silent_quorum_is_unreachable_and_names_the_faults
    a_straggler_after_the_loss_is_released_when_it_lands
    a_straggler_undoes_an_answered_release
    a_timer_that_is_late_for_the_deadline_begins_no_try
    a_ttl_begins_when_a_hung_node_acts
    acknowledgements_after_the_old_deadline_are_too_late
    after_a_loss_the_keys_stay_for_the_delay
    all_grants_after_the_validity_are_too_late
    an_acknowledgement_of_an_earlier_extension_does_not_count
    an_answer_to_an_earlier_attempt_does_not_count
    an_answer_to_an_earlier_release_ends_nothing
    an_eviction_asks_for_the_keys_of_one_owner
    an_extended_key_is_cleaned_up_for_a_ttl_from_its_extension
    an_extension_counts_from_its_own_start
    an_extension_that_waited_for_the_last_one_is_refused
    an_extension_that_waits_in_a_hung_node_is_not_forgotten
    an_extension_to_another_ttl_waits_for_the_one_under_way
    an_uncontended_resource_is_won_by_the_first_quorum
    cancelling_in_mid_vote_releases_everywhere
    four_nodes_need_three
    keys_are_taken_over_under_a_new_owner
    keys_that_are_gone_from_too_many_nodes_are_a_loss_at_once
    no_node_is_given_the_key_before_a_quorum_confirms
    one_lost_key_and_one_late_node_do_not_prove_the_lock_gone
    one_node_is_its_own_quorum
    the_last_of_three_grants_decides
    the_last_try_is_followed_by_no_pause
    two_answers_of_one_node_count_once
    two_nodes_need_both
    unreachable_nodes_are_given_up_after_the_configured_time
    what_a_dead_node_kept_is_released_when_its_link_is_up
    what_is_handed_over_is_left_and_what_was_lost_is_taken_back
}

#[test]
fn every_story_is_played() {
    let mut files: Vec<_> = fs::read_dir(folder())
        .expect("the stories have a folder")
        .map(|entry| entry.expect("the folder can be read").path())
        .map(|path| {
            let stem = path.file_stem().expect("a story has a name");
            stem.to_string_lossy().into_owned()
        })
        .collect();
    files.sort();
    assert_eq!(files, STORIES);
}

fn play(name: &str) {
    let text = fs::read_to_string(folder().join(name).with_extension("txt"))
        .expect("every story has its file");
    let script = script::parse(&text).unwrap_or_else(|why| panic!("{name}.txt: {why}"));
    let happened = stage::run(&script);
    if std::env::var("TIMELINES").is_ok_and(|value| value == "print") {
        let mut out = std::io::stderr().lock();
        writeln!(out, "== {name}\n{}", happened.join("\n")).expect("there is a place to print to");
    }
    assert!(
        happened == script.expected,
        "{name}.txt (- expected, + happened):\n{}",
        difference::show(&script.expected, &happened)
    );
}

fn folder() -> PathBuf {
    [env!("CARGO_MANIFEST_DIR"), "testdata"].iter().collect()
}
