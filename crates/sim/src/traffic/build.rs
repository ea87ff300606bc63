//! All flows of a run, from its entries.

use sha2::{Digest, Sha256};

use super::dependencies::Dependencies;
use super::window::Window;
use super::writer::{Writer, Written};
use super::{Chains, Demand, Flow, Traffic, references, sources};
use crate::random::flow_key;
use crate::topology::Fabric;
use crate::units::Time;

impl Traffic {
    /// Draws all flows. Called only if there are no [`problems`](super::problems).
    pub fn build(entries: &[Demand], fabric: &Fabric, seed: u64, replica: u64, window: Window) -> Traffic {
        let (ranks, _) = sources::resolve(entries, fabric.hosts, seed, replica);
        let Written { mut flows, chains, dependencies, summaries } =
            write(entries, &ranks, fabric, (seed, replica), &window);
        number_by_start(entries, &mut flows);
        key_draws(entries, &mut flows);
        let timed = flows.partition_point(|flow| flow.start != Time::NEVER);
        let digest = digest(&flows, &dependencies, &chains, (seed, replica));
        let loaded = loaded(entries, &ranks, fabric);
        Traffic { flows, timed, dependencies, chains, digest, entries: summaries, loaded, window }
    }
}

/// The flows of all entries, each entry behind those that it refers to.
fn write(
    entries: &[Demand],
    ranks: &[Vec<u32>],
    fabric: &Fabric,
    draws: (u64, u64),
    window: &Window,
) -> Written {
    let mut writer = Writer::new(entries, fabric, draws, window);
    for index in references::order(entries).0 {
        writer.write(index, &ranks[index]);
    }
    writer.finish()
}

/// Counts the flows of an entry by their start where that is known for all of them.
fn number_by_start(entries: &[Demand], flows: &mut [Flow]) {
    let by_start: Vec<bool> = entries.iter().map(|entry| !entry.workload.numbered_as_written()).collect();
    let mut counts = vec![0; entries.len()];
    for flow in flows.iter_mut().filter(|flow| by_start[flow.entry as usize]) {
        let count = &mut counts[flow.entry as usize];
        flow.number = *count;
        *count += 1;
    }
}

/// Gives each flow the key of its random draws.
fn key_draws(entries: &[Demand], flows: &mut [Flow]) {
    flows.iter_mut().for_each(|flow| flow.key = flow_key(&entries[flow.entry as usize].name, flow.number));
}

/// For each entry the hosts whose links its load is a share of.
fn loaded(entries: &[Demand], ranks: &[Vec<u32>], fabric: &Fabric) -> Vec<Vec<u32>> {
    let of = |(entry, ranks): (&Demand, &Vec<u32>)| {
        entry.workload.loaded(&entry.name, ranks, fabric.hosts).into_owned()
    };
    entries.iter().zip(ranks).map(of).collect()
}

fn digest(flows: &[Flow], dependencies: &Dependencies, chains: &Chains, draws: (u64, u64)) -> String {
    let mut hash = Sha256::new();
    hash.update((flows.len() as u64).to_le_bytes());
    for flow in flows {
        hash.update(flow.start.0.to_le_bytes());
        hash.update(flow.src.0.to_le_bytes());
        hash.update(flow.dst.0.to_le_bytes());
        hash.update(flow.size.to_le_bytes());
        hash.update(flow.entry.to_le_bytes());
        hash.update([u8::from(flow.deadline.is_some())]);
        hash.update(flow.deadline.unwrap_or_default().0.to_le_bytes());
    }
    dependencies.digest(&mut hash);
    chains.digest(&mut hash, draws);
    hash.finalize().iter().map(|byte| format!("{byte:02x}")).collect()
}
