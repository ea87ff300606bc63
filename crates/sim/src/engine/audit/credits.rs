//! The audit of credits: windows, and bytes behind and on links, against the credit given.

use crate::engine::contract::members::Members;
use crate::engine::contract::path::Choose;
use crate::engine::data::credit::CLASSES;
use crate::engine::data::event::Phase;
use crate::engine::network::Network;
use crate::ids::{LinkId, PacketId};

/// Compares each window, and its bytes outstanding, with the initial window, in all parts of a run: at its head and its
/// end a link's account is that of the part there.
pub(in crate::engine) fn audit_credits<M: Members>(
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
        // Held by a switch until those before them have come: their bytes are in its buffer, and in no queue.
        for balancer in &part.balancers {
            balancer.held(&mut |id| part.add_charged(id, &mut behind));
        }
        for event in part.calendar.iter() {
            if event.phase() == Phase::Arrival as u8 || event.phase() == Phase::Lost as u8 {
                let on_wire = part.control.credits.charged(&part.arena[PacketId(event.a)]);
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
            let in_frames = credits.in_frames(LinkId(link as u32), class);
            let whole = window.checked_add(behind + owed + in_frames);
            if whole != Some(credit.given[class]) {
                let given = credit.given[class];
                wrong.push(format!(
                    "link {link}, class {class}: a credit of {given} bytes, but a window of {window}, {behind} on the \
                     wire and behind it, {owed} owed, {in_frames} in frames"
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

#[cfg(test)]
mod tests {
    use super::*;
    use crate::engine::contract::discipline::Discipline;
    use crate::engine::data::credit::{FULL_LOAD, LONG, SHORT, UNLIMITED, Word};
    use crate::engine::data::plan::Agenda;
    use crate::engine::network::egress::PortQueue;
    use crate::engine::run::Engine;
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

    /// After each event: windows and their bytes outstanding add up to the initial windows, no head has more
    /// outstanding, and no switch has more waiting than its buffers hold. Windows do become too small to send.
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
            while engine.step::<false>().is_none() {
                steps += 1;
                let mut wrong = Vec::new();
                audit_credits(&[&engine.net], |_| 0, |_| 0, &mut wrong);
                assert_eq!(wrong, Vec::<String>::new());
                let mut waiting = vec![[0; CLASSES]; fabric.nodes.len()];
                for (egress, link) in engine.net.egress.iter().zip(&fabric.links) {
                    let PortQueue::Serviced(model) = &egress.queue else { continue };
                    model.resident(&mut |id| {
                        if let Some((class, size)) = engine.net.control.credits.charged(&engine.net.arena[id])
                        {
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

    /// Packets that the receivers' leaf holds until those before them have come are in its buffer, though in none of its
    /// queues: their bytes count.
    #[test]
    fn held_packets_are_behind_their_links() {
        let text = r#"
            topology = "leaf-spine"
            transport = "daq"
            routing.balancer = "conweave"
            [[traffic]]
            name = "b"
            matrix = "all-to-all"
            sizes.fixed = "300KB"
            arrivals.at-once = {}
        "#;
        let scenario = scenario::read(text, Format::Toml, &[], &no_files).expect("a scenario");
        let setup = Setup::new(&scenario, scenario.topology.build().into()).expect("a network");
        let plan = setup.plan(&scenario, Agenda::Calendar);
        let mut engine: Engine<Setup> = Engine::new(&plan);
        let (mut steps, mut held) = (0, 0);
        while held < 20 && engine.step::<false>().is_none() {
            steps += 1;
            let mut now = 0;
            engine.net.balancers.iter().for_each(|balancer| balancer.held(&mut |_| now += 1));
            if now > 0 || steps % 1000 == 0 {
                held += usize::from(now > 0);
                let mut wrong = Vec::new();
                audit_credits(&[&engine.net], |_| 0, |_| 0, &mut wrong);
                assert_eq!(wrong, Vec::<String>::new());
            }
        }
        assert_eq!(held, 20, "packets are held at so many instants");
    }

    /// A switch's buffer is divided among the links by which the class may come: in a rack of which two hosts send with
    /// a deadline and one without, by two and one, in whole packets of 1500 B; no other host has credit, and links to
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
        while engine.step::<false>().is_none() {
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

    /// The first packet leaves as it comes. When the fourth leaves, 36 us after the first, eight have come and four
    /// wait: 6000 B, which a frame reports to the sender before the next leaves. The frame reports the class of the
    /// sender's packets, and nothing of the other.
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
}
