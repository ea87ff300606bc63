//! Matching: requests at a sender, grants at a receiver, and the channels that both have given away.
//!
//! Source: Cai, Arashloo and Agarwal, "dcPIM: Near-Optimal Proactive Datacenter Transport", SIGCOMM 2022; rules after the
//! authors' simulator, Terabit-Ethernet/dcPIM (`simulator/ext/pimhost`).

use crate::engine::contract::host::Timer;
use crate::ids::{ConnId, NodeId};
use crate::units::Time;

/// A number of channels of a data phase, and of those that can be used at once, since they are free in the running one.
#[derive(Clone, Copy, Debug, Default, PartialEq, Eq)]
pub struct Channels {
    pub all: u32,
    pub prompt: u32,
}

impl Channels {
    fn at_most(self, room: Channels) -> Channels {
        let all = self.all.min(room.all);
        Channels { all, prompt: self.prompt.min(room.prompt).min(all) }
    }

    fn less(self, given: Channels) -> Channels {
        Channels { all: self.all - given.all, prompt: self.prompt - given.prompt }
    }

    /// In one word, for headers.
    pub fn word(self) -> u64 {
        u64::from(self.all) << 32 | u64::from(self.prompt)
    }

    /// Of a header's word.
    pub fn of_word(word: u64) -> Channels {
        Channels { all: (word >> 32) as u32, prompt: word as u32 }
    }
}

/// A request at its sender, or a grant at its receiver.
#[derive(Clone, Copy, Debug)]
pub struct Offer {
    pub conn: ConnId,
    pub source: NodeId,
    pub round: u64,
    /// Packets of the flow that have not arrived.
    pub left: u32,
    pub channels: Channels,
    /// The lowest goes first: the packets left, or a random number.
    pub key: u64,
}

/// Requests or grants of one round, in the order of their arrival.
#[derive(Clone, Debug, Default)]
pub struct Offers(Vec<Offer>);

impl Offers {
    /// Adds one.
    pub fn push(&mut self, offer: Offer) {
        self.0.push(offer);
    }

    /// Forgets all.
    pub fn clear(&mut self) {
        self.0.clear();
    }

    /// Whether there is none.
    pub fn is_empty(&self) -> bool {
        self.0.is_empty()
    }

    /// The flow has ended.
    pub fn leave(&mut self, conn: ConnId) {
        self.0.retain(|offer| offer.conn != conn);
    }

    /// Takes out the one that goes first and gives it channels out of the room: as many as it names and there are.
    pub fn next(&mut self, room: &mut Channels) -> Option<Offer> {
        if room.all == 0 {
            return None;
        }
        let first = (0..self.0.len()).min_by_key(|&place| self.0[place].key)?;
        let offer = self.0.remove(first);
        let channels = offer.channels.at_most(*room);
        *room = room.less(channels);
        Some(Offer { channels, ..offer })
    }
}

/// A sender to which a receiver is matched.
#[derive(Clone, Copy, Debug)]
pub struct Match {
    pub source: NodeId,
    channels: Channels,
    /// Packets left of the flow that it was matched for.
    shortest: u32,
    /// Goes with its tokens: at the sender the lowest goes first.
    pub rank: u8,
    /// When its next token may go.
    pub next_at: Time,
    /// Whether its data phase does.
    runs: bool,
}

impl Match {
    /// The channels for which it sends tokens now.
    pub fn sends(&self) -> u32 {
        if self.runs { self.channels.all } else { self.channels.prompt }
    }

    /// It has had its token, or leaves one out; the next one is due a slot after this one was. It makes up for a slot at most.
    pub fn took_its_turn(&mut self, slot: Time, now: Time) {
        self.next_at = self.next_at.max(now.saturating_sub(slot)) + slot;
    }
}

/// The rank of tokens of prompt channels, behind all others.
pub const PROMPT_RANK: u8 = u8::MAX;
/// The rank of the first sender's tokens; a short flow's own packets go before.
pub const FIRST_RANK: u8 = 2;

