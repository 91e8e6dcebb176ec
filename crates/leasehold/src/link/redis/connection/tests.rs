use super::*;
use crate::{configuration::Configuration, link::redis::kind::Kind};
use leasehold_core::{AttemptId, Instant, OperationId, Tag, quarantine::Disk};
use std::io;

/// Something that waits to leave.
fn pushed(backlog: &mut Backlog, step: u32) {
    let attempt = AttemptId {
        operation: OperationId::new(0),
        number: 0,
    };
    let tag = Tag { attempt, step };
    backlog.push(tag, Kind::Release, Instant::ORIGIN, |wire| {
        wire.extend_from_slice(b"a release");
    });
}

/// A stream that has this to read, and takes nothing.
struct Deaf(&'static [u8]);

impl socket::Duplex for Deaf {
    fn change_runtime(&mut self) -> std::io::Result<()> {
        Ok(())
    }
}

impl AsyncRead for Deaf {
    fn poll_read(
        mut self: Pin<&mut Self>,
        _: &mut Context<'_>,
        space: &mut ReadBuf<'_>,
    ) -> Poll<io::Result<()>> {
        space.put_slice(std::mem::take(&mut self.0));
        Poll::Ready(Ok(()))
    }
}

impl AsyncWrite for Deaf {
    fn poll_write(self: Pin<&mut Self>, _: &mut Context<'_>, _: &[u8]) -> Poll<io::Result<usize>> {
        Poll::Ready(Err(io::ErrorKind::BrokenPipe.into()))
    }

    fn poll_flush(self: Pin<&mut Self>, _: &mut Context<'_>) -> Poll<io::Result<()>> {
        Poll::Ready(Ok(()))
    }

    fn poll_shutdown(self: Pin<&mut Self>, _: &mut Context<'_>) -> Poll<io::Result<()>> {
        Poll::Ready(Ok(()))
    }
}

#[test]
fn answers_that_are_in_are_told_before_a_connection_that_takes_nothing_is_given_up() {
    let configuration = Configuration::plain();
    let opened = Opened {
        stream: Box::new(Deaf(b"$7\r\ngranted\r\n$7\r\ngranted\r\n")),
        received: ReceiveBuffer::default(),
        met: ServerInfo::nobody(Disk::Ignored),
        hints: Hints::Refused,
    };
    let mut connection = Connection::new(opened, Encoder::new(&configuration));
    let mut backlog = Backlog::default();
    pushed(&mut backlog, 0);
    pushed(&mut backlog, 1);
    backlog.sent(backlog.ready().len());
    pushed(&mut backlog, 2);
    let mut cx = Context::from_waker(std::task::Waker::noop());
    for _ in 0..2 {
        let mut events = Vec::new();
        let looked = connection.exchange(&mut cx, &mut backlog, &mut events, 1);
        assert_eq!(looked, Poll::Ready(Ok(())));
        let is_grant =
            |event: &LinkEvent| matches!(event, LinkEvent::Reply(_, vote) if vote.is_granted());
        assert!(events.iter().any(is_grant), "{events:?}");
    }
    let looked = connection.exchange(&mut cx, &mut backlog, &mut Vec::new(), 1);
    assert!(matches!(looked, Poll::Ready(Err(_))), "{looked:?}");
}
