//! The key or the value that was probably meant by a wrong one, for messages of the walk.
//!
//! In order: another way to say it in full (a file to import, a name one table below), the nearest name, a value of another
//! variant, a class of one's own.

use serde_json::Value;

use super::super::hints::{
    begin_items, below_joint, counted, foreign, list_below, names_file, nested, of_file, of_flow, own_class,
    percent, write,
};
use super::super::schema::{Choice, choice, present};
use super::{Walk, keys};
use crate::nearest::{GUESSES, closest, did_you_mean, last_part, means};
use crate::problem::{Problem, join, list, show};

/// Keys by which other formats choose a member of a list.
const CHOOSES: &[&str] = &["name", "type", "kind", "protocol", "model", "scheme"];

/// Words that many fields far from each other take: where one of them is no value, none of these is meant.
const NONE: &[&str] = &["none", "off", "no", "auto", "default"];

/// Whether a text is a number, with a unit or without one.
fn is_quantity(text: &str) -> bool {
    text.starts_with(|letter: char| letter.is_ascii_digit())
}

impl<'a> Walk<'a> {
    /// The value that was probably meant by one of a wrong type.
    pub(super) fn hint_of_type(&self, schema: &'a Value, value: &Value) -> Option<String> {
        match value {
            Value::Object(_) => begin_items(schema, &self.path),
            Value::String(name) => {
                let field = self.field_nearest(schema, name);
                let field = field.map(|(field, name)| write(&join(&self.path, &field), name));
                field
                    .or_else(|| names_file(schema, name))
                    .or_else(|| percent(schema, name))
                    .or_else(|| self.only_needed(schema, value))
                    .or_else(|| self.first_that_takes(schema, value).filter(|_| is_quantity(name)))
            }
            Value::Number(_) => of_flow(&self.path, value).or_else(|| self.first_that_takes(schema, value)),
            Value::Array(items) => {
                self.only_needed(schema, value).or_else(|| list_below(self.root, schema, &self.path, items))
            }
            _ => None,
        }
    }

    /// The key of a table that a number, or a quantity, in the table's place was probably meant for: the first that takes it
    /// and that has no other key beside it that must be there.
    fn first_that_takes(&self, schema: &'a Value, value: &Value) -> Option<String> {
        let required = schema.get("required").and_then(Value::as_array).map_or(&[][..], Vec::as_slice);
        let alone = |key: &str| required.iter().all(|needed| needed == key);
        let properties = schema.get("properties")?.as_object()?;
        let mut taking = properties.iter().filter(|(key, member)| alone(key) && self.takes(member, value));
        taking.next().map(|(key, _)| format!("write {{ {key} = {} }}", show(value)))
    }

    /// The key that a table must have, if there is one and it takes a value that stands in the table's place.
    fn only_needed(&self, schema: &'a Value, value: &Value) -> Option<String> {
        let [key] = &schema.get("required")?.as_array()?[..] else { return None };
        let key = key.as_str()?;
        let whole = show(value);
        let takes = !whole.ends_with("...") && self.takes(schema.get("properties")?.get(key)?, value);
        takes.then(|| format!("write {{ {key} = {whole} }}"))
    }

    /// Whether a schema has nothing against a number or a text.
    pub(super) fn takes(&self, schema: &'a Value, value: &Value) -> bool {
        let mut walk = Walk::new(self.root, None);
        walk.value(schema, &mut value.clone());
        walk.problems.is_empty()
    }

    /// Hints at the key beside one with a wrong value whose name is its plural, and which takes the value: hosts for host.
    pub(super) fn hint_at_plural(&mut self, schema: &'a Value, key: &str, value: &Value, before: usize) {
        let plural = format!("{key}s");
        let member = schema.get("properties").and_then(|properties| properties.get(&plural));
        if let ([problem], Some(member)) = (&self.problems[before..], member)
            && (problem.hint.is_none() && problem.path == join(&self.path, key))
            && self.takes(member, value)
        {
            self.problems[before].hint = Some(did_you_mean(plural));
        }
    }

