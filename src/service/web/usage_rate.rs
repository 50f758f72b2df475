//! How often lines about jobs may be sent. All requests together have a limit, as each is a transaction.

use std::sync::Mutex;
use std::time::{Duration, Instant};

use service::lock_ignoring_poison;

/// The most requests within the period.
const REQUESTS: u32 = 120;
const PERIOD: Duration = Duration::from_secs(60);

/// The requests of the current period.
#[derive(Debug, Default)]
pub(crate) struct UsageRate(Mutex<Option<StartedPeriod>>);

#[derive(Clone, Copy, Debug)]
struct StartedPeriod {
    start: Instant,
    requests: u32,
}

impl UsageRate {
    /// Counts a request, or returns the time after which it may be sent again.
    ///
    /// # Errors
    /// The time.
    pub(crate) fn count_request(&self, now: Instant) -> Result<(), Duration> {
        let mut current = lock_ignoring_poison(&self.0);
        let is_current = |period: &StartedPeriod| now.duration_since(period.start) < PERIOD;
        let mut period = current.filter(is_current).unwrap_or(StartedPeriod {
            start: now,
            requests: 0,
        });
        if period.requests >= REQUESTS {
            return Err(PERIOD.saturating_sub(now.duration_since(period.start)));
        }
        period.requests += 1;
        *current = Some(period);
        Ok(())
    }
}

#[cfg(test)]
mod tests {
    use std::time::{Duration, Instant};

    use super::{PERIOD, REQUESTS, UsageRate};

    #[test]
    fn requests_beyond_the_limit_wait_for_the_next_period() {
        let rate = UsageRate::default();
        let start = Instant::now();
        for _ in 0..REQUESTS {
            assert_eq!(rate.count_request(start), Ok(()));
        }
        let later = start + Duration::from_secs(20);
        assert_eq!(rate.count_request(later), Err(Duration::from_secs(40)));
        assert_eq!(rate.count_request(start + PERIOD), Ok(()));
    }
}
