//! Reading the text of a label selector.
//!
//! ```text
//! selector    := "" | requirement ("," requirement)*
//! requirement := "!" KEY | KEY | KEY op VALUE? | KEY ("in" | "notin") "(" values ")"
//! op          := "=" | "==" | "!=" | ">" | "<"
//! values      := VALUE? ("," VALUE?)*
//! ```

use super::{Operator, Requirement, validate};
use crate::error::{Error, Result};

pub(super) fn parse(text: &str) -> Result<Vec<Requirement>> {
    let mut parser = Parser { text, at: 0 };
    let mut requirements = Vec::new();
    if parser.peek().token == Token::End {
        return Ok(requirements);
    }
    loop {
        requirements.push(parser.requirement()?);
        let next = parser.next();
        match next.token {
            Token::Comma => {}
            Token::End => return Ok(requirements),
            _ => return Err(next.unexpected("a comma or the end")),
        }
    }
}

#[derive(Clone, Copy, Debug, Eq, PartialEq)]
pub(super) enum Token<'a> {
    /// A key, a value, or a word that is an operator where one is due.
    Word(&'a str),
    Equals,
    DoubleEquals,
    NotEquals,
    Not,
    Greater,
    Less,
    Open,
    Close,
    Comma,
    End,
}

#[derive(Clone, Copy)]
struct Found<'a> {
    token: Token<'a>,
    at: usize,
    /// The text of the token.
    text: &'a str,
}

struct Parser<'a> {
    text: &'a str,
    at: usize,
}

impl<'a> Parser<'a> {
    fn requirement(&mut self) -> Result<Requirement> {
        let absent = self.peek().token == Token::Not;
        if absent {
            self.next();
        }
        let key = self.next();
        let Token::Word(name) = key.token else { return Err(key.unexpected("a key")) };
        validate::key(name).map_err(|why| bad(key.at, &format!("key {name:?}: {why}")))?;
        if absent {
            return key.requirement(name, Operator::DoesNotExist, Vec::new());
        }
        if matches!(self.peek().token, Token::Comma | Token::End) {
            return key.requirement(name, Operator::Exists, Vec::new());
        }
        let next = self.next();
        let operator = match next.token {
            Token::Equals => Operator::Equals,
            Token::DoubleEquals => Operator::DoubleEquals,
            Token::NotEquals => Operator::NotEquals,
            Token::Greater => Operator::GreaterThan,
            Token::Less => Operator::LessThan,
            Token::Word("in") => Operator::In,
            Token::Word("notin") => Operator::NotIn,
            _ => return Err(next.unexpected("an operator: = == != > < in notin")),
        };
        let values = match operator {
            Operator::In | Operator::NotIn => self.values()?,
            _ => vec![self.value()?],
        };
        key.requirement(name, operator, values)
    }

    /// One value, which is empty if the requirement ends here.
    fn value(&mut self) -> Result<String> {
        let next = self.peek();
        match next.token {
            Token::Comma | Token::End => Ok(String::new()),
            Token::Word(value) => {
                self.next();
                Ok(value.to_owned())
            }
            _ => Err(next.unexpected("a value")),
        }
    }

    /// Values in parentheses, sorted, each once. Where there is none, the empty string is meant.
    fn values(&mut self) -> Result<Vec<String>> {
        let open = self.next();
        if open.token != Token::Open {
            return Err(open.unexpected("("));
        }
        let mut values = Vec::new();
        loop {
            let mut next = self.next();
            if let Token::Word(value) = next.token {
                values.push(value.to_owned());
                next = self.next();
            } else {
                values.push(String::new());
            }
            match next.token {
                Token::Comma => {}
                Token::Close => break,
                _ => return Err(next.unexpected("a comma or )")),
            }
        }
        values.sort_unstable();
        values.dedup();
        Ok(values)
    }

    fn peek(&self) -> Found<'a> {
        Parser { ..*self }.next()
    }

    fn next(&mut self) -> Found<'a> {
        let rest = self.text[self.at..].trim_start_matches([' ', '\t', '\r', '\n']);
        let at = self.text.len() - rest.len();
        let (token, length) = match rest.as_bytes() {
            [] => (Token::End, 0),
            [b'=', b'=', ..] => (Token::DoubleEquals, 2),
            [b'!', b'=', ..] => (Token::NotEquals, 2),
            [b'=', ..] => (Token::Equals, 1),
            [b'!', ..] => (Token::Not, 1),
            [b'>', ..] => (Token::Greater, 1),
            [b'<', ..] => (Token::Less, 1),
            [b'(', ..] => (Token::Open, 1),
            [b')', ..] => (Token::Close, 1),
            [b',', ..] => (Token::Comma, 1),
            _ => {
                let ends = ['=', '!', '(', ')', ',', '>', '<', ' ', '\t', '\r', '\n'];
                let length = rest.find(ends).unwrap_or(rest.len());
                (Token::Word(&rest[..length]), length)
            }
        };
        self.at = at + length;
        Found { token, at, text: &rest[..length] }
    }
}

impl Found<'_> {
    /// `self` is the key.
    fn requirement(
        self,
        key: &str,
        operator: Operator,
        values: Vec<String>,
    ) -> Result<Requirement> {
        let requirement = Requirement { key: key.to_owned(), operator, values };
        requirement.check().map_err(|why| bad(self.at, &why))?;
        Ok(requirement)
    }

    fn unexpected(self, wanted: &str) -> Error {
        match self.token {
            Token::End => bad(self.at, &format!("expected {wanted}, and it ends")),
            _ => bad(self.at, &format!("expected {wanted}, found {:?}", self.text)),
        }
    }
}

fn bad(at: usize, why: &str) -> Error {
    Error::invalid("label selector", format!("at byte {at}: {why}"))
}

#[cfg(test)]
mod tests {
    use super::*;

    fn tokens(text: &str) -> Vec<Token<'_>> {
        let mut parser = Parser { text, at: 0 };
        std::iter::from_fn(|| Some(parser.next().token))
            .take_while(|token| *token != Token::End)
            .collect()
    }

    #[test]
    fn tokens_are_as_long_as_they_can_be_and_spaces_only_separate() {
        use Token::*;
        for (text, found) in [
            ("", &[][..]),
            (" \t\r\n", &[]),
            ("key", &[Word("key")]),
            ("key = v", &[Word("key"), Equals, Word("v")]),
            ("k==v", &[Word("k"), DoubleEquals, Word("v")]),
            ("===", &[DoubleEquals, Equals]),
            ("!==", &[NotEquals, Equals]),
            ("!!=", &[Not, NotEquals]),
            (
                "k notin ( a,in )",
                &[Word("k"), Word("notin"), Open, Word("a"), Comma, Word("in"), Close],
            ),
            ("a>1,b<2", &[Word("a"), Greater, Word("1"), Comma, Word("b"), Less, Word("2")]),
            ("~||\u{e9}", &[Word("~||\u{e9}")]),
            (",,", &[Comma, Comma]),
            ("()", &[Open, Close]),
        ] {
            assert_eq!(tokens(text), found, "{text:?}");
        }
    }
}
