use super::{super::random::Random, *};

const NONE: [(&str, &str); 0] = [];

fn good(text: &str) -> Selector {
    parse(text).unwrap_or_else(|error| panic!("{text:?}: {error}"))
}

fn requirement(key: &str, operator: Operator, values: &[&str]) -> Requirement {
    Requirement::new(key, operator, values.iter().copied()).unwrap()
}

#[test]
fn good_selectors_print_in_canonical_form() {
    for (text, printed) in [
        ("", ""),
        (" \n", ""),
        ("x=a,y=b,z=c", "x=a,y=b,z=c"),
        ("z=c,x=a,y=b", "x=a,y=b,z=c"),
        ("x!=a,y=b", "x!=a,y=b"),
        ("x=", "x="),
        ("x= ", "x="),
        ("x=,z= ", "x=,z="),
        ("x= ,z= ", "x=,z="),
        ("x==a", "x==a"),
        ("!x", "!x"),
        ("! x", "!x"),
        ("x", "x"),
        ("x>1", "x>1"),
        ("x>1,z<5", "x>1,z<5"),
        ("x>1,2", "2,x>1"),
        ("x in (foo)", "x in (foo)"),
        ("x in(foo,bar,baz)", "x in (bar,baz,foo)"),
        ("x notin (jkl)", "x notin (jkl)"),
        ("\rx\nin\t( b , a )", "x in (a,b)"),
        ("x in ()", "x in ()"),
        ("x in (abc,)", "x in (,abc)"),
        ("x in (,abc)", "x in (,abc)"),
        ("x in (a,,b)", "x in (,a,b)"),
        ("x in (,)", "x in ()"),
        ("x in (a,a,b)", "x in (a,b)"),
        ("x notin ()", "x notin ()"),
        ("in in (in,notin)", "in in (in,notin)"),
        ("notin=in", "notin=in"),
        ("in", "in"),
        ("!notin", "!notin"),
        ("x,y in (a),!z", "x,y in (a),!z"),
        ("example.com/app=web", "example.com/app=web"),
        ("x=a,x!=b,x", "x=a,x!=b,x"),
    ] {
        let selector = good(text);
        assert_eq!(selector.to_string(), printed, "{text:?}");
        assert_eq!(good(printed), selector, "{text:?}");
    }
}

#[test]
fn bad_selectors_are_errors_that_say_where() {
    for (text, at, why) in [
        ("x=a||y=b", 0, "\"a||y\" is not letters"),
        ("x==a==b", 4, "expected a comma"),
        ("!x=a", 2, "expected a comma or the end, found \"=\""),
        ("x<a", 0, "must be an integer"),
        ("x>", 0, "must be an integer"),
        ("x>-1", 0, "is not letters, digits"),
        ("x>99999999999999999999", 0, "must be an integer"),
        (",x", 0, "expected a key, found \",\""),
        ("x,", 2, "expected a key, and it ends"),
        ("x,,y", 2, "expected a key"),
        ("a in (b),", 9, "expected a key, and it ends"),
        ("a in (b)c", 8, "expected a comma or the end, found \"c\""),
        ("a in (x y)", 8, "expected a comma or ), found \"y\""),
        ("a in x", 5, "expected (, found \"x\""),
        ("a in (x", 7, "expected a comma or ), and it ends"),
        ("a in (", 6, "expected a comma or ), and it ends"),
        ("a in", 4, "expected (, and it ends"),
        ("a in (x=y)", 7, "expected a comma or ), found \"=\""),
        ("a notin", 7, "expected ("),
        ("a b", 2, "expected an operator: = == != > < in notin, found \"b\""),
        ("a!", 1, "expected an operator"),
        ("a ! b", 2, "expected an operator"),
        ("a ( b )", 2, "expected an operator"),
        ("x=(a)", 2, "expected a value, found \"(\""),
        ("!", 1, "expected a key, and it ends"),
        ("!!x", 1, "expected a key"),
        ("=a", 0, "expected a key"),
        ("()", 0, "expected a key"),
        ("a/b/c=d", 0, "the name is not letters"),
        ("/a", 0, "the prefix is not a DNS name"),
        ("a/", 0, "the name is empty"),
        ("Example.com/a", 0, "the prefix is not a DNS name"),
        ("-a", 0, "the name is not letters"),
        ("a.", 0, "the name is not letters"),
        ("x=a@b", 0, "values[0] of key \"x\": \"a@b\" is not letters"),
        ("y=b, x in (a,_b)", 5, "values[0] of key \"x\""),
        ("\u{e9}=a", 0, "the name is not letters"),
        ("x=a\0", 0, "is not letters"),
    ] {
        let error = parse(text).expect_err(text).to_string();
        let start = format!("invalid label selector: at byte {at}: ");
        assert!(error.starts_with(&start) && error.contains(why), "{text:?}: {error}");
    }
}

