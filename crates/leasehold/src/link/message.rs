//! A request as it goes from link to link.

use leasehold_core::{Instant, Request, Tag};
use std::sync::atomic::{AtomicU64, Ordering};

/// A request on its way to those nodes that it is for: one message, given to the link of each.
///
/// Links that say it in the same words put it into words once: the first of them writes them, and they go along.
#[derive(Debug)]
pub struct Message<'a> {
    tag: Tag,
    request: &'a Request,
    given: Instant,
    draft: &'a mut Draft,
}

/// Room for the words of a message, which is used again for the next.
#[derive(Debug, Default)]
pub struct Draft {
    /// Whose words they are; none if nobody has written any.
    wording: Option<Wording>,
    words: Vec<u8>,
    /// Where each link adds something of its own, if it does.
    gap: Option<usize>,
}

/// A way to put requests into words. Links have one in common if, and only if, each says every request as the other does,
/// but for what it adds of its own.
#[derive(Clone, Copy, Debug, PartialEq, Eq)]
pub struct Wording(u64);

impl Wording {
    /// One that is like no other.
    #[expect(clippy::new_without_default, reason = "no two are the same")]
    #[must_use]
    pub fn new() -> Self {
        static SPOKEN: AtomicU64 = AtomicU64::new(0);
        Self(SPOKEN.fetch_add(1, Ordering::Relaxed))
    }
}

impl<'a> Message<'a> {
    /// A request that is given to the first link at the time `given`, by the manager's clock. Its answers carry the tag.
    pub const fn new(tag: Tag, request: &'a Request, given: Instant, draft: &'a mut Draft) -> Self {
        // Argument S3: whatever it says is of another request, for another lock or owner.
        draft.wording = None;
        Self {
            tag,
            request,
            given,
            draft,
        }
    }

    /// The same message with another tag: words that were written for it go along.
    #[cfg(feature = "redis")]
    pub(crate) const fn tagged(&mut self, tag: Tag) -> Message<'_> {
        Message {
            tag,
            request: self.request,
            given: self.given,
            draft: self.draft,
        }
    }

    /// What its answers carry.
    #[must_use]
    pub const fn tag(&self) -> Tag {
        self.tag
    }

    /// What is asked.
    #[must_use]
    pub const fn request(&self) -> &'a Request {
        self.request
    }

    /// When it was given to the first link.
    #[must_use]
    pub const fn given(&self) -> Instant {
        self.given
    }

    /// The request in one wording: as another link wrote them before, or as `write` does now, which also tells
    /// where each link adds something of its own, if it does. Gives what stands before that, and what behind it.
    #[inline(always)]
    pub fn words(
        &mut self,
        wording: Wording,
        write: impl FnOnce(&Request, &mut Vec<u8>) -> Option<usize>,
    ) -> (&[u8], Option<&[u8]>) {
        if self.draft.wording != Some(wording) {
            self.draft.words.clear();
            self.draft.gap = write(self.request, &mut self.draft.words);
            self.draft.wording = Some(wording);
        }
        let words = &*self.draft.words;
        match self.draft.gap.and_then(|gap| words.split_at_checked(gap)) {
            Some((before, behind)) => (before, Some(behind)),
            None => (words, None),
        }
    }
}

#[cfg(test)]
mod tests {
    use super::*;
    use leasehold_core::{AttemptId, OperationId, Resource};

    fn look(name: &str) -> Request {
        Request::Inspect {
            resource: Resource::new(name).expect("a name"),
        }
    }

    fn said(message: &mut Message<'_>, wording: Wording, times: &mut usize) -> String {
        let (before, behind) = message.words(wording, |request, words| {
            *times += 1;
            words.extend_from_slice(request.resource().as_bytes());
            None
        });
        assert_eq!(behind, None);
        String::from_utf8(before.to_vec()).expect("text")
    }

    #[test]
    fn links_of_one_dialect_put_a_request_into_words_once_and_none_says_those_of_another() {
        let attempt = AttemptId {
            operation: OperationId::new(0),
            number: 0,
        };
        // Of the same tag, which says nothing about what is asked.
        let tag = Tag { attempt, step: 0 };
        let (ours, theirs, mut draft) = (Wording::new(), Wording::new(), Draft::default());
        for name in ["a", "b"] {
            let (request, mut times) = (look(name), 0);
            let mut message = Message::new(tag, &request, Instant::ORIGIN, &mut draft);
            for (wording, expected) in [(ours, 1), (ours, 1), (theirs, 2), (theirs, 2), (ours, 3)] {
                assert_eq!(said(&mut message, wording, &mut times), name);
                assert_eq!(times, expected);
            }
        }
    }
}
