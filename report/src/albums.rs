//! A few images of a few clients, within the page.

use crate::markup::Markup;

/// Some of a client's images.
#[derive(Clone, Debug, Default, PartialEq, Eq)]
pub struct Album {
    /// Whose they are.
    pub name: String,
    /// One after another.
    pub pictures: Vec<Picture>,
}

/// An image as a file.
#[derive(Clone, Debug, Default, PartialEq, Eq)]
pub struct Picture {
    /// The file's bytes, in PNG.
    pub png: Vec<u8>,
    /// Pixels from top to bottom, and from left to right.
    pub size: [usize; 2],
    /// What it shows.
    pub words: String,
}

/// Height on the page, whatever the image has.
const HEIGHT: usize = 48;

/// A contact sheet: a line of images for each client.
pub(crate) fn sheet(m: &mut Markup, albums: &[Album]) {
    m.open("section", &[("id", &"images")]);
    m.element("h2", &[], "What it looks like");
    m.open("div", &[("class", &"scroll")]);
    m.open("table", &[("class", &"sheet")]);
    for album in albums {
        m.open("tr", &[]);
        m.element("td", &[("class", &"word")], &album.name);
        for Picture { png, size: [height, width], words } in &album.pictures {
            let (source, wide) = (format!("data:image/png;base64,{}", base64(png)), HEIGHT * width / height.max(&1));
            m.open("td", &[]);
            m.leaf("img", &[("src", &source), ("width", &wide), ("height", &HEIGHT), ("alt", words), ("title", words)]);
            m.close();
        }
        m.close();
        m.line();
    }
    m.close();
    m.close();
    m.element("p", &[("class", &"note")], "The first images that each of the first clients trains on.");
    m.close();
}

/// Four letters for three bytes.
fn base64(bytes: &[u8]) -> String {
    const LETTERS: &[u8; 64] = b"ABCDEFGHIJKLMNOPQRSTUVWXYZabcdefghijklmnopqrstuvwxyz0123456789+/";
    let mut text = String::with_capacity(bytes.len().div_ceil(3) * 4);
    for three in bytes.chunks(3) {
        let bits = (0..3).fold(0, |sum, k| sum << 8 | u32::from(three.get(k).copied().unwrap_or(0)));
        for k in 0..4 {
            let letter = LETTERS[(bits >> (18 - 6 * k) & 63) as usize];
            text.push(if k <= three.len() { letter.into() } else { '=' });
        }
    }
    text
}

#[cfg(test)]
mod tests {
    use super::*;

    #[test]
    fn bytes_become_letters_as_everybody_writes_them() {
        for (bytes, text) in [("", ""), ("f", "Zg=="), ("fo", "Zm8="), ("foo", "Zm9v"), ("foob", "Zm9vYg=="), ("foobar", "Zm9vYmFy")] {
            assert_eq!(base64(bytes.as_bytes()), text);
        }
        assert_eq!(base64(&[0xff, 0xef, 0xbe]), "/+++");
    }

    #[test]
    fn every_client_has_a_line_with_its_name_and_images() {
        let picture = Picture { png: vec![1, 2, 3], size: [28, 14], words: "label <3>".into() };
        let mut m = Markup::default();
        sheet(&mut m, &[Album { name: "f0001".into(), pictures: vec![picture; 2] }]);
        let text = m.finish();
        let image = "<img src=\"data:image/png;base64,AQID\" width=\"24\" height=\"48\" alt=\"label &lt;3&gt;\"";
        assert_eq!(text.matches(image).count(), 2, "{text}");
        assert!(text.contains("<td class=\"word\">f0001</td>"));
    }
}
