//! Figures as PNG.

use ocorl_view::{
    Axis, Figure, Mark, Marker, PNG_SCALE, Panel, PngError, Theme, png, png_themed, svg, write_png,
};
use std::collections::BTreeSet;
use tiny_skia::Pixmap;

fn figure(title: &str) -> Figure {
    let panel = Panel::new(title, Axis::new("t", "s"), Axis::new("θ", "rad"))
        .mark(Mark::heat([0.0, 1.0, 2.0], [0.0, 1.0, 2.0], [1.0, 2.0, 3.0, 4.0]))
        .mark(Mark::line([0.0, 1.0, 2.0], [0.0, 2.0, 1.0]).series(1).label("line"))
        .mark(Mark::points([1.0], [1.0], Marker::Ring))
        .mark(Mark::note(1.0, 1.0, "here"));
    Figure::new(title).panel(panel)
}

fn pixels(png: &[u8]) -> Pixmap {
    Pixmap::decode_png(png).expect("a PNG")
}

fn colors(picture: &Pixmap) -> BTreeSet<[u8; 4]> {
    picture.pixels().iter().map(|p| [p.red(), p.green(), p.blue(), p.alpha()]).collect()
}

/// Number of pixels that differ from the background.
fn inked(png: &[u8]) -> usize {
    let picture = pixels(png);
    picture.pixels().iter().filter(|&&pixel| Some(pixel) != picture.pixel(0, 0)).count()
}

#[test]
fn sizes_follow_the_scale() {
    let picture = svg(&figure("a"));
    let view = picture.split_once("viewBox=\"0 0 ").unwrap().1.split_once('"').unwrap().0;
    let (width, height) = view.split_once(' ').unwrap();
    let (width, height): (f64, f64) = (width.parse().unwrap(), height.parse().unwrap());
    for scale in [0.5, 1.0, PNG_SCALE] {
        let drawn = pixels(&png(&figure("a"), scale).unwrap());
        assert_eq!(f64::from(drawn.width()), (width * scale).round());
        assert_eq!(f64::from(drawn.height()), (height * scale).round());
    }
    for scale in [0.0, -1.0, f64::NAN, f64::INFINITY, 1e-9, 1e3] {
        let error = png(&figure("a"), scale).unwrap_err();
        assert!(matches!(error, PngError::Size { .. }), "{error}");
    }
}

#[test]
fn colors_are_those_of_the_drawing() {
    let drawn = pixels(&png(&figure("a"), 1.0).unwrap());
    let colors = colors(&drawn);
    assert!(colors.len() > 100, "{} colours", colors.len());
    // Background, ends of the colour map, the second series.
    for color in
        [[255, 255, 255, 255], [0x44, 0x01, 0x54, 255], [0xfd, 0xe7, 0x25, 255], [0xd5, 0x5e, 0, 255]]
    {
        assert!(colors.contains(&color), "{color:?}");
    }
    let dark = pixels(&png_themed(&figure("a"), &Theme::DARK, 1.0).unwrap());
    assert!(self::colors(&dark).contains(&[0x16, 0x19, 0x1c, 255]));
}

#[test]
fn equal_figures_give_equal_bytes() {
    assert_eq!(png(&figure("a"), 1.0).unwrap(), png(&figure("a"), 1.0).unwrap());
    assert_ne!(png(&figure("a"), 1.0).unwrap(), png(&figure("b"), 1.0).unwrap());
}

/// Each character has a glyph of its own in both weights: it differs from the box for unknown characters.
#[test]
fn the_font_has_the_signs_of_figures() {
    let drawn = |title: &str, bold: bool| {
        let figure = if bold { Figure::new(title) } else { Figure::new("").subtitle(title) };
        png(&figure, 1.0).unwrap()
    };
    for bold in [false, true] {
        let unknown = drawn("\u{e000}", bold);
        for sign in "Aé ß θωβσμηπΣΩ ⁰²³⁻ ₀ₙ ←→↦ ∫∑√∞≤≥±×·−…–—‖∈∂∇≈≠ẋᵀℝ".chars().filter(|c| *c != ' ')
        {
            let shown = drawn(&sign.to_string(), bold);
            assert!(inked(&shown) > 2, "{sign} is blank");
            assert_ne!(shown, unknown, "{sign} is missing");
        }
        assert!(inked(&drawn("θ\u{307}", bold)) > inked(&drawn("θ", bold)), "a dot above");
    }
    assert!(inked(&drawn("sigma", true)) > inked(&drawn("sigma", false)), "bold is bolder");
}

/// Texts that are too long are cut by an estimate of their width; the estimate must hold for the embedded font, which is a wide
/// one.
#[test]
fn cut_texts_fit() {
    let right_end = |figure: &Figure| {
        let picture = pixels(&png(figure, 1.0).unwrap());
        let page = picture.pixel(0, 0).unwrap();
        let wide = picture.width() as usize;
        let inked = picture.pixels().iter().enumerate().filter(|(_, pixel)| **pixel != page);
        inked.map(|(index, _)| index % wide).max().unwrap()
    };
    for words in ["measurement times ", "0123456789", "MAX DETERMINANT ", "σₙ(x, u) − ", "θ = −1.5 rad, "]
    {
        let words = words.repeat(40);
        let legend =
            Panel::new("", Axis::new("", ""), Axis::new("", "")).mark(Mark::horizontal(1.0).label(&words));
        for figure in [Figure::new(&words), Figure::new("").subtitle(&words), Figure::new("").panel(legend)] {
            let end = right_end(&figure);
            assert!((600..896).contains(&end), "{words}: {end}");
        }
    }
}

#[test]
fn files() {
    let folder = tempfile::tempdir().unwrap();
    let path = folder.path().join("figure.png");
    write_png(&figure("a"), &path).unwrap();
    assert_eq!(std::fs::read(&path).unwrap(), png(&figure("a"), PNG_SCALE).unwrap());
    let missing = folder.path().join("missing").join("figure.png");
    assert!(matches!(write_png(&figure("a"), missing), Err(PngError::File(_))));
}
