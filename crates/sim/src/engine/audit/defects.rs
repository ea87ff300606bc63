//! Defects that are injected into a run, each of which the audit must find.

#![cfg(test)]
#![cfg(test)]

use super::*;
use crate::engine::contract::discipline::Discipline;
use crate::engine::data::event::Phase;
use crate::engine::data::packet::flag;
use crate::engine::data::plan::Agenda;
use crate::ids::{LinkId, PacketId};
use crate::scenario::Scenario;
use crate::setup::Setup;
use crate::{agent, transport};

/// A run of an incast under that transport, stopped while queues are full, with that defect injected.
fn findings(transport: &str, inject: impl FnOnce(&mut Engine<Setup>)) -> Vec<String> {
    let text = format!(
        r#"
        [topology.single-switch]
        hosts = 9
        [transport.{transport}]
        [[traffic]]
        name = "incast"
        arrivals.at-once = {{}}
        matrix.incast = {{ senders = 8 }}
        sizes.fixed = "300KB"
        [run]
        audit = true
        "#
    );
    let scenario: Scenario = toml::from_str(&text).unwrap();
    let setup = Setup::new(&scenario, scenario.topology.build().into()).unwrap();
    let plan = setup.plan(&scenario, Agenda::Calendar);
    let mut engine = Engine::new(&plan);
    for _ in 0..1200 {
        assert_eq!(engine.step::<false>(), None);
    }
    engine.audit();
    assert_eq!(engine.violations, Vec::<String>::new(), "without a defect");
    inject(&mut engine);
    for _ in 0..5 {
        engine.step::<false>();
    }
    engine.audit();
    engine.violations
}

fn assert_found(findings: &[String], what: &str) {
    assert!(findings.iter().any(|finding| finding.contains(what)), "{what} not in {findings:#?}");
}

/// A packet that waits somewhere, and its port.
fn waiting(
    engine: &Engine<Setup>,
    test: impl Fn(&crate::engine::data::packet::Packet) -> bool,
) -> (usize, PacketId) {
    for (link, egress) in engine.net.egress.iter().enumerate() {
        if let PortQueue::Serviced(model) = &egress.queue {
            let mut last = None;
            model.resident(&mut |id| last = Some(id).filter(|&id| test(&engine.net.arena[id])).or(last));
            if let Some(id) = last {
                return (link, id);
            }
        }
    }
    panic!("nothing waits");
}

#[test]
fn catches_an_uncounted_drop() {
    let found = findings("ndp", |engine| {
        let (link, _) = waiting(engine, |_| true);
        engine.net.steal(LinkId(link as u32));
    });
    assert_found(&found, "sent, waiting, dropped or sent back");
}

#[test]
fn catches_a_leaked_packet() {
    let found = findings("ndp", |engine| {
        let (_, id) = waiting(engine, |_| true);
        let copy = engine.net.arena[id];
        engine.net.arena.insert(copy);
    });
    assert_found(&found, "packets live");
}

#[test]
fn catches_a_double_delivery() {
    let found = findings("tcp", |engine| {
        let arrival =
            engine.net.calendar.iter().filter(|event| event.phase() == Phase::Arrival as u8).max().unwrap();
        engine.net.calendar.push(arrival);
    });
    assert_found(&found, "places at once");
}

#[test]
fn catches_an_untrimmed_size() {
    let found = findings("ndp", |engine| {
        let (_, id) = waiting(engine, |packet| packet.has(flag::TRIMMED));
        engine.net.arena[id].size = 1500;
    });
    assert_found(&found, "bytes offered");
}

#[test]
fn catches_a_lost_credit() {
    let found = findings("ndp", |engine| {
        let transport::Model::Ndp(model) = &mut engine.transports[0] else { unreachable!() };
        assert!(model.lose_a_pull());
    });
    assert_found(&found, "pulls queued");
}

#[test]
fn catches_a_packet_at_the_wrong_gate() {
    let found = findings("dcqcn", |engine| {
        let (_, id) = waiting(engine, |packet| packet.ingress != LinkId::NONE);
        engine.net.control.pauses.gates[engine.net.arena[id].ingress.index()].waiting[1] += 64;
    });
    assert_found(&found, "bytes counted by class");
}

#[test]
fn catches_a_credit_that_is_lost_on_its_way() {
    let found = findings("daq", |engine| {
        while !engine.net.lose_credit() {
            engine.step::<false>();
        }
    });
    assert_found(&found, "a credit of");
}

#[test]
fn catches_a_class_that_stands_still_in_spite_of_its_credit() {
    let found = findings("daq", |engine| {
        let link =
            engine.net.control.credits.links.iter().position(|credit| credit.given[1] < u32::MAX).unwrap();
        engine.net.egress[link].port.paused = 1;
    });
    assert_found(&found, "stand still");
}

#[test]
fn catches_a_skipped_arrival() {
    let found = findings("tcp", |engine| {
        engine.net.calendar.lose(|event| event.phase() == Phase::Arrival as u8).unwrap();
    });
    assert_found(&found, "received, on the wire or lost");
}