/// Both data phases of a receiver: the running one, and the one whose matching runs.
#[derive(Clone, Debug, Default)]
pub struct Matches {
    /// Data phases that had begun when it was last looked at.
    phases: u64,
    running: Vec<Match>,
    coming: Vec<Match>,
    pub grants: Offers,
}

impl Matches {
    /// So many data phases have begun: the senders matched for the next one run now, those of the shortest flows in front.
    pub fn roll(&mut self, phases: u64, now: Time) {
        if phases == self.phases {
            return;
        }
        if phases > self.phases + 1 {
            self.coming.clear();
        }
        self.phases = phases;
        std::mem::swap(&mut self.running, &mut self.coming);
        self.coming.clear();
        self.running.sort_by_key(|matched| matched.shortest);
        let mut rank = FIRST_RANK;
        for matched in &mut self.running {
            (matched.runs, matched.rank, matched.next_at) = (true, rank, now);
            rank += matched.channels.all as u8;
        }
    }

    /// Channels, of so many, that it may still give away.
    pub fn room(&self, channels: u32) -> Channels {
        let sum = |matches: &[Match], of: fn(&Match) -> u32| matches.iter().map(of).sum::<u32>();
        let all = |matched: &Match| matched.channels.all;
        let prompt = sum(&self.running, all) + sum(&self.coming, |matched| matched.channels.prompt);
        Channels {
            all: channels.saturating_sub(sum(&self.coming, all)),
            prompt: channels.saturating_sub(prompt),
        }
    }

    /// Channels of a sender in both phases.
    pub fn of(&self, source: NodeId) -> u32 {
        let own = |matched: &&Match| matched.source == source;
        self.running.iter().chain(&self.coming).filter(own).map(|matched| matched.channels.all).sum()
    }

    /// A grant is accepted: its prompt channels send tokens from now on.
    pub fn accept(&mut self, grant: &Offer, now: Time) {
        let Offer { source, channels, left: shortest, .. } = *grant;
        match self.coming.iter_mut().find(|matched| matched.source == source) {
            Some(matched) => {
                matched.channels.all += channels.all;
                matched.channels.prompt += channels.prompt;
                if channels.prompt > 0 {
                    matched.next_at = now;
                }
            }
            None => {
                let (rank, next_at) = (PROMPT_RANK, now);
                self.coming.push(Match { source, channels, shortest, rank, next_at, runs: false });
            }
        }
    }

    /// A sender has given so many channels of that epoch to others before.
    pub fn returned(&mut self, epoch: u64, source: NodeId, excess: Channels) {
        let matches = match self.phases.checked_sub(epoch) {
            Some(0) => &mut self.coming,
            Some(1) => &mut self.running,
            _ => return,
        };
        if let Some(matched) = matches.iter_mut().find(|matched| matched.source == source) {
            let channels = &mut matched.channels;
            let all = channels.all.saturating_sub(excess.all);
            *channels = Channels { all, prompt: channels.prompt.saturating_sub(excess.prompt).min(all) };
        }
    }

    /// The senders for which tokens go now.
    pub fn sending(&mut self) -> impl Iterator<Item = &mut Match> {
        self.running.iter_mut().chain(&mut self.coming).filter(|matched| matched.sends() > 0)
    }

    /// Whether the next stage has something to do with it, whatever flows there are.
    pub fn is_open(&self) -> bool {
        !self.grants.is_empty() || !self.coming.is_empty()
    }

    /// Channels of the running phase and of the coming one, for the audit.
    pub fn given(&self) -> [u32; 2] {
        [&self.running, &self.coming].map(|all| all.iter().map(|matched| matched.channels.all).sum())
    }
}

/// The channels of a sender, by data phase.
#[derive(Clone, Debug, Default)]
pub struct Uplink {
    phases: u64,
    running: u32,
    coming: Channels,
    pub requests: Offers,
    pub timer: Timer,
}

impl Uplink {
    /// So many data phases have begun.
    pub fn roll(&mut self, phases: u64) {
        if phases != self.phases {
            self.running = if phases == self.phases + 1 { self.coming.all } else { 0 };
            (self.coming, self.phases) = (Channels::default(), phases);
        }
    }

