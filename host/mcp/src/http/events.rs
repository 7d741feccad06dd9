//! Server-sent events: the data of each, bounded (CASES OU08).
//!
//! Lines end with 0x0A, with or without 0x0D before it. A 0x0D alone ends none: no JSON text holds one,
//! and a peer that separates lines so is not met.

/// Cuts bytes into the data of events.
#[derive(Debug)]
pub(super) struct Events {
    line: Vec<u8>,
    data: Vec<u8>,
    has_data: bool,
    limit_bytes: usize,
}

/// An event is longer than the bound.
#[derive(Clone, Copy, Debug, PartialEq, Eq)]
pub(super) struct TooLong;

impl Events {
    pub(super) fn new(limit_bytes: usize) -> Self {
        Self {
            line: Vec::new(),
            data: Vec::new(),
            has_data: false,
            limit_bytes,
        }
    }

    /// The data of the events that these bytes complete.
    ///
    /// # Errors
    ///
    /// [`TooLong`]; nothing after it can be read.
    pub(super) fn push(&mut self, bytes: &[u8]) -> Result<Vec<Vec<u8>>, TooLong> {
        let mut events = Vec::new();
        let mut rest = bytes;
        while let Some(at) = rest.iter().position(|byte| *byte == b'\n') {
            let (head, tail) = rest.split_at(at);
            self.line.extend_from_slice(head);
            rest = tail.get(1..).unwrap_or_default();
            events.extend(self.end_line());
            self.check()?;
        }
        self.line.extend_from_slice(rest);
        self.check()?;
        Ok(events)
    }

    fn check(&self) -> Result<(), TooLong> {
        // The name of a field stands before what it holds.
        let room = self.limit_bytes.saturating_add("data: ".len());
        if self.line.len() > room || self.data.len() > self.limit_bytes {
            return Err(TooLong);
        }
        Ok(())
    }

    /// A blank line ends an event.
    fn end_line(&mut self) -> Option<Vec<u8>> {
        let line = std::mem::take(&mut self.line);
        let line = line.strip_suffix(b"\r").unwrap_or(&line);
        if line.is_empty() {
            let has_data = std::mem::take(&mut self.has_data);
            let data = std::mem::take(&mut self.data);
            return (has_data && !data.trim_ascii().is_empty()).then_some(data);
        }
        if let Some(data) = line.strip_prefix(b"data:") {
            if self.has_data {
                self.data.push(b'\n');
            }
            self.has_data = true;
            let data = data.strip_prefix(b" ").unwrap_or(data);
            self.data.extend_from_slice(data);
        }
        None
    }
}

#[cfg(test)]
mod tests {
    use super::{Events, TooLong};

    fn check(stream: &str, expected: &[&str]) {
        for size in [1, 2, 7, stream.len().max(1)] {
            let mut events = Events::new(64);
            let pieces = stream.as_bytes().chunks(size);
            let found: Vec<Vec<u8>> = pieces
                .flat_map(|piece| events.push(piece).unwrap())
                .collect();
            let found: Vec<&str> = found
                .iter()
                .map(|data| std::str::from_utf8(data).unwrap())
                .collect();
            assert_eq!(found, expected, "{stream:?} in pieces of {size}");
        }
    }

    #[test]
    fn ou08_events_are_cut_at_blank_lines_and_text_stays_whole() {
        check("data: a\n\ndata:b\r\n\r\n", &["a", "b"]);
        check(
            "event: message\nid: 1\ndata: x\u{2028}y\u{85}z\n\n",
            &["x\u{2028}y\u{85}z"],
        );
        check("data: {\ndata: }\n\n", &["{\n}"]);
        check(": ping\n\ndata:\n\nretry: 3\n\ndata: a\n", &[]);
        check("data: a\rb\n\n", &["a\rb"]);
    }

    #[test]
    fn mc05_an_event_is_bounded_to_the_byte() {
        let event = |bytes: usize| format!("data: {}\n\n", "x".repeat(bytes));
        let push = |text: &str| Events::new(10).push(text.as_bytes());
        assert_eq!(push(&event(9)).unwrap().len(), 1);
        assert_eq!(push(&event(10)).unwrap().len(), 1);
        assert_eq!(push(&event(11)), Err(TooLong));
        assert_eq!(push("data: aaaaaa\ndata: aaaaaa\n\n"), Err(TooLong));
        assert_eq!(push(&"x".repeat(17)), Err(TooLong));
    }
}
