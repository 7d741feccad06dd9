//! A moment as a date and a time of day in UTC. Every moment has one: years have no bound.

use crate::status::Time;

const DAY_SECONDS: i64 = 86_400;

/// The days of 400 years, after which the calendar repeats.
const ERA_DAYS: i64 = 146_097;

/// The days from the first of March of the year 0 to 1970-01-01.
const EPOCH_DAYS: i64 = 719_468;

/// The moment as GNU writes it, to the nanosecond.
pub(crate) fn utc(time: Time) -> String {
    let (year, month, day) = date(time.seconds.div_euclid(DAY_SECONDS));
    let second = time.seconds.rem_euclid(DAY_SECONDS);
    // The width counts the sign.
    let width = if year < 0 { 5 } else { 4 };
    format!(
        "{year:0width$}-{month:02}-{day:02} {:02}:{:02}:{:02}.{:09} +0000",
        second / 3600,
        second / 60 % 60,
        second % 60,
        time.nanoseconds
    )
}

/// The date of a day counted from 1970-01-01. Years are counted from March, so that the leap day
/// is the last of its year.
fn date(day: i64) -> (i64, i64, i64) {
    let day = day + EPOCH_DAYS;
    let era = day.div_euclid(ERA_DAYS);
    let day = day.rem_euclid(ERA_DAYS);
    let year = (day - day / 1460 + day / 36_524 - day / 146_096) / 365;
    let day_of_year = day - (365 * year + year / 4 - year / 100);
    // Five months from March or August on always have 153 days.
    let month = (5 * day_of_year + 2) / 153;
    let day_of_month = day_of_year - (153 * month + 2) / 5 + 1;
    let calendar_month = if month < 10 { month + 3 } else { month - 9 };
    let calendar_year = year + era * 400 + i64::from(calendar_month <= 2);
    (calendar_year, calendar_month, day_of_month)
}

#[cfg(test)]
mod tests {
    use super::*;

    /// FS13.
    #[test]
    fn every_moment_has_a_date() {
        let check = |seconds, nanoseconds, expected| {
            let time = Time {
                seconds,
                nanoseconds,
            };
            assert_eq!(utc(time), expected);
        };
        check(0, 0, "1970-01-01 00:00:00.000000000 +0000");
        check(-1, 999_999_999, "1969-12-31 23:59:59.999999999 +0000");
        check(951_782_400, 1, "2000-02-29 00:00:00.000000001 +0000");
        check(1_709_251_199, 0, "2024-02-29 23:59:59.000000000 +0000");
        check(4_107_542_400, 0, "2100-03-01 00:00:00.000000000 +0000");
        check(-62_135_596_801, 0, "0000-12-31 23:59:59.000000000 +0000");
        check(253_402_300_800, 0, "10000-01-01 00:00:00.000000000 +0000");
        check(i64::MAX, 0, "292277026596-12-04 15:30:07.000000000 +0000");
        check(i64::MIN, 0, "-292277022657-01-27 08:29:52.000000000 +0000");
    }
}
