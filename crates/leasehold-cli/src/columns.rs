//! Text in columns.

/// Rows as lines, each column as wide as its widest cell. The last column is not filled up.
pub(crate) fn lines(rows: &[Vec<String>]) -> Vec<String> {
    let count = rows.iter().map(Vec::len).max().unwrap_or_default();
    let width = |column: usize| {
        // A cell at the end of its row runs on, and asks for no width.
        let cells = rows.iter().filter(|row| row.len() > column + 1);
        let cells = cells.map(|row| row[column].chars().count());
        cells.max().unwrap_or_default()
    };
    let widths: Vec<_> = (0..count).map(width).collect();
    let line = |row: &Vec<String>| {
        let mut line = String::new();
        for (column, cell) in row.iter().enumerate() {
            line.push_str(cell);
            if column + 1 < row.len() {
                let missing = widths[column].saturating_sub(cell.chars().count());
                line.push_str(&" ".repeat(missing + 2));
            }
        }
        line.trim_end().to_owned()
    };
    rows.iter().map(line).collect()
}

#[cfg(test)]
mod tests {
    use super::*;

    #[test]
    fn columns_are_as_wide_as_their_cells() {
        let rows = [
            &["a", "bé", "c"][..],
            &["long", "b"],
            &["", "bcd", "d"],
            &["a cell that runs on"],
        ];
        let rows = rows.map(|row| row.iter().map(|cell| (*cell).to_owned()).collect());
        let expected = [
            "a     bé   c",
            "long  b",
            "      bcd  d",
            "a cell that runs on",
        ];
        assert_eq!(lines(&rows), expected);
    }
}
