//! Collecting everything that is wrong before giving up.

use crate::error::ConfigError;

/// Problems found so far; the first [`MOST`](Self::MOST) are kept.
#[derive(Debug, Default)]
pub(super) struct Problems {
    found: Option<ConfigError>,
    count: usize,
}

impl Problems {
    /// Nobody reads more, and a hostile file could have a million.
    const MOST: usize = 20;

    pub(super) fn push(&mut self, problem: ConfigError) {
        self.count += 1;
        if self.count <= Self::MOST {
            self.found = Some(match self.found.take() {
                Some(found) => found.and(problem),
                None => problem,
            });
        }
    }

    pub(super) fn add(&mut self, field: impl Into<String>, message: impl Into<String>) {
        self.push(ConfigError::new(field, message));
    }

    /// Keeps the value, or the problem.
    pub(super) fn catch<T>(&mut self, result: Result<T, ConfigError>) -> Option<T> {
        result.map_err(|problem| self.push(problem)).ok()
    }

    /// Fails if there was any problem.
    pub(super) fn finish<T>(self, value: T) -> Result<T, ConfigError> {
        let Some(found) = self.found else { return Ok(value) };
        match self.count.saturating_sub(Self::MOST) {
            0 => Err(found),
            more => Err(found.and(ConfigError::new("", format!("and {more} more")))),
        }
    }
}

#[cfg(test)]
mod tests {
    use super::*;

    #[test]
    fn all_problems_are_reported_up_to_a_limit() {
        assert!(Problems::default().finish(()).is_ok());
        let mut problems = Problems::default();
        for n in 0..25 {
            problems.add(format!("f{n}"), "is bad");
        }
        let text = problems.finish(()).unwrap_err().to_string();
        assert!(text.starts_with("f0: is bad; f1: is bad; "), "{text}");
        assert!(text.ends_with("f19: is bad; and 5 more"), "{text}");
    }
}
