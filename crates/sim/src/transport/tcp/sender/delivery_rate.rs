//! Samples of the delivery rate (draft-cheng-iccrg-delivery-rate-estimation-00; Linux 6.18, `tcp_rate.c`).
//!
//! Each segment is sent with a note of the bytes delivered by then. When it is delivered, the bytes since then over the time
//! since then are a sample of the rate. Of that time and the one in which they were sent the longer one counts, so that
//! compressed acknowledgements do not show a rate that was never sent. Segments that are sent when the data at hand leaves
//! room in the window are marked: the path may have more bandwidth than their samples.

use std::collections::VecDeque;

use super::Sender;
use super::delivered::Delivered;
use crate::transport::source::Source;
use crate::transport::tcp::congestion::Control;
use crate::transport::tcp::congestion::sample::{DeliveryRate, Repairing, Sample};
use crate::units::Time;

/// The state of the connection when a segment was sent last.
#[derive(Clone, Copy, Debug)]
struct Note {
    /// P.first_sent_time: when the segment was sent that was delivered last by then.
    first_sent: Time,
    /// P.delivered_time and P.delivered.
    delivered_at: Time,
    delivered: u64,
    app_limited: bool,
}

/// The sampler of a connection.
#[derive(Clone, Debug, Default)]
pub struct Sampler {
    /// Notes of the segments from number `una` on.
    notes: VecDeque<Note>,
    una: u32,
    first_sent: Time,
    delivered: u64,
    delivered_at: Time,
    /// Samples are limited by the data until so many bytes are delivered; 0: they are not.
    limited_until: u64,
}

impl Sampler {
    /// Starts over with the memory of before.
    pub fn reset(&mut self) {
        let mut notes = std::mem::take(&mut self.notes);
        notes.clear();
        *self = Sampler { notes, ..Sampler::default() };
    }

    /// A segment is sent, perhaps once more; `alone`: nothing else is unacknowledged.
    pub fn on_send(&mut self, number: u32, alone: bool, now: Time) {
        if alone {
            (self.first_sent, self.delivered_at) = (now, now);
        }
        let note = Note {
            first_sent: self.first_sent,
            delivered_at: self.delivered_at,
            delivered: self.delivered,
            app_limited: self.limited_until > 0,
        };
        match self.notes.get_mut((number - self.una) as usize) {
            Some(before) => *before = note,
            None => self.notes.push_back(note),
        }
    }

    /// Whether the data has limited the sender since what it sent last.
    pub fn is_limited(&self) -> bool {
        self.limited_until > 0
    }

    /// The sender does not send as much as the path lets it, with so many bytes in flight.
    pub fn limit(&mut self, in_flight: u64) {
        self.limited_until = (self.delivered + in_flight).max(1);
    }

    /// Segments are delivered; `least` is the least round trip of the connection.
    fn on_delivered(&mut self, delivered: &Delivered, least: Time, now: Time) -> Option<DeliveryRate> {
        self.delivered += delivered.bytes;
        if self.delivered > self.limited_until {
            self.limited_until = 0;
        }
        let latest = delivered.latest?;
        self.delivered_at = now;
        let note = self.notes[(latest.number - self.una) as usize];
        let sending = latest.sent - note.first_sent;
        self.first_sent = latest.sent;
        let interval = sending.max(now - note.delivered_at);
        // A segment that was retransmitted, and of which the original has arrived, shows too short a time.
        (interval >= least && interval > Time::ZERO).then(|| DeliveryRate {
            before: note.delivered,
            bytes: self.delivered - note.delivered,
            interval,
            app_limited: note.app_limited,
        })
    }

    /// Segments before that number are acknowledged.
    fn forget(&mut self, una: u32) {
        self.notes.drain(..(una - self.una) as usize);
        self.una = una;
    }
}

