//! The order of the simulator's modules: each uses only those of the layers below it.
//!
//! Read from the source: every path that begins with `crate::`, outside of comments, texts and test modules.

#![allow(clippy::disallowed_methods, reason = "the ban is for the simulator: a test reads files")]

use std::collections::{BTreeMap, BTreeSet};
use std::path::{Path, PathBuf};

/// From the bottom up; modules of one layer do not use each other. The doc comment of lib.rs shows the same list.
const LAYERS: &[&[&str]] = &[
    &["units", "ids", "random", "nearest", "normal", "register", "problem", "prototype", "records"],
    &["topology"],
    &["routing", "traffic"],
    &["faults", "derived"],
    &["engine", "advice"],
    &["queue", "balancer", "agent", "buffer"],
    &["transport", "controller"],
    &["observe"],
    &["scenario"],
    &["measure"],
    &["setup", "slotted"],
    &["estimate", "ideal", "overload", "crowded", "features", "measuring", "inert"],
    &["absent", "belated"],
    &["advisor"],
    &["results"],
    &["parting", "threads"],
    &["checked"],
];

/// The rooms of the engine, from the bottom up; the doc comment of engine/mod.rs lists them.
const ROOMS: &[&str] = &["data", "calendar", "contract", "network", "run", "audit", "parted"];
/// The members of a run: of the engine they read its contracts alone.
const MEMBERS: &[&str] = &["queue", "balancer", "agent", "buffer", "transport", "controller"];

/// A use of one module by another.
#[derive(Debug, PartialEq, Eq, PartialOrd, Ord)]
struct Use {
    from: String,
    to: String,
    line: usize,
}

/// The layer of a module, from 0.
fn layer(module: &str) -> Option<usize> {
    LAYERS.iter().position(|layer| layer.contains(&module))
}

/// Whether a module may use another.
fn goes_down(from: &str, to: &str) -> bool {
    from == to || layer(to) < layer(from)
}

/// The source with comments, texts and test modules as blanks; lines stay where they are.
fn code(source: &str) -> String {
    let source: Vec<char> = source.chars().collect();
    let mut code = String::new();
    let mut at = 0;
    while at < source.len() {
        let end = at + length_of_blank(&source[at..]);
        if end > at {
            code.extend(source[at..end].iter().map(|&c| if c == '\n' { c } else { ' ' }));
            at = end;
        } else {
            // A name that ends in r begins no raw text.
            let word = source[at..].iter().take_while(|c| c.is_alphanumeric() || **c == '_').count().max(1);
            code.extend(&source[at..at + word]);
            at += word;
        }
    }
    without_tests(&code)
}

/// Characters of the comment, text or character that begins here; 0 if none does.
fn length_of_blank(rest: &[char]) -> usize {
    let starts = |text: &str| text.chars().eq(rest.iter().copied().take(text.len()));
    let until = |text: &str, from: usize| {
        let text: Vec<char> = text.chars().collect();
        let found = rest[from..].windows(text.len()).position(|window| window == text);
        found.map_or(rest.len(), |place| from + place + text.len())
    };
    let hashes = rest.iter().skip(1).take_while(|&&c| c == '#').count();
    match rest {
        _ if starts("//") => until("\n", 0) - 1,
        _ if starts("/*") => until("*/", 2),
        ['r', ..] if rest.get(1 + hashes) == Some(&'"') => {
            until(&format!("\"{}", "#".repeat(hashes)), 2 + hashes)
        }
        ['"', text @ ..] => {
            let mut escaped = false;
            let end = text.iter().position(|&c| {
                let ends = c == '"' && !escaped;
                escaped = c == '\\' && !escaped;
                ends
            });
            end.map_or(rest.len(), |end| end + 2)
        }
        ['\'', '\\', _, ..] => until("'", 3),
        ['\'', _, '\'', ..] => 3,
        _ => 0,
    }
}

