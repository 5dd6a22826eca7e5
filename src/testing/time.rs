//! Timestamps as the API writes them, and ages as kubectl shows them.

use std::time::{Duration, SystemTime};

const DAY: u64 = 86_400;

/// `metav1.Time`: RFC 3339 in UTC with whole seconds. Times before 1970 become 1970.
pub(crate) fn rfc3339(time: SystemTime) -> String {
    format!("{}Z", date_time(since_epoch(time).as_secs()))
}

/// `metav1.MicroTime`: RFC 3339 in UTC with six decimals.
pub(crate) fn rfc3339_micros(time: SystemTime) -> String {
    let since = since_epoch(time);
    format!("{}.{:06}Z", date_time(since.as_secs()), since.subsec_micros())
}

/// Reads RFC 3339 with any offset. `None` for what is not a date and time, or lies before 1970.
pub(crate) fn parse_rfc3339(text: &str) -> Option<SystemTime> {
    let digits = |from: usize, to: usize| {
        let part = text.get(from..to)?;
        part.bytes().all(|b| b.is_ascii_digit()).then(|| part.parse::<u64>().ok()).flatten()
    };
    let separators = [(4, b'-'), (7, b'-'), (10, b'T'), (13, b':'), (16, b':')];
    if separators.iter().any(|&(at, byte)| text.as_bytes().get(at) != Some(&byte)) {
        return None;
    }
    let (year, month, day) = (digits(0, 4)?, digits(5, 7)?, digits(8, 10)?);
    let (hour, minute, second) = (digits(11, 13)?, digits(14, 16)?, digits(17, 19)?);
    if !(1..=12).contains(&month) || day == 0 || day > 31 || hour > 23 || minute > 59 || second > 60
    {
        return None;
    }
    let mut rest = text.get(19..)?;
    let mut nanos = 0;
    if let Some(fraction) = rest.strip_prefix('.') {
        let end = fraction.bytes().position(|b| !b.is_ascii_digit())?;
        let (fraction, zone) = fraction.split_at(end);
        nanos = format!("{fraction:0<9}").get(..9)?.parse().ok()?;
        rest = zone;
    }
    let local = days_from_epoch(year, month, day)? * DAY + hour * 3600 + minute * 60 + second;
    let seconds = match rest.as_bytes() {
        [b'Z'] => local,
        [sign @ (b'+' | b'-'), h1, h2, b':', m1, m2] => {
            let digit = |b: &u8| b.is_ascii_digit().then(|| u64::from(b - b'0'));
            let hours = digit(h1)? * 10 + digit(h2)?;
            let offset = hours * 3600 + (digit(m1)? * 10 + digit(m2)?) * 60;
            if *sign == b'+' { local.checked_sub(offset)? } else { local + offset }
        }
        _ => return None,
    };
    Some(SystemTime::UNIX_EPOCH + Duration::new(seconds, nanos))
}

/// The age of a timestamp as kubectl's AGE column shows it: `<unknown>` if there is none, and
/// `<invalid>` if it lies more than two seconds ahead.
pub(crate) fn age(timestamp: Option<&str>, now: SystemTime) -> String {
    let Some(time) = timestamp.and_then(parse_rfc3339) else { return "<unknown>".to_owned() };
    match now.duration_since(time) {
        Ok(age) => human_duration(age),
        Err(ahead) if ahead.duration() < Duration::from_secs(2) => "0s".to_owned(),
        Err(_) => "<invalid>".to_owned(),
    }
}

/// A duration in two or three characters of precision: `5m30s`, `47h`, `2y180d`.
pub(crate) fn human_duration(duration: Duration) -> String {
    let seconds = duration.as_secs();
    let (minutes, hours, days) = (seconds / 60, seconds / 3600, seconds / DAY);
    let with_rest = |major: u64, unit: &str, minor: u64, minor_unit: &str| {
        if minor == 0 {
            format!("{major}{unit}")
        } else {
            format!("{major}{unit}{minor}{minor_unit}")
        }
    };
    if seconds < 120 {
        format!("{seconds}s")
    } else if minutes < 10 {
        with_rest(minutes, "m", seconds % 60, "s")
    } else if minutes < 180 {
        format!("{minutes}m")
    } else if hours < 8 {
        with_rest(hours, "h", minutes % 60, "m")
    } else if hours < 48 {
        format!("{hours}h")
    } else if days < 8 {
        with_rest(days, "d", hours % 24, "h")
    } else if days < 365 * 2 {
        format!("{days}d")
    } else if days < 365 * 8 {
        with_rest(days / 365, "y", days % 365, "d")
    } else {
        format!("{}y", days / 365)
    }
}

fn since_epoch(time: SystemTime) -> Duration {
    time.duration_since(SystemTime::UNIX_EPOCH).unwrap_or_default()
}

