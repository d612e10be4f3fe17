//! The extension module inside the wheel `motet`: experiments, data, objectives and methods of Python programs, and the command line.
//!
//! Everything that people call is Python (`python/motet`); this is the seam to the library. Words, tables and settings cross it as
//! JSON, numbers as NumPy arrays. The interpreter is let go while Rust works, and is taken back for as long as a function of the
//! program's own runs.

mod advise;
mod arrays;
mod catalogue;
mod command;
mod data;
mod errors;
mod evaluator;
mod failures;
mod flower;
mod functions;
mod methods;
mod named_arrays;
mod objective;
mod observer;
mod predict;
mod records;
mod run;
mod site;

use pyo3::prelude::*;

/// The module `motet._motet`.
#[pymodule]
fn _motet(module: &Bound<'_, PyModule>) -> PyResult<()> {
    module.add("__version__", env!("CARGO_PKG_VERSION"))?;
    errors::add(module)?;
    module.add_class::<data::Data>()?;
    module.add_class::<records::Records>()?;
    module.add_class::<flower::Letters>()?;
    module.add_class::<flower::Node>()?;
    module.add_class::<predict::Model>()?;
    module.add_class::<site::PythonSite>()?;
    module.add_function(wrap_pyfunction!(advise::advise, module)?)?;
    module.add_function(wrap_pyfunction!(catalogue::catalogue, module)?)?;
    module.add_function(wrap_pyfunction!(catalogue::check_method, module)?)?;
    module.add_function(wrap_pyfunction!(command::command, module)?)?;
    module.add_function(wrap_pyfunction!(errors::panics, module)?)?;
    module.add_function(wrap_pyfunction!(flower::run_elsewhere, module)?)?;
    module.add_function(wrap_pyfunction!(methods::register, module)?)?;
    module.add_function(wrap_pyfunction!(methods::examine, module)?)?;
    module.add_function(wrap_pyfunction!(objective::time_gradients, module)?)?;
    module.add_function(wrap_pyfunction!(predict::scores, module)?)?;
    module.add_function(wrap_pyfunction!(run::run, module)?)?;
    module.add_function(wrap_pyfunction!(records::read, module)?)
}