#[test]
fn selectors_match_by_the_table_missing_keys_included() {
    let matches = |text: &str, labels: &[(&str, &str)]| good(text).matches(labels);
    for (text, labels) in [
        ("", &[("x", "y")][..]),
        ("x=y", &[("x", "y")]),
        ("x=y,z=w", &[("x", "y"), ("z", "w")]),
        ("x!=y,z!=w", &[("x", "z"), ("z", "a")]),
        ("notin=in", &[("notin", "in")]),
        ("x", &[("x", "z")]),
        ("x", &[("x", "")]),
        ("!x", &[("y", "z")]),
        ("x>1", &[("x", "2")]),
        ("x<1", &[("x", "0")]),
        ("x<1", &[("x", "-7")]),
        ("x!=y", &[]),
        ("x notin (y)", &[]),
        ("x in (y,z)", &[("x", "z")]),
        ("x notin (y,z)", &[("x", "w")]),
        ("x=", &[("x", "")]),
        ("x in ()", &[("x", "")]),
        ("x,x!=a,x!=b", &[("x", "c")]),
    ] {
        assert!(matches(text, labels), "{text:?} should match {labels:?}");
    }
    for (text, labels) in [
        ("x=y", &[("x", "z")][..]),
        ("x=y", &[]),
        ("x=", &[]),
        ("x in (y)", &[]),
        ("x=y,z=w", &[("x", "w"), ("z", "w")]),
        ("x!=y,z!=w", &[("x", "z"), ("z", "w")]),
        ("x", &[("y", "z")]),
        ("!x", &[("x", "")]),
        ("x>1", &[("x", "0")]),
        ("x>1", &[("x", "1")]),
        ("x<1", &[("x", "1")]),
        ("x>1", &[]),
        ("x>1", &[("x", "v2")]),
        ("x>1", &[("x", "99999999999999999999")]),
        ("x notin (y)", &[("x", "y")]),
        ("x in (y,z)", &[("x", "w")]),
        ("x,x!=a,x!=b", &[("x", "b")]),
    ] {
        assert!(!matches(text, labels), "{text:?} should not match {labels:?}");
    }
}

#[test]
fn a_set_selects_what_has_all_of_it() {
    let set = BTreeMap::from([("b".to_owned(), "2".to_owned()), ("a".to_owned(), "1".to_owned())]);
    let selector = Selector::from_set(set.clone()).unwrap();
    assert_eq!(selector.to_string(), "a=1,b=2");
    assert!(selector.matches(&set));
    assert!(selector.matches(&set.into_iter().collect::<HashMap<_, _>>()));
    assert!(!selector.matches(&[("a", "1")]));
    assert!(!selector.matches(&None::<&BTreeMap<String, String>>));
    assert!(Selector::from_set(NONE).unwrap().matches_everything());
    assert!(Selector::from_set([("a", "b c")]).unwrap_err().to_string().contains("values[0]"));
    assert!(Selector::from_set([("a b", "c")]).is_err());
}