    /// Reports a key that is not in the schema, and returns the one beside it that was probably meant.
    pub(super) fn unknown_key(&mut self, schema: &'a Value, key: &str, value: &Value) -> Option<&'a str> {
        let names: Vec<&str> = keys(schema);
        let path = join(&self.path, key);
        let other = of_file(&path, value)
            .or_else(|| foreign(&self.path, key))
            .or_else(|| below_joint(self.root, schema, key).map(did_you_mean));
        let near = if other.is_some() { None } else { closest(key, names.iter().copied()) };
        let (message, hint) = match near {
            Some(name) => ("unknown key".to_string(), Some(did_you_mean(name))),
            None if other.is_some() => ("unknown key".to_string(), other),
            None if names.is_empty() => ("unknown key; there are no settings here".to_string(), None),
            None => (format!("unknown key; the keys here are {}", names.join(", ")), None),
        };
        let problem = Problem::new(path, message).with_value(value).with_hint(hint);
        self.problems.push(problem.misplaced());
        near
    }

    /// The field of a table that has a choice in which there is that name.
    fn field_that_takes(&self, schema: &Value, name: &str) -> Option<String> {
        let properties = present(self.root, schema).get("properties")?.as_object()?;
        let takes =
            |member: &Value| choice(present(self.root, member)).is_some_and(|c| c.names().contains(&name));
        properties.iter().find(|(_, member)| takes(member)).map(|(field, _)| field.clone())
    }

    /// The field of a table that has a choice in which there is a name like that, and this name.
    fn field_nearest(&self, schema: &'a Value, name: &str) -> Option<(String, &'a str)> {
        let nearest = |member| closest(name, choice(present(self.root, member))?.names());
        let properties = schema.get("properties")?.as_object()?;
        properties.iter().find_map(|(field, member)| Some((field.clone(), nearest(member)?)))
    }

    /// The value that was probably meant by a name that no variant has.
    pub(super) fn meant_by_name(&self, choice: &Choice<'a>, name: &str, value: &Value) -> Option<String> {
        let names = choice.names();
        // As a value, which fits a file, an override and a list, such as the values of an axis.
        let within = || self.within_a_variant(choice, name).filter(|_| !NONE.contains(&name));
        let within = || within().map(|(field, name)| format!("write {}", nested(&field, &name)));
        of_file(&self.path, value)
            .or_else(|| foreign(&self.path, name))
            .or_else(|| counted(&names, name))
            .or_else(within)
            .or_else(|| closest(name, names.iter().copied()).map(did_you_mean))
            .or_else(|| self.variant_that_takes(choice, value))
            .or_else(|| own_class(&names, &self.path, name))
    }

    /// The first variant whose setting is a plain value, as a size is, and takes this one, or a number as so many bytes; or
    /// the first with a key in its table that does, as that of a buffer's size.
    pub(super) fn variant_that_takes(&self, choice: &Choice<'a>, value: &Value) -> Option<String> {
        if matches!(value, Value::Array(_) | Value::Object(_) | Value::Null) {
            return None;
        }
        let taking = |value: &Value| {
            let found = choice.tables.iter().find(|(_, member)| self.takes(member, value));
            found.map(|(name, _)| format!("write {{ {name} = {} }}", show(value)))
        };
        let bytes = || value.as_u64().and_then(|number| taking(&format!("{number}B").into()));
        // A text that any table takes says nothing: a quantity does.
        let in_table = || {
            let quantity = value.as_str().filter(|text| is_quantity(text))?;
            let mut tables = choice.tables.iter();
            tables.find_map(|(name, member)| {
                let properties = present(self.root, member).get("properties")?.as_object()?;
                let (key, _) = properties.iter().find(|(_, member)| self.takes(member, value))?;
                Some(format!("write {{ {name} = {{ {key} = \"{quantity}\" }} }}"))
            })
        };
        taking(value).or_else(bytes).or_else(in_table)
    }

    /// The path of the field below a variant that takes a name which is no variant itself: "dctcp" is a congestion
    /// control of TCP.
    fn below_a_variant(&self, choice: &Choice<'a>, name: &str) -> Option<String> {
        let below = |own: &str| Some(join(own, &self.field_that_takes(choice.table(own)?, name)?));
        choice.names().into_iter().find_map(below)
    }

    /// The same, and the name; or those of its last part, as of "TcpCubic", if the whole stands for no variant.
    fn within_a_variant(&self, choice: &Choice<'a>, name: &str) -> Option<(String, String)> {
        if let Some(field) = self.below_a_variant(choice, name) {
            return Some((field, name.to_string()));
        }
        let is_variant = choice.names().into_iter().any(|own| means(name, own));
        let last = last_part(name).filter(|_| !is_variant)?;
        Some((self.below_a_variant(choice, &last)?, last))
    }

    /// Hints at the variant that takes a text which the chosen one does not: a size is no number of packets.
    pub(super) fn hint_at_other_variant(
        &mut self,
        choice: &Choice<'a>,
        key: &str,
        value: &Value,
        before: usize,
    ) {
        let field = self.path.rsplit('.').next().unwrap_or_default();
        let taking = |(name, member): &&(&str, &'a Value)| *name != key && self.takes(member, value);
        if let ([problem], Value::String(_)) = (&self.problems[before..], value)
            && (problem.hint.is_none() && problem.path.len() == join(&self.path, key).len())
            && let Some((name, _)) = choice.tables.iter().find(taking)
        {
            let hint = format!("write {field} = {{ {name} = {} }}", show(value));
            self.problems[before].hint = Some(hint);
        }
    }

    /// The variant that a key such as `name` or `type` has as its value, where this list of tables has no such key.
    fn chosen_by_key(
        &self,
        choice: &Choice<'a>,
        chosen: &[&str],
        key: &str,
        value: &Value,
    ) -> Option<String> {
        let name = value.as_str().filter(|_| chosen.is_empty() && CHOOSES.contains(&key))?;
        if choice.words.contains(&name) {
            return Some(write(&self.path, name));
        }
        let (field, name) = self.within_a_variant(choice, name)?;
        Some(write(&join(&self.path, &field), &name))
    }

    /// A key beside or in place of the name of a variant: a misspelt name, or a setting written one table too high.
    pub(super) fn unknown_variant(&mut self, choice: &Choice<'a>, chosen: &[&str], key: &str, value: &Value) {
        let names = choice.names();
        let open = |name: &&str| chosen.is_empty() || chosen.contains(name);
        let table =
            |name: &str| choice.table(name).map_or(Vec::new(), |table| keys(present(self.root, table)));
        let having = |known: &dyn Fn(&str) -> bool| -> Vec<String> {
            let in_table =
                |name| table(name).into_iter().filter(|own| known(own)).map(move |own| (name, own));
            let found = names.iter().copied().filter(open).flat_map(in_table);
            found.map(|(name, own)| join(&join(&self.path, name), own)).collect()
        };
        let or = |paths: Vec<String>| (!paths.is_empty()).then(|| did_you_mean(paths.join("\" or \"")));
        let within = || {
            let (field, name) = self.within_a_variant(choice, key)?;
            Some(write(&join(&self.path, &field), &name))
        };
        let path = join(&self.path, key);
        let hint = of_file(&path, value)
            .or_else(|| foreign(&self.path, key))
            .or_else(|| self.chosen_by_key(choice, chosen, key, value))
            .or_else(|| or(having(&|own| own == key)))
            .or_else(within)
            .or_else(|| closest(key, names.iter().copied()).map(did_you_mean))
            .or_else(|| or(having(&|own| means(key, own)).into_iter().take(GUESSES).collect()))
            .or_else(|| own_class(&names, &self.path, key));
        let message = format!("\"{key}\" is not one of {}", list(names.iter().copied()));
        let problem = Problem::new(path, message).with_value(value).with_hint(hint);
        self.problems.push(problem.misplaced());
    }
}
