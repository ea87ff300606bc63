//! Controllers of rates and paths: classes, intervals, and networks that they refuse or once could not take.

use crate::common::{read, run};

/// A switch with hosts 0 to `hosts`, and a controller.
fn switch(hosts: u32, controller: &str) -> String {
    format!(
        r#"
        topology.single-switch = {{ hosts = {hosts}, rate = "1Gbps", delay = "0ps" }}
        transport.central = {{}}
        {controller}
        "#
    )
}

/// A traffic entry of one flow for each pair.
fn flows(name: &str, priority: u8, at: &str, pairs: &str, size: &str) -> String {
    format!(
        r#"
        [[traffic]]
        name = "{name}"
        priority = {priority}
        arrivals.at-once = {{ at = "{at}", jitter = "0s" }}
        matrix.pairs = {pairs}
        sizes.fixed = "{size}"
        "#
    )
}

/// A queue that carried a flow of class 0 long ago has the class of the flow that fills it now: three times the rate of the
/// other queue of its host, whatever the controller takes it to offer.
#[test]
fn a_queue_has_the_class_of_the_flow_that_fills_it() {
    for offered in ["\"active\"", "{ backlog = \"1ms\" }", "{ average = \"1ms\" }"] {
        let controller = format!(
            r#"controller.asy.offered = {offered}
            controller.asy.normalisation = {{ priorities = [1.0, 3.0], scaling = "down", fill = false }}
            run.until = "20ms""#
        );
        let traffic = flows("before", 0, "0s", "[[0, 2]]", "1500B")
            + &flows("high", 1, "1ms", "[[0, 2]]", "10MB")
            + &flows("low", 0, "1ms", "[[0, 1]]", "10MB");
        let sent = run(&format!("{}{traffic}", switch(3, &controller))).flows("packets_sent");
        // 19 ms at 1 Gbps are 1,544 packets.
        assert!(sent[1].abs_diff(1158) <= 3 && sent[2].abs_diff(386) <= 3, "{offered}: {sent:?}");
    }
}

/// A controller that may compute every millisecond has acted no more often than that, however many reports it has had.
#[test]
fn an_act_is_a_computation() {
    let controller = "controller.asy.interval = \"1ms\"";
    let traffic = r#"
        [[traffic]]
        name = "bursts"
        arrivals.poisson.load = 0.5
        matrix = "uniform"
        sizes.exponential.mean = "46KB"
        flows = 1000
        "#;
    let run = run(&format!("{}{traffic}", switch(8, controller)));
    let control = run.counters().control.expect("there is a controller");
    let most = run.end() / 1_000_000_000 + 2;
    assert!(control.reports > 1_000 && (50..=most).contains(&control.acts), "{control:?}, at most {most}");
}

/// A queue of a weight of a millionth shares a link with one of a million: the sums of rates stay at the link's.
#[test]
fn very_different_weights_fit_a_link() {
    let controller = "controller.max-min.filling.priorities = [1000000.0, 0.00000105]\nrun.until = \"3ms\"";
    let traffic =
        flows("heavy", 0, "0s", "[[0, 6], [0, 1]]", "1MB") + &flows("light", 1, "0s", "[[5, 6]]", "1MB");
    let sent = run(&format!("{}{traffic}", switch(7, controller))).flows("packets_sent");
    // Host 6 gets half of host 0's link, and, by weights, all of the rest but a part in 10^12 goes to the light flow.
    assert!(sent.iter().all(|sent| sent.abs_diff(122) <= 2), "{sent:?}");
}

/// Two hosts at the ends of one cable: Flowtune prices it once, Hedera finds no path to choose.
#[test]
fn a_cable_between_two_hosts() {
    let network = r#"
        topology.explicit = { hosts = ["a", "b"], cables = [{ ends = ["a", "b"], rate = "1Gbps", delay = "0ps" }] }
        "#;
    let traffic = flows("flow", 0, "0s", "[[0, 1]]", "1MB");
    let central = |links: &str| {
        let control = format!("transport.central = {{}}\ncontroller.flowtune.links = \"{links}\"");
        run(&format!("{network}{control}{traffic}")).flows("fct_ps")[0]
    };
    assert_eq!(central("hosts"), central("all"));
    let hedera = "transport.tcp = {}\ncontroller.hedera.scheduler.period = \"1ms\"";
    assert_eq!(run(&format!("{network}{hedera}{traffic}")).flows("delivered_bytes"), [1_000_000]);
}

/// Shares of links at different rates are no matrix; and paths that Flowtune has chosen know of no fault.
#[test]
fn unsuited_networks_are_refused() {
    let problem = |text: &str| read(text).expect_err("it is refused").to_string();
    let mixed = r#"
        transport.central = {}
        [topology.explicit]
        hosts = ["a", "b", "c"]
        switches = [{ name = "s" }]
        cables = [
            { ends = ["a", "s"], rate = "10Gbps" },
            { ends = ["b", "s"], rate = "10Gbps" },
            { ends = ["c", "s"], rate = "1Gbps" },
        ]
        "#;
    let traffic = flows("flow", 0, "0s", "[[0, 2]]", "1MB");
    for controller in ["asy", "max-min"] {
        let said = problem(&format!("controller.{controller} = {{}}\n{mixed}{traffic}"));
        assert!(said.contains("links have one rate") && said.contains("10Gbps"), "{said}");
    }
    assert!(read(&format!("controller.flowtune = {{}}\n{mixed}{traffic}")).is_ok());
    // 4 : 1: eight hosts of a leaf share two uplinks, of which these controllers do not know.
    let narrow = r#"
        topology.leaf-spine = { leaves = 4, spines = 2, hosts = 8, rate = "1Gbps" }
        transport.central = {}
        "#;
    for controller in ["asy", "max-min"] {
        let said = problem(&format!("controller.{controller} = {{}}\n{narrow}{traffic}"));
        assert!(
            said.contains(controller) && said.contains("up to 8Gbps") && said.contains("have 2Gbps"),
            "{said}"
        );
    }
    assert!(read(&format!("controller.flowtune = {{}}\n{narrow}{traffic}")).is_ok());
    let faulty = |links: &str| {
        format!(
            r#"
            topology.leaf-spine = {{ leaves = 2, spines = 3, hosts = 6 }}
            transport.central = {{}}
            controller.flowtune.links = "{links}"
            faults.events = [{{ at = "0s", target.node = "spine 0", change = "down" }}]
            {traffic}
            "#
        )
    };
    assert!(problem(&faulty("all")).contains("are not for the controller \"flowtune\""));
    assert!(read(&faulty("hosts")).is_ok());
    let faulty = |controller: &str, transport: &str| {
        problem(&format!(
            r#"
            topology.fat-tree.k = 4
            transport.{transport} = {{}}
            controller.{controller} = {{}}
            faults.events = [{{ at = "0s", target.node = "core 0", change = "down" }}]
            {traffic}
            "#
        ))
    };
    for (controller, transport, what) in
        [("flowtune", "central", "packets"), ("syn", "central", "packets"), ("hedera", "tcp", "flows")]
    {
        let said = faulty(controller, transport);
        let why = format!(
            "are not for the controller \"{controller}\": it gives {what} paths on the whole network"
        );
        assert!(said.contains(&why), "{said}");
    }
}