#[test]
fn everything_and_nothing_are_what_they_say_and_print_as_empty() {
    for selector in [everything(), good(""), Selector::default()] {
        assert!(selector.matches(&NONE) && selector.matches(&[("a", "b")]));
        assert!(selector.matches_everything() && !selector.matches_nothing());
        assert_eq!(selector.to_string(), "");
    }
    let exists = requirement("a", Operator::Exists, &[]);
    for selector in [nothing(), nothing().with(exists)] {
        assert!(!selector.matches(&NONE) && !selector.matches(&[("a", "b")]));
        assert!(selector.matches_nothing() && !selector.matches_everything());
        assert_eq!(selector.to_string(), "");
    }
    assert!(!good("a,!a").matches_nothing(), "a contradiction is not found out");
}

#[test]
fn a_requirement_checks_key_operator_and_values() {
    use Operator::*;
    let long = |length: usize| "a".repeat(length);
    let prefix = |length: usize| format!("{}/a", vec!["a"; length / 2 + 1].join("."));
    for (key, operator, values) in [
        ("x", In, &["foo", "bar"][..]),
        ("x", NotIn, &[""]),
        ("x", Equals, &[""]),
        ("x", DoubleEquals, &["a"]),
        ("x", NotEquals, &["a"]),
        ("x", Exists, &[]),
        ("x", DoesNotExist, &[]),
        ("x", GreaterThan, &["1"]),
        ("x", LessThan, &["0"]),
        (&long(63), Equals, &[&long(63)]),
        ("1-1.ab/A", Exists, &[]),
        (&prefix(252), Exists, &[]),
    ] {
        let made = Requirement::new(key, operator, values.iter().copied());
        assert!(made.is_ok(), "{key} {operator:?} {values:?}");
    }
    for (key, operator, values, why) in [
        ("x", In, &[][..], "at least one value"),
        ("x", NotIn, &[], "at least one value"),
        ("x", Equals, &[], "exactly one value"),
        ("x", NotEquals, &["a", "b"], "exactly one value"),
        ("x", Exists, &["a"], "no value"),
        ("x", DoesNotExist, &["a"], "no value"),
        ("x", GreaterThan, &[], "exactly one value"),
        ("x", LessThan, &["1", "2"], "exactly one value"),
        ("x", GreaterThan, &["a"], "must be an integer"),
        ("x", GreaterThan, &["1.5"], "must be an integer"),
        ("x", In, &["ok", "not ok"], "values[1] of key \"x\""),
        ("x", Equals, &[&long(64)], "longer than 63"),
        (&long(64), Exists, &[], "the name is longer than 63"),
        (&prefix(254), Exists, &[], "the prefix is longer than 253"),
        ("", Exists, &[], "key \"\": the name is empty"),
        ("a_b/A", Exists, &[], "the prefix is not a DNS name"),
    ] {
        let error =
            Requirement::new(key, operator, values.iter().copied()).unwrap_err().to_string();
        assert!(error.contains(why), "{key} {operator:?} {values:?}: {error}");
    }
}

#[test]
fn with_keeps_the_order_of_keys_and_printing_that_of_values() {
    let selector = everything()
        .with(requirement("b", Operator::In, &["z", "a"]))
        .with(requirement("c", Operator::Exists, &[]))
        .with(requirement("a", Operator::DoesNotExist, &[]))
        .with(requirement("b", Operator::NotEquals, &["q"]));
    assert_eq!(selector.to_string(), "!a,b in (a,z),b!=q,c");
    assert_eq!(selector.requirements()[1].values(), ["z", "a"]);
    assert_eq!(selector.requirements()[1].key(), "b");
    assert_eq!(selector.requirements()[1].operator(), Operator::In);
}

