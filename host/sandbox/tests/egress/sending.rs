//! Requests that passed the gate: which addresses they go to, what is added to them, how an answer is
//! told from none (SPEC S3, S7; CASES NE08, NE10).

use std::io::{Error, ErrorKind};
use std::net::IpAddr;
use std::sync::{Arc, Mutex};
use std::time::Duration;

use bytes::Bytes;
use http::{HeaderMap, HeaderName, HeaderValue};
use http_body_util::{BodyExt as _, Empty};
use tidegate_sandbox::egress::{Bounds, EgressError, RequestBody, Resolve, Resolving};
use tidegate_sandbox::{Egress, Injection, Network, Secret};
use tokio::io::{AsyncReadExt as _, AsyncWriteExt as _};
use tokio::net::TcpListener;
use tokio::task::JoinSet;

use super::grant;

/// A resolver that gives out its answers one after the other; an empty one is an error.
#[derive(Debug)]
struct Names(Mutex<Vec<Vec<IpAddr>>>);

impl Names {
    fn leading_to(answers: &[&str]) -> Network {
        let parsed = |answer: &&str| {
            answer
                .split_whitespace()
                .map(|one| one.parse().unwrap())
                .collect()
        };
        let answers: Vec<Vec<IpAddr>> = answers.iter().rev().map(parsed).collect();
        Network::default().with_resolver(Arc::new(Self(Mutex::new(answers))))
    }
}

impl Resolve for Names {
    fn resolve<'a>(&'a self, _name: &'a str) -> Resolving<'a> {
        let answer = self.0.lock().unwrap().pop();
        let answer = answer.filter(|found| !found.is_empty());
        Box::pin(async move { answer.ok_or_else(|| Error::from(ErrorKind::NotFound)) })
    }
}

/// A server on loopback that answers each request alike, one a connection, and keeps their heads.
struct Server {
    port: u16,
    heads: Arc<Mutex<Vec<String>>>,
    _serving: JoinSet<()>,
}

impl Server {
    async fn start() -> Self {
        let listener = TcpListener::bind("127.0.0.1:0").await.unwrap();
        let port = listener.local_addr().unwrap().port();
        let heads = Arc::<Mutex<Vec<String>>>::default();
        let kept = Arc::clone(&heads);
        let mut serving = JoinSet::new();
        serving.spawn(async move {
            loop {
                let (mut stream, _peer) = listener.accept().await.unwrap();
                let mut head = Vec::new();
                while !head.ends_with(b"\r\n\r\n") {
                    head.push(stream.read_u8().await.unwrap());
                }
                kept.lock().unwrap().push(String::from_utf8(head).unwrap());
                let answer = b"HTTP/1.1 302 Found\r\nlocation: /x\r\ncontent-length: 2\r\n\
                    connection: close\r\n\r\nhi";
                stream.write_all(answer).await.unwrap();
            }
        });
        Self {
            port,
            heads,
            _serving: serving,
        }
    }

    fn heads(&self) -> Vec<String> {
        self.heads.lock().unwrap().clone()
    }
}

const BOUNDS: Bounds = Bounds {
    connect: Duration::from_secs(5),
    first_byte: Duration::from_secs(5),
    between_bytes: Duration::from_secs(5),
    response_bytes: 100,
    header_bytes: 1_000,
};

/// Gets a URL that the gate lets through: status and body.
async fn get(egress: &Egress, url: &str, headers: HeaderMap) -> Result<(u16, Bytes), EgressError> {
    let permitted = egress.check("GET", url).unwrap();
    let body: RequestBody = Empty::new().map_err(|never| match never {}).boxed_unsync();
    let answer = egress.send(permitted, headers, body, BOUNDS).await?;
    let status = answer.status().as_u16();
    Ok((status, answer.into_body().collect().await?.to_bytes()))
}