    /// Channels, of so many, that it may still give away.
    pub fn room(&self, channels: u32) -> Channels {
        Channels {
            all: channels.saturating_sub(self.coming.all),
            prompt: channels.saturating_sub(self.running + self.coming.prompt),
        }
    }

    /// A receiver has accepted channels of that epoch: those that exceed the number of all of them. The last round's come when
    /// the data phase has begun.
    pub fn accepted(&mut self, epoch: u64, accepted: Channels, channels: u32) -> Channels {
        let kept = if epoch == self.phases {
            let kept = accepted.at_most(Channels { all: self.room(channels).all, ..accepted });
            self.coming.all += kept.all;
            self.coming.prompt += kept.prompt;
            kept
        } else if epoch + 1 == self.phases {
            let kept = accepted.at_most(Channels { all: channels - self.running, ..accepted });
            self.running += kept.all;
            kept
        } else {
            accepted
        };
        accepted.less(kept)
    }

    /// Channels of the running phase and of the coming one, for the audit.
    pub fn given(&self) -> [u32; 2] {
        [self.running, self.coming.all]
    }
}

#[cfg(test)]
mod tests {
    use super::*;
    use crate::random::{Purpose, Stream};

    fn offer(source: u32, all: u32, prompt: u32, key: u64) -> Offer {
        let channels = Channels { all, prompt };
        let (conn, source) = (ConnId(source), NodeId(source));
        Offer { conn, source, round: 0, left: key as u32, channels, key }
    }

    /// Five requests for three channels each at a sender of four, one of which it could use at once: the lowest key goes first.
    #[test]
    fn channels_go_by_key() {
        let mut offers = Offers::default();
        [(0, 30), (1, 10), (2, 20), (3, 10)]
            .into_iter()
            .for_each(|(source, key)| offers.push(offer(source, 3, 2, key)));
        offers.leave(ConnId(2));
        let mut room = Channels { all: 4, prompt: 1 };
        let mut given = Vec::new();
        while let Some(offer) = offers.next(&mut room) {
            given.push((offer.source.0, offer.channels.all, offer.channels.prompt));
        }
        assert_eq!(given, [(1, 3, 1), (3, 1, 0)], "the one that came first, of equals");
    }

    /// Channels of one phase are those of the next one's sender in order of the packets left; an epoch at which no host looked
    /// leaves none.
    #[test]
    fn coming_matches_run() {
        let mut matches = Matches::default();
        matches.accept(&offer(5, 1, 1, 90), Time(3));
        matches.accept(&offer(7, 2, 0, 20), Time(5));
        matches.accept(&offer(5, 1, 0, 90), Time(6));
        assert_eq!((matches.room(4), matches.of(NodeId(5))), (Channels { all: 0, prompt: 3 }, 2));
        let sending = |matches: &mut Matches| -> Vec<_> {
            matches.sending().map(|it| (it.source.0, it.sends(), it.rank, it.next_at.0)).collect()
        };
        assert_eq!(sending(&mut matches), [(5, 1, PROMPT_RANK, 3)]);
        matches.roll(1, Time(40));
        assert_eq!(sending(&mut matches), [(7, 2, 2, 40), (5, 2, 4, 40)]);
        assert_eq!(matches.room(4), Channels { all: 4, prompt: 0 });
        matches.returned(0, NodeId(5), Channels { all: 1, prompt: 0 });
        assert_eq!(matches.given(), [3, 0]);
        matches.accept(&offer(9, 1, 1, 1), Time(50));
        matches.roll(3, Time(120));
        assert_eq!((sending(&mut matches), matches.given()), (vec![], [0, 0]));
    }

    /// Slots of 40 ps: a token that went 15 ps late moves the next ones by nothing, one that went 90 ps late by 50 ps.
    #[test]
    fn a_sender_makes_up_for_a_slot() {
        let mut matches = Matches::default();
        matches.accept(&offer(5, 1, 1, 90), Time(100));
        let matched = matches.sending().next().expect("a prompt channel");
        let times = [115, 140, 270, 280].map(|now| {
            matched.took_its_turn(Time(40), Time(now));
            matched.next_at.0
        });
        assert_eq!(times, [140, 180, 270, 310]);
    }