#[test]
fn requirements_are_equal_with_their_values_in_order() {
    let of = |values: &[&str]| requirement("x", Operator::In, values);
    assert_eq!(of(&["a", "b"]), of(&["a", "b"]));
    assert_ne!(of(&["a", "b"]), of(&["b", "a"]));
    assert_ne!(of(&["a"]), requirement("x", Operator::NotIn, &["a"]));
    assert_ne!(of(&["a"]), requirement("y", Operator::In, &["a"]));
}

#[test]
fn a_required_value_comes_from_the_first_condition_on_the_key() {
    let selector = good("a=1,b==2,c in (3),d in (3,4),e!=5,f,g>6,h=,i!=1,i=2");
    for (key, value) in [
        ("a", Some("1")),
        ("b", Some("2")),
        ("c", Some("3")),
        ("d", None),
        ("e", None),
        ("f", None),
        ("g", None),
        ("h", Some("")),
        ("i", None),
        ("z", None),
    ] {
        assert_eq!(selector.required_value(key), value, "{key}");
    }
}

#[test]
#[cfg(feature = "k8s-openapi")]
fn a_label_selector_object_becomes_a_selector() {
    use k8s_openapi::apimachinery::pkg::apis::meta::v1::{LabelSelector, LabelSelectorRequirement};

    let expression =
        |key: &str, operator: &str, values: Option<&[&str]>| LabelSelectorRequirement {
            key: key.into(),
            operator: operator.into(),
            values: values.map(|values| values.iter().map(|value| (*value).into()).collect()),
        };
    let object = LabelSelector {
        match_labels: Some(BTreeMap::from([("x".into(), "y".into())])),
        match_expressions: Some(vec![
            expression("a", "In", Some(&["2", "1"])),
            expression("b", "NotIn", Some(&["3"])),
            expression("c", "Exists", None),
            expression("d", "DoesNotExist", Some(&[])),
        ]),
    };
    assert_eq!(Selector::try_from(&object).unwrap().to_string(), "a in (1,2),b notin (3),c,!d,x=y");
    assert!(Selector::try_from(&LabelSelector::default()).unwrap().matches_everything());
    let bad = |operator, values| {
        let match_expressions = Some(vec![expression("a", operator, values)]);
        Selector::try_from(&LabelSelector { match_expressions, ..Default::default() }).is_err()
    };
    assert!(bad("Gt", Some(&["1"])) && bad("In", None) && bad("Exists", Some(&["1"])));
}

#[test]
fn any_selector_survives_printing_and_reading() {
    use Operator::*;
    let mut random = Random(42);
    let operators =
        [Equals, DoubleEquals, NotEquals, In, NotIn, Exists, DoesNotExist, GreaterThan, LessThan];
    let keys = ["a", "in", "notin", "example.com/x", "A-1_b.c", "0"];
    let words = ["", "a", "in", "notin", "x.y-z_0", "007"];
    for _ in 0..5_000 {
        let selector: Selector = (0..random.below(5))
            .map(|_| {
                let operator = random.pick(&operators);
                let mut values: Vec<_> = match operator {
                    In | NotIn => (0..=random.below(3)).map(|_| random.pick(&words)).collect(),
                    Exists | DoesNotExist => Vec::new(),
                    GreaterThan | LessThan => {
                        vec![random.pick(&["0", "42", "9223372036854775807"])]
                    }
                    _ => vec![random.pick(&words)],
                };
                values.sort_unstable();
                values.dedup();
                requirement(random.pick(&keys), operator, &values)
            })
            .collect();
        assert_eq!(good(&selector.to_string()), selector, "{selector}");
    }
}

#[test]
fn nothing_panics_on_noise() {
    let mut random = Random(1);
    let letters = [' ', 'a', 'i', 'n', '=', '!', '(', ')', ',', '<', '>', '\u{e9}', '1', '/', '\0'];
    for _ in 0..20_000 {
        let text: String = (0..random.below(14)).map(|_| random.pick(&letters)).collect();
        if let Ok(selector) = parse(&text) {
            assert_eq!(good(&selector.to_string()), selector, "{text:?}");
        }
    }
}