/// Code without the items that only tests have.
fn without_tests(code: &str) -> String {
    const MARK: &str = "#[cfg(test)]";
    if code.contains("#![cfg(test)]") {
        return code.chars().filter(|&c| c == '\n').collect();
    }
    let mut kept = String::new();
    let mut rest = code;
    while let Some(start) = rest.find(MARK) {
        kept += &rest[..start];
        let mut depth = 0;
        let item = rest[start + MARK.len()..].char_indices().find(|&(_, c)| {
            depth += i32::from(c == '{') - i32::from(c == '}');
            depth == 0 && matches!(c, ';' | '}')
        });
        let end = item.map_or(rest.len(), |(end, _)| start + MARK.len() + end + 1);
        kept.extend(rest[start..end].chars().filter(|&c| c == '\n'));
        rest = &rest[end..];
    }
    kept + rest
}

/// All modules that a module's source uses.
fn uses(from: &str, source: &str) -> BTreeSet<Use> {
    let code = code(source);
    let mut uses = BTreeSet::new();
    for (place, path) in code.match_indices("crate::") {
        let line = 1 + code[..place].matches('\n').count();
        for to in first_steps(&code[place + path.len()..]) {
            uses.insert(Use { from: from.into(), to, line });
        }
    }
    uses
}

/// The first step of each path behind `crate::`, which may be a list in braces.
fn first_steps(rest: &str) -> Vec<String> {
    let step = |path: &str| path.chars().take_while(|c| c.is_alphanumeric() || *c == '_').collect::<String>();
    let Some(list) = rest.strip_prefix('{') else { return vec![step(rest)] };
    let mut depth = 0;
    let mut steps = Vec::new();
    let mut start = 0;
    for (place, c) in list.char_indices() {
        match c {
            '{' => depth += 1,
            '}' if depth > 0 => depth -= 1,
            ',' | '}' if depth == 0 => {
                steps.push(step(list[start..place].trim_start()));
                start = place + 1;
                if c == '}' {
                    break;
                }
            }
            _ => {}
        }
    }
    steps.retain(|step| !step.is_empty());
    steps
}

/// All Rust files of a folder.
fn files(folder: &Path) -> Vec<PathBuf> {
    let mut all = Vec::new();
    for entry in std::fs::read_dir(folder).expect("a folder") {
        let path = entry.expect("a file").path();
        if path.is_dir() {
            all.extend(files(&path));
        } else if path.extension().is_some_and(|end| end == "rs") {
            all.push(path);
        }
    }
    all.sort();
    all
}

fn sources() -> PathBuf {
    [env!("CARGO_MANIFEST_DIR"), "src"].iter().collect()
}

#[test]
fn modules_use_only_those_below_them() {
    let folder = sources();
    let mut wrong = Vec::new();
    for path in files(&folder) {
        let inside = path.strip_prefix(&folder).expect("a file of the folder");
        let first = inside.iter().next().expect("a name").to_string_lossy();
        let module = first.trim_end_matches(".rs");
        // The crate's root may use all.
        if module == "lib" {
            continue;
        }
        assert!(layer(module).is_some(), "{module} has no layer: add it to LAYERS and to lib.rs");
        let source = std::fs::read_to_string(&path).expect("a text");
        let upwards = uses(module, &source).into_iter().filter(|used| !goes_down(&used.from, &used.to));
        wrong.extend(upwards.map(|Use { from, to, line }| {
            format!("{}:{line}: {from} uses {to}, which is not below it", inside.display())
        }));
    }
    assert!(wrong.is_empty(), "{wrong:#?}");
}

/// The uses of the engine's rooms in a source.
fn rooms_used(source: &str) -> Vec<(String, usize)> {
    let code = code(source);
    let place = "crate::engine::";
    let line = |at: usize| 1 + code[..at].matches('\n').count();
    let of = |at: usize| first_steps(&code[at + place.len()..]);
    code.match_indices(place)
        .flat_map(|(at, _)| of(at).into_iter().map(move |room| (room, at)))
        .map(|(room, at)| (room, line(at)))
        .collect()
}

/// The uses in a file of the engine of rooms above its own.
fn upwards_inside(room: &str, source: &str) -> Vec<(String, usize)> {
    let place = |name: &str| ROOMS.iter().position(|room| *room == name);
    let own = place(room).unwrap_or_else(|| panic!("{room} is no room of the engine: add it to ROOMS"));
    rooms_used(source).into_iter().filter(|(used, _)| place(used).is_none_or(|used| used > own)).collect()
}

