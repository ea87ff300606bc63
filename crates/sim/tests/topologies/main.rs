//! The generated networks, and the routes in them.

#[path = "../graph/mod.rs"]
mod graph;

mod bisection;
mod fabrics;
mod fat_trees;
mod generated;
