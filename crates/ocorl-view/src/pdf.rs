//! Writes a figure as PDF: the shapes that `raster` finds in its SVG, as vectors on one page. Text is drawn as outlines of the embedded
//! font, so that a document needs no font and looks the same everywhere.

use crate::figure::Figure;
use crate::raster::{self, Look, Surface};
use crate::svg::drawn;
use crate::theme::Theme;
use std::collections::BTreeMap;
use std::fmt::Write;
use tiny_skia::{LineCap, LineJoin, Path, PathSegment, Stroke, Transform};

/// One PDF point is 1/72 of an inch; one unit of a figure is printed as two thirds of a point, which makes its text 8 points high.
const POINTS: f64 = 2.0 / 3.0;

/// Draws the figure as a PDF of one page, `width` units wide. Equal figures give equal bytes.
///
/// # Errors
///
/// Names what cannot be drawn.
pub fn pdf(figure: &Figure, width: f64) -> Result<Vec<u8>, String> {
    let drawing = drawn(figure, &Theme::LIGHT, width, &figure.title);
    let [width, height] = raster::size(&drawing).ok_or("its size")?.map(|side| side * POINTS);
    let mut page = Page::default();
    // PDF counts from the bottom.
    let _ = writeln!(page.content, "{POINTS:.6} 0 0 -{POINTS:.6} 0 {height:.3} cm");
    raster::draw(&drawing, Transform::identity(), &mut page)?;
    let states: String = page.opacities.iter().fold(String::new(), |mut text, (alpha, name)| {
        let alpha = f32::from_bits(*alpha);
        let _ = write!(text, "/G{name} << /ca {alpha:.3} /CA {alpha:.3} >> ");
        text
    });
    let objects = [
        "<< /Type /Catalog /Pages 2 0 R >>".to_owned(),
        "<< /Type /Pages /Kids [3 0 R] /Count 1 >>".to_owned(),
        format!(
            "<< /Type /Page /Parent 2 0 R /MediaBox [0 0 {width:.3} {height:.3}] /Contents 4 0 R \
             /Resources << /ExtGState << {states}>> >> >>"
        ),
        format!("<< /Length {} >>\nstream\n{}endstream", page.content.len(), page.content),
    ];
    let mut file = String::from("%PDF-1.4\n");
    let mut places = Vec::new();
    for (i, object) in objects.iter().enumerate() {
        places.push(file.len());
        let _ = write!(file, "{} 0 obj\n{object}\nendobj\n", i + 1);
    }
    let table = file.len();
    let _ = write!(file, "xref\n0 {}\n0000000000 65535 f \n", places.len() + 1);
    for place in &places {
        let _ = writeln!(file, "{place:010} 00000 n ");
    }
    let _ = write!(file, "trailer << /Size {} /Root 1 0 R >>\nstartxref\n{table}\n%%EOF\n", places.len() + 1);
    Ok(file.into_bytes())
}

/// The content of a page.
#[derive(Default)]
struct Page {
    content: String,
    /// Names of the graphics states with these opacities.
    opacities: BTreeMap<u32, usize>,
}

impl Page {
    /// Adds a path with its colour, between its clip and the end of that.
    fn add(&mut self, path: &Path, look: &Look<'_>, operators: &str) {
        let next = self.opacities.len();
        let state = *self.opacities.entry(look.color.alpha().to_bits()).or_insert(next);
        let out = &mut self.content;
        *out += "q\n";
        if let Some(window) = look.window {
            outline(out, window, Transform::identity());
            *out += "W n\n";
        }
        let (r, g, b) = (look.color.red(), look.color.green(), look.color.blue());
        let _ = write!(out, "/G{state} gs {r:.3} {g:.3} {b:.3} rg {r:.3} {g:.3} {b:.3} RG {operators}");
        outline(out, path, look.place);
    }
}

impl Surface for Page {
    fn fill(&mut self, path: &Path, look: &Look<'_>) {
        self.add(path, look, "\n");
        self.content += "f\nQ\n";
    }

    fn stroke(&mut self, path: &Path, look: &Look<'_>, stroke: &Stroke, dash: &[f32]) {
        let cap = i32::from(stroke.line_cap == LineCap::Round);
        let join = i32::from(stroke.line_join == LineJoin::Round);
        let dash: Vec<String> = dash.iter().map(f32::to_string).collect();
        let dash = if dash.is_empty() { String::new() } else { format!("[{}] 0 d ", dash.join(" ")) };
        self.add(path, look, &format!("{} w {cap} J {join} j {dash}\n", stroke.width));
        self.content += "S\nQ\n";
    }
}

fn outline(out: &mut String, path: &Path, place: Transform) {
    let Some(path) = path.clone().transform(place) else { return };
    let mut pen = (0.0_f32, 0.0_f32);
    for segment in path.segments() {
        let _ = match segment {
            PathSegment::MoveTo(p) => {
                pen = (p.x, p.y);
                writeln!(out, "{:.2} {:.2} m", p.x, p.y)
            }
            PathSegment::LineTo(p) => {
                pen = (p.x, p.y);
                writeln!(out, "{:.2} {:.2} l", p.x, p.y)
            }
            PathSegment::QuadTo(c, p) => {
                // The cubic curve with the same course.
                let third = |from: f32, to: f32| from + 2.0 / 3.0 * (to - from);
                let (a, b) = ((third(pen.0, c.x), third(pen.1, c.y)), (third(p.x, c.x), third(p.y, c.y)));
                pen = (p.x, p.y);
                writeln!(out, "{:.2} {:.2} {:.2} {:.2} {:.2} {:.2} c", a.0, a.1, b.0, b.1, p.x, p.y)
            }
            PathSegment::CubicTo(a, b, p) => {
                pen = (p.x, p.y);
                writeln!(out, "{:.2} {:.2} {:.2} {:.2} {:.2} {:.2} c", a.x, a.y, b.x, b.y, p.x, p.y)
            }
            PathSegment::Close => writeln!(out, "h"),
        };
    }
}

#[cfg(test)]
mod tests {
    use super::*;
    use crate::{Axis, Mark, Panel};

    #[test]
    fn a_pdf_has_one_page_whose_parts_are_where_its_table_says() {
        let panel = Panel::new("θ̇ over θ", Axis::new("x", ""), Axis::new("y", ""))
            .mark(Mark::band([0.0, 1.0], [0.0, 0.0], [1.0, 2.0]).label("band"))
            .mark(Mark::line([0.0, 1.0], [1.0, 0.0]).dashed().label("line"));
        let file = String::from_utf8(pdf(&Figure::new("Pendulum").panel(panel), 594.0).unwrap()).unwrap();
        assert!(file.starts_with("%PDF-1.4\n") && file.ends_with("%%EOF\n"));
        assert!(file.contains("/MediaBox [0 0 396.000 "), "a text width of 5.5 inches");
        assert!(file.contains("[7 4] 0 d") && file.contains("/ca 0.220"), "dashes and opacity");
        let table: usize =
            file.rsplit_once("startxref\n").unwrap().1.lines().next().unwrap().parse().unwrap();
        assert!(file[table..].starts_with("xref"));
        for (i, line) in file[table..].lines().skip(3).take(4).enumerate() {
            let place: usize = line.split(' ').next().unwrap().parse().unwrap();
            assert!(file[place..].starts_with(&format!("{} 0 obj", i + 1)), "{line}");
        }
        let content = file.split_once("stream\n").unwrap().1.split_once("endstream").unwrap().0;
        assert!(file.contains(&format!("/Length {}", content.len())));
        assert_eq!(content.matches("q\n").count(), content.matches("Q\n").count());
    }
}
