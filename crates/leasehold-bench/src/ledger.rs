//! What was measured: for each setting, subject and figure one value per round.

use crate::sample::Spread;
use std::collections::BTreeMap;

/// A setting, such as `5 nodes, 64 tasks`, and who was measured in it.
pub(crate) type Row = (String, String);

/// The values of one workload.
#[derive(Debug, Default)]
pub(crate) struct Ledger {
    rows: Vec<Row>,
    figures: Vec<String>,
    values: BTreeMap<(Row, String), Vec<f64>>,
}

impl Ledger {
    /// Adds the value of one round.
    pub(crate) fn add(&mut self, setting: &str, subject: &str, figure: &str, value: f64) {
        let row = (setting.to_owned(), subject.to_owned());
        if !self.rows.contains(&row) {
            self.rows.push(row.clone());
        }
        if !self.figures.iter().any(|known| known == figure) {
            self.figures.push(figure.to_owned());
        }
        self.values
            .entry((row, figure.to_owned()))
            .or_default()
            .push(value);
    }

    /// In the order in which they came: settings together, subjects as they came within their setting.
    pub(crate) fn rows(&self) -> Vec<&Row> {
        let mut settings: Vec<&str> = Vec::new();
        for (setting, _) in &self.rows {
            if !settings.contains(&setting.as_str()) {
                settings.push(setting);
            }
        }
        let mut rows: Vec<&Row> = self.rows.iter().collect();
        rows.sort_by_key(|row| {
            let setting = settings.iter().position(|&setting| setting == row.0);
            (setting, crate::subject::rank(&row.1))
        });
        rows
    }

    pub(crate) fn figures(&self) -> &[String] {
        &self.figures
    }

    /// One value per round.
    pub(crate) fn values(&self, setting: &str, subject: &str, figure: &str) -> &[f64] {
        let key = ((setting.to_owned(), subject.to_owned()), figure.to_owned());
        self.values.get(&key).map_or(&[], Vec::as_slice)
    }

    pub(crate) fn spread(&self, setting: &str, subject: &str, figure: &str) -> Option<Spread> {
        Spread::of(self.values(setting, subject, figure).iter().copied())
    }

    /// One over the other, round by round, so that what slowed a whole round does not count.
    pub(crate) fn ratio(&self, one: [&str; 3], other: [&str; 3]) -> Option<Spread> {
        let values = |[setting, subject, figure]: [&str; 3]| self.values(setting, subject, figure);
        let pairs = values(one).iter().zip(values(other));
        Spread::of(pairs.map(|(one, other)| one / other))
    }

    pub(crate) const fn is_empty(&self) -> bool {
        self.rows.is_empty()
    }
}

#[cfg(test)]
mod tests {
    use super::*;

    #[test]
    fn ratios_are_taken_within_a_round() {
        let mut ledger = Ledger::default();
        // The machine was ten times slower in the second round.
        for (ours, theirs) in [(2.0, 1.0), (20.0, 10.0), (3.0, 1.0)] {
            ledger.add("1 node", "plain", "p50", ours);
            ledger.add("1 node", "bare", "p50", theirs);
        }
        let ratio = ledger.ratio(["1 node", "plain", "p50"], ["1 node", "bare", "p50"]);
        let ratio = ratio.unwrap();
        assert_eq!((ratio.median, ratio.least, ratio.most), (2.0, 2.0, 3.0));
        assert_eq!(ledger.ratio(["", "", ""], ["1 node", "bare", "p50"]), None);
        assert_eq!(ledger.rows().len(), 2);
    }
}
