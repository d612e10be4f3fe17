//! The networks of the papers, one file each.

mod bert;
mod char_lstm;
mod fedopt_cnn;
mod mcmahan_cnn;
mod mlp;
mod resnet18;
mod softmax;
mod word_lstm;

pub use bert::{Bert, bert};
pub use char_lstm::{CharLstm, char_lstm};
pub use fedopt_cnn::{fedopt_cnn, fedopt_cnn_by};
pub use mcmahan_cnn::{mcmahan_cnn, mcmahan_cnn_of};
pub use mlp::mlp;
pub use resnet18::{ResNetNorm, resnet18, resnet18_by};
pub use softmax::softmax;
pub use word_lstm::{WordLstm, word_lstm};
