//! A client that sends what it is told, right or wrong, and reads what comes back.

use std::fmt::Write as _;
use std::io::{BufRead as _, BufReader, Read as _, Write as _};
use std::net::{SocketAddr, TcpStream};
use std::sync::OnceLock;
use std::time::Duration;

use serde_json::Value;

use crate::support::root;

/// How long an answer may take before the service counts as hanging: far longer than any does.
const HANGING: Duration = Duration::from_mins(1);

/// One answer.
#[derive(Clone, Debug, Default)]
pub(crate) struct Answer {
    pub(crate) status: u16,
    pub(crate) fields: Vec<(String, String)>,
    pub(crate) body: Vec<u8>,
}

impl Answer {
    pub(crate) fn field(&self, name: &str) -> Option<&str> {
        let mut fields = self.fields.iter();
        let found = fields.find(|(key, _)| key.eq_ignore_ascii_case(name));
        found.map(|(_, value)| &**value)
    }

    pub(crate) fn text(&self) -> String {
        String::from_utf8(self.body.clone()).unwrap()
    }

    pub(crate) fn json(&self) -> Value {
        let parsed = serde_json::from_slice(&self.body);
        parsed.unwrap_or_else(|error| panic!("{error}: {self:?}"))
    }

    /// The number, and the code of an error; every error has one, and nothing else has.
    #[track_caller]
    pub(crate) fn is(&self, status: u16, code: &str) -> &Self {
        assert_eq!(self.status, status, "{self:?}");
        if status < 400 {
            assert_eq!(code, "", "a success has no code");
            return self;
        }
        let document = self.json();
        assert_eq!(document["error"]["code"], code, "{document}");
        assert_eq!(document.as_object().unwrap().len(), 1, "{document}");
        let error = document["error"].as_object().unwrap();
        assert_eq!(error.len(), 2, "{document}");
        assert!(!error["message"].as_str().unwrap().is_empty());
        assert_eq!(self.field("content-type"), Some("application/json"));
        self
    }
}

/// A request to be sent.
#[derive(Clone, Debug)]
pub(crate) struct Request {
    method: &'static str,
    path: String,
    fields: Vec<(String, String)>,
    body: Vec<u8>,
}

impl Request {
    pub(crate) fn new(method: &'static str, path: &str) -> Self {
        Self {
            method,
            path: path.to_owned(),
            fields: Vec::new(),
            body: Vec::new(),
        }
    }

    pub(crate) fn get(path: &str) -> Self {
        Self::new("GET", path)
    }

    pub(crate) fn post(path: &str) -> Self {
        Self::new("POST", path)
    }

    pub(crate) fn with_method(mut self, method: &'static str) -> Self {
        self.method = method;
        self
    }

    pub(crate) fn field(mut self, name: &str, value: &str) -> Self {
        self.fields.push((name.to_owned(), value.to_owned()));
        self
    }

    /// The same with other words in the path.
    pub(crate) fn with_path(mut self, from: &str, to: &str) -> Self {
        self.path = self.path.replace(from, to);
        self
    }

    pub(crate) fn bearer(self, credential: &str) -> Self {
        self.field("Authorization", &format!("Bearer {credential}"))
    }

    pub(crate) fn body(mut self, body: impl AsRef<[u8]>) -> Self {
        self.body = body.as_ref().into();
        self
    }

    pub(crate) fn json(self, document: &Value) -> Self {
        self.field("Content-Type", "application/json")
            .body(document.to_string())
    }

    /// The bytes of the request; a Host field of its own stands in the place of the service's.
    fn bytes(&self, address: SocketAddr) -> Vec<u8> {
        let mut head = format!("{} {} HTTP/1.1\r\n", self.method, self.path);
        let has = |name: &str| self.fields.iter().any(|(key, _)| key == name);
        if !has("Host") {
            write!(head, "Host: {address}\r\n").unwrap();
        }
        if self.method == "POST" && !has("Transfer-Encoding") {
            write!(head, "Content-Length: {}\r\n", self.body.len()).unwrap();
        }
        for (name, value) in &self.fields {
            write!(head, "{name}: {value}\r\n").unwrap();
        }
        head.push_str("\r\n");
        let mut bytes = head.into_bytes();
        bytes.extend_from_slice(&self.body);
        bytes
    }
}

/// One connection.
pub(crate) struct Connection {
    address: SocketAddr,
    stream: BufReader<TcpStream>,
}

impl Connection {
    pub(crate) fn open(address: SocketAddr) -> Self {
        let stream = TcpStream::connect(address).unwrap();
        stream.set_read_timeout(Some(HANGING)).unwrap();
        stream.set_nodelay(true).unwrap();
        Self {
            address,
            stream: BufReader::new(stream),
        }
    }