/// Whether a file has both a part of the loop, `impl` of the engine or its network, and a type beside these two.
fn mixes_type_and_loop(source: &str) -> bool {
    let code = code(source);
    let begins = |line: &str, words: &[&str]| words.iter().any(|word| line.starts_with(word));
    let is_type = |line: &&str| {
        let line = line
            .trim_start_matches("pub ")
            .trim_start_matches("pub(super) ")
            .trim_start_matches("pub(in crate::engine) ");
        begins(line, &["struct ", "enum ", "trait "]) && !begins(line, &["struct Engine<", "struct Network<"])
    };
    let is_loop = |line: &str| {
        line.starts_with("impl<")
            && !line.contains(" for ")
            && (line.contains("> Engine<") || line.contains("> Network<"))
    };
    code.lines().any(is_loop) && code.lines().any(|line| is_type(&line))
}

#[test]
fn rooms_of_the_engine_use_only_those_below_them() {
    let folder = sources().join("engine");
    let mut wrong = Vec::new();
    for path in files(&folder) {
        let inside = path.strip_prefix(&folder).expect("a file of the folder");
        let room = inside.iter().next().expect("a name").to_string_lossy();
        let source = std::fs::read_to_string(&path).expect("a text");
        if room == "mod.rs" {
            continue;
        }
        for (used, line) in upwards_inside(&room, &source) {
            wrong.push(format!("{}:{line}: {room} uses {used}, which is not below it", inside.display()));
        }
        if code(&source).contains("super::super") {
            wrong.push(format!("{}: other rooms are named by crate::engine", inside.display()));
        }
        if mixes_type_and_loop(&source) {
            wrong.push(format!("{}: a file has a type or a part of the loop", inside.display()));
        }
    }
    assert!(wrong.is_empty(), "{wrong:#?}");
}

/// The paths of a statement `use`: lists in braces are taken apart.
fn spelled_out(statement: &str) -> Vec<String> {
    let Some((before, list)) = statement.split_once('{') else { return vec![statement.trim().to_string()] };
    let list = list.trim_end().strip_suffix('}').unwrap_or(list);
    let mut depth = 0;
    let parts = list.split(|c: char| {
        depth += i32::from(c == '{') - i32::from(c == '}');
        c == ',' && depth == 0
    });
    let parts = parts.map(str::trim).filter(|part| !part.is_empty());
    parts.flat_map(|part| spelled_out(&format!("{}{part}", before.trim()))).collect()
}

/// The modules among `all` that one of them imports from: by the longest path that is a module, from the root of the crate.
fn imports(module: &str, source: &str, all: &BTreeSet<String>) -> BTreeSet<String> {
    let code = code(source);
    let statements = code.split(';').filter_map(|statement| {
        let paths = statement.trim_start().strip_prefix("pub ").unwrap_or(statement.trim_start());
        paths.strip_prefix("use ")
    });
    let parent = module.rsplit_once("::").map_or("", |(parent, _)| parent);
    let from_root = |path: String| match path.split_once("::")? {
        ("crate", rest) => Some(rest.to_string()),
        ("super", rest) => Some(format!("{parent}::{rest}")),
        ("self", rest) => Some(format!("{module}::{rest}")),
        _ => None,
    };
    let known = |mut path: String| {
        while !all.contains(&path) {
            path.truncate(path.rfind("::")?);
        }
        Some(path)
    };
    let paths = statements.flat_map(spelled_out).filter_map(from_root).filter_map(known);
    paths.filter(|path| path != module).collect()
}

/// The modules of circles, and those that use them: all that is left when modules that use none of the others leave in turn.
fn in_circles(sources: &BTreeMap<String, String>) -> BTreeSet<String> {
    let all: BTreeSet<String> = sources.keys().cloned().collect();
    let used: BTreeMap<_, _> =
        sources.iter().map(|(module, source)| (module, imports(module, source, &all))).collect();
    let mut left = all.clone();
    loop {
        let before = left.len();
        left = left.iter().filter(|module| !used[*module].is_disjoint(&left)).cloned().collect();
        if left.len() == before {
            return left;
        }
    }
}

