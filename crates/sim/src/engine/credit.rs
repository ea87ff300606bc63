//! Credits: the sender on a link may have only so many bytes in the buffer behind it, and gets credit back
//! when some of them have left.
//!
//! After Ding and Rojas-Cessa, "DAQ: Deadline-Aware Queue Scheme for Scheduling Service Flows in Data
//! Centers", Algorithm 2, which follows Kung and Morris, "Credit-Based Flow Control for ATM Networks", IEEE
//! Network 1995. The head of a link, at a host or a switch, has a window of bytes for each class of data. It
//! spends a packet's bytes when the packet's transmission begins. When the packet's transmission by its next
//! link begins, the node there owes the bytes to that head and returns them in a frame in the other direction
//! of the cable: as soon as the transmission on that wire ends, ahead of all packets. Bytes that fall due
//! meanwhile go in one frame. A frame also carries the bytes of the class that are queued at the port that
//! the last packet left, and the load of that port. A class whose window is below a full packet is blocked at
//! its port, like a paused one (`pause`). Hosts have unlimited buffers: links that end at hosts have no
//! window.
//!
//! A frame is an event only for a port at which some class is blocked. Otherwise its head reads the arrived
//! frames when it next needs them: when a window falls below a full packet, when a transport reads the latest
//! values, and when the next frame is sent, so that few are kept. Arrived frames are those with an arrival
//! before the present: a frame arrives after all other events of its instant.
//!
//! Faults lose no frame. A packet that a fault loses is detected as missing by the node at the end of the
//! link, as by nodes that number the packets of a link; the node owes its bytes at once.
//!
//! A run without the queue "daq" has none of this: its lists are empty.

use super::Engine;
use super::calendar::Calendar;
use super::discipline::{Discipline, PortContext};
use super::egress::{PortQueue, schedule_departure};
use super::event::{Event, Phase, order};
use super::members::Members;
use super::network::Network;
use super::packet::{Packet, flag};
use super::port::Port;
use super::ring::Ring;
use crate::ids::{LinkId, PacketId};
use crate::units::Time;

/// Classes of data: with a deadline, or short; without one, or long.
pub const CLASSES: usize = 2;
/// The class of flows with a deadline.
pub const SHORT: usize = 0;
/// The class of flows without one.
pub const LONG: usize = 1;

/// The window of a link that has none.
pub const UNLIMITED: u32 = u32::MAX;

/// The load of a port that got as many bytes as its link carries.
pub const FULL_LOAD: u32 = 1_000_000;

/// The bits of [`Port::paused`] for each class.
const PAUSES: [u8; CLASSES] = [1, !1];

/// The class of a packet of data by that of its header.
#[inline(always)]
pub fn class_of(class: u8) -> usize {
    if class == 0 { SHORT } else { LONG }
}

/// Credit accounts, by link.
#[derive(Debug, Default)]
pub struct Credits {
    /// By link; empty unless the run's queue gives credits.
    pub links: Vec<Credit>,
    /// By the link that they cross: frames under way, first to last.
    under_way: Vec<Ring<Frame>>,
    pub(super) full_packet: u32,
    frame_bytes: u32,
}

/// The account of a link. One cache line.
#[derive(Clone, Copy, Debug)]
#[repr(C, align(64))]
pub struct Credit {
    /// Bytes that its head may send, by class; [`UNLIMITED`] for both without a window.
    pub window: [u32; CLASSES],
    /// Bytes that have left the node behind it, of which no frame tells yet.
    pub owed: [u32; CLASSES],
    /// The windows at the start.
    pub given: [u32; CLASSES],
    /// Bytes of the class that waited at the port that its last packet left.
    queue: [u32; CLASSES],
    /// The load of that port, in millionths.
    load: u32,
    /// Frames sent.
    frames: u32,
    /// Whether a frame is to be sent.
    due: bool,
    /// Whether an event is pending for the next frame to come.
    awaits: bool,
    /// Of each class what its head heard last: see [`Word`].
    heard: [(u32, u32); CLASSES],
}

