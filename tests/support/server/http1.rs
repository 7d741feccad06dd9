//! Answers over HTTP/1.1, one request after the other.
//!
//! Deliberately absent: pipelining in parallel, upgrades, and `100 Continue` that no script said.

use std::io::Result;
use std::time::Duration;

use tokio::time::sleep;

use super::answer::{Answer, End, Head, Piece, status_line};
use super::record::Entry;
use super::request::Reader;
use super::wire::Wire;
use super::{Moment, Service};

/// About how many bytes of a repetition are written at once.
const BLOCK: usize = 1 << 14;

/// Serves a connection until either side ends it.
pub(super) async fn serve(wire: Wire, entry: &Entry, service: &Service) {
    let mut reader = Reader::new(wire);
    let end = converse(&mut reader, entry, service).await;
    // Whatever cannot be answered is recorded until the client goes, or is gone already.
    reader.wire.end(end.unwrap_or(End::Hang)).await;
}

/// Says something to a client that was not listened to.
pub(super) async fn greet(wire: Wire, answer: Answer) {
    let mut reader = Reader::new(wire);
    let end = say(&mut reader, answer).await;
    let end = end.ok().flatten().unwrap_or(End::Hang);
    reader.wire.end(end).await;
}

async fn converse(reader: &mut Reader, entry: &Entry, service: &Service) -> Result<End> {
    loop {
        let mut request = reader.head().await?;
        let is_early = service.moment == Moment::Head;
        if !is_early {
            reader.body(&mut request).await?;
        }
        let mut request = entry.request(request);
        let mut answer = (service.script)(&request);
        if request.method == "HEAD" {
            answer = answer.without_body();
        }
        if let Some(end) = say(reader, answer).await? {
            return Ok(end);
        }
        if is_early {
            reader.body(&mut request).await?;
        }
        if request.is_last() {
            return Ok(End::Close);
        }
    }
}

/// Sends an answer; the end of the connection where the answer brings it.
async fn say(reader: &mut Reader, mut answer: Answer) -> Result<Option<End>> {
    let is_last = answer.is_last();
    let length = answer.length();
    if let Some((status, times)) = answer.interim {
        let interim = status_line(status) + "\r\n";
        repeat(reader, interim.as_bytes(), Some(times), Framing::Plain).await?;
    }
    let head = answer.head.take();
    let framing = match &head {
        Some(head) if head.is_chunked => Framing::Chunks,
        _ => Framing::Plain,
    };
    if let Some(head) = &head {
        reader.wire.send(&written(head, length)).await?;
    }
    for piece in answer.pieces {
        match piece {
            Piece::End(end) => return Ok(Some(end)),
            Piece::Pause(duration) => pause(reader, duration).await?,
            Piece::Bytes(bytes) => reader.wire.send(&framing.of(&bytes)).await?,
            Piece::Drip { bytes, every } => {
                for byte in bytes {
                    pause(reader, every).await?;
                    reader.wire.send(&framing.of(&[byte])).await?;
                }
            }
            Piece::Repeat { bytes, times } => repeat(reader, &bytes, times, framing).await?,
        }
    }
    if let Some(head) = head.filter(|head| head.is_chunked) {
        let mut last = b"0\r\n".to_vec();
        last.extend(fields(&head.trailers));
        last.extend(b"\r\n");
        reader.wire.send(&last).await?;
    }
    Ok(is_last.then_some(End::Close))
}

/// Waits, but no longer than the client stays.
async fn pause(reader: &mut Reader, duration: Duration) -> Result<()> {
    tokio::select! {
        () = sleep(duration) => Ok(()),
        gone = watch(reader) => gone,
    }
}

/// Reads ahead until the client is gone.
async fn watch(reader: &mut Reader) -> Result<()> {
    loop {
        reader.more().await?;
    }
}

async fn repeat(
    reader: &mut Reader,
    bytes: &[u8],
    times: Option<u64>,
    framing: Framing,
) -> Result<()> {
    if bytes.is_empty() {
        return match times {
            Some(_) => Ok(()),
            // No number of nothing is ever enough.
            None => watch(reader).await,
        };
    }
    let at_once = (BLOCK / bytes.len()).max(1);
    let block = framing.of(&bytes.repeat(at_once));
    let at_once = u64::try_from(at_once).unwrap();
    // The largest number is for ever too.
    let times = times.unwrap_or(u64::MAX);
    for _ in 0..times / at_once {
        reader.wire.send(&block).await?;
    }
    let rest = bytes.repeat((times % at_once).try_into().unwrap());
    match rest[..] {
        [] => Ok(()),
        _ => reader.wire.send(&framing.of(&rest)).await,
    }
}

/// How the bytes of a body are put on the wire.
#[derive(Clone, Copy)]
enum Framing {
    Plain,
    Chunks,
}

impl Framing {
    fn of(self, bytes: &[u8]) -> Vec<u8> {
        match self {
            Self::Plain => bytes.to_vec(),
            Self::Chunks => {
                let mut chunk = format!("{:x}\r\n", bytes.len()).into_bytes();
                chunk.extend(bytes);
                chunk.extend(b"\r\n");
                chunk
            }
        }
    }
}

/// The head of a response as it goes on the wire.
fn written(head: &Head, length: Option<u64>) -> Vec<u8> {
    let mut bytes = status_line(head.status).into_bytes();
    bytes.extend(fields(&head.headers));
    if let Some(length) = length {
        bytes.extend(format!("content-length: {length}\r\n").into_bytes());
    }
    if head.is_chunked {
        bytes.extend(b"transfer-encoding: chunked\r\n");
    }
    bytes.extend(b"\r\n");
    bytes
}

fn fields(fields: &[(String, Vec<u8>)]) -> Vec<u8> {
    let mut bytes = Vec::new();
    for (name, value) in fields {
        bytes.extend(name.as_bytes());
        bytes.extend(b": ");
        bytes.extend(value);
        bytes.extend(b"\r\n");
    }
    bytes
}
