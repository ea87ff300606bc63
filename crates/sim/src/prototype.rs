//! Prototypes: members that a program provides by name, written in another language than this one.
//!
//! A list that takes prototypes has a member "python", whose configuration names the prototype and holds its
//! settings. The reading of a scenario finds the names (`scenario/prototypes.rs`), the setup binds
//! configurations to the given prototypes, and the member's model calls it through an object of the
//! list's own trait. A run without prototypes has none of this.

use std::collections::BTreeMap;
use std::fmt;
use std::sync::Arc;

use serde_json::{Map, Value};

/// The check's view of a prototype, of whatever list.
pub trait Factory: fmt::Debug + Send + Sync {
    /// Fields of the configuration that the prototype fills in unless the scenario does.
    fn fields(&self) -> Map<String, Value>;

    /// Problems of its settings.
    fn refusal(&self, settings: &Map<String, Value>) -> Option<String>;
}

/// The prototypes of one list by the names under which they were given.
pub type Named<T> = BTreeMap<String, Arc<T>>;

/// The prototype that a configuration names, once the run is set up. It is not part of a scenario.
pub struct Bound<T: ?Sized>(Option<Arc<T>>);

impl<T: ?Sized> Bound<T> {
    /// Binds it to the prototype of that name.
    pub fn bind(&mut self, name: &str, named: &Named<T>) {
        self.0 = named.get(name).cloned();
    }

    /// The prototype.
    pub fn get(&self) -> &T {
        self.0.as_deref().expect("a scenario that names a prototype is read and set up with it")
    }
}

impl<T: ?Sized> Default for Bound<T> {
    fn default() -> Self {
        Bound(None)
    }
}

impl<T: ?Sized> Clone for Bound<T> {
    fn clone(&self) -> Self {
        Bound(self.0.clone())
    }
}

impl<T: ?Sized> PartialEq for Bound<T> {
    fn eq(&self, _other: &Self) -> bool {
        true
    }
}

impl<T: ?Sized> fmt::Debug for Bound<T> {
    fn fmt(&self, formatter: &mut fmt::Formatter) -> fmt::Result {
        formatter.write_str(if self.0.is_some() { "bound" } else { "not bound" })
    }
}
