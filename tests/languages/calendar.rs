//! Free and busy times, in Go.

use std::path::Path;

use serde_json::{Value, json};

use super::{answer, call, code, component, folder_with};
use crate::support::Output;

/// A calendar of events, each given by its lines.
fn calendar(events: &[&str]) -> String {
    let mut text = "BEGIN:VCALENDAR\nVERSION:2.0\n".to_owned();
    for lines in events {
        for line in ["BEGIN:VEVENT", lines, "END:VEVENT"] {
            text.push_str(line);
            text.push('\n');
        }
    }
    text.push_str("END:VCALENDAR\n");
    text.replace('\n', "\r\n")
}

fn ask(plugin: &str, folder: &Path, timezone: &str) -> Output {
    let arguments = json!({
        "path": "c.ics", "from": "2026-03-01T00:00:00Z", "to": "2026-04-15T00:00:00Z",
        "timezone": timezone,
    });
    call(folder, plugin, "free_busy", &arguments)
}

/// The starts and ends of what is busy, as `start/end`.
fn check(events: &[&str], timezone: &str, expected: &[&str]) {
    let Some(plugin) = component("calendar") else {
        return;
    };
    let folder = folder_with("c.ics", &calendar(events));
    let found = answer(&ask(&plugin, folder.path(), timezone));
    let busy: Vec<String> = found["busy"]
        .as_array()
        .unwrap()
        .iter()
        .map(|span| format!("{}/{}", text(&span["start"]), text(&span["end"])))
        .collect();
    assert_eq!(busy, expected, "{events:?}");
}

fn text(value: &Value) -> &str {
    value.as_str().unwrap()
}

#[test]
fn p2_busy_times_are_merged_clipped_and_told_with_the_gaps_between() {
    let Some(plugin) = component("calendar") else {
        return;
    };
    let events = [
        "DTSTART:20260228T230000Z\nDTEND:20260301T010000Z",
        "DTSTART:20260302T090000Z\nDURATION:PT1H30M",
        "DTSTART:20260302T100000Z\nDTEND:20260302T110000Z",
        "DTSTART:20260303T100000Z\nDTEND:20260303T110000Z\nTRANSP:TRANSPARENT",
        "DTSTART:20260304T100000Z\nDTEND:20260304T110000Z\nSTATUS:CANCELLED",
    ];
    let folder = folder_with("c.ics", &calendar(&events));
    let found = answer(&ask(&plugin, folder.path(), "UTC"));
    let span = |start: &str, end: &str| json!({"start": start, "end": end});
    let busy = [
        span("2026-03-01T00:00:00Z", "2026-03-01T01:00:00Z"),
        span("2026-03-02T09:00:00Z", "2026-03-02T11:00:00Z"),
    ];
    let free = [
        span("2026-03-01T01:00:00Z", "2026-03-02T09:00:00Z"),
        span("2026-03-02T11:00:00Z", "2026-04-15T00:00:00Z"),
    ];
    assert_eq!(found["busy"], json!(busy));
    assert_eq!(found["free"], json!(free));
    assert_eq!(found["busyMinutes"], json!(180));
}

#[test]
fn p2_daily_and_weekly_rules_follow_count_until_and_interval() {
    check(
        &["DTSTART:20260310T080000Z\nDURATION:PT1H\nRRULE:FREQ=DAILY;INTERVAL=3;COUNT=2"],
        "UTC",
        &[
            "2026-03-10T08:00:00Z/2026-03-10T09:00:00Z",
            "2026-03-13T08:00:00Z/2026-03-13T09:00:00Z",
        ],
    );
    check(
        &["DTSTART:20260310T080000Z\nDURATION:PT1H\nRRULE:FREQ=WEEKLY;UNTIL=20260317T080000Z"],
        "UTC",
        &[
            "2026-03-10T08:00:00Z/2026-03-10T09:00:00Z",
            "2026-03-17T08:00:00Z/2026-03-17T09:00:00Z",
        ],
    );
    // From a Wednesday on; the Monday of the first week lies before it, and one is left out.
    check(
        &[
            "DTSTART:20260304T080000Z\nDURATION:PT1H\nEXDATE:20260311T080000Z\n\
           RRULE:FREQ=WEEKLY;BYDAY=MO,WE;COUNT=4",
        ],
        "UTC",
        &[
            "2026-03-04T08:00:00Z/2026-03-04T09:00:00Z",
            "2026-03-09T08:00:00Z/2026-03-09T09:00:00Z",
            "2026-03-16T08:00:00Z/2026-03-16T09:00:00Z",
        ],
    );
}