/// Content of a credit frame.
#[derive(Clone, Copy, Debug)]
pub struct Frame {
    /// When it comes, and its place among the events of that instant.
    at: Time,
    order: u64,
    bytes: [u32; CLASSES],
    queue: [u32; CLASSES],
    load: u32,
}

/// Latest report to a host on a class at one of its links; zero at first.
#[derive(Clone, Copy, Debug, Default, PartialEq, Eq)]
pub struct Word {
    /// Bytes that waited of the class at the port that its last packet left, without the packet.
    pub queue: u64,
    /// Bytes that had come to that port in the last round trip, as a share of what its link carries, in millionths.
    pub load: u32,
}

impl Credits {
    /// Windows of each link, full packets of so many bytes, frames of so many.
    pub fn new(windows: Vec<[u32; CLASSES]>, full_packet: u32, frame_bytes: u32) -> Credits {
        let account = |given| Credit {
            window: given,
            owed: [0; CLASSES],
            given,
            queue: [0; CLASSES],
            load: 0,
            frames: 0,
            due: false,
            awaits: false,
            heard: [(0, 0); CLASSES],
        };
        let under_way = vec![Ring::default(); windows.len()];
        Credits { links: windows.into_iter().map(account).collect(), under_way, full_packet, frame_bytes }
    }

    /// The classes that stand still at the head of a link before anything has been sent, a bit each.
    pub fn paused_at_first(&self, link: LinkId) -> u8 {
        self.links.get(link.index()).map_or(0, |credit| self.stopped(credit))
    }

    /// The classes that a window stops, a bit each.
    fn stopped(&self, credit: &Credit) -> u8 {
        let stops = |class: &usize| credit.window[*class] < self.full_packet;
        (0..CLASSES).filter(stops).fold(0, |bits, class| bits | PAUSES[class])
    }

    /// The transmission of a packet of data begins at the head of a link.
    #[inline]
    fn spend(
        &mut self,
        (link, now): (LinkId, Time),
        (class, size): (usize, u32),
        port: &mut Port,
        calendar: &mut Calendar,
    ) {
        let Some(credit) = self.links.get_mut(link.index()).filter(|credit| credit.is_limited()) else {
            return;
        };
        assert!(credit.window[class] >= size, "link {link} has no credit for a packet that it sends");
        credit.window[class] -= size;
        if credit.window[class] < self.full_packet {
            self.stop(link, class, now, port, calendar);
        }
    }

    /// A class stands still, unless frames have brought credit for it.
    #[inline(never)]
    fn stop(&mut self, link: LinkId, class: usize, now: Time, port: &mut Port, calendar: &mut Calendar) {
        self.hear(link, now);
        if self.links[link.index()].window[class] < self.full_packet {
            port.paused |= PAUSES[class];
            self.await_frame(link, calendar);
        }
    }

    /// The head of a link reads the frames that came before that time.
    #[inline]
    fn hear(&mut self, link: LinkId, before: Time) {
        let credit = &mut self.links[link.index()];
        let frames = &mut self.under_way[link.reverse().index()];
        while let Some(frame) = frames.first()
            && frame.at < before
        {
            frames.pop();
            for class in (0..CLASSES).filter(|&class| frame.bytes[class] > 0) {
                credit.window[class] += frame.bytes[class];
                credit.heard[class] = (frame.queue[class], frame.load);
            }
        }
    }

    /// If a class stands still at the head of a link, the next frame to come becomes an event.
    #[inline]
    fn await_frame(&mut self, link: LinkId, calendar: &mut Calendar) {
        let (credit, full) = (&mut self.links[link.index()], self.full_packet);
        let stands = |class| credit.window[class] < full && credit.given[class] > 0;
        if credit.awaits || !(stands(SHORT) || stands(LONG)) {
            return;
        }
        if let Some(frame) = self.under_way[link.reverse().index()].first() {
            credit.awaits = true;
            calendar.push(Event { time: frame.at, order: frame.order, a: 0 });
        }
    }

    /// What a host last heard of a class at one of its links.
    pub(super) fn word(&mut self, link: LinkId, class: usize, now: Time) -> Word {
        self.hear(link, now);
        let (queue, load) = self.links[link.index()].heard[class];
        Word { queue: u64::from(queue), load }
    }

