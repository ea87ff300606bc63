//! Priority classes by the size of messages, so that each class carries equally many unscheduled bytes.
//!
//! Source: Montazeri et al., "Homa: a receiver-driven low-latency transport protocol using network priorities", SIGCOMM
//! 2018, section 3.4, and the authors' simulator (PlatformLab/HomaSimulation): a class ends at the first size up to which
//! its share of the bytes is reached. Unscheduled bytes are those that a sender sends before its receiver grants any:
//! the first ones of each message. A transport finds the sizes in its
//! [`Environment`](crate::derived::Environment::sizes).

/// The largest sizes of all classes but the last one, which has no bound; the first class has the smallest sizes.
///
/// `sizes` are sizes, in any order, each with the bytes that are sent of it. There are fewer classes than `classes` if one
/// size fills several.
pub fn bounds(mut sizes: Vec<(u64, f64)>, classes: u32) -> Vec<u64> {
    sizes.sort_unstable_by_key(|(size, _)| *size);
    let all: f64 = sizes.iter().map(|(_, bytes)| bytes).sum();
    let longest = sizes.last().map_or(0, |(size, _)| *size);
    let (mut bounds, mut sent, mut filled) = (Vec::new(), 0.0, 0);
    for (size, bytes) in &sizes {
        sent += bytes;
        let full = (sent / all * f64::from(classes) + ROUNDING) as u32;
        if full > filled && *size < longest && bounds.last() != Some(size) {
            bounds.push(*size);
        }
        filled = filled.max(full);
    }
    bounds
}

/// Sums of bytes are rounded: a class is full if so small a part of it is missing.
const ROUNDING: f64 = 1e-9;

/// The class of a message of that size.
pub fn class_of(bounds: &[u64], size: u64) -> u8 {
    bounds.partition_point(|bound| *bound < size) as u8
}

#[cfg(test)]
mod tests {
    use proptest::prelude::*;

    use super::*;

    /// By hand. Six messages of 100 B, three of 200 B and one of 600 B, of which 400 B are unscheduled: 600, 600 and 400 B.
    /// Half of these 1600 B is reached at 200 B; a quarter at 100 B, and two and three quarters at 200 B.
    #[test]
    fn a_small_distribution() {
        let sizes = vec![(600, 400.0), (100, 600.0), (200, 600.0)];
        assert!(bounds(sizes.clone(), 1).is_empty());
        assert_eq!(bounds(sizes.clone(), 2), [200]);
        assert_eq!(bounds(sizes, 4), [100, 200]);
        assert_eq!(
            [1, 100, 101, 200, 201, 1_000_000].map(|size| class_of(&[100, 200], size)),
            [0, 0, 1, 1, 2, 2]
        );
    }

    /// As many bytes of each size as of each other: each is a class, whether its messages come in one row or in two.
    #[test]
    fn equal_bytes_are_equal_classes() {
        let sizes = vec![(100, 400.0), (200, 200.0), (200, 200.0), (400, 400.0)];
        assert_eq!(bounds(sizes.clone(), 3), [100, 200]);
        assert!(bounds(sizes[3..].to_vec(), 8).is_empty(), "one size is one class");
        assert!(bounds(Vec::new(), 8).is_empty());
    }

    proptest! {
        /// Up to its bound a class and those before it have their share of the bytes, and without the messages of that
        /// size they have not.
        #[test]
        fn a_class_ends_where_its_share_is_reached(
            sizes in prop::collection::vec((1u64..2000, 1u32..50_000), 1..60),
            classes in 1u32..9,
        ) {
            let sizes: Vec<(u64, f64)> = sizes.into_iter().map(|(size, bytes)| (size, f64::from(bytes))).collect();
            let up_to = |most: u64| {
                let own = sizes.iter().filter(|(size, _)| *size <= most);
                own.map(|(_, bytes)| bytes).sum::<f64>()
            };
            let bounds = bounds(sizes.clone(), classes);
            prop_assert!(bounds.len() < classes as usize);
            let share = up_to(u64::MAX) / f64::from(classes);
            for bound in bounds {
                let reached = (up_to(bound) / share + ROUNDING).floor();
                prop_assert!((up_to(bound - 1) / share + ROUNDING).floor() < reached, "{bound} fills no class");
            }
        }
    }
}
