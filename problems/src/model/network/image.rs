//! The axes of images whose rows do not tell.

use motet_nn::Shape;

use super::pixels::{Augment, Normalise, Pixels};
use super::{Examples, ModelError};

/// Images as a model of this name takes them, normalised and cut as told.
pub(super) fn pixels(
    model: &'static str,
    given: Option<[usize; 3]>,
    (normalise, augment): (Option<&Normalise>, Option<&Augment>),
    data: &Examples,
) -> Result<Pixels, ModelError> {
    Pixels::new(model, &image(model, given, data)?.0, normalise, augment)
}

/// Height, width and channels: as given, or of square images with one channel or three. None if numbers of a row are not as many.
pub(crate) fn axes(given: Option<[usize; 3]>, columns: usize) -> Option<[usize; 3]> {
    let square = |channels: usize| {
        let side = (columns as f64 / channels as f64).sqrt() as usize;
        [side, side, channels]
    };
    let fits = |axes: &[usize; 3]| columns > 0 && Shape(axes.to_vec()).count().get() == Some(columns);
    match given {
        Some(axes) => Some(axes).filter(fits),
        None => Some(square(1)).filter(fits).or_else(|| Some(square(3)).filter(fits)),
    }
}

fn image(model: &'static str, given: Option<[usize; 3]>, data: &Examples) -> Result<Shape, ModelError> {
    let columns = data.features().cols();
    axes(given, columns).map(|axes| Shape(axes.to_vec())).ok_or_else(|| {
        let given = given.map_or_else(
            || "square images with 1 or 3 channels".to_owned(),
            |axes| format!("{} x {} x {} numbers", axes[0], axes[1], axes[2]),
        );
        ModelError::Image { model, columns, given }
    })
}

/// The axes of what comes in.
pub(super) fn shape(pixels: Option<Pixels>) -> Shape {
    Shape(pixels.map_or_else(Vec::new, |pixels| pixels.shape().to_vec()))
}
