//! Timestamps as the API writes them, and ages as kubectl shows them.

use std::time::{Duration, SystemTime};

use crate::rfc3339;

const DAY: u64 = 86_400;

/// `metav1.Time`: RFC 3339 in UTC with whole seconds. Times before 1970 become 1970.
pub(super) fn rfc3339(time: SystemTime) -> String {
    format!("{}Z", date_time(since_epoch(time).as_secs()))
}

/// The age of a timestamp as kubectl's AGE column shows it: `<unknown>` if there is none, and
/// `<invalid>` if it lies more than two seconds ahead.
pub(super) fn age(timestamp: Option<&str>, now: SystemTime) -> String {
    let Some(time) = timestamp.and_then(rfc3339::parse) else { return "<unknown>".to_owned() };
    match now.duration_since(time) {
        Ok(age) => human_duration(age),
        Err(ahead) if ahead.duration() < Duration::from_secs(2) => "0s".to_owned(),
        Err(_) => "<invalid>".to_owned(),
    }
}

/// A duration in two or three characters of precision: `5m30s`, `47h`, `2y180d`.
pub(super) fn human_duration(duration: Duration) -> String {
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
    }

    #[test]
    fn what_is_written_is_read_back() {
        for day in (0..60_000).step_by(17) {
            let time = at(day * DAY + day * 7 % DAY);
            assert_eq!(rfc3339::parse(&rfc3339(time)), Some(time));
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
