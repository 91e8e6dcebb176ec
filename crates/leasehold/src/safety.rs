//! The safety arguments that items of this crate name as their source, in a sentence each.
//!
//! The arguments themselves, the assumptions that they rest on, and the tests and the wrong lines that they were tried
//! with are in `docs/SAFETY.md` of the repository.
//!
//! | | what it says |
//! |---|---|
//! | <span id="s1">S1</span> | Any two quorums share a node, and a node gives a key to one owner at a time. |
//! | <span id="s2">S2</span> | A key outlives the lease that stands on it: validity counts from before the first request. |
//! | <span id="s3">S3</span> | A key is extended or deleted only by the owner whose value it carries. |
//! | <span id="s4">S4</span> | Tokens order holders, whatever the clocks do. |
//! | <span id="s5">S5</span> | Every key that we may have set is released or expires. |
//! | <span id="s6">S6</span> | A guard never reports validity past its end. |
//! | <span id="s7">S7</span> | Extending never trusts more than the nodes keep, and counts nodes, not replies. |
//! | <span id="s8">S8</span> | No two attempts share an owner. |
//! | <span id="s9">S9</span> | A node that may have forgotten a vote does not vote. |
//! | <span id="s10">S10</span> | No wake-up is needed: hints make waiters faster, and nothing depends on them. |
//!
//! | | what is assumed |
//! |---|---|
//! | <span id="a1">A1</span> | The clocks of a client and of the nodes run at rates that differ by at most the drift allowance. |
//! | <span id="a2">A2</span> | No node's wall clock is set forward by more than the allowance while a lease lasts. |
//! | <span id="a3">A3</span> | A node that lost a vote does not vote again while a lease may rely on that vote. |
//! | <span id="a4">A4</span> | The holder's clock counts through suspend, and through the pause of a virtual machine. |
//! | <span id="a5">A5</span> | All who lock the same names agree on the list of nodes and their database number, on how many must agree, and on the maximum TTL. |
