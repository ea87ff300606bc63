//! The pieces in which a path sends a block: each is sent on in one direction.
//!
//! Context switches of a flow are the pieces of all its paths less the paths (Song's thesis, lemma 4.1): as often the
//! receiver's pointers jump.

/// Where a path's piece has come to.
#[derive(Clone, Copy, Debug, Default, PartialEq, Eq)]
pub struct Run {
    /// The segment that the path sent last.
    last: Option<u32>,
    /// The direction, once it has sent two: forwards or not.
    forward: Option<bool>,
}

impl Run {
    /// The path sends that segment of the block. Whether it begins a piece.
    pub fn begins(&mut self, number: u32) -> bool {
        let last = self.last.replace(number);
        let forward = match last {
            Some(last) if last.checked_add(1) == Some(number) => Some(true),
            Some(last) if number.checked_add(1) == Some(last) => Some(false),
            _ => None,
        };
        let goes_on = forward.is_some() && self.forward.is_none_or(|before| Some(before) == forward);
        self.forward = if goes_on { forward } else { None };
        !goes_on
    }
}

#[cfg(test)]
mod tests {
    use super::*;

    #[test]
    fn a_piece_goes_on_in_one_direction() {
        let mut run = Run::default();
        let begins: Vec<bool> = [5, 6, 7, 6, 5, 9, 8, 7, 2].map(|number| run.begins(number)).to_vec();
        assert_eq!(begins, [true, false, false, true, false, true, false, false, true]);
    }
}
