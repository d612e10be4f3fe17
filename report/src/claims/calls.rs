//! Calls: `rounds_to(flix[alpha=0.1], gap=1e-6)`, `max(…, over=alpha)`, `abs(…)`.

use super::ast::{Axis, Clients, Elementary, Filter, Fold, Kind, Measure, Node, Pick, Relation, Selector, What, Who, Window, Word};
use super::error::{Fault, Problem, Span};
use super::lexer::Token;
use super::parser::Parser;

/// Functions that read runs; the others are in [`elementary`] and [`fold`].
const MEASURES: [&str; 18] = [
    "at",
    "average",
    "best",
    "bits_to",
    "chosen",
    "deviation",
    "envelope",
    "final",
    "floats_to",
    "gradients_to",
    "note",
    "param",
    "rounds",
    "rounds_to",
    "slope",
    "start",
    "weight",
    "worst",
];

/// All others, for suggestions.
const OTHERS: [&str; 14] = [
    "abs",
    "argmax",
    "argmin",
    "ceil",
    "decreasing",
    "floor",
    "increasing",
    "log10",
    "max",
    "min",
    "nondecreasing",
    "nonincreasing",
    "share",
    "sqrt",
];

impl Parser<'_> {
    /// At the name of a function, its bracket behind it.
    pub(super) fn call(&mut self) -> Result<Node, Fault> {
        let name = self.plain_name("a function")?;
        self.need("(", "`(`")?;
        let kind = if let Some(function) = elementary(&name.text) {
            self.apply(function, &name.text)?
        } else if let Some(fold) = fold(&name.text) {
            let body = self.or()?;
            self.need(",", OVER)?;
            self.over(fold, body)?
        } else {
            self.measure(&name)?
        };
        let end = self.here().end;
        self.need(")", "`,` or `)`")?;
        Ok(Node { kind, span: name.span.start..end })
    }

    /// `abs(x)`, `min(x, y)` and, with the same names, `min(x, over=alpha)`.
    fn apply(&mut self, function: Elementary, name: &str) -> Result<Kind, Fault> {
        let mut arguments = vec![self.or()?];
        while self.take(",") {
            let keyword = matches!(self.tokens.get(self.at..self.at + 2), Some([(Token::Name("over"), _), (Token::Sign("="), _)]));
            if let (true, 1, Some(fold)) = (keyword, arguments.len(), fold(name)) {
                return self.over(fold, arguments.remove(0));
            }
            arguments.push(self.or()?);
        }
        let several = matches!(function, Elementary::Max | Elementary::Min);
        if (arguments.len() == 1) == several {
            return Err(self.expected(if several { "a second number, or `over=PARAMETER`" } else { "one number" }));
        }
        Ok(Kind::Apply(function, arguments))
    }

    fn over(&mut self, fold: Fold, body: Node) -> Result<Kind, Fault> {
        if !matches!(self.peek(), Some(Token::Name("over"))) {
            return Err(self.expected(OVER));
        }
        self.at += 1;
        self.need("=", "`=`")?;
        Ok(Kind::Over(fold, Box::new(body), self.word("a parameter or `round`")?))
    }

    fn measure(&mut self, name: &Word) -> Result<Kind, Fault> {
        let Some(function) = MEASURES.into_iter().find(|f| *f == name.text) else {
            return Err(Fault::unknown(&name.span, "function", &name.text, MEASURES.into_iter().chain(OTHERS)));
        };
        let selector = self.selector()?;
        let mut call = Call { function, span: name.span.start..self.here().end, metric: None, options: vec![] };
        while self.take(",") {
            self.argument(&mut call)?;
        }
        Ok(Kind::Measure(Box::new(Measure { what: call.what()?, selector })))
    }

    /// A metric, or an option with its value.
    fn argument(&mut self, call: &mut Call) -> Result<(), Fault> {
        let word = self.word("a metric or an option")?;
        if self.take("=") {
            let setting = self.setting()?;
            call.options.push((word, setting));
        } else if call.metric.is_none() {
            call.metric = Some(word);
        } else {
            return Err(self.expected("`=` and a value"));
        }
        Ok(())
    }

    fn setting(&mut self) -> Result<Setting, Fault> {
        let first = self.sum()?;
        if !self.take("..") {
            return Ok(Setting::Value(first));
        }
        let last = self.sum()?;
        Ok(Setting::Range(first, last))
    }

    fn selector(&mut self) -> Result<Selector, Fault> {
        let id = self.selectors;
        self.selectors += 1;
        let mut span = self.here();
        let pick = if let Some(&Token::Text(label)) = self.peek() {
            self.at += 1;
            Pick::Label(label.into())
        } else if self.take("*") {
            Pick::Any
        } else {
            let word = self.word("a method, a \"label\" or `*`")?;
            span = word.span;
            Pick::Method(word.text)
        };
        let mut filters = vec![];
        if self.take("[") {
            filters = self.separated(Self::filter)?;
            span.end = self.here().end;
            self.need("]", "`,` or `]`")?;
        }
        Ok(Selector { id, span, pick, filters })
    }

    fn filter(&mut self) -> Result<Filter, Fault> {
        let key = self.word("a parameter")?;
        let relation = if self.take("=") { Some(Relation::Equal) } else { self.relation() };
        let relation = relation.ok_or_else(|| self.expected("`=`, `!=`, `<`, `<=`, `>` or `>=`"))?;
        let value = self.sum()?;
        Ok(Filter { span: key.span.start..value.span.end, key, relation, value })
    }
}

