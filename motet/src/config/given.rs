//! What a program gives to an experiment beside its file: data, and where training starts.

use motet_problems::source::Given;
use motet_problems::{OwnData, Source, Weights};

use super::Experiment;
use crate::error::Error;

impl Experiment {
    /// Puts data of the program wherever `[problem]` asks for them by their name: `source = { kind = "given", name = "…" }`.
    ///
    /// ```
    /// use motet::config::Experiment;
    /// use motet::problems::LabelledRows;
    /// use motet::{InMemory, Simulation};
    /// let data = LabelledRows::flat(1, vec![1.0, 2.0, 3.0, 4.0]).numbers(vec![2.0, 4.0, 9.0, 12.0]).clients(vec!["a", "a", "b", "b"]);
    /// let experiment = Experiment::parse(
    ///     r#"
    ///     problem = { source = { kind = "given", name = "slopes" }, model = { kind = "ridge" } }
    ///     run = { rounds = 20 }
    ///     method = [{ kind = "flix", alpha = 0.5 }]
    ///     "#,
    /// )?;
    /// let records = Simulation::new(experiment.give(&data.named("slopes").check()?)?)?.run(&mut InMemory::new())?;
    /// assert_eq!(records.manifest.inputs[0].name, "slopes");
    /// # Ok::<(), Box<dyn std::error::Error>>(())
    /// ```
    pub fn give(mut self, data: &OwnData) -> Result<Self, Error> {
        let mut asked = vec![];
        let mut filled = false;
        for variant in &mut self.problems {
            let Some(given) = variant.config.source.downcast::<Given>() else { continue };
            if given.name == data.name() {
                let source = given.filled(data.clone());
                let source = source.map_err(|source| Error::problem(&self.document, source))?;
                variant.config.source = Source::new(source);
                filled = true;
            } else if !asked.contains(&given.name) {
                asked.push(given.name.clone());
            }
        }
        if filled {
            return Ok(self);
        }
        let asks = if asked.is_empty() {
            format!("it has no source = {{ kind = \"given\", name = {:?} }}", data.name())
        } else {
            format!("it asks for {}", asked.iter().map(|name| format!("\"{name}\"")).collect::<Vec<_>>().join(", "))
        };
        Err(self.document.wrong("problem.source", format!("the program gives data called \"{}\", but {asks}", data.name())).into())
    }

    /// Starts every run at these weights: the bytes of a safetensors file with a network's parameters, or all parameters of
    /// any model as a vector. What the file says about it is replaced.
    #[must_use]
    pub fn start_at(mut self, weights: impl Into<Weights>) -> Self {
        let weights = weights.into();
        self.problems.iter_mut().for_each(|variant| variant.config.weights = Some(weights.clone()));
        self
    }
}
