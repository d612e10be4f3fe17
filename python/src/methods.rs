//! Methods that are written in Python: two halves as functions over named arrays.
//!
//! The server's half is a generator that yields an ask and is sent the replies; the client's half takes its own arrays and an ask, and
//! gives a reply. Dice, accounting, retries, checkpoints and measuring are those of every other method: `motet.Method` in
//! `python/motet/method.py` is what people derive from, and its methods with an underscore are what is called here.

use std::collections::BTreeMap;
use std::sync::{Arc, Mutex, PoisonError};

use motet::core::{Abort, Algorithm, ClientId, Cohort, Deployment, Documented, Misfit, ModelShape, Round, Site, Study, Vector, message};
use motet::methods::{Card, Method, Reads};
use pyo3::exceptions::{PyKeyError, PyStopIteration, PyTypeError, PyValueError};
use pyo3::prelude::*;
use pyo3::types::{PyDict, PyTuple};
use serde::{Deserialize, Serialize};
use serde_json::{Map, Value};

use crate::errors::{RunError, wrong};
use crate::failures::Failures;
use crate::named_arrays::NamedArrays;
use crate::site::Lent;

/// Classes by the name that experiments call them.
static CLASSES: Mutex<BTreeMap<String, Py<PyAny>>> = Mutex::new(BTreeMap::new());

/// The server's array that is the shared model.
const SHARED: &str = "x";

/// Experiments may name this class from now on; one of the same name is replaced, as in a notebook whose cell is run again.
#[pyfunction]
pub(crate) fn register(name: String, class: Py<PyAny>) {
    CLASSES.lock().unwrap_or_else(PoisonError::into_inner).insert(name, class);
}

/// As experiments write it.
#[derive(Clone, Debug, PartialEq, Serialize, Deserialize, Documented)]
#[documented(crate = motet::core)]
#[serde(deny_unknown_fields)]
struct Written {
    /// The name of the class.
    name: String,
    /// What its constructor takes.
    #[serde(default)]
    params: Map<String, Value>,
}

/// A method whose halves are functions of a Python program.
#[derive(Clone, Serialize, Deserialize)]
#[serde(try_from = "Written", into = "Written")]
pub(crate) struct PythonMethod {
    written: Written,
    held: Arc<Held>,
}

struct Held {
    object: Py<PyAny>,
    /// What a reply holds: name → length, that of the model where there is none.
    replies: BTreeMap<String, Option<usize>>,
    /// Does a client deploy something else than the shared model?
    deploys: bool,
    failures: Arc<Failures>,
}

impl TryFrom<Written> for PythonMethod {
    type Error = String;

    fn try_from(written: Written) -> Result<Self, String> {
        Python::attach(|py| {
            let class = CLASSES.lock().unwrap_or_else(PoisonError::into_inner).get(&written.name).map(|class| class.clone_ref(py));
            let missing = || format!("there is no class of a method called \"{}\" in this program: define it before", written.name);
            let made = || -> PyResult<Held> {
                let class = class.as_ref().ok_or_else(|| PyKeyError::new_err(missing()))?;
                let json = py.import("json")?;
                let params = json.call_method1("loads", (Value::Object(written.params.clone()).to_string(),))?;
                let object = class.bind(py).call((), Some(params.cast::<PyDict>()?))?;
                Ok(Held {
                    replies: object.getattr("replies")?.extract()?,
                    deploys: object.getattr("_deploys")?.extract()?,
                    object: object.unbind(),
                    failures: Failures::current(),
                })
            };
            let held = made().map_err(|error| match class {
                None => missing(),
                Some(_) => format!("{}: {}", written.name, error.value(py)),
            })?;
            Ok(Self { written, held: Arc::new(held) })
        })
    }
}

impl From<PythonMethod> for Written {
    fn from(method: PythonMethod) -> Self {
        method.written
    }
}

message! { pub(crate) struct Asked { arrays: NamedArrays } }
message! { pub(crate) struct Replied { arrays: NamedArrays } }

