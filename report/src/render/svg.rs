//! Each picture as a file of its own, for papers and slides.

use crate::Comparison;
use crate::figures;
use crate::render::File;

pub(crate) fn files(comparison: &Comparison<'_>) -> Vec<File> {
    let file = |plot: &crate::chart::Plot| File { name: format!("figures/{}.svg", plot.name), content: plot.on_paper() };
    let maps = crate::page::tuning_maps(comparison).into_iter();
    let maps = maps.map(|(name, content)| File { name: format!("figures/{name}.svg"), content });
    figures::all(comparison).iter().map(file).chain(maps).collect()
}
