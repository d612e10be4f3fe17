//! Tokens → tree: quantifiers, logic, comparisons, arithmetic. Calls and selectors are in [`super::calls`].
//!
//! ```text
//! claim  := ["for" binder {"," binder} ["where" or] ":"] or
//! binder := NAME "in" (KEY | "[" sum {"," sum} "]")
//! or     := and {"or" and}
//! and    := not {"and" not}
//! not    := "not" not | chain
//! chain  := sum {("<"|"<="|"=="|"!="|">="|">") sum ["+-" sum ["%"]]}
//! sum    := product {("+"|"-") product}
//! product:= unary {("*"|"/") unary}
//! unary  := "-" unary | power
//! power  := atom ["^" unary]
//! atom   := NUMBER | TEXT | NAME | call | "(" or ")"
//! ```

use super::ast::{Binder, Claim, Domain, Kind, Link, Node, Relation, Tolerance, Word};
use super::error::{ClaimError, Fault, Problem, Span};
use super::lexer::{Token, tokens};
use super::names;

/// Reads a claim: its grammar, its functions, its variables. What it says about runs is looked at later, by
/// [`check`](super::check) or [`judge`](super::judge).
///
/// ```
/// assert!(motet_report::claims::parse("rounds_to(flix, gap=1e-6) <= 100").is_ok());
/// let error = motet_report::claims::parse("round_to(flix, gap=1e-6) <= 100").unwrap_err();
/// assert!(error.to_string().contains("did you mean `rounds_to`?"));
/// ```
pub fn parse(text: &str) -> Result<Claim, ClaimError> {
    read(text).map_err(|fault| fault.within(None, text))
}

pub(super) fn read(text: &str) -> Result<Claim, Fault> {
    let mut parser = Parser { text, tokens: tokens(text)?, at: 0, depth: 0, selectors: 0 };
    let claim = parser.claim()?;
    if parser.at < parser.tokens.len() {
        return Err(parser.expected("an operator or the end"));
    }
    names::resolve(&claim)?;
    Ok(claim)
}

pub(super) struct Parser<'t> {
    text: &'t str,
    pub(super) tokens: Vec<(Token<'t>, Span)>,
    pub(super) at: usize,
    depth: usize,
    /// How many were read so far.
    pub(super) selectors: usize,
}

/// Bounds the stack.
const DEEPEST: usize = 64;

impl<'t> Parser<'t> {
    fn claim(&mut self) -> Result<Claim, Fault> {
        let (mut binders, mut condition) = (vec![], None);
        if self.take_name("for") {
            binders = self.separated(Self::binder)?;
            if self.take_name("where") {
                condition = Some(self.or()?);
            }
            self.need(":", "`:` before what is said for each")?;
        }
        let body = self.or()?;
        Ok(Claim { text: self.text.into(), binders, condition, body })
    }

    fn binder(&mut self) -> Result<Binder, Fault> {
        let name = self.plain_name("a name for the value")?;
        if !self.take_name("in") {
            return Err(self.expected("`in`"));
        }
        let domain = if self.take("[") {
            let values = self.separated(Self::sum)?;
            self.need("]", "`,` or `]`")?;
            Domain::Listed(values)
        } else {
            Domain::Key(self.word("a parameter, `round`, or a list like [1e-4, 1e-6]")?)
        };
        Ok(Binder { name, domain })
    }

    pub(super) fn or(&mut self) -> Result<Node, Fault> {
        let mut left = self.and()?;
        while self.take_name("or") {
            let right = self.and()?;
            left = join(left, right, Kind::Or);
        }
        Ok(left)
    }

    fn and(&mut self) -> Result<Node, Fault> {
        let mut left = self.not()?;
        while self.take_name("and") {
            let right = self.not()?;
            left = join(left, right, Kind::And);
        }
        Ok(left)
    }

    fn not(&mut self) -> Result<Node, Fault> {
        let start = self.here().start;
        if !self.take_name("not") {
            return self.chain();
        }
        let inner = self.deeper(Self::not)?;
        Ok(Node { span: start..inner.span.end, kind: Kind::Not(Box::new(inner)) })
    }

    fn chain(&mut self) -> Result<Node, Fault> {
        let first = self.sum()?;
        let mut links = vec![];
        while let Some(relation) = self.relation() {
            let right = self.sum()?;
            let tolerance = if self.take("+-") { Some(self.tolerance()?) } else { None };
            links.push(Link { relation, right, tolerance });
        }
        let Some(last) = links.last() else { return Ok(first) };
        Ok(Node { span: first.span.start..last.right.span.end, kind: Kind::Chain(Box::new(first), links) })
    }

    fn tolerance(&mut self) -> Result<Tolerance, Fault> {
        let amount = self.sum()?;
        Ok(Tolerance { amount, percent: self.take("%") })
    }

    pub(super) fn relation(&mut self) -> Option<Relation> {
        let all = [Relation::Less, Relation::AtMost, Relation::Equal, Relation::Unequal, Relation::AtLeast, Relation::Greater];
        all.into_iter().find(|r| self.take(r.sign()))
    }

    pub(super) fn sum(&mut self) -> Result<Node, Fault> {
        self.left_to_right(['+', '-'], Self::product)
    }

    fn product(&mut self) -> Result<Node, Fault> {
        self.left_to_right(['*', '/'], Self::unary)
    }