const OVER: &str = "`over=PARAMETER`";

/// The arguments of a measure, as written.
struct Call {
    function: &'static str,
    span: Span,
    metric: Option<Word>,
    options: Vec<(Word, Setting)>,
}

enum Setting {
    Value(Node),
    Range(Node, Node),
}

impl Call {
    fn what(mut self) -> Result<What, Fault> {
        let what = match self.function {
            "rounds_to" => self.reach(Axis::Round)?,
            "bits_to" => self.reach(Axis::Bits)?,
            "floats_to" => self.reach(Axis::Floats)?,
            "gradients_to" => self.reach(Axis::Gradients)?,
            "at" => self.at()?,
            "final" => What::Final(self.metric()?, self.clients()?),
            "start" => What::Start(self.metric()?),
            "best" => What::Best(self.metric()?),
            "worst" => What::Worst(self.metric()?),
            "slope" => What::Slope(self.metric()?, self.window()?),
            "average" => What::Average(self.metric()?, self.window()?),
            "deviation" => What::Deviation(self.metric()?, self.window()?),
            "envelope" => What::Envelope(self.metric()?, self.window()?),
            "weight" => What::Weight(self.who()?, self.window()?),
            "note" => What::Note(self.metric()?, self.window()?),
            "param" => What::Parameter(self.metric()?),
            "chosen" => What::Chosen(self.metric()?),
            _ => What::Rounds,
        };
        let leftover = self.metric.as_ref().or(self.options.first().map(|(word, _)| word));
        match leftover {
            Some(word) => Err(Fault::unknown(&word.span, "option", &word.text, options_of(self.function).iter().copied())),
            None => Ok(what),
        }
    }

    fn reach(&mut self, axis: Axis) -> Result<What, Fault> {
        if self.options.is_empty() {
            return Err(self.incomplete(REACH));
        }
        match self.options.remove(0) {
            (metric, Setting::Value(threshold)) => Ok(What::Reach(axis, metric, threshold)),
            _ => Err(self.incomplete(REACH)),
        }
    }

    fn at(&mut self) -> Result<What, Fault> {
        let metric = self.metric()?;
        for (name, axis) in [("round", Axis::Round), ("bits", Axis::Bits), ("floats", Axis::Floats), ("gradients", Axis::Gradients)] {
            if let Some(budget) = self.value(name)? {
                return Ok(What::At(metric, axis, budget));
            }
        }
        Err(self.incomplete("where to read: round=, bits=, floats= or gradients="))
    }

