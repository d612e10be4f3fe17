//! Parameters in files.

use motet_core::Seed;
use motet_nn::zoo::{CharLstm, char_lstm, fedopt_cnn, mlp};
use motet_nn::{FileError, Loss, Shape, layer::Activation};

#[test]
fn what_is_written_is_read_back() {
    let models = [
        fedopt_cnn::<f32>(Shape(vec![8, 8, 3]), 4).unwrap(),
        char_lstm::<f32>(CharLstm { vocabulary: 9, embedding: 3, hidden: 5, time: 4 }).unwrap(),
    ];
    for model in models {
        let w = model.start(&mut Seed(1).problem(0));
        let bytes = model.to_safetensors(&w).unwrap();
        assert_eq!(model.from_safetensors(&bytes).unwrap(), w);
    }
}

#[test]
fn names_and_shapes_are_those_of_pytorch() {
    let model = char_lstm::<f32>(CharLstm { vocabulary: 9, embedding: 3, hidden: 5, time: 4 }).unwrap();
    let bytes = model.to_safetensors(&model.start(&mut Seed(1).problem(0))).unwrap();
    let file = safetensors::SafeTensors::deserialize(&bytes).unwrap();
    let mut names: Vec<(String, Vec<usize>)> = file.tensors().into_iter().map(|(name, t)| (name, t.shape().to_vec())).collect();
    names.sort();
    let expect = [
        ("embedding.weight", vec![9, 3]),
        ("lstm.bias_hh_l0", vec![20]),
        ("lstm.bias_hh_l1", vec![20]),
        ("lstm.bias_ih_l0", vec![20]),
        ("lstm.bias_ih_l1", vec![20]),
        ("lstm.weight_hh_l0", vec![20, 5]),
        ("lstm.weight_hh_l1", vec![20, 5]),
        ("lstm.weight_ih_l0", vec![20, 3]),
        ("lstm.weight_ih_l1", vec![20, 5]),
        ("out.bias", vec![9]),
        ("out.weight", vec![9, 5]),
    ];
    assert_eq!(names, expect.map(|(name, shape)| (name.to_owned(), shape)));
}

#[test]
fn files_of_other_models_are_refused_and_new_heads_keep_their_start() {
    let one = mlp::<f32>(3, &[4], 2, Activation::Relu, Loss::CrossEntropy).unwrap();
    let wider = mlp::<f32>(3, &[5], 2, Activation::Relu, Loss::CrossEntropy).unwrap();
    let deeper = mlp::<f32>(3, &[4, 2], 2, Activation::Relu, Loss::CrossEntropy).unwrap();
    let w = one.start(&mut Seed(1).problem(0));
    let bytes = one.to_safetensors(&w).unwrap();
    assert!(matches!(wider.from_safetensors(&bytes), Err(FileError::Shape { name, .. }) if name == "layer1.weight"));
    assert!(matches!(deeper.from_safetensors(&bytes), Err(FileError::Missing { name, .. }) if name == "layer3.weight"));
    assert!(matches!(one.from_safetensors(b"no such thing"), Err(FileError::Unreadable(_))));
    let start = deeper.start(&mut Seed(2).problem(0));
    let mixed = deeper.read_safetensors(&bytes, Some(&start)).unwrap();
    assert_eq!(mixed[..w.len()], w[..]);
    assert_eq!(mixed[w.len()..], start[w.len()..]);
}
