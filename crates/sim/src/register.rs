//! The macros behind every list of extensions that a scenario chooses from.
//!
//! A list names, for each member, its module, its configuration struct and its name in scenario
//! files. From that line come the module itself, the variant of the scenario's enum with its schema
//! and its parser, and the way to the member's code. Adding a member is its file and its line; members
//! that differ in nothing but a table share a file, whose module stands behind `and`.
//!
//! Where members keep state in a run, an enum holds that of the chosen one, and `dispatch!` forwards the calls of its
//! trait by a `match`: no packet costs a virtual call.

/// Declares an extension point: `pub enum Topology: Generator { fat_tree::FatTree = "fat-tree", ... }`.
///
/// Each configuration struct implements the trait; the enum hands out the chosen one as `&dyn Trait`.
macro_rules! register {
    (
        $(#[$doc:meta])*
        pub enum $list:ident: $contract:path { $($module:ident :: $config:ident = $name:literal),* $(,)? }
        $(and $shared:ident { $($alike:ident = $alike_name:literal),* $(,)? })?
    ) => {
        $(pub mod $module;)*
        $(pub mod $shared;)?

        $(#[$doc])*
        #[derive(Clone, Debug, PartialEq, serde::Serialize, serde::Deserialize, schemars::JsonSchema)]
        pub enum $list {
            $(
                #[serde(rename = $name)]
                $config($module::$config),
            )*
            $($(
                #[serde(rename = $alike_name)]
                $alike($shared::$alike),
            )*)?
        }

        impl $list {
            /// The names of all members, as scenario files spell them.
            pub const NAMES: &'static [&'static str] = &[$($name,)* $($($alike_name,)*)?];

            /// The name of the chosen member.
            pub fn name(&self) -> &'static str {
                match self {
                    $($list::$config(_) => $name,)*
                    $($($list::$alike(_) => $alike_name,)*)?
                }
            }
        }

        impl std::ops::Deref for $list {
            type Target = dyn $contract;
            fn deref(&self) -> &Self::Target {
                match self {
                    $($list::$config(config) => config,)*
                    $($($list::$alike(config) => config,)*)?
                }
            }
        }

        impl std::ops::DerefMut for $list {
            fn deref_mut(&mut self) -> &mut Self::Target {
                match self {
                    $($list::$config(config) => config,)*
                    $($($list::$alike(config) => config,)*)?
                }
            }
        }

        $(
            impl From<$module::$config> for $list {
                fn from(config: $module::$config) -> $list {
                    $list::$config(config)
                }
            }
        )*

        $($(
            impl From<$shared::$alike> for $list {
                fn from(config: $shared::$alike) -> $list {
                    $list::$alike(config)
                }
            }
        )*)?
    };
}

/// Implements a trait for an enum by the same methods of the chosen member:
/// `impl Choose for Model [Single PerFlow] { fn open(&mut self, id: ConnId, label: u32); ... }`.
macro_rules! dispatch {
    (
        impl $contract:ident for $list:ident $members:tt {
            $($(#[$attribute:meta])* fn $method:ident($($signature:tt)*) $(-> $result:ty)?;)*
        }
    ) => {
        impl $contract for $list {
            $(
                $(#[$attribute])*
                fn $method($($signature)*) $(-> $result)? {
                    dispatch!($list $members $method($($signature)*))
                }
            )*
        }
    };
    ($list:ident $members:tt $method:ident(&mut $self:ident $(, $argument:ident: $type:ty)*)) => {
        dispatch!($list $members $self.$method($($argument),*))
    };
    ($list:ident $members:tt $method:ident(&$self:ident $(, $argument:ident: $type:ty)*)) => {
        dispatch!($list $members $self.$method($($argument),*))
    };
    ($list:ident [$($member:ident)*] $self:ident.$method:ident $arguments:tt) => {
        match $self {
            $($list::$member(member) => member.$method $arguments,)*
        }
    };
}

pub(crate) use {dispatch, register};
