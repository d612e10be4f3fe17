//! A method behind a pointer: what an experiment does with it, whatever its types are.
//!
//! Code that is generic over methods is compiled for each of them. So it stands in one small shell, [`Session`]; all that
//! is planned, checked, written and drawn is compiled once.

use std::io;
use std::sync::Arc;

use motet_core::{ClientId, Facts, Fraction, PerClient, Promise, Study, Unsuitable};
use motet_link::{Mark, Work};
use motet_methods::{Card, Method};
use serde_json::{Map, Value};

use crate::session::{ClientGround, Ground, Live, Session, client_work};

/// A method and its parameters.
pub trait AnyMethod: Send + Sync {
    /// Its name and what people should know.
    fn card(&self) -> &'static Card;

    /// Its parameters, every default filled in.
    fn params(&self) -> Map<String, Value>;

    /// αᵢ of what a client deploys; 1 where it deploys no mixture.
    fn share(&self, client: ClientId) -> f64;

    /// Is there a function of the shared model alone whose minimum a run can be measured from?
    fn has_objective(&self) -> bool;

    /// αᵢ of a method that has this parameter and deploys mixtures.
    fn alpha(&self) -> Option<PerClient<Fraction>>;

    /// The same method with these αᵢ; none if it has no such parameter.
    fn with_alpha(&self, alpha: PerClient<Fraction>) -> Option<Arc<dyn AnyMethod>>;

    /// The same method with these parameters; why not, if they do not fit it.
    fn with_params(&self, params: Map<String, Value>) -> Result<Arc<dyn AnyMethod>, String>;

    /// Does the method suit a problem of so many clients (`None`: a population without end)?
    fn suits(&self, clients: Option<u32>) -> Result<(), Unsuitable>;

    /// The one client the shared model is made for, where there is one.
    fn target(&self) -> Option<ClientId>;

    /// Does training fit anything to clients' validation data?
    fn fits_validation(&self) -> bool;

    /// What the method's theorem promises on a problem with these constants.
    fn promise(&self, facts: &Facts<'_>) -> Option<Promise>;

    /// The client's half of the method, for the agent of one client, and what the agent remembers.
    fn at_agent(self: Arc<Self>, ground: ClientGround<'_>) -> io::Result<(Box<dyn Work>, Mark)>;

    /// The method on a problem, ready to be trained.
    fn on(self: Arc<Self>, ground: Ground<'_>) -> io::Result<Box<dyn Session>>;
}

impl std::fmt::Debug for dyn AnyMethod {
    fn fmt(&self, f: &mut std::fmt::Formatter<'_>) -> std::fmt::Result {
        f.debug_struct(self.card().name).field("params", &self.params()).finish()
    }
}

/// The parameters of a method as an experiment file has them, or why they cannot be written so.
pub(crate) fn written(method: &impl Method) -> Result<Map<String, Value>, String> {
    match serde_json::to_value(method) {
        Ok(Value::Object(params)) => Ok(params),
        Ok(other) => Err(format!("a table is wanted, and it writes itself as {other}")),
        Err(error) => Err(error.to_string()),
    }
}

impl<M: Method> AnyMethod for M {
    fn card(&self) -> &'static Card {
        &M::CARD
    }

    fn params(&self) -> Map<String, Value> {
        written(self).unwrap_or_else(|reason| panic!("the catalogue reads no method whose parameters cannot be written: {reason}"))
    }

    fn share(&self, client: ClientId) -> f64 {
        self.deploys(client).share()
    }

    fn has_objective(&self) -> bool {
        self.deploys(ClientId(0)).has_objective()
    }

    fn alpha(&self) -> Option<PerClient<Fraction>> {
        Study::alpha(&mut self.clone()).cloned()
    }

    fn with_alpha(&self, alpha: PerClient<Fraction>) -> Option<Arc<dyn AnyMethod>> {
        let mut method = self.clone();
        *Study::alpha(&mut method)? = alpha;
        Some(Arc::new(method))
    }

    fn with_params(&self, params: Map<String, Value>) -> Result<Arc<dyn AnyMethod>, String> {
        serde_json::from_value::<M>(Value::Object(params)).map(|method| Arc::new(method) as Arc<dyn AnyMethod>).map_err(|e| e.to_string())
    }

    fn suits(&self, clients: Option<u32>) -> Result<(), Unsuitable> {
        Study::suits(self, clients)
    }

    fn target(&self) -> Option<ClientId> {
        Study::target(self)
    }

    fn fits_validation(&self) -> bool {
        Study::fits_validation(self)
    }

    fn promise(&self, facts: &Facts<'_>) -> Option<Promise> {
        Study::promise(self, facts)
    }

    fn at_agent(self: Arc<Self>, ground: ClientGround<'_>) -> io::Result<(Box<dyn Work>, Mark)> {
        client_work(self, ground)
    }

    fn on(self: Arc<Self>, ground: Ground<'_>) -> io::Result<Box<dyn Session>> {
        Ok(Box::new(Live::open(self, ground)?))
    }
}