#[test]
fn catches_a_skipped_departure() {
    let found = findings("ndp", |engine| {
        engine.net.calendar.lose(|event| event.phase() == Phase::Departure as u8).unwrap();
    });
    assert_found(&found, "departures pending");
}

#[test]
fn catches_a_start_too_many() {
    let found = findings("tcp", |engine| {
        // Later than anything that is to happen meanwhile.
        let later = Time(engine.net.now.0 * 1000);
        let order = crate::engine::data::event::order(Phase::Start, 0, 0);
        engine.net.calendar.push(crate::engine::data::event::Event { time: later, order, a: 0 });
    });
    assert_found(&found, "starts to come");
}

#[test]
fn catches_a_skipped_timer() {
    let found = findings("tcp", |engine| {
        engine.net.calendar.lose(|event| event.phase() == Phase::Timer as u8).unwrap();
    });
    assert_found(&found, "timers");
}

#[test]
fn catches_a_skipped_port_timer() {
    let found = findings("tcp]\n[queue.pie", |engine| {
        engine.net.calendar.lose(|event| event.phase() == Phase::Port as u8).unwrap();
    });
    assert_found(&found, "its timer is set");
}

#[test]
fn catches_a_flow_that_an_agent_still_remembers() {
    let d3 = "d3]\n[agent.d3]\nstate = \"flows\"\n[queue.infinite";
    let found = findings(d3, |engine| {
        // Longer than anything is silent.
        while engine.net.now < Time::from_us(1000) {
            engine.step::<false>();
        }
        let agent::Model::D3Port(port) = engine.net.agents.at(LinkId(1)) else { unreachable!() };
        port.leave_behind(FlowId(1_000_000));
    });
    assert_found(&found, "keeps flow 1000000, which is over and silent");
}

#[test]
fn catches_a_delivery_that_was_not_received() {
    let found = findings("tcp", |engine| engine.net.conns[0].receiver.delivered_bytes += 1);
    assert_found(&found, "in received ranges");
}

#[test]
fn catches_a_flow_left_on_a_port() {
    let found = findings("pdq", |engine| {
        // The port to the host that all send to.
        let agent::Model::PdqPort(port) = engine.net.agents.at(LinkId(1)) else { unreachable!() };
        port.leave_behind(FlowId(1_000_000));
    });
    assert_found(&found, "flow 1000000, which is over, should have left the list");
}

#[test]
fn catches_a_flow_that_keeps_its_share() {
    let found = findings("racs", |engine| {
        // Longer than anything is silent.
        while engine.net.now < Time::from_us(1000) {
            engine.step::<false>();
        }
        let agent::Model::RacsPort(port) = engine.net.agents.at(LinkId(1)) else { unreachable!() };
        port.leave_behind(FlowId(1_000_000));
    });
    assert_found(&found, "flow 1000000, which is over, should have been taken off");
}

/// Six flows to one host, with losses, and long after them one between two others: meanwhile all lists have become empty.
#[test]
fn lists_of_pdq_become_empty() {
    let text = r#"
        [topology.single-switch]
        hosts = 9
        [transport.pdq.pacing]
        rto_min = "200us"
        [faults]
        events = [{ at = "0s", target.random-cables = { share = 1.0 }, change = { loss = 0.05 } }]
        [[traffic]]
        name = "incast"
        arrivals.at-once = {}
        matrix.incast = { senders = 6 }
        sizes.fixed = "30KB"
        [[traffic]]
        name = "due"
        arrivals.at-once = {}
        matrix.incast = { senders = 6 }
        sizes.fixed = "30KB"
        deadline = "100us"
        [[traffic]]
        name = "later"
        arrivals.at-once = { at = "100ms" }
        matrix.pairs = [[7, 8]]
        sizes.fixed = "30KB"
        [run]
        audit = true
        "#;
    let scenario: Scenario = toml::from_str(text).unwrap();
    let setup = Setup::new(&scenario, scenario.topology.build().into()).unwrap();
    let plan = setup.plan(&scenario, Agenda::Calendar);
    let mut engine = Engine::new(&plan);
    let flows = |engine: &Engine<Setup>| {
        let of = |(agent, _): (&agent::Model, bool)| match agent {
            agent::Model::PdqPort(port) => port.flows(),
            _ => unreachable!(),
        };
        engine.net.agents.iter().map(of).sum::<usize>()
    };
    // Of the events before the last flow, how many entries there are: at most, and after the last one.
    let (mut most, mut last) = (0, 0);
    while engine.net.now < Time::from_us(100_000) {
        last = flows(&engine);
        most = most.max(last);
        assert_eq!(engine.step::<false>(), None);
    }
    assert!(most > 6, "{most} entries at most");
    assert_eq!((engine.flows_done, last), (12, 0));
    engine.audit();
    assert_eq!(engine.violations, Vec::<String>::new());
}
