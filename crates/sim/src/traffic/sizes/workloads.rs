//! Distributions that papers have in common, compiled in: a table in `traffic/data` each.
//!
//! The comment at the head of each table has its source. A further one is its table, its lines here and its
//! line in the list of sizes.

use std::sync::LazyLock;

use schemars::JsonSchema;
use serde::{Deserialize, Serialize};

use super::Distribution;
use super::cdf::Cdf;
use crate::random::Stream;

/// Declares a distribution without settings for each table.
macro_rules! workloads {
    ($($(#[$doc:meta])* $name:ident = $table:literal,)*) => {$(
        $(#[$doc])*
        #[derive(Clone, Debug, Default, PartialEq, Serialize, Deserialize, JsonSchema)]
        #[serde(default, deny_unknown_fields)]
        pub struct $name {}

        impl $name {
            fn table() -> &'static Cdf {
                static TABLE: LazyLock<Cdf> =
                    LazyLock::new(|| read(include_str!(concat!("../data/", $table, ".csv"))));
                &TABLE
            }
        }

        impl Distribution for $name {
            fn mean(&self) -> f64 {
                $name::table().mean()
            }

            fn mean_square(&self) -> f64 {
                $name::table().mean_square()
            }

            fn sample(&self, stream: &mut Stream) -> u64 {
                $name::table().sample(stream)
            }
        }
    )*};
}

workloads! {
    /// Flow sizes of a web-search cluster (Alizadeh et al., "Data Center TCP (DCTCP)", SIGCOMM 2010).
    ///
    /// The table of 12 points that simulators share, linear in between; mean 1,711,250 bytes.
    WebSearch = "web-search",

    /// Flow sizes of a data-mining cluster (Greenberg et al., "VL2", SIGCOMM 2009).
    ///
    /// The table of TrafficGenerator (VL2_CDF), linear in between: half of the flows have at most 1100 bytes,
    /// 2 % more than 100 MB. Mean 12,658,198.6 bytes.
    DataMining = "data-mining",

    /// Flow sizes of Facebook's key-value stores, as TrafficGenerator has them (FB_CDF).
    ///
    /// Linear between points; mean 342.2351 bytes.
    FacebookKeyValue = "facebook-key-value",

    /// Flow sizes of Hadoop at Facebook, as the HPCC simulator has them (FbHdp).
    ///
    /// Linear between points; mean 120,420.75 bytes. `homa-w4` is another reading of the same measurements.
    FacebookHadoop = "facebook-hadoop",

    /// Flow sizes of storage at Alibaba in 2019, as the HPCC simulator has them (AliStorage2019).
    ///
    /// Linear between points; mean 40,869.8 bytes.
    AlibabaStorage = "alibaba-storage",

    /// Message sizes of workload W1 of the Homa simulator: values of Facebook's memcached.
    ///
    /// 22 points of the full table, linear in between; mean 193.91 bytes (full table: 187.77).
    HomaW1 = "homa-w1",

    /// Message sizes of workload W2 of the Homa simulator: RPCs of Google's search.
    ///
    /// 25 points of the full table, linear in between; mean 450.57 bytes (full table: 440.79).
    HomaW2 = "homa-w2",

    /// Message sizes of workload W3 of the Homa simulator: all RPCs at Google.
    ///
    /// 27 points of the full table, linear in between; mean 3076.81 bytes (full table: 2927).
    HomaW3 = "homa-w3",

    /// Message sizes of workload W4 of the Homa simulator: Hadoop at Facebook.
    ///
    /// 23 points of the full table, linear in between; mean 126,777.4 bytes (full table: 127,797).
    HomaW4 = "homa-w4",

    /// Message sizes of workload W5 of the Homa simulator: web search in packets of 1460 bytes.
    ///
    /// The packet table of pFabric and PIAS, from 6 packets to 20,000, linear in between; mean 1,665,830.8 bytes
    /// (1140.98 packets). Taken as steps, as Homa does, the same table has 1622.94 packets.
    HomaW5 = "homa-w5",

    /// Flow sizes of Facebook's web servers within a cluster (Roy et al., "Inside the Social Network's
    /// (Datacenter) Network", SIGCOMM 2015), as the Homa simulator has them.
    ///
    /// 21 points of the full table, linear in between; mean 63,451.05 bytes (full table: 62,874).
    FacebookWeb = "facebook-web",

    /// Flow sizes of Facebook's cache followers within a cluster (Roy et al., "Inside the Social Network's
    /// (Datacenter) Network", SIGCOMM 2015), as the Homa simulator has them.
    ///
    /// 22 points of the full table, linear in between; mean 687,357.19 bytes (full table: 692,976).
    FacebookCache = "facebook-cache",

    /// Packet lengths of Facebook's web servers, for `transport.datagram.lengths`.
    ///
    /// An assumption: 15 % have 1500 bytes and the median is 150 bytes, as published; the points between are
    /// ours. Mean 432.24 bytes.
    Fbw = "fbw",

    /// Packet lengths, for `transport.datagram.lengths`: 40 bytes with probability 0.4, else 1500.
    ///
    /// Mean 916 bytes.
    Bimodal = "bimodal",
}

/// Reads one of our own tables: comments, a line of column names, then points.
fn read(table: &str) -> Cdf {
    let rows = table.lines().filter(|line| !line.starts_with('#')).skip(1);
    let point = |row: &str| {
        let (size, percent) = row.split_once(',')?;
        Some((size.parse().ok()?, percent.parse().ok()?))
    };
    let points = rows.map(|row| point(row).expect("a compiled-in table has a point on each line"));
    Cdf::of(points.collect())
}
