//! The known name nearest to a misspelt one: for messages.

use std::fmt;

/// So many places are guessed that may have been meant.
pub const GUESSES: usize = 4;

/// Words of the field, and the names that members and keys have here. A word may have several: the one counts that is
/// known where it stands.
const SYNONYMS: &[(&[&str], &str)] = &[
    // Members.
    (&["ecmp"], "per-flow"),
    (&["spraying", "spray", "packet-spraying", "rps", "random"], "per-packet"),
    (&["flowlet", "flowlets"], "letflow"),
    (&["vlb"], "valiant"),
    (&["clos", "spine-leaf"], "leaf-spine"),
    (&["star"], "single-switch"),
    (&["torus"], "camcube"),
    (&["fifo", "taildrop", "pfifo", "bfifo", "pfifo-fast"], "drop-tail"),
    (&["red-ecn", "ecn-red"], "ecn"),
    (&["pfc"], "lossless"),
    (&["priority", "prio"], "strict-priority"),
    (&["rdma", "infiniband", "roce-v2"], "roce"),
    (&["udp"], "datagram"),
    (&["uec", "ultra-ethernet"], "uet"),
    (&["constant"], "fixed"),
    (&["now", "once", "immediate", "immediately", "simultaneous"], "at-once"),
    (&["cbr", "constant-rate"], "periodic"),
    (&["a2a"], "all-to-all"),
    (&["many-to-one", "n-to-1"], "incast"),
    (&["hadoop"], "facebook-hadoop"),
    (&["shuffle"], "all-to-all"),
    (&["random"], "uniform"),
    // Keys.
    (&["protocol"], "transport"),
    (&["network"], "topology"),
    (&["simulation"], "run"),
    (&["load-balancing", "load-balancer", "lb"], "balancer"),
    (&["duration", "time", "stop", "end", "sim-time", "simulation-time"], "until"),
    (&["until", "duration", "length"], "lasts"),
    (&["warmup", "warm-up"], "from"),
    (&["warmup", "warm-up"], "measure"),
    (&["bandwidth", "capacity", "speed", "link-speed"], "rate"),
    (&["latency", "propagation-delay"], "delay"),
    (&["hosts"], "k"),
    (&["list", "nodes", "servers"], "hosts"),
    (&["size", "flow-size", "workload", "distribution"], "sizes"),
    (&["pattern"], "matrix"),
    (&["count", "num-flows", "n-flows", "number-of-flows"], "flows"),
    (&["count", "times", "repetitions", "repeat"], "rounds"),
    (&["degree", "fan-in"], "senders"),
    (&["dst", "destination", "sink"], "receiver"),
    (&["buffer", "buffer-size", "size", "queue-size", "capacity"], "limit"),
    (&["k"], "threshold"),
    (&["cc", "congestion-control"], "congestion"),
    (&["iw", "cwnd", "initial-cwnd", "init-cwnd"], "initial_window"),
    (&["min-rto"], "rto_min"),
    (&["mss"], "mtu"),
    (&["mtu"], "mss"),
    (&["queue", "queues"], "samples"),
    (&["trace", "tracing"], "observe"),
    (&["pcap"], "capture"),
];

/// A word as it is compared: in small letters, and with one kind of joint between its parts.
fn plain(text: &str) -> String {
    text.to_lowercase().replace('-', "_")
}

/// A word in small letters and without joints: "DropTail", "drop_tail" and "drop-tail" are one.
fn bare(text: &str) -> String {
    plain(text).replace(['_', ' '], "")
}

/// The parts of a word in small letters: of "ns3::TcpDctcp" ns3, tcp and dctcp.
fn parts(word: &str) -> Vec<String> {
    let mut parts = vec![String::new()];
    let mut before = ' ';
    for letter in word.chars() {
        let joint = matches!(letter, '-' | '_' | ':');
        if joint || (before.is_lowercase() && letter.is_uppercase()) {
            parts.push(String::new());
        }
        if !joint {
            parts.last_mut().expect("there is one").extend(letter.to_lowercase());
        }
        before = letter;
    }
    parts.retain(|part| !part.is_empty());
    parts
}

/// The last part of a word that has several, or of other letters than small ones: "TcpCubic" ends with cubic.
pub fn last_part(word: &str) -> Option<String> {
    parts(&cut(word)).pop().filter(|part| part != word)
}

/// No name is as long.
fn cut(word: &str) -> String {
    word.chars().take(80).collect()
}

/// The name that was probably meant: one that the field has another word for, one that the word abbreviates, or the one with
/// the fewest typing errors, if they are few; or one that the word has among its parts, as "dcqcn-ns3" has "dcqcn".
pub fn closest<'a>(word: &str, names: impl IntoIterator<Item = &'a str>) -> Option<&'a str> {
    let (word, parts) = (cut(&plain(word)), parts(&cut(word)));
    let (meant, bare_word) = (names_of(&word), bare(&word));
    let errors = |name: &str| match plain(name) {
        _ if meant.contains(&name) => 0,
        name if bare(&name) == bare_word || abbreviates(&word, &name) => 0,
        name if name.len() > 2 && has_parts(&parts, &bare(&name)) => 1,
        name => strsim::damerau_levenshtein(&word, &name),
    };
    let (errors, name) =
        names.into_iter().map(|name| (errors(name), name)).min_by_key(|(errors, _)| *errors)?;
    (errors <= name.chars().count() / 3).then_some(name)
}

