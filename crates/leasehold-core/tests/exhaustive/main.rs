//! Small worlds, all of them: every table of votes for up to seven nodes, and every order in which three
//! nodes can answer one attempt and its release, or a token.

mod attempt;
mod token;
mod votes;
