//! stand-in
#![allow(missing_docs)]
macro_rules! s {
    () => {
        #[derive(Clone, Debug, Default, PartialEq)]
        pub struct Selector(String, bool);
        impl Selector {
            pub fn matches_nothing(&self) -> bool {
                self.1
            }
        }
        impl std::fmt::Display for Selector {
            fn fmt(&self, f: &mut std::fmt::Formatter<'_>) -> std::fmt::Result {
                f.write_str(&self.0)
            }
        }
        pub fn parse(t: &str) -> crate::Result<Selector> {
            Ok(Selector(t.into(), false))
        }
        pub fn nothing() -> Selector {
            Selector(String::new(), true)
        }
        pub fn everything() -> Selector {
            Selector::default()
        }
    };
}
pub mod labels {
    s! {}
}
pub mod fields {
    s! {}
}