impl Sender {
    /// An acknowledgement that reports so much, with so many bytes in flight before it, has been handled: the control takes
    /// its sample.
    pub(super) fn take_sample(
        &mut self,
        delivered: &Delivered,
        (prior_in_flight, lost): (u64, u64),
        source: &impl Source,
        now: Time,
    ) {
        let (una, mss, smoothed) = (self.una, self.window.mss, self.rtt.smoothed());
        let repair = match (self.repairs, self.recovering) {
            (true, _) => Repairing::Timeout,
            (false, true) => Repairing::Recovery,
            (false, false) => Repairing::Nothing,
        };
        let own = self.selective.as_deref_mut().expect("a connection with SACK");
        let Some(sampler) = &mut own.sampler else { return };
        let rate = sampler.on_delivered(delivered, own.rack.least(), now);
        sampler.forget(una);
        let in_flight = own.board.pipe();
        let sample = Sample {
            now,
            delivered: sampler.delivered,
            acked: delivered.bytes,
            lost,
            prior_in_flight,
            in_flight,
            rate,
            round_trip: delivered.latest.filter(|latest| !latest.again).map(|latest| now - latest.sent),
            smoothed,
            repair,
        };
        let holds_back = self.control.on_sample(&mut self.window, &sample);
        let has_room = in_flight < self.window.cwnd && !own.board.has_lost();
        if holds_back || has_room && source.peek(mss) == 0 {
            sampler.limit(in_flight);
        }
    }

    /// A segment is sent, for the sampler if there is one.
    #[inline]
    pub(super) fn note_sending(&mut self, number: u32, again: bool, now: Time) {
        let alone = !again && number == self.una;
        let Some(sampler) = self.selective.as_deref_mut().and_then(|own| own.sampler.as_deref_mut()) else {
            return;
        };
        if alone && sampler.is_limited() {
            self.control.on_restart(&mut self.window, now);
        }
        sampler.on_send(number, alone, now);
    }
}

#[cfg(test)]
mod tests {
    use super::*;
    use crate::transport::tcp::Tcp;
    use crate::transport::tcp::congestion::bbr::Bbr;
    use crate::transport::tcp::selective_tests::sack;
    use crate::transport::tcp::sender::delivered::Latest;

    const US: fn(u64) -> Time = Time::from_us;

    /// A segment of 1000 B is delivered that was sent then.
    fn delivered(number: u32, sent: u64) -> Delivered {
        let latest = Some(Latest { number, sent: US(sent), again: false });
        Delivered { bytes: 1000, latest, ..Delivered::default() }
    }

    /// Four segments go at 0, 10, 20 and 30 us; acknowledgements come at 100, 120, 140 and 160. The first three show 1, 2 and
    /// 3 segments since 0. The fourth was sent with the others before anything had been delivered: 4 in 160 us. The fifth went at
    /// 100, when one was delivered: by 200 us four more are, in 100.
    #[test]
    fn rates_by_hand() {
        let mut sampler = Sampler::default();
        for number in 0..4 {
            sampler.on_send(number, number == 0, US(10 * u64::from(number)));
        }
        let mut found = Vec::new();
        for number in 0..4u32 {
            let sent = 10 * u64::from(number);
            let rate =
                sampler.on_delivered(&delivered(number, sent), US(90), US(100 + 20 * u64::from(number)));
            sampler.forget(number + 1);
            if number == 0 {
                sampler.on_send(4, false, US(100));
            }
            found.push(rate.map(|rate| (rate.before, rate.bytes, rate.interval)));
        }
        let expected = [(0, 1000, 100), (0, 2000, 120), (0, 3000, 140), (0, 4000, 160)];
        assert_eq!(found, expected.map(|(before, bytes, us)| Some((before, bytes, US(us)))));
        let rate = sampler.on_delivered(&delivered(4, 100), US(90), US(200)).expect("a rate");
        assert_eq!((rate.before, rate.bytes, rate.interval), (1000, 4000, US(100)));
    }