    /// A sender of four channels that has accepts for three and for two returns one; the last round's come in the data phase.
    #[test]
    fn accepts_beyond_all_channels_return() {
        let mut uplink = Uplink::default();
        let channels = |all, prompt| Channels { all, prompt };
        assert_eq!(uplink.accepted(0, channels(3, 2), 4), channels(0, 0));
        assert_eq!(uplink.room(4), channels(1, 2));
        assert_eq!(uplink.accepted(0, channels(2, 2), 4), channels(1, 1));
        uplink.roll(1);
        assert_eq!((uplink.given(), uplink.room(4)), ([4, 0], channels(4, 0)));
        assert_eq!(uplink.accepted(0, channels(1, 0), 4), channels(1, 0));
        uplink.roll(3);
        assert_eq!((uplink.given(), uplink.room(4)), ([0, 0], channels(4, 4)));
    }

    /// The matching of N hosts with N others, of which each pair has data with probability d / N, after so many rounds, each one
    /// of all of them: matched channels.
    fn matched(hosts: u32, degree: f64, channels: u32, rounds: usize, stream: &mut Stream) -> Vec<u32> {
        let pairs: Vec<Vec<u32>> = (0..hosts)
            .map(|_| (0..hosts).filter(|_| stream.unit() < degree / f64::from(hosts)).collect())
            .collect();
        let mut receivers = vec![Matches::default(); hosts as usize];
        let mut senders = vec![Uplink::default(); hosts as usize];
        let round = |_| {
            for (receiver, of) in pairs.iter().enumerate() {
                let all = receivers[receiver].room(channels).all;
                for source in of.iter().filter(|_| all > 0) {
                    let request =
                        Offer { conn: ConnId(receiver as u32), ..offer(*source, all, 0, stream.bits()) };
                    senders[*source as usize].requests.push(request);
                }
            }
            for sender in &mut senders {
                let mut room = sender.room(channels);
                while let Some(grant) = sender.requests.next(&mut room) {
                    receivers[grant.conn.index()].grants.push(Offer { key: stream.bits(), ..grant });
                }
                sender.requests.clear();
            }
            for receiver in &mut receivers {
                let mut room = receiver.room(channels);
                while let Some(grant) = receiver.grants.next(&mut room) {
                    receiver.accept(&grant, Time::ZERO);
                    let excess = senders[grant.source.index()].accepted(0, grant.channels, channels);
                    assert_eq!(excess.all, 0, "accepts come before the next grants");
                }
                receiver.grants.clear();
            }
            receivers.iter().map(|receiver| receiver.given()[1]).sum()
        };
        (0..rounds).map(round).collect()
    }

    /// LIT-DCPIM-4: after r rounds at least M (1 - d a / 4^r) of the channels are matched on average, where M are matched in
    /// the end, d is the mean degree, and a the share of all channels that M is, inverted.
    #[test]
    fn rounds_match_as_the_theorem_says() {
        const HOSTS: u32 = 24;
        const LONG: usize = 24;
        for (channels, degree) in [(1, 2.0), (1, 5.0), (4, 2.0), (4, 5.0)] {
            let mut stream = Stream::new(1, 0, Purpose::Control, u64::from(channels));
            let draws: Vec<Vec<u32>> =
                (0..1000).map(|_| matched(HOSTS, degree, channels, LONG, &mut stream)).collect();
            let all = f64::from(HOSTS * channels);
            for rounds in 1..=4 {
                let bound = |draw: &Vec<u32>| {
                    let most = f64::from(draw[LONG - 1]);
                    f64::from(draw[rounds - 1]) - most + all * degree / 4f64.powi(rounds as i32)
                };
                let above: Vec<f64> = draws.iter().map(bound).collect();
                let mean = above.iter().sum::<f64>() / 1000.0;
                let variance = above.iter().map(|value| (value - mean).powi(2)).sum::<f64>() / 999.0;
                let sigma = (variance / 1000.0).sqrt();
                assert!(mean >= -3.0 * sigma, "{channels} channels, {rounds} rounds: {mean} of {all}");
            }
        }
    }
}