    fn left_to_right(&mut self, signs: [char; 2], below: fn(&mut Self) -> Result<Node, Fault>) -> Result<Node, Fault> {
        let mut left = below(self)?;
        while let Some(sign) = signs.into_iter().find(|sign| self.take(sign.encode_utf8(&mut [0; 4]))) {
            let right = below(self)?;
            left = join(left, right, |a, b| Kind::Arithmetic(sign, a, b));
        }
        Ok(left)
    }

    fn unary(&mut self) -> Result<Node, Fault> {
        let start = self.here().start;
        if !self.take("-") {
            return self.power();
        }
        let inner = self.deeper(Self::unary)?;
        Ok(Node { span: start..inner.span.end, kind: Kind::Negative(Box::new(inner)) })
    }

    fn power(&mut self) -> Result<Node, Fault> {
        let base = self.atom()?;
        if !self.take("^") {
            return Ok(base);
        }
        let exponent = self.deeper(Self::unary)?;
        Ok(join(base, exponent, |a, b| Kind::Arithmetic('^', a, b)))
    }

    fn atom(&mut self) -> Result<Node, Fault> {
        let span = self.here();
        let kind = match self.peek() {
            Some(&Token::Number(x)) => Kind::Number(x),
            Some(&Token::Text(text)) => Kind::Text(text.into()),
            // Yes and no are texts, as parameters have them: they stand in filters only.
            Some(&Token::Name(name @ ("true" | "false"))) => Kind::Text(name.into()),
            Some(&Token::Name(name)) if !matches!(name, "and" | "or" | "not" | "for" | "in" | "where") => {
                if matches!(self.tokens.get(self.at + 1), Some((Token::Sign("("), _))) {
                    return self.deeper(Self::call);
                }
                Kind::Variable(name.into())
            }
            Some(Token::Sign("(")) => {
                self.at += 1;
                let inner = self.deeper(Self::or)?;
                self.need(")", "`)`")?;
                return Ok(inner);
            }
            _ => return Err(self.expected("a number, a name, a function or `(`")),
        };
        self.at += 1;
        Ok(Node { kind, span })
    }

    /// Calls `parse` one level further down.
    fn deeper<T>(&mut self, parse: fn(&mut Self) -> Result<T, Fault>) -> Result<T, Fault> {
        self.depth += 1;
        if self.depth > DEEPEST {
            return Err(Fault::new(&self.here(), Problem::TooLong));
        }
        let parsed = parse(self);
        self.depth -= 1;
        parsed
    }
}

/// Moving over tokens.
impl<'t> Parser<'t> {
    pub(super) fn peek(&self) -> Option<&Token<'t>> {
        self.tokens.get(self.at).map(|(token, _)| token)
    }

    /// Where the next token is; at the end, just behind the text.
    pub(super) fn here(&self) -> Span {
        self.tokens.get(self.at).map_or(self.text.len()..self.text.len(), |(_, span)| span.clone())
    }

    pub(super) fn take(&mut self, sign: &str) -> bool {
        let fits = matches!(self.peek(), Some(Token::Sign(s)) if *s == sign);
        self.at += usize::from(fits);
        fits
    }

    fn take_name(&mut self, name: &str) -> bool {
        let fits = matches!(self.peek(), Some(Token::Name(n)) if *n == name);
        self.at += usize::from(fits);
        fits
    }

    pub(super) fn need(&mut self, sign: &str, wanted: &str) -> Result<(), Fault> {
        if self.take(sign) { Ok(()) } else { Err(self.expected(wanted)) }
    }

    pub(super) fn expected(&self, wanted: &str) -> Fault {
        let span = self.here();
        let found = if self.at < self.tokens.len() { format!("`{}`", &self.text[span.clone()]) } else { "the end".into() };
        Fault::new(&span, Problem::Expected { wanted: wanted.into(), found })
    }

    pub(super) fn separated<T>(&mut self, item: fn(&mut Self) -> Result<T, Fault>) -> Result<Vec<T>, Fault> {
        let mut items = vec![item(self)?];
        while self.take(",") {
            items.push(item(self)?);
        }
        Ok(items)
    }

    pub(super) fn plain_name(&mut self, wanted: &str) -> Result<Word, Fault> {
        let span = self.here();
        let Some(&Token::Name(name)) = self.peek() else { return Err(self.expected(wanted)) };
        self.at += 1;
        Ok(Word { text: name.into(), span })
    }

    /// A name as methods, metrics and parameters have them: `one-shot`, `test.recall@5`. All that is written
    /// without a space belongs to it.
    pub(super) fn word(&mut self, wanted: &str) -> Result<Word, Fault> {
        let Word { mut span, .. } = self.plain_name(wanted)?;
        while self.here().start == span.end {
            match self.peek() {
                Some(Token::Name(_) | Token::Number(_) | Token::Sign("-" | "." | "@")) => span.end = self.here().end,
                _ => break,
            }
            self.at += 1;
        }
        Ok(Word { text: self.text[span.clone()].into(), span })
    }
}

fn join(left: Node, right: Node, kind: impl Fn(Box<Node>, Box<Node>) -> Kind) -> Node {
    Node { span: left.span.start..right.span.end, kind: kind(Box::new(left), Box::new(right)) }
}
