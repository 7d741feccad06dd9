//! Coded bodies: what is decoded is bounded after it was, and what was not asked for is refused
//! (CASES NE11).

use serde_json::json;

use super::calling::{Probe, assert_ended, assert_ok, assert_told, grant, to};
use crate::support::Fixture;
use crate::support::server::{Answer, BROTLI_ZEROS, Server, gzip, gzip_zeros, zstd_zeros};

/// 128 MiB.
const HUGE: usize = 128 << 20;

const LIMIT: &str = "http_response_bytes = 4194304";

#[test]
fn ne11_a_small_body_that_decodes_to_a_huge_one_ends_the_call() {
    let twice = [gzip_zeros(HUGE), gzip_zeros(HUGE)].concat();
    let bodies = [gzip_zeros(HUGE), gzip_zeros((4 << 20) + 1), twice];
    for body in bodies {
        for coding in ["gzip", "GZIP", "x-gzip", " gzip "] {
            let body = body.clone();
            let server = Server::start(move |request| {
                let answer = Answer::encoded(coding, &body);
                if request.target == "/chunks" {
                    answer.chunked()
                } else {
                    answer
                }
            });
            let probe = Probe::reaching(&server);
            for path in ["/", "/chunks"] {
                let result = probe.http(to(&server, path));
                assert_ended(&result, "failed", "LIMIT_HTTP", LIMIT);
            }
        }
    }
}

#[test]
fn ne11_a_decoded_body_has_its_own_length_and_no_coding() {
    for (size, limit) in [(0, 1), (1, 1), (4 << 20, 4 << 20), (1_000_000, 1_000_000)] {
        let server = Server::start(move |_request| Answer::encoded("gzip", gzip_zeros(size)));
        let fixture = Fixture::new(&[&grant(&server)]);
        let result = Probe::of(&fixture.limit("http_response_bytes", limit)).http(to(&server, "/"));
        assert_ok(&result);
        assert_eq!(result["structuredContent"]["bodyBytes"], size);
        assert_eq!(result["structuredContent"]["headers"], json!([]));
        let asked = server.requests()[0]
            .header("accept-encoding")
            .map(str::to_owned);
        assert_eq!(asked.as_deref(), Some("gzip, deflate"));
    }
}

/// Three bytes of a header and the four of the sum around a stored block.
fn zlib(bytes: &[u8]) -> Vec<u8> {
    let length = u16::try_from(bytes.len()).unwrap();
    let (low, high) = bytes.iter().fold((1_u32, 0_u32), |(low, high), byte| {
        let low = (low + u32::from(*byte)) % 65_521;
        (low, (high + low) % 65_521)
    });
    let parts = [
        &[0x78, 0x01, 1][..],
        &length.to_le_bytes(),
        &(!length).to_le_bytes(),
        bytes,
        &(high << 16 | low).to_be_bytes(),
    ];
    parts.concat()
}

/// The same data as gzip has it, framed as zlib; the sum behind it is never reached.
fn zlib_zeros(length: usize) -> Vec<u8> {
    let member = gzip_zeros(length);
    [&[0x78, 0x01], &member[10..member.len() - 8], &[0; 4]].concat()
}

#[test]
fn ne11_deflate_is_decoded_and_bounded_too() {
    let server = Server::start(|request| match request.target.as_str() {
        "/huge" => Answer::encoded("deflate", zlib_zeros(HUGE)),
        _ => Answer::encoded("deflate", zlib(b"small")),
    });
    let probe = Probe::reaching(&server);
    let result = probe.http(to(&server, "/"));
    assert_ok(&result);
    assert_eq!(result["structuredContent"]["body"], "small");
    let result = probe.http(to(&server, "/huge"));
    assert_ended(&result, "failed", "LIMIT_HTTP", LIMIT);
}

