//! Each picture as a file of its own, for papers and slides.

use crate::Comparison;
use crate::figures;
use crate::render::File;

pub(crate) fn files(comparison: &Comparison<'_>) -> Vec<File> {
    let file = |plot: &crate::chart::Plot| File { name: format!("figures/{}.svg", plot.name), content: plot.on_paper() };
    figures::all(comparison).iter().map(file).collect()
}
