//! The values that TCP's presets have for the fields that a scenario does not give.

use serde_json::json;

use super::Tcp;
use super::choices::{Floor, Growth, Halves, IdleRestart, Repair};
use super::congestion::Congestion;
use super::congestion::cubic::Cubic;
use super::congestion::new_reno::NewReno;
use super::preset::Preset;
use super::slow_start::SlowStart;
use crate::derived::Values;
use crate::units::Time;

/// One list of the fields that a preset sets: name, type and value under "internet", and the field without which it is not
/// read. For each there is a method of [`Tcp`] that gives the value, be it the scenario's or the preset's.
macro_rules! preset_fields {
    ($($field:ident: $type:ty = $internet:expr $(, if $needs:ident)?;)*) => {
        /// Values of a preset.
        #[derive(Clone, Copy, Debug, PartialEq)]
        pub struct Defaults {
            $($field: $type,)*
        }

        const INTERNET: Defaults = Defaults { $($field: $internet,)* };

        impl Tcp {
            $(
                #[doc = concat!("`", stringify!($field), "`: the scenario's value, or that of the preset.")]
                #[inline]
                pub fn $field(&self) -> $type {
                    self.$field.unwrap_or(self.preset.defaults().$field)
                }
            )*

            /// A copy in which no field is left to the preset.
            pub fn resolved(&self) -> Tcp {
                let mut congestion = self.congestion().clone();
                congestion.fill(self.preset);
                Tcp {
                    congestion: Some(congestion),
                    slow_start: Some(self.slow_start()),
                    $($field: Some(self.$field()),)*
                    ..self.clone()
                }
            }

            /// Values of the listed fields. Where others leave a field unread it is not among them.
            fn listed_values(&self) -> Values {
                let listed = [$((stringify!($field), json!(self.$field()), true $(&& self.$needs())?),)*];
                let read = listed.into_iter().filter(|(_, _, is_read)| *is_read);
                read.map(|(field, value, _)| (field.into(), value)).collect()
            }
        }
    };
}

preset_fields! {
    delayed_ack_timeout: Time = Time::from_us(40_000);
    rto_min: Time = Time::from_us(200_000);
    rto_initial: Time = Time::from_us(1_000_000);
    rto_floor: Floor = Floor::Timeout;
    timestamps: bool = false;
    ack_last_segment: bool = true;
    quick_acks: u32 = 0;
    loss_halves: Halves = Halves::Flight;
    growth: Growth = Growth::Acks;
    window_validation: bool = false;
    growth_in_repair: bool = false;
    idle_restart: IdleRestart = IdleRestart::None;
    repair: Repair = Repair::AtOnce;
    sack: bool = false;
    dsack: bool = false, if sack;
    rack: bool = false, if sack;
    tail_loss_probe: bool = false, if sack;
    undo: bool = false, if sack;
    f_rto: bool = false;
}

const DATACENTRE: Defaults = Defaults {
    rto_min: Time::from_us(5_000),
    rto_initial: Time::from_us(5_000),
    delayed_ack_timeout: Time::from_us(500),
    ..INTERNET
};

const LINUX: Defaults = Defaults {
    rto_floor: Floor::Variation,
    timestamps: true,
    ack_last_segment: false,
    quick_acks: 16,
    loss_halves: Halves::Window,
    growth: Growth::Segments,
    window_validation: true,
    growth_in_repair: true,
    idle_restart: IdleRestart::HalveToInitial,
    sack: true,
    dsack: true,
    rack: true,
    tail_loss_probe: true,
    undo: true,
    f_rto: true,
    repair: Repair::Proportional,
    ..INTERNET
};

impl Preset {
    /// Its values.
    #[inline]
    fn defaults(self) -> &'static Defaults {
        match self {
            Preset::Internet => &INTERNET,
            Preset::Datacentre => &DATACENTRE,
            Preset::Linux => &LINUX,
        }
    }
}

static NEW_RENO: Congestion = Congestion::NewReno(NewReno::DEFAULT);
static CUBIC: Congestion = Congestion::Cubic(Cubic::DEFAULT);

impl Tcp {
    /// The congestion control: the scenario's, or that of the preset.
    pub fn congestion(&self) -> &Congestion {
        match (&self.congestion, self.preset) {
            (Some(congestion), _) => congestion,
            (None, Preset::Linux) => &CUBIC,
            (None, Preset::Internet | Preset::Datacentre) => &NEW_RENO,
        }
    }

    /// The end of slow start: the kernel has HyStart in its CUBIC only.
    pub fn slow_start(&self) -> SlowStart {
        let cubic = matches!(self.congestion(), Congestion::Cubic(_));
        self.slow_start.unwrap_or(match self.preset {
            Preset::Linux if cubic => SlowStart::Hystart,
            _ => SlowStart::Standard,
        })
    }

    /// Values that the preset has given, for the record of a run.
    pub(super) fn preset_values(&self) -> Values {
        let mut values = self.listed_values();
        values.push(("congestion".into(), json!(self.resolved().congestion)));
        values.push(("slow_start".into(), json!(self.slow_start())));
        values
    }
}

#[cfg(test)]
mod tests {
    use serde::Deserialize;

    use super::*;
    use crate::transport::tcp::congestion::cubic::FriendlyAlpha;

    fn tcp(fields: serde_json::Value) -> Tcp {
        Tcp::deserialize(&fields).expect("a configuration")
    }

    /// A field that is given wins over the preset, and the others are the preset's.
    #[test]
    fn a_preset_gives_what_the_scenario_does_not() {
        let linux = tcp(json!({ "preset": "linux", "sack": false, "rto_min": "5ms" }));
        assert_eq!((linux.sack(), linux.rack(), linux.rto_min()), (false, true, Time::from_us(5_000)));
        assert_eq!(linux.congestion().name(), "cubic");
        assert_eq!(linux.slow_start(), SlowStart::Hystart);
        let plain = tcp(json!({}));
        assert_eq!((plain.sack(), plain.congestion().name()), (false, "newreno"));
        assert_eq!(
            [&linux, &plain].map(|preset| (preset.undo(), preset.f_rto())),
            [(true, true), (false, false)]
        );
        assert_eq!(
            tcp(json!({ "preset": "linux", "congestion": { "newreno": {} } })).slow_start(),
            SlowStart::Standard
        );
    }

    /// The kernel's alpha comes with the preset, unless CUBIC's own field gives another.
    #[test]
    fn a_preset_reaches_the_fields_of_cubic() {
        let alpha = |fields| match tcp(fields).resolved().congestion {
            Some(Congestion::Cubic(cubic)) => cubic.friendly_alpha,
            _ => None,
        };
        assert_eq!(alpha(json!({ "congestion": { "cubic": {} } })), Some(FriendlyAlpha::Rfc));
        assert_eq!(alpha(json!({ "preset": "linux" })), Some(FriendlyAlpha::Constant));
        let given = json!({ "preset": "linux", "congestion": { "cubic": { "friendly_alpha": "rfc" } } });
        assert_eq!(alpha(given), Some(FriendlyAlpha::Rfc));
    }
}