    /// Bytes that came by a link are no longer behind it. Whether its head is to be told who does not know it yet.
    fn owe(&mut self, ingress: LinkId, class: usize, size: u32) -> bool {
        let Some(credit) = self.links.get_mut(ingress.index()).filter(|credit| credit.is_limited()) else {
            return false;
        };
        credit.owed[class] += size;
        !std::mem::replace(&mut credit.due, true)
    }

    /// Bytes that frames under way tell of, of a link and class.
    pub(super) fn told(&self, link: LinkId, class: usize) -> u32 {
        self.under_way[link.reverse().index()].iter().map(|frame| frame.bytes[class]).sum()
    }
}

impl Credit {
    /// Whether the link has a window.
    #[inline]
    pub fn is_limited(&self) -> bool {
        self.given[SHORT] != UNLIMITED
    }

    /// Whether its head has sent what it has not heard of.
    pub fn is_spent(&self) -> bool {
        self.window != self.given
    }
}

impl PortContext<'_> {
    /// The transmission of a waiting packet of data begins here.
    #[inline]
    pub fn spend(&mut self, class: usize, size: u32) {
        let place = (self.link, self.now);
        self.control.credits.spend(place, (class, size), self.port, self.calendar);
    }

    /// A packet of data leaves this port, at which so many bytes of its class go on waiting: its bytes are owed to the
    /// head of the link that it came by.
    #[inline]
    pub fn release(&mut self, packet: PacketId, class: usize, size: u32, word: Word) {
        let ingress = self.arena[packet].ingress;
        let asks = self.control.credits.owe(ingress, class, size);
        if let Some(credit) = self.control.credits.links.get_mut(ingress.index()) {
            credit.queue[class] = u32::try_from(word.queue).unwrap_or(u32::MAX);
            credit.load = word.load;
        }
        if asks {
            self.after.pause(ingress);
        }
    }
}

impl<M: Members> Network<'_, M> {
    /// The wire is free and takes a frame, if something is owed.
    #[cold]
    pub(super) fn send_credit(&mut self, link: LinkId) -> bool {
        let (credits, now, head) = (&mut self.control.credits, self.now, link.reverse());
        let port = &mut self.egress[link.index()].port;
        port.frame_waits = false;
        if !std::mem::take(&mut credits.links[head.index()].due) {
            return false;
        }
        let credit = &mut credits.links[head.index()];
        credit.frames = credit.frames.wrapping_add(1);
        let frame = Frame {
            at: port.transmit_frame(now, credits.frame_bytes),
            order: order(Phase::Pause, port.rank, credit.frames),
            bytes: std::mem::take(&mut credit.owed),
            queue: credit.queue,
            load: credit.load,
        };
        match port.abroad {
            0 => self.credit_comes(link, frame),
            part => self.after.out[usize::from(part - 1)].credits.push((link, frame)),
        }
        true
    }

    /// A frame is on its way by that link, to a port of this part of the run.
    pub(super) fn credit_comes(&mut self, link: LinkId, frame: Frame) {
        let (credits, head) = (&mut self.control.credits, link.reverse());
        credits.hear(head, self.now);
        credits.under_way[link.index()].push(frame);
        credits.await_frame(head, &mut self.calendar);
    }

    /// A fault has lost a packet that came or was to come by a link.
    #[cold]
    pub(super) fn forfeit(&mut self, ingress: LinkId, id: PacketId) {
        if let Some((class, size)) = charged(&self.arena[id])
            && self.control.credits.owe(ingress, class, size)
        {
            self.after.pause(ingress);
        }
    }

    /// Bytes of data that wait, by the link that they came by and their class.
    pub(super) fn charged_waiting(&self) -> Vec<[u32; CLASSES]> {
        let mut waiting = vec![[0; CLASSES]; self.control.credits.links.len()];
        for egress in &self.egress {
            let PortQueue::Serviced(model) = &egress.queue else { continue };
            model.resident(&mut |id| {
                let packet = &self.arena[id];
                if let (Some((class, size)), Some(waiting)) =
                    (charged(packet), waiting.get_mut(packet.ingress.index()))
                {
                    waiting[class] += size;
                }
            });
        }
        waiting
    }

    /// Takes back what a frame under way tells of: how a test of the audit loses a credit.
    #[cfg(test)]
    pub fn lose_credit(&mut self) -> bool {
        let tells = |ring: &&mut Ring<Frame>| ring.first().is_some_and(|frame| frame.bytes != [0; CLASSES]);
        let Some(ring) = self.control.credits.under_way.iter_mut().find(tells) else { return false };
        for _ in 0..ring.len() {
            let frame = ring.pop().expect("it has so many");
            ring.push(Frame { bytes: [0; CLASSES], ..frame });
        }
        true
    }
}

