//! A BERT encoder (Devlin et al., *BERT: Pre-training of Deep Bidirectional Transformers*, NAACL 2019) with a classification
//! head. Names are those of the usual files, so that trained weights can be read.
//!
//! Dropout stands after the embeddings and after each half of a layer; there is none on attention's chances.

use motet_core::Fraction;

use crate::layer::{Activation, Attention, Dense, Dropout, Embedding, LayerNorm, Positions, Residual, Summarise, Summary};
use crate::{Element, Init, Loss, Misfit, Model, Named, Shape, named};

/// Sizes of an encoder.
#[derive(Clone, Copy, Debug, PartialEq)]
pub struct Bert {
    /// Different tokens; 0 is padding.
    pub vocabulary: usize,
    /// Numbers per token.
    pub hidden: usize,
    /// Layers.
    pub layers: usize,
    /// Heads of attention.
    pub heads: usize,
    /// Numbers inside of each layer's second half.
    pub inner: usize,
    /// The most tokens it knows positions for.
    pub positions: usize,
    /// Tokens of a sequence.
    pub time: usize,
    /// What the head looks at.
    pub summary: Summary,
    /// Share of numbers dropped in training.
    pub dropout: Fraction,
}

impl Bert {
    /// The sizes of `all-MiniLM-L6-v2`, which looks at the mean over tokens.
    pub fn minilm(time: usize) -> Self {
        let dropout = Fraction::new(0.1).expect("a tenth is a fraction");
        let (vocabulary, positions) = (30_522, 512);
        Self { vocabulary, hidden: 384, layers: 6, heads: 12, inner: 1536, positions, time, summary: Summary::Mean, dropout }
    }
}

/// More layers than any encoder has; a list of so many takes no time to build.
const MOST_LAYERS: usize = 1000;

/// The encoder and a dense layer of scores.
pub fn bert<E: Element>(sizes: Bert, classes: usize) -> Result<Model<E>, Misfit> {
    if sizes.layers > MOST_LAYERS {
        let reason = format!("has {} layers, but at most {MOST_LAYERS} are built", sizes.layers);
        return Err(Misfit { layer: "encoder".into(), kind: "bert", reason });
    }
    let mut layers = encoder(sizes);
    layers.push(named("summary", Summarise::new(sizes.summary)));
    layers.push(named("classifier", dense(classes)));
    Ok(Model::new(Shape(vec![sizes.time]), layers, Loss::CrossEntropy)?.padded_with(0))
}

fn encoder<E: Element>(sizes: Bert) -> Vec<Named<E>> {
    let embedding = Embedding::new(sizes.vocabulary, sizes.hidden).starting(Init::Truncated(0.02));
    let drop = || Dropout::new(sizes.dropout);
    let mut layers = vec![
        named("embeddings.word_embeddings", embedding),
        named("embeddings", Positions::new(sizes.positions, 2)),
        named("embeddings.LayerNorm", norm()),
        named("embeddings.dropout", drop()),
    ];
    for k in 0..sizes.layers {
        let name = |part: &str| format!("encoder.layer.{k}.{part}");
        let attention = vec![named("", Attention::new(sizes.heads)), named("dropout", drop())];
        let inner = vec![
            named("intermediate.dense", dense(sizes.inner)),
            named("gelu", Activation::Gelu),
            named("output.dense", dense(sizes.hidden)),
            named("dropout", drop()),
        ];
        layers.push(named(name("attention"), Residual::new(attention, vec![])));
        layers.push(named(name("attention.output.LayerNorm"), norm()));
        layers.push(named(format!("encoder.layer.{k}"), Residual::new(inner, vec![])));
        layers.push(named(name("output.LayerNorm"), norm()));
    }
    layers
}

fn dense(outputs: usize) -> Dense {
    Dense::new(outputs).starting(Init::Truncated(0.02))
}

fn norm() -> LayerNorm {
    LayerNorm::new(1e-12)
}
