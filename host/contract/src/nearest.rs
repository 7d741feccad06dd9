//! The right name for one that was mistyped: what an error suggests.

/// Names longer than this are not compared; none of ours is.
const LONGEST: usize = 64;

/// The candidate closest to what was typed, where one is close enough to be meant: a third of
/// its letters may differ, or it goes on where the typed name ends. Two neighbours that are swapped
/// count as one letter; `-` and `_` count as the same letter, as do upper and lower case.
#[must_use]
pub fn nearest<'a>(typed: &str, candidates: &[&'a str]) -> Option<&'a str> {
    let typed = letters(typed)?;
    candidates
        .iter()
        .filter_map(|candidate| {
            let name = letters(candidate)?;
            let distance = distance(&typed, &name);
            let goes_on = typed.len() >= 3 && name.starts_with(&typed);
            let close = distance <= name.len().max(3) / 3;
            (close || goes_on).then_some((distance, *candidate))
        })
        .min_by_key(|(distance, _candidate)| *distance)
        .map(|(_distance, candidate)| candidate)
}

fn letters(name: &str) -> Option<Vec<char>> {
    let fold = |letter: char| match letter {
        '-' => '_',
        other => other.to_ascii_lowercase(),
    };
    let letters: Vec<char> = name.chars().take(LONGEST + 1).map(fold).collect();
    (letters.len() <= LONGEST).then_some(letters)
}

/// How many letters must be put in, taken out, changed or swapped with their neighbour.
fn distance(from: &[char], to: &[char]) -> usize {
    let mut before: Vec<usize> = Vec::new();
    let mut row: Vec<usize> = (0..=to.len()).collect();
    for (line, letter) in from.iter().enumerate() {
        let mut left = line + 1;
        let mut next = vec![left];
        for (column, (pair, other)) in row.windows(2).zip(to).enumerate() {
            if let &[diagonal, above] = pair {
                let change = diagonal + usize::from(letter != other);
                left = change.min(above + 1).min(left + 1);
                let swapped = |last: usize| {
                    let same = from.get(line.checked_sub(1)?) == Some(other)
                        && to.get(last) == Some(letter);
                    same.then(|| before.get(last).copied()).flatten()
                };
                if let Some(apart) = column.checked_sub(1).and_then(swapped) {
                    left = left.min(apart + 1);
                }
                next.push(left);
            }
        }
        before = std::mem::replace(&mut row, next);
    }
    row.last().copied().unwrap_or_default()
}

#[cfg(test)]
mod tests {
    use super::nearest;

    #[test]
    fn a_typing_error_finds_its_name_and_a_stranger_none() {
        let names = ["deadline_ms", "cpu_ms", "memory_bytes"];
        assert_eq!(nearest("deadline-ms", &names), Some("deadline_ms"));
        assert_eq!(nearest("memory_byte", &names), Some("memory_bytes"));
        assert_eq!(nearest("cpums", &names), Some("cpu_ms"));
        assert_eq!(nearest("raed", &["write", "read"]), Some("read"));
        assert_eq!(nearest("erad", &["read"]), Some("read"));
        assert_eq!(nearest("dear", &["read"]), None);
        assert_eq!(nearest("colour", &names), None);
        assert_eq!(nearest(&"x".repeat(100_000), &names), None);
    }
}
