//! Points in time as the API writes them.

use std::time::{Duration, SystemTime, UNIX_EPOCH};

/// Reads an RFC 3339 time such as `2026-01-31T10:20:30.5+02:00`.
///
/// A leap second is taken for the second after it. `None` if it is not such a time, or one that
/// the platform cannot express.
pub(crate) fn parse(text: &str) -> Option<SystemTime> {
    let (date, rest) = text.split_at_checked(10)?;
    let time = rest.strip_prefix(['T', 't', ' '])?;
    let [year, month, day] = numbers(date, b'-', [4, 2, 2])?;
    let (clock, rest) = time.split_at_checked(8)?;
    let [hour, minute, second] = numbers(clock, b':', [2, 2, 2])?;
    if !(1..=12).contains(&month) || !(1..=days_in_month(year, month)).contains(&day) {
        return None;
    }
    if hour > 23 || minute > 59 || second > 60 {
        return None;
    }
    let (nanos, zone) = fraction(rest)?;
    let local = days_since_epoch(year, month, day) * 86_400 + hour * 3600 + minute * 60 + second;
    let seconds = local - offset(zone)?;
    let whole = Duration::from_secs(seconds.unsigned_abs());
    let base =
        if seconds < 0 { UNIX_EPOCH.checked_sub(whole)? } else { UNIX_EPOCH.checked_add(whole)? };
    base.checked_add(Duration::from_nanos(nanos))
}

/// Reads three numbers of these widths with `separator` between them.
fn numbers(text: &str, separator: u8, widths: [usize; 3]) -> Option<[i64; 3]> {
    let mut numbers = [0; 3];
    let mut parts = text.split(char::from(separator));
    for (number, width) in numbers.iter_mut().zip(widths) {
        let part = parts.next()?;
        if part.len() != width || !part.bytes().all(|byte| byte.is_ascii_digit()) {
            return None;
        }
        *number = part.parse().ok()?;
    }
    parts.next().is_none().then_some(numbers)
}

/// Splits `.123Z` into nanoseconds and zone; digits beyond the ninth are dropped.
fn fraction(text: &str) -> Option<(u64, &str)> {
    let Some(digits) = text.strip_prefix(['.', ',']) else { return Some((0, text)) };
    let end = digits.find(|c: char| !c.is_ascii_digit())?;
    let (digits, zone) = digits.split_at(end);
    if digits.is_empty() {
        return None;
    }
    let kept = &digits[..digits.len().min(9)];
    let nanos: u64 = format!("{kept:0<9}").parse().ok()?;
    Some((nanos, zone))
}

/// Seconds east of UTC.
fn offset(zone: &str) -> Option<i64> {
    if matches!(zone, "Z" | "z") {
        return Some(0);
    }
    let sign = match zone.as_bytes().first()? {
        b'+' => 1,
        b'-' => -1,
        _ => return None,
    };
    let (hours, minutes) = zone.get(1..)?.split_once(':')?;
    let two = |text: &str| {
        (text.len() == 2 && text.bytes().all(|byte| byte.is_ascii_digit()))
            .then(|| text.parse::<i64>().ok())
            .flatten()
    };
    let (hours, minutes) = (two(hours)?, two(minutes)?);
    (hours <= 23 && minutes <= 59).then_some(sign * (hours * 3600 + minutes * 60))
}

fn days_in_month(year: i64, month: i64) -> i64 {
    match month {
        4 | 6 | 9 | 11 => 30,
        2 if is_leap(year) => 29,
        2 => 28,
        _ => 31,
    }
}

fn is_leap(year: i64) -> bool {
    year % 4 == 0 && (year % 100 != 0 || year % 400 == 0)
}

/// Days from 1970-01-01 in the Gregorian calendar, for years from 0.
fn days_since_epoch(year: i64, month: i64, day: i64) -> i64 {
    // Leap days before the year's first of January, counted from the year 0, which is a leap year.
    let leap_days = |year: i64| match year {
        0 => 0,
        _ => (year - 1) / 4 - (year - 1) / 100 + (year - 1) / 400 + 1,
    };
    let before_year = (year - 1970) * 365 + leap_days(year) - leap_days(1970);
    let before_month: i64 = (1..month).map(|month| days_in_month(year, month)).sum();
    before_year + before_month + day - 1
}

#[cfg(test)]
mod tests {
    use super::*;

    fn unix(text: &str) -> Option<f64> {
        let time = parse(text)?;
        Some(match time.duration_since(UNIX_EPOCH) {
            Ok(after) => after.as_secs_f64(),
            Err(before) => -before.duration().as_secs_f64(),
        })
    }

    #[test]
    fn rfc_3339_times_are_read() {
        for (text, seconds) in [
            ("1970-01-01T00:00:00Z", 0.0),
            ("1970-01-01T00:00:00.25Z", 0.25),
            ("1969-12-31T23:59:59z", -1.0),
            ("2000-02-29T12:00:00Z", 951_825_600.0),
            ("2000-03-01T00:00:00Z", 951_868_800.0),
            ("2026-01-31T10:20:30+02:00", 1_769_847_630.0),
            ("2026-01-31t10:20:30-05:30", 1_769_874_630.0),
            ("2038-01-19T03:14:08Z", 2_147_483_648.0),
            ("2016-12-31T23:59:60Z", 1_483_228_800.0),
            ("2100-03-01T00:00:00Z", 4_107_542_400.0),
            ("0001-01-01T00:00:00Z", -62_135_596_800.0),
            ("9999-12-31T23:59:59Z", 253_402_300_799.0),
        ] {
            assert_eq!(unix(text), Some(seconds), "{text}");
        }
        let nanos = parse("1970-01-01T00:00:00.1234567899Z").unwrap();
        assert_eq!(nanos.duration_since(UNIX_EPOCH).unwrap().as_nanos(), 123_456_789);
    }

    #[test]
    fn what_is_not_such_a_time_is_refused() {
        for text in [
            "",
            "2026-01-31",
            "2026-01-31T10:20:30",
            "2026-1-31T10:20:30Z",
            "2026-02-29T10:20:30Z",
            "1900-02-29T10:20:30Z",
            "2026-13-01T10:20:30Z",
            "2026-00-01T10:20:30Z",
            "2026-01-00T10:20:30Z",
            "2026-01-01T24:00:00Z",
            "2026-01-01T00:60:00Z",
            "2026-01-01T00:00:61Z",
            "2026-01-01T00:00:00.Z",
            "2026-01-01T00:00:00+2:00",
            "2026-01-01T00:00:00+24:00",
            "2026-01-01T00:00:00Zx",
            "+026-01-01T00:00:00Z",
            "2026-01-01T+1:00:00Z",
            "2026-01-01\u{e9}00:00:00Z",
        ] {
            assert_eq!(parse(text), None, "{text}");
        }
    }
}
