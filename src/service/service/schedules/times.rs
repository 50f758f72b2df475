//! The times of a schedule, and the windows in which its tasks may start.
//!
//! Both are in a time zone, whose clocks change. A time that a change skips comes as soon as the clocks have changed, and
//! one that is repeated comes the first time only; times at intervals (`*` and steps in the minute or the hour) follow the
//! time that passes.

use std::collections::BTreeSet;

use croner::Cron;
use croner::parser::{CronParser, Seconds, Year};
use jiff::tz::TimeZone;
use jiff::{ToSpan, Zoned};

/// The longest text of times or of a window, in bytes.
const LONGEST: usize = 200;
/// The minutes of a day.
const DAY: u32 = 24 * 60;

/// The most times of a day that are no intervals.
const MOST_TIMES: usize = 100;

/// Times in the fields of cron.
#[derive(Clone, Debug)]
pub(super) struct Times {
    /// Times at intervals are one pattern. Others are a pattern for each time of the day, as croner keeps times where
    /// clocks change only if the minute and the hour are one value each.
    patterns: Vec<Cron>,
}

impl Times {
    /// Reads five fields.
    ///
    /// # Errors
    /// What is wrong with them, and a remedy.
    pub(super) fn parse(text: &str) -> Result<Self, String> {
        if text.len() > LONGEST {
            return Err(format!("has more than {LONGEST} bytes"));
        }
        let parser = CronParser::builder()
            .seconds(Seconds::Disallowed)
            .year(Year::Disallowed)
            .build();
        let parse = |pattern: &str| parser.parse(pattern);
        let all = parse(text).map_err(|error| {
            format!(
                "cannot be read ({}); write minute, hour, day of the month, month and day of the week, as in \
                 `30 2 * * mon-fri`",
                error.to_string().trim_end_matches('.')
            )
        })?;
        let Some(times) = split_times(text) else {
            return Ok(Self {
                patterns: vec![all],
            });
        };
        if times.len() > MOST_TIMES {
            return Err(format!(
                "are {} times a day, more than {MOST_TIMES}; write an interval, as in `*/5 8-18 * * *`",
                times.len()
            ));
        }
        let patterns = times.iter().map(|time| parse(time));
        let patterns: Result<Vec<Cron>, _> = patterns.collect();
        Ok(Self {
            patterns: patterns.unwrap_or_else(|_| vec![all]),
        })
    }

    /// The first time after another one; `None` if there is none within the calendar.
    pub(super) fn next_after(&self, after: &Zoned) -> Option<Zoned> {
        let found = self.patterns.iter();
        let found = found.filter_map(|one| one.find_next_occurrence(after, false).ok());
        found.min()
    }
}

/// A pattern for each time of the day that minutes and hours name by numbers, lists and ranges; `None` for intervals.
fn split_times(text: &str) -> Option<Vec<String>> {
    let mut fields = text.split_whitespace();
    let (minutes, hours) = (list_values(fields.next()?)?, list_values(fields.next()?)?);
    let days: Vec<&str> = fields.collect();
    let days = days.join(" ");
    let mut times = Vec::new();
    for hour in &hours {
        let of_hour = minutes.iter();
        times.extend(of_hour.map(|minute| format!("{minute} {hour} {days}")));
    }
    Some(times)
}

/// The values of a field of numbers, lists and ranges; `None` if it has anything else.
fn list_values(field: &str) -> Option<BTreeSet<u32>> {
    let mut values = BTreeSet::new();
    for part in field.split(',') {
        let (first, last) = part.split_once('-').unwrap_or((part, part));
        let (first, last): (u32, u32) = (first.parse().ok()?, last.parse().ok()?);
        // What croner accepts is below this; a range that passes midnight is none.
        if first > last || last >= DAY {
            return None;
        }
        values.extend(first..=last);
    }
    Some(values)
}

/// A window of each day, or of some days of the week, in which tasks may start.
#[derive(Clone, Debug, PartialEq, Eq)]
pub(super) struct Window {
    /// The days of the week, from Monday on, on which it begins.
    days: [bool; 7],
    /// Its beginning, in minutes of the day.
    from: u32,
    /// Its end; if it is not after the beginning, it is on the next day.
    until: u32,
}

/// The days of the week, from Monday on.
const DAYS: [&str; 7] = ["mon", "tue", "wed", "thu", "fri", "sat", "sun"];

