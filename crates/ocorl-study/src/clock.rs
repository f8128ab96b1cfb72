//! Wall-clock time as text. It is recorded beside results and never influences a computation.

use std::time::{SystemTime, UNIX_EPOCH};

/// Today's date (UTC), formatted as 2026-11-16.
pub fn today() -> String {
    date(seconds() / 86_400)
}

/// The present time (UTC), formatted as 2026-11-16T14:02:11Z.
pub fn now() -> String {
    let exactly = now_exactly();
    format!("{}Z", &exactly[..exactly.len() - ".250Z".len()])
}

/// The present time (UTC) with milliseconds, formatted as 2026-11-16T14:02:11.250Z.
pub fn now_exactly() -> String {
    let since = SystemTime::now().duration_since(UNIX_EPOCH).unwrap_or_default();
    let (day, second) = (since.as_secs() / 86_400, since.as_secs() % 86_400);
    let (hour, minute, second, milli) = (second / 3600, second / 60 % 60, second % 60, since.subsec_millis());
    format!("{}T{hour:02}:{minute:02}:{second:02}.{milli:03}Z", date(day))
}

fn seconds() -> u64 {
    SystemTime::now().duration_since(UNIX_EPOCH).map_or(0, |time| time.as_secs())
}

/// Calendar date that lies `days` days after 1 January 1970.
fn date(mut days: u64) -> String {
    let leap = |year: u64| year.is_multiple_of(4) && (!year.is_multiple_of(100) || year.is_multiple_of(400));
    let mut year = 1970;
    while days >= 365 + u64::from(leap(year)) {
        days -= 365 + u64::from(leap(year));
        year += 1;
    }
    let february = 28 + u64::from(leap(year));
    let mut month = 1;
    for length in [31, february, 31, 30, 31, 30, 31, 31, 30, 31, 30] {
        if days < length {
            break;
        }
        days -= length;
        month += 1;
    }
    format!("{year}-{month:02}-{:02}", days + 1)
}

#[cfg(test)]
mod tests {
    use super::date;

    #[test]
    fn days_become_dates() {
        for (days, expected) in [
            (0, "1970-01-01"),
            (58, "1970-02-28"),
            (59, "1970-03-01"),
            (11_016, "2000-02-29"),
            (19_723, "2024-01-01"),
            (20_088, "2024-12-31"),
            (20_773, "2026-11-16"),
        ] {
            assert_eq!(date(days), expected);
        }
    }
}
