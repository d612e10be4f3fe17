//! Tokens of the lines of standard input, for comparison with other tokenisers: `cargo run --example tokens vocab.txt 64 < lines`.

use std::io::{self, BufRead, Write};

fn main() -> Result<(), Box<dyn std::error::Error>> {
    let mut args = std::env::args().skip(1);
    let vocabulary = std::fs::read_to_string(args.next().ok_or("give a vocab.txt")?)?;
    let time: usize = args.next().ok_or("give the number of tokens")?.parse()?;
    let pieces = motet_nn::WordPiece::new(&vocabulary)?;
    let mut out = io::BufWriter::new(io::stdout());
    for line in io::stdin().lock().lines() {
        let tokens: Vec<String> = pieces.encode(&line?, time).iter().map(u32::to_string).collect();
        writeln!(out, "{}", tokens.join(" "))?;
    }
    Ok(())
}
