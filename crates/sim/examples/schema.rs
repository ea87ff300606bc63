//! Prints the JSON Schema of scenarios, which `make generate` writes to schema/scenario.schema.json.

fn main() {
    print!("{}", flowyard_sim::scenario::schema());
}
