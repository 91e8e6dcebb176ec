//! What leasehold has to reach, and whether it did.

use crate::{
    ledger::Ledger,
    report::{bounded, cell},
    sample::Spread,
};
use serde_json::{Value, json};

/// A figure, or the ratio of two of one run, and its limit.
#[derive(Clone, Debug)]
pub(crate) struct Bar {
    setting: String,
    subject: &'static str,
    figure: &'static str,
    /// The subject and the figure that it is divided by, in the same setting.
    over: Option<(&'static str, &'static str)>,
    limit: Limit,
    /// Who shows in the same figure how near anybody can come.
    bound: Option<&'static str>,
    /// Who has the most of the figure that could be had in the same run.
    most: Option<&'static str>,
}

#[derive(Clone, Copy, Debug)]
enum Limit {
    AtMost(f64),
    AtLeast(f64),
    /// A ratio of which the rounds do not show that it is above one.
    NotAbove,
}

/// A bar and what was measured.
#[derive(Clone, Debug)]
pub(crate) struct Verdict {
    what: String,
    limit: String,
    found: Option<Spread>,
    bound: Option<(&'static str, Spread)>,
    /// The most that could be had, and how much of it was, round by round.
    most: Option<(Spread, Spread)>,
    is_ratio: bool,
    is_met: bool,
}

impl Bar {
    pub(crate) fn new(setting: &str, subject: &'static str, figure: &'static str) -> Self {
        Self {
            setting: setting.to_owned(),
            subject,
            figure,
            over: None,
            limit: Limit::AtMost(f64::INFINITY),
            bound: None,
            most: None,
        }
    }

    /// Told beside it: what this subject reaches, which does no more than it must.
    pub(crate) const fn beside(mut self, subject: &'static str) -> Self {
        self.bound = Some(subject);
        self
    }

    /// Told beside it: how much it is of what this subject has, the most that could be had in the same run.
    pub(crate) const fn of_most(mut self, subject: &'static str) -> Self {
        self.most = Some(subject);
        self
    }

    /// Divided by the same figure of another subject.
    pub(crate) fn over(self, subject: &'static str) -> Self {
        let figure = self.figure;
        self.over_figure(subject, figure)
    }

    /// Divided by another figure.
    pub(crate) fn over_figure(mut self, subject: &'static str, figure: &'static str) -> Self {
        self.over = Some((subject, figure));
        self
    }

    pub(crate) fn at_most(mut self, limit: f64) -> Self {
        self.limit = Limit::AtMost(limit);
        self
    }

    pub(crate) fn at_least(mut self, limit: f64) -> Self {
        self.limit = Limit::AtLeast(limit);
        self
    }

    /// Ahead of the other subject, or equal within the bound that the rounds give.
    pub(crate) const fn not_above(mut self) -> Self {
        self.limit = Limit::NotAbove;
        self
    }

    /// Compares the median of the rounds with the limit. What was not measured is not met.
    pub(crate) fn judge(&self, ledger: &Ledger) -> Verdict {
        let setting = self.setting.as_str();
        let spread = |who| match self.over {
            None => ledger.spread(setting, who, self.figure),
            Some((subject, figure)) => {
                ledger.ratio([setting, who, self.figure], [setting, subject, figure])
            }
        };
        let mut what = format!("{}: {} {}", self.setting, self.subject, self.figure);
        if let Some((subject, figure)) = self.over {
            what += " / ";
            what += &[subject, figure]
                .into_iter()
                .filter(|&word| word != self.figure && word != self.subject)
                .collect::<Vec<_>>()
                .join(" ");
        }
        let found = spread(self.subject);
        let (limit, is_met) = match self.limit {
            Limit::AtMost(limit) => (
                format!("≤ {limit}"),
                found.is_some_and(|it| it.median <= limit),
            ),
            Limit::AtLeast(limit) => (
                format!("≥ {limit}"),
                found.is_some_and(|it| it.median >= limit),
            ),
            Limit::NotAbove => (
                "≤ 1, by the bound".to_owned(),
                found.is_some_and(|it| it.bound.0 <= 1.0),
            ),
        };
        Verdict {
            what,
            limit,
            found,
            bound: self.bound.and_then(|who| Some((who, spread(who)?))),
            most: self.most.and_then(|who| {
                let [own, most] = [self.subject, who].map(|who| [setting, who, self.figure]);
                Some((spread(who)?, ledger.ratio(own, most)?))
            }),
            is_ratio: self.over.is_some(),
            is_met,
        }
    }
}

impl Verdict {
    pub(crate) const fn is_met(&self) -> bool {
        self.is_met
    }

    /// A line of a Markdown table.
    pub(crate) fn line(&self) -> String {
        let tell = if self.is_ratio { bounded } else { cell };
        let found = self.found.map_or("not measured".to_owned(), tell);
        let mut met = if self.is_met { "met" } else { "**missed**" }.to_owned();
        if let Some((who, bound)) = self.bound {
            met += &format!("; {who}: {}", tell(bound));
        }
        if let Some((most, share)) = self.most {
            let share = (share.median * 100.0).floor();
            met += &format!("; {share} % of this run's limit: {}", tell(most));
        }
        format!("| {} | {} | {found} | {met} |", self.what, self.limit)
    }

    pub(crate) fn json(&self) -> Value {
        json!({
            "bar": self.what,
            "limit": self.limit,
            "median": self.found.map(|found| found.median),
            "bound": self.found.map(|found| found.bound),
            "beside": self.bound.map(|(who, bound)| json!({"subject": who, "median": bound.median})),
            "most": self.most.map(|(most, share)| json!({"median": most.median, "share": share.median})),
            "met": self.is_met,
        })
    }
}

#[cfg(test)]
mod tests {
    use super::*;

    #[test]
    fn a_bar_is_met_by_the_median_and_never_by_nothing() {
        let mut ledger = Ledger::default();
        for value in [1.0, 2.0, 9.0] {
            ledger.add("1 node", "plain", "p50", value);
            ledger.add("1 node", "bare", "p50", 2.0);
        }
        let bar = Bar::new("1 node", "plain", "p50");
        assert!(bar.clone().at_most(2.0).judge(&ledger).is_met());
        assert!(!bar.clone().at_most(1.9).judge(&ledger).is_met());
        assert!(bar.clone().at_least(2.0).judge(&ledger).is_met());
        let limit = bar.clone().beside("bare").at_most(2.0).judge(&ledger);
        assert_eq!(
            limit.line(),
            "| 1 node: plain p50 | ≤ 2 | 2.00 (1.00–9.00) | met; bare: 2.00 |"
        );
        let most = bar.clone().of_most("bare").at_least(3.0).judge(&ledger);
        assert_eq!(
            most.line(),
            "| 1 node: plain p50 | ≥ 3 | 2.00 (1.00–9.00) | **missed**; 100 % of this run's limit: 2.00 |"
        );
        let verdict = bar.over("bare").at_most(1.0).judge(&ledger);
        assert_eq!(
            verdict.line(),
            "| 1 node: plain p50 / bare | ≤ 1 | 1.00 [0.50–4.50] | met |"
        );
        let bar = |other| Bar::new("1 node", "plain", "p50").over(other);
        assert!(bar("bare").not_above().judge(&ledger).is_met());
        for value in [0.5, 0.4, 0.3] {
            ledger.add("1 node", "quick", "p50", value);
        }
        let slower = bar("quick").not_above().judge(&ledger);
        assert!(!slower.is_met(), "{}", slower.line());
        assert!(!Bar::new("5 nodes", "plain", "p50").judge(&ledger).is_met());
    }
}