/// Clocks go forward in Berlin on 29 March 2026.
#[test]
fn p2_a_meeting_stays_at_its_hour_when_clocks_change() {
    check(
        &["DTSTART;TZID=Europe/Berlin:20260328T090000\nDURATION:PT1H\nRRULE:FREQ=DAILY;COUNT=2"],
        "UTC",
        &[
            "2026-03-28T08:00:00Z/2026-03-28T09:00:00Z",
            "2026-03-29T07:00:00Z/2026-03-29T08:00:00Z",
        ],
    );
    // A whole day has 23 hours then, in the zone that is asked for.
    check(
        &["DTSTART;VALUE=DATE:20260329"],
        "Europe/Berlin",
        &["2026-03-29T00:00:00+01:00/2026-03-30T00:00:00+02:00"],
    );
}

#[test]
fn p2_lines_are_unfolded_and_other_components_passed_over() {
    let event = "SUMMARY:x\n DTSTART:bad\nDTSTART:2026\n 0310T080000Z\nX-A;P=\":;\":v\nBEGIN:VALARM\n\
                 DTSTART:bad\nEND:VALARM\nDURATION:PT1H";
    check(
        &[event],
        "UTC",
        &["2026-03-10T08:00:00Z/2026-03-10T09:00:00Z"],
    );
}

#[test]
fn p2_what_is_not_understood_is_a_failure_that_says_so() {
    let Some(plugin) = component("calendar") else {
        return;
    };
    let rule = |rule: &str| format!("DTSTART:20260310T080000Z\nDURATION:PT1H\n{rule}");
    for (event, expected) in [
        (rule("RRULE:FREQ=MONTHLY"), "UNSUPPORTED_RULE"),
        (rule("RRULE:FREQ=WEEKLY;BYDAY=1MO"), "UNSUPPORTED_RULE"),
        (rule("RRULE:FREQ=WEEKLY;BYDAY=FR"), "UNSUPPORTED_RULE"),
        (rule("RRULE:FREQ=DAILY;BYHOUR=8"), "UNSUPPORTED_RULE"),
        (rule("RDATE:20260311T080000Z"), "UNSUPPORTED_RULE"),
        (rule("RECURRENCE-ID:20260311T080000Z"), "UNSUPPORTED_RULE"),
        (rule("RRULE:FREQ=DAILY;COUNT=0"), "MALFORMED"),
        (rule("RRULE:FREQ=DAILY;COUNT=1;UNTIL=20260311"), "MALFORMED"),
        (rule("RRULE:COUNT=1"), "MALFORMED"),
        (rule("DTEND:20260310T090000Z"), "MALFORMED"),
        ("DTSTART:20260230T080000Z".to_owned(), "MALFORMED"),
        ("DURATION:PT1H".to_owned(), "MALFORMED"),
        (
            "DTSTART;TZID=Nowhere/X:20260310T080000".to_owned(),
            "UNSUPPORTED_TIMEZONE",
        ),
        ("END:VCALENDAR".to_owned(), "MALFORMED"),
    ] {
        let folder = folder_with("c.ics", &calendar(&[&event]));
        assert_eq!(
            code(&ask(&plugin, folder.path(), "UTC")),
            expected,
            "{event}"
        );
    }
    for text in ["", "hello\n", "BEGIN:VCALENDAR\n"] {
        let folder = folder_with("c.ics", text);
        assert_eq!(
            code(&ask(&plugin, folder.path(), "UTC")),
            "MALFORMED",
            "{text:?}"
        );
    }
}

#[test]
fn p1_times_that_a_schema_cannot_judge_are_refused_by_validate() {
    let Some(plugin) = component("calendar") else {
        return;
    };
    let folder = folder_with("c.ics", &calendar(&[]));
    let start = "2026-03-01T00:00:00Z";
    for (from, to, zone, place) in [
        (
            "2026-03-01 00:00:00Z",
            "2026-03-02T00:00:00Z",
            "UTC",
            "#/from",
        ),
        (start, "2026-02-30T00:00:00Z", "UTC", "#/to"),
        (start, start, "UTC", "#/to"),
        (start, "2027-03-02T00:00:01Z", "UTC", "#/to"),
        (start, "2026-03-02T00:00:00Z", "Mars/Base", "#/timezone"),
        (start, "2026-03-02T00:00:00Z", "Local", "#/timezone"),
    ] {
        let arguments = json!({"path": "c.ics", "from": from, "to": to, "timezone": zone});
        let output = call(folder.path(), &plugin, "free_busy", &arguments);
        assert_eq!((output.exit, &*code(&output)), (2, "INVALID_ARGUMENTS"));
        assert!(output.stdout.contains(place), "{}", output.stdout);
    }
    // Exactly 366 days are taken.
    let arguments = json!({"path": "c.ics", "from": start, "to": "2027-03-02T00:00:00Z"});
    answer(&call(folder.path(), &plugin, "free_busy", &arguments));
}