    fn metric(&mut self) -> Result<Word, Fault> {
        self.metric.take().ok_or_else(|| self.incomplete("a name after the selector, like gap"))
    }

    fn window(&mut self) -> Result<Window, Fault> {
        Ok(Window { from: self.value("from")?, to: self.value("to")?, last: self.value("last")? })
    }

    fn who(&mut self) -> Result<Who, Fault> {
        if let Some(clients) = self.clients()? {
            return Ok(Who::Clients(clients));
        }
        match self.value("group")?.map(|node| node.kind) {
            Some(Kind::Text(name) | Kind::Variable(name)) => Ok(Who::Group(name)),
            Some(Kind::Number(number)) => Ok(Who::Group(number.to_string())),
            _ => Err(self.incomplete("clients=FIRST..LAST or group=NAME")),
        }
    }

    fn clients(&mut self) -> Result<Option<Clients>, Fault> {
        let Some(at) = self.options.iter().position(|(word, _)| word.text == "clients") else { return Ok(None) };
        let (first, last) = match self.options.remove(at).1 {
            Setting::Value(one) => (id(&one)?, id(&one)?),
            Setting::Range(first, last) => (id(&first)?, id(&last)?),
        };
        Ok(Some(first..=last))
    }

    fn value(&mut self, option: &str) -> Result<Option<Node>, Fault> {
        let Some(at) = self.options.iter().position(|(word, _)| word.text == option) else { return Ok(None) };
        match self.options.remove(at) {
            (_, Setting::Value(node)) => Ok(Some(node)),
            (word, Setting::Range(..)) => Err(Fault::new(&word.span, expected("one value", "a range"))),
        }
    }

    fn incomplete(&self, needs: &'static str) -> Fault {
        Fault::new(&self.span, Problem::Incomplete { function: self.function, needs })
    }
}

const REACH: &str = "a metric and the value to reach, like gap=1e-6";

/// A client's id, as written.
fn id(node: &Node) -> Result<u32, Fault> {
    match node.kind {
        Kind::Number(x) if x.fract() == 0.0 && (0.0..=f64::from(u32::MAX)).contains(&x) => Ok(x as u32),
        _ => Err(Fault::new(&node.span, expected("the number of a client, the first is 0", "something else"))),
    }
}

fn expected(wanted: &str, found: &str) -> Problem {
    Problem::Expected { wanted: wanted.into(), found: found.into() }
}

fn options_of(function: &str) -> &'static [&'static str] {
    match function {
        "at" => &["round", "bits", "floats", "gradients"],
        "final" => &["clients"],
        "slope" | "average" | "deviation" | "envelope" | "note" => &["from", "to", "last"],
        "weight" => &["clients", "group", "from", "to", "last"],
        _ => &[],
    }
}

fn elementary(name: &str) -> Option<Elementary> {
    Some(match name {
        "abs" => Elementary::Abs,
        "ceil" => Elementary::Ceil,
        "floor" => Elementary::Floor,
        "log10" => Elementary::Log10,
        "max" => Elementary::Max,
        "min" => Elementary::Min,
        "sqrt" => Elementary::Sqrt,
        _ => return None,
    })
}

fn fold(name: &str) -> Option<Fold> {
    Some(match name {
        "max" => Fold::Max,
        "min" => Fold::Min,
        "argmax" => Fold::ArgMax,
        "argmin" => Fold::ArgMin,
        "share" => Fold::Share,
        "increasing" => Fold::Monotone(Relation::Less),
        "nondecreasing" => Fold::Monotone(Relation::AtMost),
        "nonincreasing" => Fold::Monotone(Relation::AtLeast),
        "decreasing" => Fold::Monotone(Relation::Greater),
        _ => return None,
    })
}
