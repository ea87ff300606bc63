//! The size of a maximum matching: the highest sum of rates of a matrix, since the linear program over doubly sub-stochastic matrices
//! has whole-numbered corners (Birkhoff).

/// By augmenting paths (Kuhn); by source, where it can send to.
pub fn size(destinations: &[Vec<u16>], hosts: usize) -> usize {
    let mut source_of = vec![None; hosts];
    (0..destinations.len())
        .filter(|&source| augment(source, destinations, &mut vec![false; hosts], &mut source_of))
        .count()
}

fn augment(
    source: usize,
    destinations: &[Vec<u16>],
    seen: &mut [bool],
    source_of: &mut [Option<usize>],
) -> bool {
    destinations[source].iter().map(|&destination| usize::from(destination)).any(|destination| {
        if std::mem::replace(&mut seen[destination], true) {
            return false;
        }
        let free = source_of[destination].is_none_or(|other| augment(other, destinations, seen, source_of));
        if free {
            source_of[destination] = Some(source);
        }
        free
    })
}

#[test]
fn known_sizes() {
    assert_eq!(size(&[vec![1, 2], vec![2], vec![0], vec![0]], 4), 3);
    assert_eq!(size(&[vec![0], vec![0], vec![0]], 3), 1);
    assert_eq!(size(&[vec![0, 1], vec![0], vec![1, 2]], 3), 3);
}
