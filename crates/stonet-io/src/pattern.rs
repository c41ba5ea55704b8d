//! Column names by pattern, and the nearest names when there is none.

/// How many names a message lists.
pub(crate) const LISTED: usize = 20;

/// Whether the whole of `name` fits: `*` stands for any characters, also none, and `?` for exactly one.
pub(crate) fn matches(pattern: &str, name: &str) -> bool {
    let (pattern, name): (Vec<char>, Vec<char>) = (pattern.chars().collect(), name.chars().collect());
    let (mut p, mut n) = (0, 0);
    // Where to go on when a character does not fit: behind the last `*`, which then swallows one character more.
    let mut retry = None;
    while n < name.len() {
        match pattern.get(p) {
            Some('*') => {
                p += 1;
                retry = Some((p, n));
            }
            Some(&c) if c == '?' || c == name[n] => (p, n) = (p + 1, n + 1),
            _ => match retry {
                Some((star, from)) => {
                    (p, n) = (star, from + 1);
                    retry = Some((star, n));
                }
                None => return false,
            },
        }
    }
    pattern[p..].iter().all(|&c| c == '*')
}

/// The names as a list for a message, those nearest to `wanted` first.
pub fn nearest(wanted: &str, names: &[String]) -> String {
    let mut order: Vec<(usize, &String)> = names.iter().map(|n| (distance(wanted, n), n)).collect();
    order.sort_by_key(|&(d, _)| d); // stable: equally near names stay in the order of the file
    list(order.into_iter().map(|(_, n)| n.as_str()))
}

/// The name nearest to `wanted`, the first of equals; none where half of it and more would have to change.
pub(crate) fn nearest_of<'a>(wanted: &str, names: &'a [String]) -> Option<&'a str> {
    let nearest = names.iter().map(|n| (distance(wanted, n), n.as_str())).min_by_key(|(d, _)| *d);
    nearest.filter(|(d, _)| 2 * d <= wanted.chars().count()).map(|(_, name)| name)
}

/// Names in quotes, at most twenty.
pub(crate) fn list<'a>(names: impl ExactSizeIterator<Item = &'a str>) -> String {
    let more = names.len().saturating_sub(LISTED);
    let shown: Vec<String> = names.take(LISTED).map(|n| format!("`{n}`")).collect();
    if more == 0 { shown.join(", ") } else { format!("{} and {more} more", shown.join(", ")) }
}

/// Insertions, deletions and exchanges that turn one word into the other, upper and lower case being the same.
fn distance(a: &str, b: &str) -> usize {
    let (a, b) = (a.to_lowercase(), b.to_lowercase());
    let b: Vec<char> = b.chars().collect();
    let mut row: Vec<usize> = (0..=b.len()).collect();
    for (i, c) in a.chars().enumerate() {
        let mut diagonal = std::mem::replace(&mut row[0], i + 1);
        for j in 0..b.len() {
            let exchanged = diagonal + usize::from(c != b[j]);
            diagonal = row[j + 1];
            row[j + 1] = exchanged.min(diagonal + 1).min(row[j] + 1);
        }
    }
    row[b.len()]
}

#[cfg(test)]
mod tests {
    use super::*;
    use proptest::prelude::*;

    /// The definition, by recursion.
    fn by_definition(pattern: &[char], name: &[char]) -> bool {
        match (pattern.split_first(), name.split_first()) {
            (None, None) => true,
            (Some(('*', rest)), _) if by_definition(rest, name) => true,
            (Some(('*', _)), Some((_, tail))) => by_definition(pattern, tail),
            (Some((&c, rest)), Some((&d, tail))) => (c == '?' || c == d) && by_definition(rest, tail),
            _ => false,
        }
    }

    proptest! {
        #[test]
        fn the_matcher_agrees_with_the_definition(pattern in "[ab*?]{0,6}", name in "[ab]{0,6}") {
            let (p, n): (Vec<char>, Vec<char>) = (pattern.chars().collect(), name.chars().collect());
            prop_assert_eq!(matches(&pattern, &name), by_definition(&p, &n));
        }
    }

    #[test]
    fn patterns_by_hand() {
        assert!(matches("f*", "f12") && matches("f*", "f") && !matches("f*", "of"));
        assert!(matches("z?", "z3") && !matches("z?", "z") && !matches("z?", "z10") && matches("?", "ß"));
        assert!(matches("Jitter(*)", "Jitter(%)") && !matches("", "a") && matches("*", ""));
    }

    #[test]
    fn distances_by_hand() {
        assert_eq!(distance("kitten", "sitting"), 3);
        assert_eq!((distance("", "abc"), distance("abc", ""), distance("Y", "y")), (3, 3, 0));
    }

    #[test]
    fn near_names_come_first_and_long_lists_are_cut() {
        let names: Vec<String> = ["width", "price", "Prices", "id"].map(String::from).into();
        assert_eq!(nearest("prise", &names), "`price`, `Prices`, `id`, `width`");
        let many: Vec<String> = (0..50).map(|i| format!("x{i}")).collect();
        assert!(nearest("x0", &many).ends_with(" and 30 more"));
    }
}
