//! Tokens as BERT has them. The expected ones are those of transformers 5.22.2 (`BertTokenizer`) on the same vocabulary.

use motet_nn::{WordPiece, WordPieceError};

const VOCABULARY: &str = "[PAD]\n[UNK]\n[CLS]\n[SEP]\nun\n##believ\n##able\n!\ncafe\nhello\nworld\n-\n\u{2014}\n\u{4f60}\n\u{597d}\nnaive\na\n##b\n##c\nab\n##bc\n'";

#[test]
fn words_are_cut_into_the_longest_pieces_as_transformers_cuts_them() {
    let pieces = WordPiece::new(VOCABULARY).unwrap();
    for (text, expected) in [
        ("Unbelievable CAF\u{c9}!", vec![2, 4, 5, 6, 8, 7, 3, 0, 0]),
        ("hello\u{2014}world", vec![2, 9, 12, 10, 3, 0, 0, 0, 0]),
        ("\u{4f60}\u{597d}hello", vec![2, 13, 14, 9, 3, 0, 0, 0, 0]),
        ("na\u{ef}ve nai\u{308}ve", vec![2, 15, 15, 3, 0, 0, 0, 0, 0]),
        // The longest first piece wins even where a shorter one would leave a better rest.
        ("abc", vec![2, 19, 18, 3, 0, 0, 0, 0, 0]),
        ("abx hello", vec![2, 1, 9, 3, 0, 0, 0, 0, 0]),
        ("hel\u{200b}lo\tworld\u{7}", vec![2, 9, 10, 3, 0, 0, 0, 0, 0]),
        ("", vec![2, 3, 0, 0, 0, 0, 0, 0, 0]),
        ("a a a a a a a a a a", vec![2, 16, 16, 16, 16, 16, 16, 16, 3]),
    ] {
        assert_eq!(pieces.encode(text, 9), expected, "{text:?}");
    }
    assert_eq!(pieces.encode(&"a".repeat(101), 4), [2, 1, 3, 0]);
}

#[test]
fn a_vocabulary_without_the_special_pieces_is_refused() {
    assert_eq!(WordPiece::new("a\nb\n[PAD]").unwrap_err(), WordPieceError::Missing("[UNK]"));
}