/// None of these was asked for; nothing of them reaches the guest.
#[test]
fn ne11_a_coding_that_was_not_asked_for_is_refused() {
    for (coding, body) in [
        ("br", BROTLI_ZEROS.to_vec()),
        ("zstd", zstd_zeros(1_024)),
        ("gzip, gzip", gzip(&gzip_zeros(HUGE))),
        ("gzip,gzip", gzip(b"twice")),
        ("deflate, gzip", gzip(b"twice")),
        ("gzip, identity", gzip(b"once")),
        ("identity, gzip", gzip(b"once")),
        ("compress", b"x".to_vec()),
        ("x", b"x".to_vec()),
        ("gzip;q=1", gzip(b"once")),
    ] {
        let server = Server::start(move |_request| Answer::encoded(coding, &body));
        let result = Probe::reaching(&server).http(to(&server, "/"));
        assert_told(&result, "HTTP-response-content-coding");
        assert_eq!(result["structuredContent"]["bodyBytes"], 0, "{coding}");
    }
    let server = Server::start(|_request| Answer::gzip("a").header("content-encoding", "gzip"));
    let result = Probe::reaching(&server).http(to(&server, "/"));
    assert_told(&result, "HTTP-response-content-coding");
    for coding in ["identity", "Identity", ""] {
        let server = Server::start(move |_request| Answer::encoded(coding, "plain"));
        assert_ok(&Probe::reaching(&server).http(to(&server, "/")));
    }
}

#[test]
fn ne11_a_broken_coding_is_an_error_and_no_short_success() {
    let whole = gzip(b"whole");
    let mut wrong_sum = whole.clone();
    let sum = wrong_sum.len() - 5;
    wrong_sum[sum] ^= 1;
    for (coding, body) in [
        ("gzip", whole[..whole.len() - 1].to_vec()),
        ("gzip", whole[..12].to_vec()),
        ("gzip", b"no gzip at all".to_vec()),
        ("gzip", wrong_sum),
        ("gzip", [&whole[..], b"behind"].concat()),
        ("deflate", whole.clone()),
        ("deflate", zlib(b"whole")[..9].to_vec()),
    ] {
        let told = format!("{coding} {body:x?}");
        let server = Server::start(move |_request| Answer::encoded(coding, &body));
        let result = Probe::reaching(&server).http(to(&server, "/"));
        assert_eq!(
            result["content"], "HTTP-response-content-coding",
            "{told}: {result}"
        );
    }
    let server = Server::start(move |_request| Answer::encoded("gzip", &whole));
    assert_ok(&Probe::reaching(&server).http(to(&server, "/")));
}

/// The length on the wire is that of what is coded, or a lie: neither counts for what is decoded.
#[test]
fn ne11_a_small_content_length_makes_nothing_small() {
    let member = gzip_zeros(HUGE);
    let length = member.len().to_string();
    let server = Server::start(move |request| {
        let length = if request.target == "/lie" {
            "10"
        } else {
            length.as_str()
        };
        Answer::encoded("gzip", &member).header("content-length", length)
    });
    let probe = Probe::reaching(&server);
    assert_ended(&probe.http(to(&server, "/")), "failed", "LIMIT_HTTP", LIMIT);
    assert_told(
        &probe.http(to(&server, "/lie")),
        "HTTP-response-content-coding",
    );
}

/// Empty members decode to nothing, for ever: what is coded is bounded as well.
#[test]
fn ne11_what_decodes_to_nothing_is_bounded_as_it_comes() {
    let server = Server::start(|_request| {
        Answer::status(200)
            .header("content-encoding", "gzip")
            .endless(gzip(b""))
    });
    let probe = Probe::of(&Fixture::new(&[&grant(&server)]).limit("http_response_bytes", 1_000));
    let result = probe.http(to(&server, "/"));
    assert_ended(
        &result,
        "failed",
        "LIMIT_HTTP",
        "http_response_bytes = 1000",
    );
}

/// Of a part of a body nothing can be decoded: a guest that asks for one gets it as it is.
#[test]
fn ne11_a_request_for_a_part_asks_for_no_coding() {
    let server = Server::start(|_request| Answer::status(206).send("part"));
    let range = json!({"headers": [["range", "bytes=0-3"], ["accept-encoding", "br"]]});
    let probe = Probe::reaching(&server);
    assert_ok(&probe.http(super::calling::with(to(&server, "/"), range)));
    assert_eq!(
        server.requests()[0].header("accept-encoding"),
        Some("identity")
    );
}
