//! Every method of the factory for a kind, called by its name.

use std::collections::BTreeSet;

use kinformer::{
    ApiResource, Client, Resource, SharedInformer, SharedInformerFactory, kinds, testing::ApiServer,
};

/// Rows of the table that the newest Kubernetes has, which is what tests are compiled for.
macro_rules! newest {
    ([$(since $minor:literal)?] $($statement:tt)*) => { $($statement)* };
    ([$(since $first:literal)? until $last:literal] $($statement:tt)*) => {};
}

macro_rules! kinds {
    ($(
        $group:ident $group_name:literal $module:tt $group_gate:tt {$(
            $version:ident $version_gate:tt {$(
                $method:ident $kind:ident $plural:literal $scope:ident $verbs:ident $gate:tt;
            )*}
        )*}
    )*) => {
        /// Asks the factory for every kind; what it gives, and what its type says.
        fn ask_for_all(factory: &SharedInformerFactory) -> Vec<(ApiResource, ApiResource)> {
            let mut all = Vec::new();
            $($($(newest! { $gate
                let informer = factory.$group().$version().$method();
                let typed = resource_of(&informer);
                assert_eq!(typed.group(), $group_name);
                assert_eq!(typed.version(), stringify!($version));
                assert_eq!(typed.plural(), $plural);
                all.push((informer.resource().clone(), typed));
            })*)*)*
            all
        }
    };
}

include!("../../src/factory/kinds/table.rs");

fn resource_of<K: Resource>(_: &SharedInformer<K>) -> ApiResource {
    ApiResource::of::<K>()
}

#[test]
fn there_is_a_method_for_every_kind_and_it_gives_the_informer_of_that_kind() {
    let server = ApiServer::start().unwrap();
    let factory = SharedInformerFactory::new(Client::new(server.config()).unwrap());
    let all = ask_for_all(&factory);
    for (given, typed) in &all {
        assert_eq!(given, typed);
    }
    let typed: Vec<_> = all.into_iter().map(|(_, typed)| typed).collect();
    let table: Vec<_> = kinds::all().map(kinds::Kind::resource).collect();
    assert_eq!(typed, table);
    let groups: BTreeSet<_> = table.iter().map(ApiResource::group).collect();
    let versions: BTreeSet<_> = table.iter().map(ApiResource::api_version).collect();
    let namespaced = table.iter().filter(|resource| resource.is_namespaced()).count();
    assert_eq!((groups.len(), versions.len(), namespaced), (22, 34, 47));
}
