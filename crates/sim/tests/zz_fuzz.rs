mod common;
use proptest::strategy::{Strategy, ValueTree};
use proptest::test_runner::{TestRunner, Config, RngAlgorithm, TestRng};
#[test]
fn fuzz() {
    let mut runner = TestRunner::new_with_rng(Config::default(), TestRng::from_seed(RngAlgorithm::ChaCha, &[std::env::var("S").unwrap().parse().unwrap(); 32]));
    for _ in 0..2000 {
        let text = common::random_scenario().new_tree(&mut runner).unwrap().current();
        std::fs::write("/tmp/fuzz-last.toml", &text).unwrap();
        let s = common::scenario(&text, &[]);
        let setup = flowyard_sim::setup::Setup::new(&s).unwrap();
        let plan = setup.plan(&s, flowyard_sim::engine::calendar::Agenda::Calendar);
        let ended = flowyard_sim::engine::Engine::new(&plan).run(&mut |p| { if p.events > 20_000_000 { println!("{p:?}"); false } else { true }});
        let o = flowyard_sim::results::collect(&s, &setup, &ended);
        if o.summary.status != flowyard_sim::engine::Status::Complete || !o.violations.is_empty() {
            println!("==== {:?} {:?} {:?}\n{text}", o.summary.status, o.violations, o.summary.counters);
        }
    }
}
