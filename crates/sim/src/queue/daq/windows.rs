//! Windows: the division of a switch's buffers among its senders.

use crate::engine::contract::credit::{CLASSES, UNLIMITED};
use crate::problem::Problem;
use crate::topology::{Fabric, Link};
use crate::units::Bytes;

/// The fields of a class, with their names.
pub(super) struct Share {
    pub buffer: (&'static str, Bytes),
    pub senders: (&'static str, Option<u32>),
    pub flows: &'static str,
}

/// The window of each link. The buffers of each switch are in equal parts (paper, section II: buffer / N_w),
/// in whole packets, so that the bytes of all windows fit. A link without data of a class has no credit for
/// it.
pub(super) fn divide(
    shares: &[Share; CLASSES],
    fabric: &Fabric,
    sends: &[[bool; CLASSES]],
    full_packet: u64,
) -> Vec<[u32; CLASSES]> {
    let (senders, enters) = (senders(fabric, sends), entrances(fabric, sends));
    let window = |link: &Link| {
        if fabric.is_host(link.to) {
            return [UNLIMITED; CLASSES];
        }
        std::array::from_fn(|class| {
            let Share { buffer, senders: given, .. } = &shares[class];
            let parts = given.1.unwrap_or(senders[link.to.index()][class]);
            let packets = buffer.1.0 / u64::from(parts.max(1)) / full_packet.max(1);
            if enters(link, class) { (packets.max(1) * full_packet) as u32 } else { 0 }
        })
    };
    fabric.links.iter().map(window).collect()
}

/// Problems of the division.
pub(super) fn problems(
    shares: &[Share; CLASSES],
    fabric: &Fabric,
    sends: &[[bool; CLASSES]],
    full_packet: u64,
) -> Vec<Problem> {
    let senders = senders(fabric, sends);
    let mut problems = Vec::new();
    for (class, share) in shares.iter().enumerate() {
        let ((buffer_field, buffer), (senders_field, given)) = (share.buffer, share.senders);
        let most = (0..senders.len()).max_by_key(|&node| (senders[node][class], usize::MAX - node));
        let Some((node, most)) = most.map(|node| (node, senders[node][class])).filter(|most| most.1 > 0)
        else {
            continue;
        };
        let (switch, flows) = (&fabric.nodes[node].name, share.flows);
        if let Some(given) = given.filter(|given| *given < most) {
            let message = format!(
                "{given} is below the {most} links by which {flows} may come to {switch}: they could have more under \
                 way than {buffer_field} holds"
            );
            problems.push(Problem::new(senders_field, message));
            continue;
        }
        let parts = given.unwrap_or(most);
        if buffer.0 / u64::from(parts) < full_packet {
            let least = Bytes(u64::from(parts) * full_packet);
            let message = match given {
                Some(_) => format!(
                    "{parts} makes a window of {} B out of a {buffer_field} of {buffer}, below a packet of {full_packet} B: \
                     at least {least} are needed",
                    buffer.0 / u64::from(parts)
                ),
                None => format!(
                    "{buffer} is below {least}, a packet of {full_packet} B for each of the {parts} links by which \
                     {flows} may come to {switch}"
                ),
            };
            problems.push(Problem::new(if given.is_some() { senders_field } else { buffer_field }, message));
        }
    }
    problems
}

/// For each link and class, whether such data may come by it to a switch.
fn entrances<'a>(
    fabric: &'a Fabric,
    sends: &'a [[bool; CLASSES]],
) -> impl Fn(&Link, usize) -> bool + use<'a> {
    let mut ports = vec![0; fabric.nodes.len()];
    fabric.links.iter().for_each(|link| ports[link.from.index()] += 1);
    let any: [bool; CLASSES] = std::array::from_fn(|class| sends.iter().any(|sends| sends[class]));
    move |link: &Link, class: usize| {
        // A host with several links may relay.
        let relays = !fabric.is_host(link.from) || ports[link.from.index()] > 1;
        !fabric.is_host(link.to) && any[class] && (relays || sends[link.from.index()][class])
    }
}

/// For each node and class, the links by which such data may come.
fn senders(fabric: &Fabric, sends: &[[bool; CLASSES]]) -> Vec<[u32; CLASSES]> {
    let enters = entrances(fabric, sends);
    let mut senders = vec![[0; CLASSES]; fabric.nodes.len()];
    for link in &fabric.links {
        for (class, count) in senders[link.to.index()].iter_mut().enumerate() {
            *count += u32::from(enters(link, class));
        }
    }
    senders
}