impl Window {
    /// Reads a window.
    ///
    /// # Errors
    /// What is wrong with it, and a remedy.
    pub(super) fn parse(text: &str) -> Result<Self, String> {
        let wrong = || {
            let shown = files::quoted(text, files::MOST_QUOTED);
            format!("`{shown}` is no window; write it as `22:00-06:00` or `Sat,Sun 00:00-24:00`")
        };
        if text.len() > LONGEST {
            return Err(wrong());
        }
        let (days, times) = match text.trim().split_once(' ') {
            Some((days, times)) => (parse_days(days).ok_or_else(wrong)?, times.trim()),
            None => ([true; 7], text.trim()),
        };
        let (from, until) = times.split_once('-').ok_or_else(wrong)?;
        let from = parse_minute(from)
            .filter(|minute| *minute < DAY)
            .ok_or_else(wrong)?;
        let until = parse_minute(until).ok_or_else(wrong)?;
        if from == until {
            return Err(format!("`{text}` is empty; a whole day is `00:00-24:00`"));
        }
        Ok(Self { days, from, until })
    }

    /// Whether it is open at a time.
    fn is_open(&self, at: &Zoned) -> bool {
        let minute = at.hour().unsigned_abs() as u32 * 60 + at.minute().unsigned_abs() as u32;
        let today = usize::from(at.weekday().to_monday_zero_offset().unsigned_abs());
        let yesterday = (today + 6) % 7;
        if self.from < self.until {
            self.days[today] && (self.from..self.until).contains(&minute)
        } else {
            self.days[today] && minute >= self.from || self.days[yesterday] && minute < self.until
        }
    }

    /// The first time after another one at which it opens: its beginning, or a change of clocks that skips its beginning
    /// but not its end.
    fn next_opening(&self, after: &Zoned) -> Option<Zoned> {
        let zone = after.time_zone();
        let change = zone.following(after.timestamp()).next();
        let change = change.map(|change| change.timestamp().to_zoned(zone.clone()));
        let at_change = change.filter(|change| self.is_open(change));
        let at_beginning = self.next_beginning(after);
        at_change.into_iter().chain(at_beginning).min()
    }

    /// Its first beginning after a time that no change of clocks skips.
    fn next_beginning(&self, after: &Zoned) -> Option<Zoned> {
        // A window of one day of the week may be skipped in one week.
        (0..=14).find_map(|day| {
            let date = after.date().checked_add(i64::from(day).days()).ok()?;
            let weekday = usize::from(date.weekday().to_monday_zero_offset().unsigned_abs());
            if !self.days[weekday] {
                return None;
            }
            let [hour, minute] =
                [self.from / 60, self.from % 60].map(|part| i8::try_from(part).unwrap_or(0));
            let opening = date.at(hour, minute, 0, 0);
            let opening = opening.to_zoned(after.time_zone().clone()).ok()?;
            (opening > *after && self.is_open(&opening)).then_some(opening)
        })
    }
}

/// The obstacle that windows are to a task at this time: the time at which the next one opens. `None` if one is open, or
/// if there are none.
pub(super) fn closed_until(windows: &[Window], now: &Zoned) -> Option<String> {
    if windows.is_empty() || windows.iter().any(|window| window.is_open(now)) {
        return None;
    }
    let openings = windows.iter().filter_map(|window| window.next_opening(now));
    let next = openings.min();
    Some(next.map_or_else(|| "later".to_owned(), |at| format_local(&at)))
}

/// A time in its zone, to the minute.
pub(super) fn format_local(at: &Zoned) -> String {
    let zone = zone_name(at.time_zone());
    format!("{} ({zone})", at.strftime("%Y-%m-%d %H:%M"))
}

/// The name of a time zone.
pub(crate) fn zone_name(zone: &TimeZone) -> String {
    zone.iana_name().unwrap_or("UTC").to_owned()
}

/// Reads days such as `Sat,Sun` and `Mon-Fri`.
fn parse_days(text: &str) -> Option<[bool; 7]> {
    let day = |name: &str| DAYS.iter().position(|day| day.eq_ignore_ascii_case(name));
    let mut days = [false; 7];
    for part in text.split(',') {
        let (first, last) = part.split_once('-').unwrap_or((part, part));
        let (first, last) = (day(first)?, day(last)?);
        // `Sat-Mon` passes the end of the week.
        let count = (last + 7 - first) % 7;
        for step in 0..=count {
            days[(first + step) % 7] = true;
        }
    }
    Some(days)
}

