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

/// Height, width and channels: as given, or of square images with one channel or three.
fn image(model: &'static str, given: Option<[usize; 3]>, data: &Examples) -> Result<Shape, ModelError> {
    let columns = data.features().cols();
    let square = |channels: usize| {
        let side = (columns as f64 / channels as f64).sqrt() as usize;
        (side > 0 && side * side * channels == columns).then_some([side, side, channels])
    };
    match given {
        Some(axes) if axes.iter().product::<usize>() == columns && columns > 0 => Ok(Shape(axes.to_vec())),
        Some(axes) => Err(ModelError::Image { model, columns, given: format!("{} x {} x {} numbers", axes[0], axes[1], axes[2]) }),
        None => square(1).or_else(|| square(3)).map(|axes| Shape(axes.to_vec())).ok_or_else(|| ModelError::Image {
            model,
            columns,
            given: "square images with 1 or 3 channels".into(),
        }),
    }
}

/// The axes of what comes in.
pub(super) fn shape(pixels: Option<Pixels>) -> Shape {
    Shape(pixels.map_or_else(Vec::new, |pixels| pixels.shape().to_vec()))
}
