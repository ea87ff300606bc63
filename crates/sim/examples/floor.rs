//! Scratch.
use std::time::Instant;
fn main() {
    let k: u32 = std::env::args().nth(1).unwrap().parse().unwrap();
    let mut floor = flowyard_sim::floor::Floor::new(k);
    floor.run(3_000_000);
    for _ in 0..5 {
        let start = Instant::now();
        let n = 5_000_000;
        floor.run(n);
        println!("{} ns", start.elapsed().as_secs_f64() * 1e9 / n as f64);
    }
}
