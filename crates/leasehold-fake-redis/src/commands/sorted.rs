//! The commands about sorted sets. Scores are whole numbers here, as the scripts write them.

use super::{NO_INTEGER, Step, WRONGTYPE, number};
use crate::{
    data::{Entry, Scores, Value},
    protocol::Reply,
};
use std::cmp::Ordering;

impl Step<'_> {
    /// The members of the key, which are none if there is no key.
    fn scores(&self) -> Result<Option<&Scores>, Reply> {
        match self.entry().map(|entry| &entry.value) {
            None => Ok(None),
            Some(Value::Sorted(scores)) => Ok(Some(scores)),
            Some(_) => Err(Reply::error(WRONGTYPE)),
        }
    }

    /// Lets these be the members of the key, whose TTL stays. Without any, the key is gone.
    fn put_scores(&mut self, scores: Scores) {
        let expires_ms = self.entry().and_then(|entry| entry.expires_ms);
        let value = Value::Sorted(scores);
        let is_empty = matches!(&value, Value::Sorted(scores) if scores.is_empty());
        self.put((!is_empty).then_some(Entry { value, expires_ms }));
    }

    /// `ZADD key score member [score member …]`.
    pub(super) fn zadd(&mut self) -> Reply {
        let pairs = &self.words[2..];
        if pairs.len() % 2 == 1 {
            return Reply::error("ERR syntax error");
        }
        let pairs = pairs.chunks_exact(2);
        let pairs = pairs.map(|pair| Ok((pair[1].clone(), score(&pair[0])?)));
        let pairs: Vec<_> = match pairs.collect::<Result<_, Reply>>() {
            Ok(pairs) => pairs,
            Err(wrong) => return wrong,
        };
        let mut scores = match self.scores() {
            Ok(scores) => scores.cloned().unwrap_or_default(),
            Err(wrong) => return wrong,
        };
        let before = scores.len();
        scores.extend(pairs);
        let new = scores.len() - before;
        self.put_scores(scores);
        count(new)
    }

    pub(super) fn zscore(&mut self) -> Reply {
        match self.scores() {
            Ok(scores) => scores
                .and_then(|scores| scores.get(&self.words[2]))
                .map_or(Reply::Nil, |score| told(*score)),
            Err(wrong) => wrong,
        }
    }

    pub(super) fn zrem(&mut self) -> Reply {
        let members = &self.words[2..];
        self.drop_members(|member, _| members.contains(member))
    }

    /// `ZRANGE key start stop [WITHSCORES]`, by places; or `ZRANGE key (min +inf BYSCORE`.
    pub(super) fn zrange(&mut self) -> Reply {
        if let [option] = &self.words[4..]
            && option.eq_ignore_ascii_case(b"BYSCORE")
        {
            return self.members_above();
        }
        let with_scores = match &self.words[4..] {
            [] => false,
            [option] if option.eq_ignore_ascii_case(b"WITHSCORES") => true,
            _ => return Reply::error("MODEL does not know these options of ZRANGE"),
        };
        let (Some(start), Some(stop)) = (number(&self.words[2]), number(&self.words[3])) else {
            return Reply::error(NO_INTEGER);
        };
        let scores = match self.scores() {
            Ok(scores) => scores,
            Err(wrong) => return wrong,
        };
        let mut members: Vec<_> = scores.into_iter().flatten().collect();
        members.sort_by(in_order);
        let places = range(start, stop, members.len());
        let found = members.get(places).unwrap_or_default();
        let parts = found.iter().flat_map(|(member, score)| {
            let score = with_scores.then(|| told(**score));
            [Some(Reply::Bulk((*member).clone())), score]
        });
        Reply::List(parts.flatten().collect())
    }

    fn members_above(&self) -> Reply {
        let (Some(least), b"+inf") = (self.words[2].strip_prefix(b"("), &*self.words[3]) else {
            return Reply::error("MODEL looks for all scores above one");
        };
        let (least, scores) = match (score(least), self.scores()) {
            (Ok(least), Ok(scores)) => (least, scores),
            (Err(wrong), _) | (_, Err(wrong)) => return wrong,
        };
        let above = |found: &(&Vec<u8>, &i64)| *found.1 > least;
        let mut members: Vec<_> = scores.into_iter().flatten().filter(above).collect();
        members.sort_by(in_order);
        let members = members.into_iter().map(|(member, _)| member.clone());
        Reply::List(members.map(Reply::Bulk).collect())
    }

    /// `ZREMRANGEBYSCORE key -inf max`.
    pub(super) fn zremrangebyscore(&mut self) -> Reply {
        if !self.words[2].eq_ignore_ascii_case(b"-inf") {
            return Reply::error("MODEL removes from the lowest score on");
        }
        match score(&self.words[3]) {
            Ok(most) => self.drop_members(|_, score| score <= most),
            Err(Reply::Error(wrong)) if wrong == NO_FLOAT => {
                Reply::error("ERR min or max is not a float")
            }
            Err(wrong) => wrong,
        }
    }

    fn drop_members(&mut self, goes: impl Fn(&Vec<u8>, i64) -> bool) -> Reply {
        let mut scores = match self.scores() {
            Ok(None) => return Reply::Integer(0),
            Ok(Some(scores)) => scores.clone(),
            Err(wrong) => return wrong,
        };
        let before = scores.len();
        scores.retain(|member, score| !goes(member, *score));
        let gone = before - scores.len();
        if gone > 0 {
            self.put_scores(scores);
        }
        count(gone)
    }
}

/// By score, and members of one score by their bytes.
fn in_order(one: &(&Vec<u8>, &i64), other: &(&Vec<u8>, &i64)) -> Ordering {
    (one.1, one.0).cmp(&(other.1, other.0))
}

/// Which of so many places these are: negative ones are counted from the end.
fn range(start: i64, stop: i64, length: usize) -> std::ops::Range<usize> {
    let length = i64::try_from(length).unwrap_or(i64::MAX);
    let place = |at: i64| {
        if at < 0 {
            at.saturating_add(length)
        } else {
            at
        }
    };
    let (start, end) = (place(start).max(0), place(stop).min(length - 1) + 1);
    let place = |at: i64| usize::try_from(at).unwrap_or_default();
    place(start)..place(end).max(place(start))
}

/// A score, as far as doubles keep whole numbers apart.
fn score(word: &[u8]) -> Result<i64, Reply> {
    let text = std::str::from_utf8(word).unwrap_or_default();
    match number(word) {
        Some(score) if score.unsigned_abs() <= 1 << 53 => Ok(score),
        _ if text.parse::<f64>().is_ok_and(|score| !score.is_nan()) => {
            Err(Reply::error("MODEL knows scores that are whole numbers"))
        }
        _ => Err(Reply::error(NO_FLOAT)),
    }
}

/// A whole number of at most 16 digits is told without a point and without an exponent.
fn told(score: i64) -> Reply {
    Reply::Bulk(score.to_string().into_bytes())
}

fn count(members: usize) -> Reply {
    Reply::Integer(i64::try_from(members).unwrap_or(i64::MAX))
}

const NO_FLOAT: &str = "ERR value is not a valid float";

#[cfg(test)]
mod tests;