/// Civil date from days, by eras of 400 years that begin in March (Howard Hinnant's algorithm).
fn date_time(seconds: u64) -> String {
    let days = seconds / DAY + 719_468;
    let (era, of_era) = (days / 146_097, days % 146_097);
    let year = (of_era - of_era / 1_460 + of_era / 36_524 - of_era / 146_096) / 365;
    let of_year = of_era - (365 * year + year / 4 - year / 100);
    let march_month = (5 * of_year + 2) / 153;
    let day = of_year - (153 * march_month + 2) / 5 + 1;
    let month = if march_month < 10 { march_month + 3 } else { march_month - 9 };
    let year = era * 400 + year + u64::from(month <= 2);
    let (hour, minute, second) = (seconds / 3600 % 24, seconds / 60 % 60, seconds % 60);
    format!("{year:04}-{month:02}-{day:02}T{hour:02}:{minute:02}:{second:02}")
}

/// The inverse: days since 1970-01-01, `None` before that.
fn days_from_epoch(year: u64, month: u64, day: u64) -> Option<u64> {
    let year = if month <= 2 { year.checked_sub(1)? } else { year };
    let (era, of_era) = (year / 400, year % 400);
    let march_month = if month > 2 { month - 3 } else { month + 9 };
    let of_year = (153 * march_month + 2) / 5 + day - 1;
    let days = era * 146_097 + of_era * 365 + of_era / 4 - of_era / 100 + of_year;
    days.checked_sub(719_468)
}

#[cfg(test)]
mod tests {
    use super::*;

    fn at(seconds: u64) -> SystemTime {
        SystemTime::UNIX_EPOCH + Duration::from_secs(seconds)
    }

    #[test]
    fn known_instants_are_written_as_rfc_3339() {
        assert_eq!(rfc3339(at(0)), "1970-01-01T00:00:00Z");
        assert_eq!(rfc3339(at(951_782_400)), "2000-02-29T00:00:00Z");
        assert_eq!(rfc3339(at(1_735_689_599)), "2024-12-31T23:59:59Z");
        assert_eq!(rfc3339(at(4_107_542_400)), "2100-03-01T00:00:00Z");
        let time = at(1) + Duration::from_micros(42);
        assert_eq!(rfc3339_micros(time), "1970-01-01T00:00:01.000042Z");
    }

    #[test]
    fn what_is_written_is_read_back() {
        for day in (0..60_000).step_by(17) {
            let time = at(day * DAY + day * 7 % DAY);
            assert_eq!(parse_rfc3339(&rfc3339(time)), Some(time));
        }
    }

    #[test]
    fn offsets_and_fractions_are_understood_and_nonsense_is_not() {
        assert_eq!(parse_rfc3339("1970-01-01T02:00:05+02:00"), Some(at(5)));
        assert_eq!(parse_rfc3339("1970-01-01T00:00:05-01:30"), Some(at(5405)));
        let half = at(5) + Duration::from_millis(500);
        assert_eq!(parse_rfc3339("1970-01-01T00:00:05.5Z"), Some(half));
        for bad in [
            "",
            "1970",
            "1970-01-01",
            "1970-13-01T00:00:00Z",
            "1970-01-01T00:00:00",
            "1970-01-01T00:00:00.5",
            "1970-01-01T00:00:00+1",
            "1969-12-31T00:00:00Z",
            "+970-01-01T00:00:00Z",
        ] {
            assert_eq!(parse_rfc3339(bad), None, "{bad}");
        }
    }

    #[test]
    fn durations_are_rounded_as_kubectl_rounds_them() {
        let human = |seconds| human_duration(Duration::from_secs(seconds));
        assert_eq!(human(0), "0s");
        assert_eq!(human(119), "119s");
        assert_eq!(human(120), "2m");
        assert_eq!(human(599), "9m59s");
        assert_eq!(human(600), "10m");
        assert_eq!(human(3 * 3600 - 1), "179m");
        assert_eq!(human(3 * 3600), "3h");
        assert_eq!(human(7 * 3600 + 61), "7h1m");
        assert_eq!(human(48 * 3600 - 1), "47h");
        assert_eq!(human(3 * DAY + 3600), "3d1h");
        assert_eq!(human(100 * DAY), "100d");
        assert_eq!(human(2 * 365 * DAY), "2y");
        assert_eq!(human((2 * 365 + 5) * DAY), "2y5d");
        assert_eq!(human(9 * 365 * DAY), "9y");
    }

    #[test]
    fn an_age_needs_a_timestamp_that_is_not_in_the_future() {
        assert_eq!(age(None, at(5)), "<unknown>");
        assert_eq!(age(Some("1970-01-01T00:00:01Z"), at(5)), "4s");
        assert_eq!(age(Some("1970-01-01T00:00:06Z"), at(5)), "0s");
        assert_eq!(age(Some("1970-01-01T00:01:06Z"), at(5)), "<invalid>");
    }
}