#[test]
fn no_files_of_the_engine_use_each_other() {
    let folder = sources();
    let module = |path: &Path| {
        let inside = path.strip_prefix(&folder).expect("a file of the folder").with_extension("");
        let steps: Vec<_> = inside.iter().map(|step| step.to_string_lossy()).collect();
        steps.join("::").trim_end_matches("::mod").to_string()
    };
    let read = |path: &PathBuf| (module(path), std::fs::read_to_string(path).expect("a text"));
    let all: BTreeMap<String, String> = files(&folder.join("engine")).iter().map(read).collect();
    assert!(all.len() > 80);
    assert_eq!(in_circles(&all), BTreeSet::new());
}

#[test]
fn files_that_use_each_other_are_found() {
    let source = |module: &str, text: &str| (module.to_string(), text.to_string());
    let all = [
        source("engine", "pub mod a;\npub mod b;\npub mod c;"),
        source("engine::a", "use std::fmt;\nuse super::b::{self, Thing};\n"),
        source("engine::b", "use crate::{ids::Id, engine::{c::Part, d}};"),
        source(
            "engine::c",
            "//! See\n#[cfg(test)]\nmod tests { use super::super::a::Thing; }\nuse crate::units::Time;",
        ),
    ];
    let mut all = BTreeMap::from(all);
    assert_eq!(in_circles(&all), BTreeSet::new());
    all.insert("engine::c".into(), "pub use super::a::Thing;".into());
    let circle = ["engine::a", "engine::b", "engine::c"].map(String::from);
    assert_eq!(in_circles(&all), BTreeSet::from(circle));
}

#[test]
fn members_read_the_contracts_alone() {
    let mut wrong = Vec::new();
    for path in MEMBERS.iter().flat_map(|member| files(&sources().join(member))) {
        let source = std::fs::read_to_string(&path).expect("a text");
        let others = rooms_used(&source).into_iter().filter(|(room, _)| room != "contract");
        wrong.extend(others.map(|(room, line)| format!("{}:{line}: uses engine::{room}", path.display())));
    }
    assert!(wrong.is_empty(), "{wrong:#?}");
}

/// Names that a transport's author has to know before the first line of code.
const IMPORTS_MOST: usize = 20;

/// The names that a source imports, outside of tests; of a list of names that is left to `*`, the star.
fn imported(source: &str) -> Vec<String> {
    let code = without_tests(&code(source));
    let statements = code.split(';').filter_map(|statement| {
        let statement = statement.trim_start();
        statement.strip_prefix("use ").or_else(|| statement.strip_prefix("pub use "))
    });
    let ends = statements.flat_map(|paths| paths.split([',', '{', '}']).filter(|path| !path.ends_with("::")));
    let last = |path: &str| path.rsplit([':', ' ']).next().unwrap_or_default().trim().to_string();
    ends.map(|path| last(path.trim())).filter(|name| !name.is_empty()).collect()
}

/// The first Rust file that a how-to has its reader write.
fn first_file(page: &str) -> &str {
    let start = page.find("```rust file=").expect("a how-to with a file");
    let body = &page[start + page[start..].find('\n').expect("a line") + 1..];
    &body[..body.find("\n```").expect("its end")]
}

#[test]
fn a_transport_imports_few_names() {
    let read = |path: PathBuf| std::fs::read_to_string(path).expect("a text");
    let datagram = read(sources().join("transport/datagram.rs"));
    let page = read([env!("CARGO_MANIFEST_DIR"), "../../docs/how-to/own-transport.md"].iter().collect());
    for (what, source) in [("the shortest transport", &datagram[..]), ("the how-to", first_file(&page))] {
        let names = imported(source);
        assert!(!names.iter().any(|name| name == "*"), "{what} hides names behind a star: {names:?}");
        assert!(names.len() <= IMPORTS_MOST, "{what} imports {} names: {names:?}", names.len());
    }
}