/// Reads `HH:MM` as minutes of the day, up to `24:00`.
fn parse_minute(text: &str) -> Option<u32> {
    let (hour, minute) = text.split_once(':')?;
    let part = |digits: &str| {
        let is_number = digits.len() == 2 && digits.bytes().all(|byte| byte.is_ascii_digit());
        digits.parse::<u32>().ok().filter(|_| is_number)
    };
    let minute = part(minute).filter(|minute| *minute < 60)?;
    Some(part(hour)? * 60 + minute).filter(|all| *all <= DAY)
}

#[cfg(test)]
mod tests {
    use super::*;

    fn zone(name: &str) -> TimeZone {
        TimeZone::get(name).expect("a time zone")
    }

    fn at(text: &str) -> Zoned {
        let at: jiff::Timestamp = text.parse().expect("a time");
        at.to_zoned(zone("Europe/Berlin"))
    }

    /// All times of a schedule between two others, in UTC.
    fn times_between(times: &str, from: &str, until: &str) -> Vec<String> {
        let times = Times::parse(times).expect("readable");
        let (mut now, until) = (at(from), at(until));
        let mut found = Vec::new();
        while let Some(next) = times.next_after(&now).filter(|next| *next < until) {
            found.push(next.timestamp().to_string());
            now = next;
        }
        found
    }

    #[test]
    fn a_nightly_time_comes_once_in_each_night_in_which_clocks_change() {
        // At 2026-03-29 02:00 clocks are set to 03:00, at 2026-10-25 03:00 to 02:00.
        let spring = times_between("30 2 * * *", "2026-03-27T12:00:00Z", "2026-03-30T12:00:00Z");
        assert_eq!(
            spring,
            [
                "2026-03-28T01:30:00Z",
                "2026-03-29T01:00:00Z",
                "2026-03-30T00:30:00Z"
            ]
        );
        let autumn = times_between("30 2 * * *", "2026-10-23T12:00:00Z", "2026-10-26T12:00:00Z");
        assert_eq!(
            autumn,
            [
                "2026-10-24T00:30:00Z",
                "2026-10-25T00:30:00Z",
                "2026-10-26T01:30:00Z"
            ]
        );
    }

    #[test]
    fn lists_and_ranges_come_once_in_each_night_in_which_clocks_change() {
        // In spring 02:30 does not exist, in autumn it comes twice.
        for times in ["30 2,14 * * *", "30 2-2,14-14 * * *"] {
            let spring = times_between(times, "2026-03-28T18:00:00Z", "2026-03-30T03:00:00Z");
            assert_eq!(
                spring,
                [
                    "2026-03-29T01:00:00Z",
                    "2026-03-29T12:30:00Z",
                    "2026-03-30T00:30:00Z"
                ],
                "{times}"
            );
            let autumn = times_between(times, "2026-10-24T18:00:00Z", "2026-10-26T03:00:00Z");
            assert_eq!(
                autumn,
                [
                    "2026-10-25T00:30:00Z",
                    "2026-10-25T13:30:00Z",
                    "2026-10-26T01:30:00Z"
                ],
                "{times}"
            );
        }
        // Both skipped times come at once, as one.
        let both = times_between(
            "15,30 2 * * *",
            "2026-03-28T18:00:00Z",
            "2026-03-29T12:00:00Z",
        );
        assert_eq!(both, ["2026-03-29T01:00:00Z"]);
        let refused = Times::parse("0-59 0-23 * * *").expect_err("too many");
        assert!(refused.contains("1440 times a day"), "{refused}");
    }

    #[test]
    fn each_hour_comes_23_or_25_times_on_days_on_which_clocks_change() {
        for (from, until, count) in [
            ("2026-03-28T22:59:59Z", "2026-03-29T22:00:00Z", 23),
            ("2026-10-24T21:59:59Z", "2026-10-25T23:00:00Z", 25),
            ("2026-11-23T22:59:59Z", "2026-11-24T23:00:00Z", 24),
        ] {
            let times = times_between("0 * * * *", from, until);
            assert_eq!(times.len(), count, "{times:?}");
        }
    }

