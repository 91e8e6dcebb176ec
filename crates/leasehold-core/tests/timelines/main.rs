//! Narrated timelines: stories of one engine, told in `testdata/*.txt` and played against the engine.
//!
//! A story begins with a comment that says what happens and why it must. Then:
//!
//! ```text
//! engine nodes=5 ttl=10s drift=1%+2ms limit=500ms tries=3 pause=100ms patience=2s unreachable=3s
//! 0ms acquire a              # also: extend a, extend a ttl=20s, heartbeat a, release a, cancel a,
//!                            # handover a, takeover a by=bob, inspect a, evict a by=bob,
//!                            # prolong a by=bob
//! 1ms acquire b like a       # somebody else who wants what a wants
//! 2ms n0 n1 granted          # answers the oldest request that the node has not answered yet
//! 3ms n2 refused by=bob left=4s   # `by=itself`: by the owner of the attempt that asks
//! 4ms n3 down                # also: busy, rejected, disconnected, timedout, twin
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
//! `heartbeat=2s`, `danger=3s`, `margin=5ms`, `delay=1s`, `steps=300ms` margin for clocks that are set,
//! `forgetful=2` nodes tolerated, `token=yes`, `epoch=1000s` on the wall at 0 ms, `queues=1`, `one=1` node first,
//! `permits=2`: all want permits, of so many. Of these, `refused taken=0:4s,1:2s/2` tells which slots are taken, for how long,
//! and of how many, and `by=permit:1/2` is somebody who has one.
//!
//! With tokens: `granted 7` tells a counter. With a guard: `abstains 12s`, `disagrees`. Of a node itself:
//! `n0 clock 5005ms asked 10ms`, `n0 link up ID`, `n0 changed a`, `n0 changed` of any key.
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
    a_caller_that_gives_up_leaves_its_turn_to_the_next
    a_caller_that_joins_a_renewal_waits_for_the_time_limit_only
    a_caller_that_others_bypass_asks_all_nodes_at_once
    a_caller_that_was_refused_for_a_cancelled_one_asks_when_that_is_taken_back
    a_caller_whose_time_was_spent_behind_others_is_not_told_of_silence
    a_clean_release_needs_no_delay
    a_cut_attempt_does_not_hide_what_was_found_before
    a_danger_may_come_twice
    a_decided_loss_is_released_everywhere_at_once
    a_disagreement_ends_the_acquisition_at_once
    a_disagreement_is_waited_for_behind_a_node_that_is_down
    a_disagreement_of_too_few_is_not_waited_for_for_ever
    a_failed_extension_counts_nodes_and_changes_nothing
    a_free_slot_is_asked_for_although_a_node_is_down
    a_grant_that_tells_no_counter_is_no_vote_for_a_token
    a_hold_may_be_shorter_than_the_ttl
    a_holder_that_reports_no_progress_loses_the_lease
    a_hurried_caller_rests_for_half_of_the_time_before_its_last_try
    a_key_that_is_gone_before_it_is_watched_hurries_the_extension
    a_key_that_is_gone_is_told_although_a_node_is_down
    a_key_that_is_left_behind_is_waited_for_by_nobody
    a_key_that_is_touched_during_an_extension_is_looked_at_again
    a_late_answer_to_a_raise_or_an_extension_deletes_nothing
    a_late_answer_to_an_earlier_extension_does_not_confirm_the_lease
    a_late_answer_to_an_earlier_extension_repairs_nothing
    a_late_grant_below_the_token_is_raised
    a_late_grant_beyond_the_token_stands_for_nothing
    a_late_grant_is_taken_back_by_the_release_that_was_sent
    a_late_grant_of_a_second_address_does_not_stand_for_the_lease
    a_late_grant_of_the_winner_is_kept
    a_late_grant_that_tells_no_counter_does_not_stand_for_the_token
    a_late_grant_that_tells_the_token_stands_for_it
    a_lease_is_extended_by_itself_in_thirds
    a_lease_is_not_extended_more_often_than_it_may_be
    a_lease_is_not_held_longer_than_it_may_be
    a_lease_that_a_step_ends_tells_why
    a_lease_that_is_held_for_long_has_its_keys_watched
    a_lease_that_is_released_when_it_is_over_leaves_the_turn_to_the_next
    a_lease_that_no_hint_hurries_has_no_keys_watched
    a_lease_that_nobody_confirms_is_lost_at_its_end
    a_lease_that_was_lost_keeps_nothing
    a_lease_that_was_over_is_not_called_released
    a_link_that_is_up_again_takes_held_back_releases_as_it_has_room
    a_lost_lease_leaves_the_turn_to_the_next
    a_margin_is_taken_off_the_lease
    a_new_process_on_a_node_does_not_hide_a_step
    a_node_that_cannot_be_asked_is_no_reason_to_wait_for_the_others
    a_node_that_comes_back_is_asked_at_once_if_the_lease_is_in_trouble
    a_node_that_has_not_voted_is_given_no_key_together_with_one_that_has
    a_node_that_is_repaired_is_proposed_the_token
    a_node_that_is_set_forward_while_it_is_raised_is_not_waited_for
    a_node_that_is_silent_is_no_reason_to_ask_for_another_slot
    a_node_that_lost_the_key_is_given_it_again
    a_node_that_refused_and_has_the_key_is_a_twin
    a_node_that_refused_is_asked_to_release_again
    a_node_that_says_nothing_is_not_waited_for_beyond_its_time
    a_node_that_tells_after_the_end_that_it_lost_the_key_gets_none
    a_node_that_tells_late_that_it_lost_the_key_is_given_it_again
    a_node_that_was_away_at_the_vote_and_has_the_key_is_a_twin
    a_patient_caller_gets_one_last_try_before_the_deadline
    a_permit_that_is_given_back_is_the_next_callers_of_the_engine_in_the_same_turn
    a_permit_that_is_taken_over_stays_in_its_slot
    a_proposal_is_the_wall_clock_in_microseconds
    a_quorum_that_abstains_is_waited_for_without_using_up_the_tries
    a_quorum_that_tells_one_counter_needs_one_round
    a_quorum_that_tolerates_forgetful_nodes_is_larger
    a_raise_that_comes_to_another_server_does_not_stand_for_the_token
    a_raise_that_is_refused_loses_the_attempt
    a_refusing_node_is_asked_to_release_with_growing_pauses
    a_release_is_told_at_a_quorum_of_deletions
    a_release_of_what_another_holds_says_so
    a_release_that_finds_nothing_after_a_late_grant_is_repeated
    a_release_that_has_deleted_one_repair_may_have_missed_another
    a_release_that_is_repeated_asks_again
    a_release_that_too_few_answered_is_not_called_done
    a_release_whose_answer_is_lost_is_repeated_without_a_new_connection
    a_renewal_that_fails_is_tried_again_until_it_succeeds
    a_repair_that_lands_after_the_release_is_released
    a_repair_whose_answer_is_lost_makes_no_twin
    a_second_answer_of_a_node_does_not_stand_for_the_token
    a_server_that_moved_to_another_address_votes_there
    a_server_under_two_addresses_confirms_once
    a_server_under_two_addresses_has_one_vote
    a_server_under_two_addresses_tells_once
    a_short_hold_keeps_the_keys_for_the_rest
    a_short_ttl_does_not_hurry_the_nodes_for_ever
    a_shorter_extension_takes_nothing_away
    a_silent_quorum_is_unreachable_and_names_the_faults
    a_single_try_does_not_wait_for_those_who_abstain
    a_single_try_looks_at_all_slots
    a_slot_that_is_taken_is_left_for_one_that_is_free_without_a_pause
    a_step_beyond_the_rest_of_a_limited_hold_ends_nothing
    a_step_during_a_vote_takes_the_grant_back
    a_step_during_an_extension_and_one_after_it_add_up
    a_step_during_an_extension_takes_its_confirmation_back
    a_step_during_the_vote_and_one_after_it_add_up
    a_step_that_leaves_a_quorum_cuts_nothing
    a_step_that_leaves_no_quorum_cuts_the_lease_and_hurries_the_extension
    a_step_within_the_margin_costs_nothing
    a_straggler_after_the_loss_is_released_when_it_lands
    a_straggler_undoes_an_answered_release
    a_timer_that_is_late_for_the_deadline_begins_no_try
    a_token_is_not_agreed_on_by_nodes_of_two_lists
    a_token_that_is_agreed_on_after_the_validity_is_too_late
    a_ttl_begins_when_a_hung_node_acts
    a_twin_is_given_no_key
    a_twin_is_given_no_key_in_place_of_a_silent_node
    a_twin_is_no_vote
    a_twin_is_none_of_the_nodes_that_a_lease_stands_on
    a_vote_is_not_won_by_nodes_of_two_lists
    a_vote_that_a_step_decides_ends_at_once
    a_waiter_is_woken_by_those_who_refused
    acknowledgements_after_the_old_deadline_are_too_late
    after_a_loss_the_keys_stay_for_the_delay
    all_grants_after_the_validity_are_too_late
    an_abstention_beyond_the_patience_ends_with_it
    an_acknowledgement_of_an_earlier_extension_does_not_count
    an_answer_to_an_earlier_attempt_does_not_count
    an_answer_to_an_earlier_release_ends_nothing
    an_eviction_asks_for_the_keys_of_one_owner
    an_extended_key_is_cleaned_up_for_a_ttl_from_its_extension
    an_extension_by_owner_counts_a_server_once
    an_extension_counts_from_its_own_start
    an_extension_is_not_won_by_nodes_of_two_lists
    an_extension_that_waited_for_the_last_one_is_refused
    an_extension_that_waits_in_a_hung_node_is_not_forgotten
    an_extension_to_another_ttl_waits_for_the_one_under_way
    an_owner_who_is_extended_after_the_validity_is_told_of_none
    an_owner_whom_too_few_nodes_carry_is_not_extended
    an_owner_without_a_renewal_is_extended_by_a_quorum
    an_uncontended_resource_is_won_by_the_first_quorum
    another_slot_is_asked_for_in_the_same_try
    callers_of_one_engine_are_served_in_the_order_of_their_coming
    callers_of_one_engine_ask_for_permits_in_slots_of_their_own
    cancelling_during_the_second_round_releases_everywhere
    cancelling_in_mid_vote_releases_everywhere
    counters_that_differ_are_raised_to_the_largest
    four_nodes_need_three
    keys_are_taken_over_under_a_new_owner
    keys_that_are_gone_from_too_many_nodes_are_a_loss_at_once
    keys_that_are_taken_over_get_a_token_of_their_own
    leases_of_the_same_age_have_their_keys_watched_together
    no_node_is_given_the_key_before_a_quorum_confirms
    nodes_that_are_slow_are_waited_for_and_not_asked_again
    nodes_that_have_not_voted_are_given_the_key_one_by_one
    one_lost_key_and_one_late_node_do_not_prove_the_lock_gone
    one_node_is_its_own_quorum
    one_node_that_abstains_costs_nothing
    one_node_that_disagrees_costs_its_vote_only
    one_node_with_permits_of_another_number_is_no_reason_although_another_is_down
    one_node_with_permits_of_another_number_is_outvoted
    one_nodes_word_is_not_waited_for_alone
    permits_have_tokens_and_the_first_votes_counters_are_raised
    permits_of_another_number_are_refused_although_a_node_is_down
    permits_of_another_number_are_refused_at_once
    releases_for_which_a_link_has_no_room_leave_as_it_answers
    steps_within_the_margin_that_exceed_it_together_cut_the_lease
    the_end_of_a_key_is_waited_for_by_the_clock
    the_last_of_three_grants_decides
    the_last_try_is_followed_by_no_pause
    the_others_are_asked_if_the_first_is_silent
    the_permit_that_ends_first_is_waited_for_by_the_clock
    the_second_round_ends_with_the_callers_patience
    the_second_round_has_as_much_time_as_the_first
    those_who_wait_meet_elsewhere_until_a_silent_node_answers
    two_answers_of_one_node_count_once
    two_nodes_need_both
    unreachable_nodes_are_given_up_after_the_configured_time
    what_a_dead_node_kept_is_released_when_its_link_is_up
    what_is_handed_over_is_left_and_what_was_lost_is_taken_back
    what_is_taken_over_is_not_waited_for
    what_is_taken_over_must_be_one_of_the_permits
    what_was_given_back_and_taken_by_others_is_asked_for_once
    what_was_given_back_is_not_handed_over
    whoever_asks_one_node_first_goes_on_to_another_slot_there
    whoever_comes_back_lets_those_go_first_who_lost
    whoever_comes_too_late_for_nine_slots_pauses
    whoever_finds_all_permits_taken_is_told_of_a_free_one_and_asks_for_it
    whoever_is_divided_from_others_waits_twice_as_long_each_time
    whoever_is_next_asks_again_soon_where_nobody_can_have_it
    whoever_is_not_next_for_a_permit_asks_for_no_other_slot
    whoever_is_not_next_lets_the_next_ask_first
    whoever_is_refused_what_is_free_is_told_how_many_come_first
    whoever_is_refused_without_a_word_asks_who_it_is
    whoever_is_told_of_changes_asks_after_a_second_all_the_same
    whoever_waits_for_a_fair_lock_keeps_its_ticket
    whoever_waits_for_a_fair_lock_shows_itself_once_a_second
    whoever_was_called_asks_one_node_first
    whoever_wins_a_free_fair_lock_costs_nothing_more
    whoever_wins_at_once_leaves_where_it_was_refused
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
