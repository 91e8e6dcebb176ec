//! A bar chart as SVG: the medians of one figure, settings side by side, with the range of the rounds.

use crate::{
    ledger::Ledger,
    report::{Report, number},
};
use std::fmt::Write;

/// The chart of a report's headline. None if there is nothing to be seen.
pub(crate) fn svg(report: &Report) -> Option<String> {
    let (ledger, figure) = (&report.ledger, report.workload.headline);
    let rows = ledger.rows();
    let spreads = rows
        .iter()
        .map(|(setting, subject)| ledger.spread(setting, subject, figure));
    let most = spreads
        .flatten()
        .map(|spread| spread.most)
        .fold(0.0, f64::max);
    if most <= 0.0 {
        return None;
    }
    let mut body = String::new();
    let (mut top, mut last) = (HEAD, "");
    for (setting, subject) in &rows {
        if setting != last {
            top += GAP;
            text(&mut body, (LEFT - 10.0, top + 14.0), "end", setting);
            last = setting;
        }
        draw(&mut body, ledger, (setting, subject, figure), top, most);
        top += STEP;
    }
    let height = top + GAP;
    let mut svg = format!(
        "<svg xmlns=\"http://www.w3.org/2000/svg\" viewBox=\"0 0 {WIDTH} {height}\" \
         font-family=\"sans-serif\" font-size=\"13\">\n\
         <rect width=\"{WIDTH}\" height=\"{height}\" fill=\"white\"/>\n"
    );
    let title = format!("{}: {figure}", report.workload.title);
    text(&mut svg, (10.0, 22.0), "start", &title);
    Some(svg + &body + "</svg>\n")
}

fn draw(
    body: &mut String,
    ledger: &Ledger,
    (setting, subject, figure): (&str, &str, &str),
    top: f64,
    most: f64,
) {
    let Some(spread) = ledger.spread(setting, subject, figure) else {
        return;
    };
    let place = |value: f64| LEFT + value / most * (WIDTH - LEFT - RIGHT);
    let (end, middle) = (place(spread.median), top + 9.0);
    let colour = match subject {
        "plain" => "#2b6cb0",
        "fenced" => "#63b3ed",
        "bare" => "#a0aec0",
        _ => "#ed8936",
    };
    let _ = writeln!(
        body,
        "<rect x=\"{LEFT}\" y=\"{top:.1}\" width=\"{:.1}\" height=\"18\" fill=\"{colour}\"/>\n\
         <line x1=\"{:.1}\" x2=\"{:.1}\" y1=\"{middle:.1}\" y2=\"{middle:.1}\" stroke=\"black\"/>",
        end - LEFT,
        place(spread.least),
        place(spread.most),
    );
    let label = format!("{} {subject}", number(spread.median));
    text(
        body,
        (place(spread.most) + 6.0, top + 14.0),
        "start",
        &label,
    );
}

fn text(body: &mut String, (x, y): (f64, f64), anchor: &str, words: &str) {
    let words = words.replace('&', "&amp;").replace('<', "&lt;");
    let _ = writeln!(
        body,
        "<text x=\"{x:.1}\" y=\"{y:.1}\" text-anchor=\"{anchor}\">{words}</text>"
    );
}

const WIDTH: f64 = 860.0;
const LEFT: f64 = 190.0;
const RIGHT: f64 = 150.0;
const HEAD: f64 = 24.0;
const GAP: f64 = 14.0;
const STEP: f64 = 22.0;
