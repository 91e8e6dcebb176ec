//! Two pictures, one beside the other.

/// The lines of both: common ones as they are, expected ones with `-`, actual ones with `+`.
pub(crate) fn show(expected: &[String], actual: &[String]) -> String {
    let common = common_lines(expected, actual);
    let (mut e, mut a, mut out) = (0, 0, String::new());
    let mut line = |mark: char, text: &str| {
        out.push(mark);
        out.push(' ');
        out.push_str(text);
        out.push('\n');
    };
    while e < expected.len() || a < actual.len() {
        if e < expected.len() && a < actual.len() && expected[e] == actual[a] {
            line(' ', &expected[e]);
            (e, a) = (e + 1, a + 1);
        } else if a == actual.len() || (e < expected.len() && common[e + 1][a] >= common[e][a + 1])
        {
            line('-', &expected[e]);
            e += 1;
        } else {
            line('+', &actual[a]);
            a += 1;
        }
    }
    out
}

/// How many lines the rests from each pair of places have in common.
fn common_lines(one: &[String], other: &[String]) -> Vec<Vec<usize>> {
    let mut longest = vec![vec![0; other.len() + 1]; one.len() + 1];
    for i in (0..one.len()).rev() {
        for j in (0..other.len()).rev() {
            longest[i][j] = if one[i] == other[j] {
                longest[i + 1][j + 1] + 1
            } else {
                longest[i + 1][j].max(longest[i][j + 1])
            };
        }
    }
    longest
}

#[test]
fn a_changed_line_is_shown_twice_and_a_common_one_once() {
    let lines = |text: &str| text.split(' ').map(str::to_owned).collect::<Vec<_>>();
    assert_eq!(
        show(&lines("a b c"), &lines("a x c")),
        "  a\n- b\n+ x\n  c\n"
    );
    assert_eq!(show(&lines("a"), &lines("a b")), "  a\n+ b\n");
    assert_eq!(show(&lines("a b"), &lines("b")), "- a\n  b\n");
}