impl PythonMethod {
    /// Calls a function of the class; none if it, or an earlier one, raised anything.
    fn call<T>(&self, call: impl FnOnce(Python<'_>, &Bound<'_, PyAny>) -> PyResult<T>) -> Option<T> {
        self.held.failures.attempt(|py| call(py, self.held.object.bind(py)))
    }

    /// The server's arrays, if the shared model is among them and is as it was.
    fn server_of(&self, dict: &Bound<'_, PyAny>, model: ModelShape) -> PyResult<NamedArrays> {
        let arrays = NamedArrays::of(dict)?;
        let missing = || PyKeyError::new_err(format!("the server's arrays must have \"{SHARED}\", the shared model"));
        let shared = arrays.get(SHARED).ok_or_else(missing)?;
        shared.fits(model).map_err(|misfit| PyValueError::new_err(format!("the server's \"{SHARED}\": {misfit}")))?;
        Ok(arrays)
    }
}

/// What the server's half says when it goes on.
enum Step {
    Ask(Cohort, NamedArrays),
    Over(NamedArrays),
}

impl Algorithm for PythonMethod {
    type Ask = Asked;
    type Reply = Replied;
    type Server = NamedArrays;
    type Client = NamedArrays;

    fn server(&self, start: Vector) -> NamedArrays {
        let made = self.call(|py, object| {
            let dict = object.call_method1("_server", (crate::arrays::array(py, &start),))?;
            self.server_of(&dict, ModelShape::of(&start))
        });
        made.unwrap_or_else(|| NamedArrays::one(SHARED, start))
    }

    fn client(&self, site: &mut Site<'_>) -> NamedArrays {
        let made = self.call(|py, object| NamedArrays::of(&object.call_method1("_client", (Lent::new(py, site)?.object(),))?));
        made.unwrap_or_default()
    }

    fn round(&self, server: &mut NamedArrays, round: &mut Round<'_, Self>) -> Result<(), Abort> {
        let raised = || Abort::Unsuited("the method raised an exception".into());
        let everyone = round.everyone();
        let (index, seed, clients) = (round.index(), round.rng().next_u64(), everyone.len());
        let model = ModelShape::of(self.shared(server, ClientId(0)));
        // The generator and the dictionary that it changes.
        let begun = self.call(|py, object| {
            let dict = server.dict(py)?;
            let generator = object.call_method1("_round", (&dict, index, clients, seed))?;
            if generator.getattr_opt("send")?.is_none() {
                return Err(PyTypeError::new_err("round must ask at least once: yield what clients are asked, and get their replies"));
            }
            Ok((generator.unbind(), dict.unbind()))
        });
        let (generator, dict) = begun.ok_or_else(raised)?;
        let mut replies: Option<Vec<(ClientId, Replied)>> = None;
        loop {
            let step = self.call(|py, _| {
                let sent = replies.take().map(|replies| folded(py, &replies)).transpose()?;
                match generator.call_method1(py, "send", (sent,)) {
                    Ok(asked) => asked_of(asked.bind(py), &everyone).map(|(to, arrays)| Step::Ask(to, arrays)),
                    Err(end) if end.is_instance_of::<PyStopIteration>(py) => Ok(Step::Over(self.server_of(dict.bind(py), model)?)),
                    Err(error) => Err(error),
                }
            });
            match step.ok_or_else(raised)? {
                Step::Ask(to, arrays) => {
                    let mut got = vec![];
                    round.ask(&to, Asked { arrays }, |client, reply| got.push((client, reply)))?;
                    replies = Some(got);
                }
                Step::Over(arrays) => {
                    *server = arrays;
                    return Ok(());
                }
            }
        }
    }

    fn answer(&self, me: &mut NamedArrays, ask: &Asked, site: &mut Site<'_>) -> Replied {
        let answered = self.call(|py, object| {
            let (mine, lent) = (me.dict(py)?, Lent::new(py, site)?);
            let reply = object.call_method1("_answer", (&mine, ask.arrays.dict(py)?, lent.object()))?;
            Ok((NamedArrays::of(&mine)?, NamedArrays::of(&reply)?))
        });
        let precision = site.train.precision();
        let (mine, arrays) = answered.unwrap_or_default();
        *me = mine;
        // What is sent is as wide as the model, so that the other side can tell a breach.
        Replied { arrays: arrays.with_precision(precision) }
    }

