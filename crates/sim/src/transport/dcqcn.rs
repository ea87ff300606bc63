//! DCQCN over RoCEv2, with all fields in one table: another spelling of `roce` with `congestion = "dcqcn"` and go-back-N.

use schemars::JsonSchema;
use serde::{Deserialize, Serialize};

use super::roce::Roce;
use super::roce::congestion::dcqcn::DcqcnControl;
use super::roce::recovery::Recovery;
use super::{Needs, Profile, Settings};
use crate::advice::Advice;
use crate::derived::Longest;
use crate::units::{Bytes, Rate, Time};

pub use super::roce::Model;

/// DCQCN over RoCEv2. Where the paper is silent, defaults are those of the HPCC simulator's configuration.
#[derive(Clone, Debug, PartialEq, Serialize, Deserialize, JsonSchema)]
#[serde(default, deny_unknown_fields)]
pub struct Dcqcn {
    /// Payload of a full packet. The HPCC simulator: 1000 B; InfiniBand allows 256 B to 4096 B.
    #[schemars(extend("x-minimum" = "1B", "x-maximum" = "65000B"))]
    pub payload: Bytes,
    /// Bytes of a data packet besides its payload: Ethernet with its check sequence 18, IPv4 20, UDP 8, the base
    /// transport header 12, the invariant check 4.
    #[schemars(extend("x-minimum" = "1B", "x-maximum" = "1000B"))]
    pub header_bytes: Bytes,
    /// Bytes of an acknowledgement: the same, and an extended header of 4.
    #[schemars(extend("x-minimum" = "1B", "x-maximum" = "1000B"))]
    pub ack_bytes: Bytes,
    /// Bytes of a congestion notification packet: the same, and 16 that are reserved (RoCEv2, annex A17).
    #[schemars(extend("x-minimum" = "1B", "x-maximum" = "1000B"))]
    pub cnp_bytes: Bytes,
    /// One acknowledgement for so many packets, and one for the last; 0: only for the last.
    #[schemars(range(max = 1_000_000))]
    pub ack_every: u32,
    /// Weight of the newest notification in alpha.
    #[schemars(range(min = 0.000001, max = 1.0))]
    pub g: f64,
    /// Alpha before the first notification.
    #[schemars(range(min = 0.0, max = 1.0))]
    pub initial_alpha: f64,
    /// Alpha shrinks by its share g whenever no notification has arrived for so long.
    #[schemars(extend("x-minimum" = "1ns"))]
    pub alpha_timer: Time,
    /// The rate rises whenever so much time has passed since the last cut or the last rise by time. HPCC simulator:
    /// 1500 us, configured to 900 us.
    #[schemars(extend("x-minimum" = "1ns"))]
    pub rate_timer: Time,
    /// The rate rises whenever so many bytes have been sent since the last cut or the last rise by bytes.
    #[schemars(extend("x-minimum" = "1B"))]
    pub byte_counter: Bytes,
    /// F: so many rises, by time or by bytes, before the target rises too.
    #[schemars(range(min = 1, max = 1000))]
    pub fast_recovery: u32,
    /// Step of additive increase of the target rate. The HPCC simulator by default: 5 Mbps; a model on htsim:
    /// 1/20 of the line's rate.
    #[schemars(extend("x-minimum" = "1bps"))]
    pub rate_ai: Rate,
    /// Step of hyper increase of the target rate. The HPCC simulator by default: 50 Mbps; a model on htsim:
    /// 1/10 of the line's rate.
    #[schemars(extend("x-minimum" = "1bps"))]
    pub rate_hai: Rate,
    /// The rate does not go below this.
    #[schemars(extend("x-minimum" = "1Kbps"))]
    pub min_rate: Rate,
    /// The receiver sends at most one notification in this time for each flow.
    pub cnp_interval: Time,
    /// Class of data packets.
    #[schemars(range(max = 7))]
    pub data_class: u32,
    /// Class of acknowledgements and notifications; 0 goes first.
    #[schemars(range(max = 7))]
    pub control_class: u32,
    /// Without an acknowledgement of new data for so long, all packets from the first unacknowledged one are
    /// retransmitted: 4.096 us times 2 to the power of 14. IRN has timeouts of its own.
    #[schemars(extend("x-minimum" = "1us"))]
    pub timeout: Time,
    /// Whether it requires ports that do not drop; else, and under IRN, any ports that mark are accepted.
    pub lossless: bool,
}