    #[test]
    fn times_have_five_fields() {
        for (text, next) in [
            ("30 2 * * mon-fri", "2026-11-30T01:30:00Z"),
            ("0 0 1 * *", "2026-11-30T23:00:00Z"),
            ("*/15 * * * *", "2026-11-28T12:15:00Z"),
            ("0 0 29 2 *", "2028-02-28T23:00:00Z"),
        ] {
            let times = Times::parse(text).expect("readable");
            let found = times.next_after(&at("2026-11-28T12:00:00.5Z"));
            assert_eq!(
                found.expect("a time").timestamp().to_string(),
                next,
                "{text}"
            );
        }
        for wrong in [
            "",
            "2",
            "30 2 * *",
            "0 30 2 * * *",
            "0 30 2 * * * 2027",
            "61 2 * * *",
            "* * * * moon",
            "a b c d e",
        ] {
            let refused = Times::parse(wrong).expect_err(wrong);
            assert!(refused.contains("30 2 * * mon-fri"), "{wrong}: {refused}");
        }
        let never = Times::parse("0 0 31 2 *").expect("readable");
        assert!(never.next_after(&at("2026-11-28T12:00:00Z")).is_none());
    }

    #[test]
    fn windows_may_pass_midnight_and_belong_to_days() {
        let is_open = |window: &str, at_time: &str| {
            let window = Window::parse(window).expect("readable");
            window.is_open(&at(at_time))
        };
        // 2026-11-27 is a Friday; Berlin is an hour ahead of UTC.
        for (window, at, expected) in [
            ("22:00-06:00", "2026-11-27T20:59:59Z", false),
            ("22:00-06:00", "2026-11-27T21:00:00Z", true),
            ("22:00-06:00", "2026-11-28T04:59:59Z", true),
            ("22:00-06:00", "2026-11-28T05:00:00Z", false),
            ("08:30-09:00", "2026-11-27T07:45:00Z", true),
            ("08:30-09:00", "2026-11-27T08:00:00Z", false),
            ("Fri 22:00-06:00", "2026-11-28T04:00:00Z", true),
            ("Fri 22:00-06:00", "2026-11-27T04:00:00Z", false),
            ("sat,sun 00:00-24:00", "2026-11-28T22:59:00Z", true),
            ("sat,sun 00:00-24:00", "2026-11-27T22:59:00Z", false),
            ("sat-mon 00:00-24:00", "2026-11-30T12:00:00Z", true),
            ("sat-mon 00:00-24:00", "2026-12-01T12:00:00Z", false),
        ] {
            assert_eq!(is_open(window, at), expected, "{window} {at}");
        }
        for wrong in [
            "",
            "22-06",
            "22:00",
            "25:00-06:00",
            "24:00-06:00",
            "22:60-06:00",
            "22:00-22:00",
            "day 22:00-06:00",
            "+2:00-06:00",
            "22:00-06:00 Fri",
        ] {
            assert!(Window::parse(wrong).is_err(), "{wrong}");
        }
    }

    #[test]
    fn closed_windows_tell_when_the_next_one_opens() {
        let windows =
            ["Sat 10:00-11:00", "22:00-06:00"].map(|text| Window::parse(text).expect("readable"));
        let closed = |at_time: &str| closed_until(&windows, &at(at_time));
        assert_eq!(closed("2026-11-27T21:30:00Z"), None);
        assert_eq!(
            closed("2026-11-27T12:00:00Z").as_deref(),
            Some("2026-11-27 22:00 (Europe/Berlin)")
        );
        assert_eq!(
            closed("2026-11-28T08:00:00Z").as_deref(),
            Some("2026-11-28 10:00 (Europe/Berlin)")
        );
        assert_eq!(closed_until(&[], &at("2026-11-27T12:00:00Z")), None);
    }

    #[test]
    fn windows_in_a_night_in_which_clocks_change_open_when_they_say() {
        for (window, expected, opening) in [
            // At 2026-03-29 02:00 clocks are set to 03:00: the whole window is skipped.
            ("02:30-02:45", "2026-03-30 02:30", "2026-03-30T00:30:00Z"),
            (
                "Sun 02:30-02:45",
                "2026-04-05 02:30",
                "2026-04-05T00:30:00Z",
            ),
            // Its beginning alone is skipped.
            ("02:30-05:00", "2026-03-29 03:00", "2026-03-29T01:00:00Z"),
            ("04:00-05:00", "2026-03-29 04:00", "2026-03-29T02:00:00Z"),
        ] {
            let windows = [Window::parse(window).expect("readable")];
            let closed = closed_until(&windows, &at("2026-03-28T23:00:00Z"));
            let expected = format!("{expected} (Europe/Berlin)");
            assert_eq!(closed.as_deref(), Some(&*expected), "{window}");
            assert_eq!(closed_until(&windows, &at(opening)), None, "{window}");
        }
    }
}