impl<M: Members> Engine<'_, '_, M> {
    /// A frame has come by that link to a port at which a class stood still.
    #[cold]
    pub(super) fn take_credit(&mut self, by: LinkId) {
        let (link, now, credits) = (by.reverse(), self.net.now, &mut self.net.control.credits);
        credits.links[link.index()].awaits = false;
        credits.hear(link, Time(now.0 + 1));
        credits.await_frame(link, &mut self.net.calendar);
        let stopped = credits.stopped(&credits.links[link.index()]);
        let before = std::mem::replace(&mut self.net.egress[link.index()].port.paused, stopped);
        let port = &mut self.net.egress[link.index()].port;
        if before & !stopped == 0 || port.serving {
            return;
        }
        if port.free_at > now {
            schedule_departure(port, &mut self.net.calendar);
        } else {
            self.depart(link);
        }
    }
}

/// Compares each window, and what of it is under way, with what was given, in all parts of a run: at its head and its end
/// a link's account is that of the part there.
pub(super) fn audit_credits<M: Members>(
    parts: &[&Network<'_, M>],
    head: impl Fn(usize) -> usize,
    end: impl Fn(usize) -> usize,
    wrong: &mut Vec<String>,
) {
    let mut behind = vec![[0; CLASSES]; parts[0].control.credits.links.len()];
    if behind.is_empty() {
        return;
    }
    for part in parts {
        for (behind, waiting) in behind.iter_mut().zip(part.charged_waiting()) {
            (0..CLASSES).for_each(|class| behind[class] += waiting[class]);
        }
        for event in part.calendar.iter() {
            if event.phase() == Phase::Arrival as u8 || event.phase() == Phase::Lost as u8 {
                let on_wire = charged(&part.arena[PacketId(event.a)]);
                let link = part.links.of(&event).index();
                on_wire.into_iter().for_each(|(class, size)| behind[link][class] += size);
            }
        }
    }
    for (link, behind) in behind.into_iter().enumerate() {
        let (credits, net) = (&parts[head(link)].control.credits, parts[head(link)]);
        let credit = &credits.links[link];
        for (class, behind) in behind.into_iter().enumerate().filter(|_| credit.is_limited()) {
            let (window, owed) =
                (credit.window[class], parts[end(link)].control.credits.links[link].owed[class]);
            let told = credits.told(LinkId(link as u32), class);
            let whole = window.checked_add(behind + owed + told);
            if whole != Some(credit.given[class]) {
                let given = credit.given[class];
                wrong.push(format!(
                    "link {link}, class {class}: a credit of {given} bytes, but a window of {window}, {behind} on the \
                     wire and behind it, {owed} owed, {told} in frames"
                ));
            }
        }
        let paused = net.egress[link].port.paused;
        if paused != credits.stopped(credit) {
            wrong.push(format!(
                "link {link}: classes {paused:#b} stand still, with windows {:?}",
                credit.window
            ));
        }
    }
}

/// The class and the bytes of a packet for which credit is spent.
#[inline(always)]
pub fn charged(packet: &Packet) -> Option<(usize, u32)> {
    (!packet.has(flag::CONTROL)).then(|| (class_of(packet.header.class), packet.size))
}

#[cfg(test)]
mod tests {
    use super::*;
    use crate::engine::calendar::Agenda;
    use crate::scenario::{self, Format, no_files};
    use crate::setup::Setup;

    /// Flows with and without deadlines over a fat-tree of 1 Gbps, whose switches have little room.
    fn scenario(seed: u64) -> String {
        format!(
            r#"
            topology.fat-tree = {{ k = 4, rate = "1Gbps" }}
            transport = "daq"
            queue.daq = {{ short_buffer = "20KB", long_buffer = "13KB", short_weight = 3, long_weight = 2 }}
            routing.balancer = "per-packet"
            [[traffic]]
            name = "short"
            arrivals.poisson.load = 0.8
            matrix = "uniform"
            sizes.uniform = {{ min = "1B", max = "40KB" }}
            deadlines.exponential.mean = "500us"
            flows = 60
            [[traffic]]
            name = "long"
            arrivals.at-once = {{}}
            matrix.incast.senders = 9
            sizes.fixed = "50KB"
            [run]
            seed = {seed}
            "#
        )
    }

    /// After each event: windows and what of them is under way are what was given, no head has more under way, and no
    /// switch has more waiting than its buffers hold. Windows do become too small to send.
    #[test]
    fn no_switch_is_ever_sent_more_than_it_holds() {
        let mut stopped = 0;
        for seed in 1..4 {
            let scenario = scenario::read(&scenario(seed), Format::Toml, &[], &no_files).expect("a scenario");
            let setup = Setup::new(&scenario, scenario.topology.build().into()).expect("a network");
            assert_eq!(setup.queue_problems(), []);
            let plan = setup.plan(&scenario, Agenda::Calendar);
            let mut engine: Engine<Setup> = Engine::new(&plan);
            let fabric = &setup.fabric;
            let mut steps = 0;
            while engine.step().is_none() {
                steps += 1;
                let mut wrong = Vec::new();
                audit_credits(&[&engine.net], |_| 0, |_| 0, &mut wrong);
                assert_eq!(wrong, Vec::<String>::new());
                let mut waiting = vec![[0; CLASSES]; fabric.nodes.len()];
                for (egress, link) in engine.net.egress.iter().zip(&fabric.links) {
                    let PortQueue::Serviced(model) = &egress.queue else { continue };
                    model.resident(&mut |id| {
                        if let Some((class, size)) = charged(&engine.net.arena[id]) {
                            waiting[link.from.index()][class] += size;
                        }
                    });
                    stopped += u64::from(egress.port.paused.count_ones());
                }
                for waiting in &waiting[fabric.hosts as usize..] {
                    assert!(waiting[SHORT] <= 20_000 && waiting[LONG] <= 13_000, "{waiting:?}");
                }
            }
            assert!(steps > 10_000, "{steps}");
            assert!(engine.net.egress.iter().all(|egress| egress.losses.dropped.packets == 0));
        }
        assert!(stopped > 0);
    }

    /// A switch's buffer is divided among the links by which the class may come: in a rack of which two hosts send with
    /// a deadline and one without, by two and one, in whole packets of 1500 B; nobody else has credit, and links to
    /// hosts need none.
    #[test]
    fn buffers_are_divided_among_those_who_send() {
        let text = r#"
            topology.single-switch = { hosts = 4 }
            transport = "daq"
            queue.daq = { short_buffer = "10KB", long_buffer = "10KB" }
            [[traffic]]
            name = "short"
            arrivals.at-once = {}
            matrix.pairs = [[1, 0], [2, 0]]
            sizes.fixed = "1KB"
            deadline = "1ms"
            [[traffic]]
            name = "long"
            arrivals.at-once = {}
            matrix.pairs = [[2, 0]]
            sizes.fixed = "1KB"
        "#;
        let scenario = scenario::read(text, Format::Toml, &[], &no_files).expect("a scenario");
        let setup = Setup::new(&scenario, scenario.topology.build().into()).expect("a network");
        let plan = setup.plan(&scenario, Agenda::Calendar);
        let engine: Engine<Setup> = Engine::new(&plan);
        let mut given = vec![];
        for (link, credit) in setup.fabric.links.iter().zip(&engine.net.control.credits.links) {
            match setup.fabric.is_host(link.from) {
                true => given.push(credit.given),
                false => assert_eq!(credit.given, [UNLIMITED; CLASSES]),
            }
        }
        assert_eq!(given, [[0, 0], [4500, 0], [4500, 9000], [0, 0]]);
    }

    /// The words of both classes that a sender receives, one after the other: its twenty packets of 1500 B come to a switch each
    /// 4.6875 us, at 2.56 Gbps, and leave each 12 us.
    fn heard(deadline: &str, queue: &str) -> Vec<[(u64, u32); CLASSES]> {
        let text = format!(
            r#"
            topology.line = {{ rates = ["2.56Gbps", "1Gbps"], delay = "1us" }}
            transport.daq = {{ initial_window = "60KB", target_queue = "1MB" }}
            queue.daq = {{ {queue} }}
            [[traffic]]
            name = "flow"
            arrivals.at-once.jitter = "0s"
            matrix.pairs = [[0, 1]]
            sizes.fixed = "29200B"
            {deadline}
            "#
        );
        let scenario = scenario::read(&text, Format::Toml, &[], &no_files).expect("a scenario");
        let setup = Setup::new(&scenario, scenario.topology.build().into()).expect("a network");
        let plan = setup.plan(&scenario, Agenda::Calendar);
        let mut engine: Engine<Setup> = Engine::new(&plan);
        let is_first = |link: &crate::topology::Link| link.from.0 == 0;
        let first = LinkId(setup.fabric.links.iter().position(is_first).expect("a cable") as u32);
        let mut heard = Vec::new();
        while engine.step().is_none() {
            let now = engine.net.now;
            let credits = &mut engine.net.control.credits;
            heard.push([SHORT, LONG].map(|class| {
                let Word { queue, load } = credits.word(first, class, now);
                (queue, load)
            }));
        }
        heard
    }

    const OF_CLASSES: [(usize, &str); CLASSES] = [(LONG, ""), (SHORT, "deadline = \"1s\"")];

    /// The first packet leaves as it comes. When the fourth leaves, 36 us after the first, eight have come and four wait:
    /// 6000 B, of which a frame tells the sender before the next leaves. It hears so of the class of its packets, and nothing
    /// of the other.
    #[test]
    fn a_sender_hears_of_the_queue_of_its_class() {
        for (class, deadline) in OF_CLASSES {
            let heard = heard(deadline, "");
            let mut of_class: Vec<u64> = heard.iter().map(|words| words[class].0).collect();
            of_class.dedup();
            // The k-th after the first leaves 12 k us after it; by then 1 + floor(2.56 k) of twenty have come, and k + 1 gone.
            let waits = |k: u64| 1500 * ((1 + 256 * k / 100).min(20) - (k + 1));
            let mut expected: Vec<u64> = (0..20).map(waits).collect();
            expected.dedup();
            assert_eq!(of_class, expected, "class {class}");
            assert!(heard.iter().all(|words| words[1 - class].0 == 0), "class {class}: {heard:?}");
        }
    }

    /// Ten packets come in each round trip of 46.875 us, but for the first and the last one: 15,000 B, where the link carries
    /// 5860.
    #[test]
    fn a_sender_hears_of_the_load_of_the_port() {
        for (class, deadline) in OF_CLASSES {
            let heard = heard(deadline, "rtt = \"46875ns\"");
            let most = heard.iter().map(|words| words[class].1).max().expect("it runs");
            assert_eq!(most, (15_000 * u64::from(FULL_LOAD) / 5860) as u32, "class {class}");
        }
    }

    /// A frame counts from the picosecond after the one at which it ends: at that instant its own event counts it, in the order
    /// of events.
    #[test]
    fn a_frame_counts_once_its_end_is_past() {
        let mut credits = Credits::new(vec![[9000; CLASSES]; 2], 1500, 64);
        let link = LinkId(0);
        credits.links[0].window = [0; CLASSES];
        let frame = Frame { at: Time(100), order: 0, bytes: [1500, 3000], queue: [4500, 6000], load: 7 };
        credits.under_way[link.reverse().index()].push(frame);
        credits.hear(link, Time(100));
        assert_eq!(credits.links[0].window, [0, 0]);
        credits.hear(link, Time(101));
        assert_eq!(credits.links[0].window, [1500, 3000]);
        assert_eq!(credits.links[0].heard, [(4500, 7), (6000, 7)]);
    }
}
