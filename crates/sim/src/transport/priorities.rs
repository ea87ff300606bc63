//! Priority classes by the size of messages, so that each class carries equally many unscheduled bytes.
//!
//! Source: Montazeri et al., "Homa: a receiver-driven low-latency transport protocol using network priorities", SIGCOMM
//! 2018, section 3.4, and the authors' simulator (PlatformLab/HomaSimulation): a class ends at the first size up to which
//! its share of the bytes is reached. Unscheduled bytes are those that a sender sends before its receiver grants any:
//! the first ones of each message. A transport finds the sizes in its
//! [`Environment`](crate::derived::Environment::sizes).

/// The largest sizes of all classes but the last one, which has no bound; the first class has the shortest messages.
///
/// `sizes` are sizes of messages, each with the number of messages of that size; a sender sends up to `unscheduled` bytes
/// of a message without a grant. There are fewer classes than `classes` if messages of one size fill several.
pub fn bounds(sizes: &[(u64, f64)], classes: u32, unscheduled: u64) -> Vec<u64> {
    let mut sizes = sizes.to_vec();
    sizes.sort_by_key(|(size, _)| *size);
    let all: f64 = sizes.iter().map(|own| unscheduled_bytes(own, unscheduled)).sum();
    let longest = sizes.last().map_or(0, |(size, _)| *size);
    let (mut bounds, mut bytes, mut filled) = (Vec::new(), 0.0, 0);
    for own in &sizes {
        bytes += unscheduled_bytes(own, unscheduled);
        let full = (bytes / all * f64::from(classes) + ROUNDING) as u32;
        if full > filled && own.0 < longest && bounds.last() != Some(&own.0) {
            bounds.push(own.0);
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

/// The share of unscheduled bytes among all, by which Homa divides a port's classes between unscheduled and scheduled data.
pub fn unscheduled_share(sizes: &[(u64, f64)], unscheduled: u64) -> f64 {
    let bytes = |most: u64| sizes.iter().map(|own| unscheduled_bytes(own, most)).sum::<f64>();
    bytes(unscheduled) / bytes(u64::MAX)
}

fn unscheduled_bytes((size, messages): &(u64, f64), unscheduled: u64) -> f64 {
    (*size).min(unscheduled) as f64 * messages
}

#[cfg(test)]
mod tests {
    use proptest::prelude::*;

    use super::*;
    use crate::random::{Purpose, Stream};
    use crate::traffic::sizes::Sizes;
    use crate::traffic::sizes::workloads::{HomaW1, HomaW2, HomaW3, HomaW4};

    /// By hand. Six messages of 100 B, three of 200 B and one of 600 B, of which 400 B are unscheduled: 600, 600 and 400 B.
    /// Half of these 1600 B is reached at 200 B; a quarter at 100 B, and two and three quarters at 200 B.
    #[test]
    fn a_small_distribution() {
        let sizes = [(600, 1.0), (100, 6.0), (200, 3.0)];
        assert!(bounds(&sizes, 1, 400).is_empty());
        assert_eq!(bounds(&sizes, 2, 400), [200]);
        assert_eq!(bounds(&sizes, 4, 400), [100, 200]);
        assert_eq!(
            [1, 100, 101, 200, 201, 1_000_000].map(|size| class_of(&[100, 200], size)),
            [0, 0, 1, 1, 2, 2]
        );
        assert_eq!(unscheduled_share(&sizes, 400), 1600.0 / 1800.0);
        assert_eq!(unscheduled_share(&sizes, 600), 1.0);
    }

    /// As many bytes of each size as of each other: each is a class, whether its messages come in one row or in two.
    #[test]
    fn equal_bytes_are_equal_classes() {
        let sizes = [(100, 4.0), (200, 1.0), (200, 1.0), (400, 1.0)];
        assert_eq!(bounds(&sizes, 3, 400), [100, 200]);
        assert!(bounds(&sizes[3..], 8, 400).is_empty(), "one size is one class");
        assert!(bounds(&[], 8, 400).is_empty());
    }

    /// Unscheduled bytes of the workloads of Homa's paper with the first 9,700 B of a message, summed over its tables. Of
    /// W5 the table in use here is linear between points, not in steps, which moves the share.
    #[test]
    fn unscheduled_shares_of_published_workloads() {
        for (sizes, share) in [
            (Sizes::HomaW1(HomaW1 {}), 0.995),
            (Sizes::HomaW2(HomaW2 {}), 0.772),
            (Sizes::HomaW3(HomaW3 {}), 0.295),
            (Sizes::HomaW4(HomaW4 {}), 0.027),
        ] {
            let draws = sizes.draws(Stream::new(0, 0, Purpose::Sizes, 0)).take(1_000_000);
            let sizes: Vec<(u64, f64)> = draws.map(|size| (size, 1.0)).collect();
            let found = unscheduled_share(&sizes, 9_700);
            assert!((found / share - 1.0).abs() < 0.05, "{found} instead of {share}");
        }
    }

    proptest! {
        /// Up to its bound a class and those before it have their share of the bytes, and without the messages of that
        /// size they have not.
        #[test]
        fn a_class_ends_where_its_share_is_reached(
            sizes in prop::collection::vec((1u64..2000, 1u32..50), 1..60),
            classes in 1u32..9,
        ) {
            let sizes: Vec<(u64, f64)> = sizes.into_iter().map(|(size, count)| (size, f64::from(count))).collect();
            let up_to = |most: u64| {
                let own = sizes.iter().filter(|(size, _)| *size <= most);
                own.map(|own| unscheduled_bytes(own, 700)).sum::<f64>()
            };
            let bounds = bounds(&sizes, classes, 700);
            prop_assert!(bounds.len() < classes as usize);
            let share = up_to(u64::MAX) / f64::from(classes);
            for bound in bounds {
                let reached = (up_to(bound) / share + ROUNDING).floor();
                prop_assert!((up_to(bound - 1) / share + ROUNDING).floor() < reached, "{bound} fills no class");
            }
        }
    }
}