#[tokio::test]
async fn ne08_each_connection_asks_again_and_each_answer_is_judged() {
    let server = Server::start().await;
    let url = format!("http://h.test:{}/", server.port);
    let rule = format!("http://h.test:{},127.0.0.1", server.port);
    let network = Names::leading_to(&[
        "127.0.0.1",
        "127.0.0.2",
        "",
        "93.184.216.34 10.0.0.1",
        "127.0.0.1",
    ]);
    let egress = Egress::open(&grant(&[&rule]), &network, Vec::new());
    let denied = |error: EgressError| match error {
        EgressError::Denied(denial) => denial.to_string(),
        other => other.to_string(),
    };
    let get = async || get(&egress, &url, HeaderMap::new()).await.map_err(denied);
    let found = Ok((302, Bytes::from_static(b"hi")));
    assert_eq!(get().await, found);
    let shown = format!("network:http://h.test:{}", server.port);
    assert_eq!(get().await, Err(format!("{shown},127.0.0.2")));
    assert_eq!(get().await, Err("the host has no address".to_owned()));
    assert_eq!(get().await, Err(format!("{shown},10.0.0.1")));
    assert_eq!(get().await, found);
    assert_eq!(server.heads().len(), 2);
}

#[tokio::test]
async fn ne10_a_redirect_is_the_answer_and_not_followed() {
    let server = Server::start().await;
    let own = format!("http://127.0.0.1:{}", server.port);
    let egress = Egress::open(&grant(&[&own]), &Network::default(), Vec::new());
    let url = format!("{own}/");
    let answer = get(&egress, &url, HeaderMap::new()).await;
    assert_eq!(answer, Ok((302, Bytes::from_static(b"hi"))));
    assert_eq!(server.heads().len(), 1);
}

#[tokio::test]
async fn s7_headers_are_added_for_their_origin_over_the_guests_own() {
    let server = Server::start().await;
    let own = format!("http://127.0.0.1:{}", server.port);
    let named = format!("http://h.test:{},127.0.0.1", server.port);
    let inject = |origin: &str, header| {
        let secret = Secret::new("secret-0123".to_owned()).unwrap();
        Injection::new(origin, header, "Bearer ", secret).unwrap()
    };
    let injections = vec![
        inject(&own, "Authorization"),
        inject(&own, "X-Key"),
        inject(&format!("https://127.0.0.1:{}", server.port), "X-Other"),
    ];
    let network = Names::leading_to(&["127.0.0.1"]);
    let egress = Egress::open(&grant(&[&own, &named]), &network, injections);
    let mut headers = HeaderMap::new();
    for name in ["authorization", "x-key", "x-own", "host", "accept-encoding"] {
        let name = HeaderName::from_static(name);
        headers.append(&name, HeaderValue::from_static("guest"));
        headers.append(&name, HeaderValue::from_static("guest"));
    }
    get(&egress, &format!("{own}/"), headers.clone())
        .await
        .unwrap();
    get(&egress, &format!("http://h.test:{}/", server.port), headers)
        .await
        .unwrap();
    let heads = server.heads();
    for (head, count) in heads.iter().zip([2, 0]) {
        let head = head.to_ascii_lowercase();
        assert_eq!(head.matches("bearer secret-0123").count(), count, "{head}");
        assert_eq!(head.matches("\r\nhost: ").count(), 1, "{head}");
        assert_eq!(
            head.matches("\r\naccept-encoding: gzip, deflate\r\n")
                .count(),
            1,
            "{head}"
        );
        // Its own two and, where nothing is added, those of the two names.
        assert_eq!(head.matches(": guest\r\n").count(), 6 - 2 * count, "{head}");
    }
}

#[tokio::test]
async fn s5_what_is_over_its_bound_is_told_as_such() {
    let server = Server::start().await;
    let own = format!("http://127.0.0.1:{}", server.port);
    let egress = Egress::open(&grant(&[&own]), &Network::default(), Vec::new());
    let mut headers = HeaderMap::new();
    headers.insert("x-large", HeaderValue::try_from("v".repeat(1_000)).unwrap());
    let url = format!("{own}/");
    let answer = get(&egress, &url, headers).await;
    assert_eq!(answer, Err(EgressError::HeadersTooLarge));
    assert_eq!(server.heads().len(), 0, "nothing is sent that is too large");
    assert!(get(&egress, &url, HeaderMap::new()).await.is_ok());
}