    /// Sends bytes as they are.
    pub(crate) fn write(&mut self, bytes: impl AsRef<[u8]>) {
        self.stream.get_mut().write_all(bytes.as_ref()).unwrap();
    }

    /// Sends bytes to whoever may have closed already.
    pub(crate) fn write_on(&mut self, bytes: impl AsRef<[u8]>) -> bool {
        self.stream.get_mut().write_all(bytes.as_ref()).is_ok()
    }

    /// Sends a request and reads its answer.
    pub(crate) fn send(&mut self, request: &Request) -> Answer {
        self.write(request.bytes(self.address));
        let answer = self.read(request.method).expect("an answer");
        check_described(request, &answer);
        answer
    }

    /// Sends a request without waiting for its answer.
    pub(crate) fn start(&mut self, request: &Request) {
        self.write(request.bytes(self.address));
    }

    /// The next answer to a request of this method; `None` where the service has closed.
    pub(crate) fn read(&mut self, method: &str) -> Option<Answer> {
        let mut answer = self.head()?;
        let is_empty = method == "HEAD" || matches!(answer.status, 204 | 304);
        let length = answer.field("content-length").map(str::parse::<usize>);
        if is_empty {
            return Some(answer);
        }
        match length {
            Some(length) => {
                answer.body = vec![0; length.unwrap()];
                self.stream.read_exact(&mut answer.body).unwrap();
            }
            None if answer.field("transfer-encoding") == Some("chunked") => {
                while let Some(chunk) = self.chunk() {
                    answer.body.extend(chunk);
                }
            }
            None => {
                self.stream.read_to_end(&mut answer.body).unwrap();
            }
        }
        Some(answer)
    }

    /// The head of the next answer.
    pub(crate) fn head(&mut self) -> Option<Answer> {
        let first = self.line()?;
        let status = first.strip_prefix("HTTP/1.1 ").unwrap();
        let mut answer = Answer {
            status: status.get(..3).unwrap().parse().unwrap(),
            ..Answer::default()
        };
        loop {
            let line = self.line().unwrap();
            if line.is_empty() {
                return Some(answer);
            }
            let (name, value) = line.split_once(": ").unwrap();
            answer.fields.push((name.to_owned(), value.to_owned()));
        }
    }

    /// The next chunk of a body; `None` at its end.
    pub(crate) fn chunk(&mut self) -> Option<Vec<u8>> {
        let size = usize::from_str_radix(&self.line()?, 16).unwrap();
        let mut chunk = vec![0; size + 2];
        self.stream.read_exact(&mut chunk).unwrap();
        chunk.truncate(size);
        (size > 0).then_some(chunk)
    }

    /// Whether the service has closed, with nothing more said.
    pub(crate) fn is_over(&mut self) -> bool {
        let mut rest = Vec::new();
        match self.stream.read_to_end(&mut rest) {
            Ok(_) => rest.is_empty(),
            // A reset is an end too.
            Err(error) => error.kind() == std::io::ErrorKind::ConnectionReset && rest.is_empty(),
        }
    }

    fn line(&mut self) -> Option<String> {
        let mut line = String::new();
        match self.stream.read_line(&mut line) {
            Ok(0) => return None,
            Ok(_) => {}
            Err(error) if error.kind() == std::io::ErrorKind::ConnectionReset => return None,
            Err(error) => panic!("{error}"),
        }
        Some(line.trim_end_matches("\r\n").to_owned())
    }
}

/// That the description of the service has this number for this route.
fn check_described(request: &Request, answer: &Answer) {
    static DESCRIPTION: OnceLock<Value> = OnceLock::new();
    let description = DESCRIPTION.get_or_init(|| {
        let text = std::fs::read_to_string(root().join("docs/openapi.json")).unwrap();
        serde_json::from_str(&text).unwrap()
    });
    let path = request.path.split('?').next().unwrap();
    let segments: Vec<&str> = path.split('/').collect();
    let matches = |pattern: &str| {
        let pattern: Vec<&str> = pattern.split('/').collect();
        let mut pairs = pattern.iter().zip(&segments);
        pattern.len() == segments.len()
            && pairs.all(|(pattern, segment)| pattern.starts_with('{') || pattern == segment)
    };
    let paths = description["paths"].as_object().unwrap();
    let method = request.method.to_lowercase();
    let operation = paths
        .iter()
        .find(|(pattern, _)| matches(pattern))
        .and_then(|(_, methods)| methods.get(&method));
    if let Some(operation) = operation {
        let status = answer.status.to_string();
        let described = operation["responses"].get(&status).is_some();
        assert!(described, "{status} is not described for {method} {path}");
    }
}
