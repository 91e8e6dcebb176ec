//! Every course that the fencing tokens of a few attempts can take: argument S4.
//!
//! The client's side is `leasehold_core::fence::Settling`, the nodes are production tables. There are no clocks
//! and no TTLs: a key may vanish at any moment, which stands for everything that ends one (its TTL, a clock that
//! steps, a release). Proposals are any of a few numbers. Requests and answers are carried out and heard in any
//! order, at any time, or never: so nothing needs to be lost, and an attempt that has failed is one that hears
//! no more.
//!
//! Exhaustive within bounds:
//! * Each shape states its attempts, their proposals, and how many keys vanish. One resource, one counter.
//! * A request that is refused is taken for one that is not carried out, since nobody hears anything of it that
//!   matters; only the refusal of a second round's request is a step of its own.
//! * Worlds that differ only in which node is which are one world: nodes are alike, and neither side ever looks
//!   at a node's number. Attempts that have not begun are alike, so that the first of them is the next.
//! * As elsewhere, worlds are told apart by hashes of 64 bits.
//!
//! A `shape` says what is modelled; a `site` is a node with what is under way to it and from it; `attempt` and
//! `site` make up a `world`, which a `step` leads to the next; `model` and `run` are for the checker. `flaw` and
//! `news` are words.

mod attempt;
mod flaw;
mod model;
mod news;
mod run;
mod shape;
mod site;
mod step;
#[cfg(test)]
mod tests;
mod world;

pub(crate) use run::{explore, retell, shortest};
pub(crate) use shape::{Law, Shape};