/// Whether a word is a name but for its spelling, or another word of the field for it.
pub fn means(word: &str, name: &str) -> bool {
    bare(word) == bare(name) || names_of(word).contains(&name)
}

/// The names here of what the field has this word for.
fn names_of(word: &str) -> Vec<&'static str> {
    let word = bare(word);
    let has = |words: &[&str]| words.iter().any(|other| bare(other) == word);
    SYNONYMS.iter().filter(|(words, _)| has(words)).map(|(_, name)| *name).collect()
}

/// Whether parts of a word that stand together are a name without its joints: "FqCoDel" has codel.
fn has_parts(parts: &[String], name: &str) -> bool {
    const TOGETHER: usize = 4;
    let run = |start: usize, count: usize| parts[start..].iter().take(count).map(String::as_str);
    (0..parts.len()).any(|start| (1..=TOGETHER).any(|count| run(start, count).collect::<String>() == name))
}

/// Whether several words with blanks between them are the first letters of those of a name: "pod 0 agg 1".
fn abbreviates(words: &str, name: &str) -> bool {
    let is_short = |word: &str, full: &str| {
        word.len() > 1 && !word.bytes().any(|byte| byte.is_ascii_digit()) && full.starts_with(word)
    };
    words.contains(' ')
        && words.split(' ').count() == name.split(' ').count()
        && words.split(' ').zip(name.split(' ')).all(|(word, full)| word == full || is_short(word, full))
}

/// "did you mean ...?"
pub fn did_you_mean(name: impl fmt::Display) -> String {
    format!("did you mean \"{name}\"?")
}

#[cfg(test)]
mod tests {
    use super::*;

    #[test]
    fn guesses_are_careful() {
        assert_eq!(closest("initial_windw", ["mtu", "initial_window"]), Some("initial_window"));
        assert_eq!(closest("Initial-Window", ["mtu", "initial_window"]), Some("initial_window"));
        assert_eq!(closest("k", ["rate", "s"]), None);
    }

    #[test]
    fn other_words_of_the_field_are_known() {
        assert_eq!(closest("ECMP", ["single", "per-flow", "per-packet"]), Some("per-flow"));
        assert_eq!(closest("packet_spraying", ["single", "per-flow", "per-packet"]), Some("per-packet"));
        assert_eq!(closest("ecmp", ["single", "permuted"]), None);
        assert_eq!(closest("random", ["permutation", "uniform"]), Some("uniform"));
        assert_eq!(closest("random", ["per-flow", "per-packet"]), Some("per-packet"));
    }

    #[test]
    fn a_name_may_be_a_part_of_the_word() {
        assert_eq!(closest("dcqcn-ns3", ["roce", "dcqcn"]), Some("dcqcn"));
        assert_eq!(closest("link_rate", ["k", "rate"]), Some("rate"));
        // A part of its letters says nothing.
        assert_eq!(closest("iterate", ["k", "rate"]), None);
    }

    #[test]
    fn letters_and_joints_of_other_spellings_make_no_difference() {
        assert_eq!(closest("DropTail", ["infinite", "drop-tail"]), Some("drop-tail"));
        assert_eq!(closest("minrto", ["mtu", "rto_min", "rto_max"]), Some("rto_min"));
        assert_eq!(closest("initCwnd", ["mtu", "initial_window"]), Some("initial_window"));
        assert!(means("LinkSpeed", "rate"));
        assert_eq!(closest("leaf0->host0", ["leaf-host", "leaf 0 -> host 0"]), Some("leaf 0 -> host 0"));
    }

    #[test]
    fn names_of_ns3_have_the_name_among_their_parts() {
        let queues = ["drop-tail", "ecn", "red", "codel"];
        assert_eq!(closest("RedQueueDisc", queues), Some("red"));
        assert_eq!(closest("ns3::FqCoDelQueueDisc", queues), Some("codel"));
        assert_eq!(closest("PfifoFast", queues), Some("drop-tail"));
        assert_eq!(last_part("ns3::TcpDctcp").as_deref(), Some("dctcp"));
        assert_eq!(last_part("DCTCP").as_deref(), Some("dctcp"));
        assert_eq!(last_part("dctcp"), None);
        // Parts that only begin as a name say nothing.
        assert_eq!(closest("ReduceQueue", queues), None);
    }

    #[test]
    fn abbreviations_go_before_typing_errors() {
        let nodes = ["pod 0 edge 0", "pod 0 aggregation 1", "pod 0 aggregation 0", "core 0"];
        assert_eq!(closest("pod 0 agg 0", nodes), Some("pod 0 aggregation 0"));
        assert_eq!(closest("pod 0 egde 0", nodes), Some("pod 0 edge 0"));
    }
}