    /// Acknowledgements that come all at once show no more than the rate of sending: ten segments sent 50 us apart, and all of
    /// them acknowledged at 460 us. The last one was sent 450 us after the first, and 460 have passed since then. Eight
    /// more go 100 us apart from 460 on and are acknowledged at 1200 us: sent within 700 us of the tenth, which the first
    /// of them counts from, and acknowledged 740 us after it.
    #[test]
    fn compressed_acknowledgements() {
        let mut sampler = Sampler::default();
        for number in 0..10 {
            sampler.on_send(number, number == 0, US(50 * u64::from(number)));
        }
        let all = Delivered { bytes: 10_000, ..delivered(9, 450) };
        let rate = sampler.on_delivered(&all, US(10), US(460)).expect("a rate");
        assert_eq!((rate.bytes, rate.interval), (10_000, US(460)));
        sampler.forget(10);
        for number in 10..18 {
            sampler.on_send(number, number == 10, US(460 + 100 * u64::from(number - 10)));
        }
        sampler.on_delivered(&delivered(10, 460), US(10), US(500));
        sampler.forget(11);
        sampler.on_send(18, false, US(1_400));
        let rest = Delivered { bytes: 8_000, ..delivered(18, 1_400) };
        let rate = sampler.on_delivered(&rest, US(10), US(1_410)).expect("a rate");
        // From the sending of segment 10, at 460 us, to that of 18: 940 us, and 910 since its acknowledgement at 500.
        assert_eq!((rate.before, rate.bytes, rate.interval), (11_000, 8_000, US(940)));
    }

    /// Segments 0 and 1 go at 0 and 10 us. With 1, at 105 us, it is seen that 0 is missing; it goes again at 111, and its
    /// original is acknowledged at 115: sent 101 us after segment 1, so the sample counts. Sent at 105, 95 us after it, less than the least
    /// round trip of 100, it gives none.
    #[test]
    fn too_short_an_interval() {
        for (again_at, counts) in [(111, true), (105, false)] {
            let mut sampler = Sampler::default();
            sampler.on_send(0, true, US(0));
            sampler.on_send(1, false, US(10));
            sampler.on_delivered(&delivered(1, 10), US(100), US(105));
            sampler.on_send(0, false, US(again_at));
            let rate = sampler.on_delivered(&delivered(0, again_at), US(100), US(115));
            assert_eq!(rate.is_some(), counts, "{rate:?}");
        }
    }

    /// A segment that is sent with nothing in flight, 1 ms after the connection began, is the first of its flight: rates count
    /// from there. One behind it is not, and neither is its own retransmission.
    #[test]
    fn a_lone_segment_begins_a_flight() {
        let config = Tcp { congestion: Some(Bbr::default().into()), ..sack() };
        let mut sender = Sender::default();
        sender.reset(&config.resolved());
        for (number, again, now) in [(0, false, 1000), (1, false, 1010), (0, true, 1020)] {
            sender.note_sending(number, again, US(now));
            let sampler = sender.own().sampler.as_ref().expect("BBR takes samples");
            let note = sampler.notes[number as usize];
            assert_eq!((note.first_sent, note.delivered_at), (US(1000), US(1000)), "at {now} us");
        }
    }

    /// A limit with 2,000 B in flight marks what is sent from then on, until more than that is delivered.
    #[test]
    fn segments_that_the_data_limits() {
        let mut sampler = Sampler::default();
        sampler.on_send(0, true, US(0));
        sampler.on_send(1, false, US(1));
        sampler.limit(2_000);
        sampler.on_send(2, false, US(2));
        let limited: Vec<_> = (0..4)
            .map(|number: u32| {
                let rate = sampler.on_delivered(
                    &delivered(number, number.into()),
                    US(10),
                    US(100 + 10 * u64::from(number)),
                );
                sampler.forget(number + 1);
                if number == 2 {
                    assert!(!sampler.is_limited());
                }
                if number < 3 {
                    sampler.on_send(number + 3, false, US(100 + 10 * u64::from(number)));
                }
                rate.expect("a rate").app_limited
            })
            .collect();
        assert_eq!(limited, [false, false, true, true]);
    }
}
