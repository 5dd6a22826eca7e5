//! `factory.apps().v1().stateful_sets()`, for every kind of the table.

use crate::factory::SharedInformerFactory;

/// Makes a module for each group and version, and a method for each kind.
macro_rules! kinds {
    ($(
        $group:ident $group_name:tt ($($module:tt)*) $group_gate:tt {$(
            $version:ident $version_gate:tt {$(
                $method:ident $kind:ident $plural:literal $scope:ident $verbs:ident $gate:tt;
            )*}
        )*}
    )*) => {$(versions! { $group_gate
        #[doc = concat!("The versions of ", group!($group_name), ", and their kinds.")]
        pub mod $group {
            use k8s_openapi::$($module)* as api;

            use crate::factory::SharedInformerFactory;

            #[doc = concat!("The versions of ", group!($group_name), ".")]
            #[derive(Clone, Copy, Debug)]
            pub struct Versions<'a> {
                pub(super) factory: &'a SharedInformerFactory,
            }

            impl<'a> Versions<'a> {$(versions! { $version_gate
                #[doc = concat!("The kinds of ", group!($group_name), " in version `", stringify!($version), "`.")]
                #[must_use]
                pub fn $version(self) -> $version::Kinds<'a> {
                    $version::Kinds { factory: self.factory }
                }
            })*}

            $(versions! { $version_gate
                #[doc = concat!("Version `", stringify!($version), "` of ", group!($group_name), ".")]
                pub mod $version {
                    use super::api::$version as api;

                    use crate::{factory::SharedInformerFactory, informer::SharedInformer};

                    #[doc = concat!("The kinds of ", group!($group_name), " in version `", stringify!($version), "`.")]
                    #[derive(Clone, Copy, Debug)]
                    pub struct Kinds<'a> {
                        pub(super) factory: &'a SharedInformerFactory,
                    }

                    impl Kinds<'_> {$(versions! { $gate
                        #[doc = concat!("The factory's informer of `", $plural, "`.")]
                        #[doc = about!($verbs)]
                        #[inline]
                        pub fn $method(self) -> SharedInformer<api::$kind> {
                            self.factory.informer()
                        }
                    })*}
                }
            })*
        }
    })*

    /// The built-in kinds, by group and version: see [`kinds`](crate::kinds).
    impl SharedInformerFactory {$(versions! { $group_gate
        #[doc = concat!("The built-in kinds of ", group!($group_name), ".")]
        #[must_use]
        pub fn $group(&self) -> $group::Versions<'_> {
            $group::Versions { factory: self }
        }
    })*}
    };
}

macro_rules! group {
    ("") => {
        "the core group"
    };
    ($name:tt) => {
        concat!("the group `", $name, "`")
    };
}

macro_rules! about {
    (watch) => { "" };
    (list) => {
        "\nServers list these objects but refuse to let them be watched. The informer syncs, has the refusal \
         as the last error of its status, and lists again in pauses that grow from one second to a minute."
    };
}

include!("table.rs");