impl Default for Dcqcn {
    fn default() -> Self {
        Dcqcn {
            payload: Bytes(1000),
            header_bytes: Bytes(62),
            ack_bytes: Bytes(66),
            cnp_bytes: Bytes(78),
            ack_every: 1,
            g: 1.0 / 256.0,
            initial_alpha: 1.0,
            alpha_timer: Time::from_us(55),
            rate_timer: Time::from_us(55),
            byte_counter: Bytes(10_000_000),
            fast_recovery: 5,
            rate_ai: Rate(50_000_000),
            rate_hai: Rate(100_000_000),
            min_rate: Rate(100_000_000),
            cnp_interval: Time::from_us(50),
            data_class: 1,
            control_class: 0,
            timeout: Time(67_108_864_000),
            lossless: true,
        }
    }
}

/// The fields stand in two structs besides this one, which must not differ: a test compares their schemas.
impl From<Dcqcn> for Roce {
    fn from(config: Dcqcn) -> Roce {
        let control = DcqcnControl {
            g: config.g,
            initial_alpha: config.initial_alpha,
            alpha_timer: config.alpha_timer,
            rate_timer: config.rate_timer,
            byte_counter: config.byte_counter,
            fast_recovery: config.fast_recovery,
            rate_ai: config.rate_ai,
            rate_hai: config.rate_hai,
            min_rate: config.min_rate,
        };
        Roce {
            congestion: control.into(),
            recovery: Recovery::default(),
            payload: config.payload,
            header_bytes: config.header_bytes,
            ack_bytes: config.ack_bytes,
            cnp_bytes: config.cnp_bytes,
            ack_every: config.ack_every,
            cnp_interval: config.cnp_interval,
            data_class: config.data_class,
            control_class: config.control_class,
            timeout: config.timeout,
            lossless: config.lossless,
            entropy: None,
            entropy_values: Roce::default().entropy_values,
        }
    }
}

impl Dcqcn {
    fn roce(&self) -> Roce {
        self.clone().into()
    }
}

impl Settings for Dcqcn {
    fn profile(&self) -> Profile {
        self.roce().profile()
    }

    fn needs(&self) -> Needs {
        // It has one recovery alone.
        Needs { unless: None, ..self.roce().needs() }
    }

    fn advice(&self, path: &str, longest: &Longest) -> Vec<Advice> {
        self.roce().advice(path, longest)
    }
}

#[cfg(test)]
mod tests {
    use serde_json::{Map, Value, json};

    use super::*;
    use crate::advice::tests::FABRIC;

    fn fields<T: JsonSchema>() -> Map<String, Value> {
        let schema = schemars::schema_for!(T).to_value();
        schema["properties"].as_object().expect("a table of fields").clone()
    }

    /// Name, bounds, meaning and default of each field are those that it has in `roce` and its control.
    #[test]
    fn fields_are_those_of_roce_and_its_control() {
        let mut both = fields::<Roce>();
        both.remove("congestion");
        both.remove("recovery");
        // Its recovery is go-back-N, which takes packets that are sprayed for lost.
        both.remove("entropy");
        both.remove("entropy_values");
        both.extend(fields::<DcqcnControl>());
        assert_eq!(Value::from(fields::<Dcqcn>()), Value::from(both));
        assert_eq!(Roce::from(Dcqcn::default()), Roce::default());
    }

    /// Each field has its effect: with all of them changed, no value of the two structs is a default.
    #[test]
    fn each_field_is_handed_on() {
        let mut config = json!(Dcqcn::default());
        for value in config.as_object_mut().expect("a table").values_mut() {
            *value = match &*value {
                Value::String(text) => json!(format!("1{text}")),
                Value::Bool(set) => json!(!*set),
                Value::Number(number) if number.is_u64() => json!(number.as_u64().unwrap_or_default() + 1),
                number => json!(number.as_f64().unwrap_or_default() / 2.0),
            };
        }
        let roce = json!(Roce::from(Dcqcn::deserialize(&config).expect("allowed values")));
        let handed_on = |(field, value): (&String, &Value)| {
            let control = &roce["congestion"]["dcqcn"];
            assert_eq!(roce.get(field).or(control.get(field)), Some(value), "{field}");
        };
        config.as_object().expect("a table").iter().for_each(handed_on);
    }

    #[test]
    fn answers_behind_data_are_advised_against() {
        let behind = Dcqcn { data_class: 0, control_class: 2, ..Dcqcn::default() };
        let advice = behind.advice("transport.dcqcn", &FABRIC);
        assert_eq!(advice[0].path, "transport.dcqcn.control_class");
        assert!(advice[0].message.contains("class 2, behind data of class 0"), "{}", advice[0].message);
        for equal in [0, 3] {
            let fine = Dcqcn { data_class: 3, control_class: equal, ..Dcqcn::default() };
            assert_eq!(fine.advice("transport.dcqcn", &FABRIC), []);
        }
    }
}
