//! Saying something to a node and hearing what it says, one thing at a time: for handshakes and visits, which need no
//! backlog.

use super::{
    codec::{Frame, ReceiveBuffer},
    socket::{self, Stream},
};
use tokio::io::{AsyncReadExt, AsyncWriteExt};

/// Why a handshake came to nothing.
pub(super) enum Halt {
    /// The connection ended where an answer was due.
    HungUp(String),
    Refused(String),
}

impl From<Halt> for String {
    fn from(halt: Halt) -> Self {
        let (Halt::HungUp(reason) | Halt::Refused(reason)) = halt;
        reason
    }
}

impl From<String> for Halt {
    fn from(reason: String) -> Self {
        Self::Refused(reason)
    }
}

/// Says it, to the last byte.
pub(super) async fn send(stream: &mut Stream, wire: &[u8]) -> Result<(), Halt> {
    let written = async {
        stream.write_all(wire).await?;
        stream.flush().await
    };
    let reason = |error| Halt::HungUp(socket::reason(&error));
    written.await.map_err(reason)
}

/// Reads the next answer; pushes are skipped.
pub(super) async fn hear<T>(
    stream: &mut Stream,
    received: &mut ReceiveBuffer,
    read: impl FnOnce(&Frame<'_>) -> T,
) -> Result<T, Halt> {
    hear_beside(stream, received, &mut false, read).await
}

/// The same, and notes whether there were pushes before it.
pub(super) async fn hear_beside<T>(
    stream: &mut Stream,
    received: &mut ReceiveBuffer,
    was_told: &mut bool,
    read: impl FnOnce(&Frame<'_>) -> T,
) -> Result<T, Halt> {
    loop {
        while let Some(frame) = received.take().map_err(|malformed| malformed.to_string())? {
            if !matches!(frame, Frame::Push(_)) {
                return Ok(read(&frame));
            }
            *was_told = true;
        }
        fill(stream, received).await?;
    }
}

/// Waits for the next push; there are no answers to wait for.
pub(super) async fn hear_push(
    stream: &mut Stream,
    received: &mut ReceiveBuffer,
) -> Result<(), Halt> {
    loop {
        while let Some(frame) = received.take().map_err(|malformed| malformed.to_string())? {
            if matches!(frame, Frame::Push(_)) {
                return Ok(());
            }
        }
        fill(stream, received).await?;
    }
}

async fn fill(stream: &mut Stream, received: &mut ReceiveBuffer) -> Result<(), Halt> {
    match stream.read(received.space()).await {
        Ok(0) => {
            let reason = "the node closed the connection".to_owned();
            Err(Halt::HungUp(reason))
        }
        Ok(count) => {
            received.filled(count);
            Ok(())
        }
        Err(error) => Err(Halt::HungUp(socket::reason(&error))),
    }
}