    fn fits(&self, _: &Asked, reply: &Replied, _: ClientId, model: ModelShape) -> Result<(), Misfit> {
        let (got, expected) = (reply.arrays.len(), self.held.replies.len());
        if got != expected {
            return Err(Misfit::Count { what: "arrays", got, expected });
        }
        for (name, length) in &self.held.replies {
            let array = reply.arrays.get(name).ok_or(Misfit::Unsound("an array of another name"))?;
            match length {
                None => array.fits(model)?,
                Some(length) => array.fits(ModelShape { dim: *length, ..model })?,
            }
        }
        Ok(())
    }

    fn shared<'a>(&self, server: &'a NamedArrays, _: ClientId) -> &'a Vector {
        server.get(SHARED).expect("the server's arrays have the shared model: they were looked at when they were made")
    }

    fn deploys(&self, _: ClientId) -> Deployment<Self> {
        if self.held.deploys { Deployment::Own(deployed) } else { Deployment::Shared }
    }
}

/// The model that a client makes of the shared one and its own arrays.
fn deployed(method: &PythonMethod, me: &NamedArrays, shared: &Vector, site: &mut Site<'_>) -> Vector {
    let made = method.call(|py, object| {
        let lent = Lent::new(py, site)?;
        let made = object.call_method1("_deploy", (me.dict(py)?, crate::arrays::array(py, shared), lent.object()))?;
        let mut x = shared.zeros_like();
        crate::arrays::copy_into(&made, &mut x, "what a client deploys")?;
        Ok(x)
    });
    made.unwrap_or_else(|| shared.clone())
}

/// What was yielded: arrays for everyone, or (clients, arrays).
fn asked_of(asked: &Bound<'_, PyAny>, everyone: &Cohort) -> PyResult<(Cohort, NamedArrays)> {
    let Ok(pair) = asked.cast::<PyTuple>() else { return Ok((everyone.clone(), NamedArrays::of(asked)?)) };
    let (clients, arrays): (Vec<u32>, Bound<'_, PyAny>) = pair.extract()?;
    let ids: Vec<ClientId> = clients.into_iter().map(ClientId).collect();
    if let Some(unknown) = ids.iter().find(|id| !everyone.ids().contains(id)) {
        let last = everyone.len().saturating_sub(1);
        return Err(PyValueError::new_err(format!("client {} was asked, and there are clients 0 to {last}", unknown.0)));
    }
    Ok((Cohort::new(ids), NamedArrays::of(&arrays)?))
}

/// (client, arrays) of each reply, in the order asked.
fn folded<'py>(py: Python<'py>, replies: &[(ClientId, Replied)]) -> PyResult<Vec<(u32, Bound<'py, PyDict>)>> {
    replies.iter().map(|(client, reply)| Ok((client.0, reply.arrays.dict(py)?))).collect()
}

impl Study for PythonMethod {}

impl Method for PythonMethod {
    const CARD: Card = Card {
        name: "python",
        reads: Reads::Single,
        about: "A method that is written in Python.",
        leaves: "what its client half gives, in each round: see its source",
        paper: "the program's own",
        parameters: Written::PARAMETERS,
        example: r#"{"name":"mine"}"#,
    };
}

/// Does a method of one's own keep what every method must keep? Raises what it does not.
#[pyfunction]
pub(crate) fn examine(py: Python<'_>, name: &str, params: &str) -> PyResult<()> {
    let params: Map<String, Value> = serde_json::from_str(params).map_err(wrong)?;
    let failures = Arc::new(Failures::default());
    let examined = py.detach(|| {
        let _here = failures.enter();
        let method = PythonMethod::try_from(Written { name: name.to_owned(), params }).map_err(wrong)?;
        motet_conformance::examine(&method).map_err(|broken| RunError::new_err(broken.to_string()))
    });
    failures.take().map_or(examined, Err)
}