#[test]
fn imported_names_are_counted() {
    let source = "
        //! use nothing::Of::This;
        use std::fmt;
        use crate::{ids::{NodeId, LinkId}, queue::Queue as Port};
        pub use self::parts::*;
        fn f() {}
        #[cfg(test)]
        mod tests { use super::Hidden; }
    ";
    assert_eq!(imported(source), ["fmt", "NodeId", "LinkId", "Port", "*"]);
    let twice = |most: usize| (0..most).map(|n| format!("use crate::ids::Name{n};\n")).collect::<String>();
    assert_eq!(imported(&twice(IMPORTS_MOST + 1)).len(), IMPORTS_MOST + 1);
}

#[test]
fn a_use_of_a_room_above_is_found() {
    let source = "use crate::engine::data::packet::Packet;\nuse crate::engine::{network::Network, data};\nfn f() { crate::engine::run::go() }";
    let wrong = |room| {
        upwards_inside(room, source)
            .into_iter()
            .map(|(used, line)| format!("{used} {line}"))
            .collect::<Vec<_>>()
    };
    assert_eq!(wrong("calendar"), ["network 2", "run 3"]);
    assert_eq!(wrong("network"), ["run 3"]);
    assert_eq!(wrong("parted"), [""; 0]);
    let both = "pub struct Agents<A> { a: A }\nimpl<M: Members> Network<'_, M> { fn f() {} }";
    assert!(mixes_type_and_loop(both));
    assert!(!mixes_type_and_loop("impl<M: Members> Inside for Engine<'_, '_, M> {}\nstruct A;"));
    assert!(!mixes_type_and_loop(
        "pub struct Network<'a, M> { a: M }\nimpl<M: Members> Network<'_, M> { fn f() {} }"
    ));
}

/// The layers that a text shows in a block, with that before each line.
fn shown<'a>(text: &'a str, before: &str) -> Vec<Vec<&'a str>> {
    let lines = text.lines().filter_map(|line| line.strip_prefix(before));
    let block = lines.skip_while(|line| !line.starts_with("units |")).take_while(|line| *line != "```");
    block.map(|line| line.split([' ', '|']).filter(|word| !word.is_empty()).collect()).collect()
}

#[test]
fn lib_and_the_page_show_the_layers() {
    let page: PathBuf = [env!("CARGO_MANIFEST_DIR"), "../../docs/architecture.md"].iter().collect();
    for (path, before) in [(sources().join("lib.rs"), "//! "), (page, "")] {
        let text = std::fs::read_to_string(&path).expect("a text");
        assert_eq!(shown(&text, before), LAYERS, "{}", path.display());
    }
}

/// Lines of the control that the how-to shows, as its title says.
#[test]
fn a_rate_control_has_sixty_lines() {
    let page =
        [env!("CARGO_MANIFEST_DIR"), "../../docs/how-to/own-rate-control.md"].iter().collect::<PathBuf>();
    let page = std::fs::read_to_string(page).expect("a text");
    assert!(page.starts_with("# A rate control for RDMA in 60 lines"));
    assert!(first_file(&page).lines().count() <= 60);
}

#[test]
fn an_import_of_something_above_is_found() {
    let source = r##"
        //! See `crate::results`.
        use std::fmt;
        use crate::{ids::{NodeId, LinkId}, queue::Queue};
        /* crate::advice */
        fn f<'a>(name: &'a str) -> char {
            let text = "crate::ideal \" crate::estimate";
            let raw = r#"crate::setup"#;
            let other = crate::units::Time(1); // crate::observe
            '"'
        }
        #[cfg(test)]
        mod tests {
            use crate::scenario::read;
            fn g() {}
        }
        macro_rules! m { () => { $crate::transport::Transport } }
    "##;
    let all: Vec<_> = uses("routing", source).into_iter().map(|used| (used.to, used.line)).collect();
    let expected = [("ids", 4), ("queue", 4), ("transport", 17), ("units", 9)];
    assert_eq!(all, expected.map(|(to, line)| (to.to_string(), line)));
    let wrong: Vec<_> = all.iter().filter(|(to, _)| !goes_down("routing", to)).collect();
    assert_eq!(wrong, [&("queue".to_string(), 4), &("transport".to_string(), 17)]);
    assert!(!goes_down("queue", "balancer") && !goes_down("balancer", "queue"), "one layer");
}
