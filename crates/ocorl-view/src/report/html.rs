//! Writes a report as one self-contained HTML file: no script, nothing fetched, all text escaped.
//!
//! Figures name their colours, which the style sheet sets for light and dark screens. Every panel is a separate image, so that narrow screens show panels below each other at a legible size.

use super::style::style;
use super::{Block, Cell, Comparison, Document, Emphasis, Number, Picture, Section, Table, percent};
use crate::figure::Figure;
use crate::panels::Tone;
use crate::svg::pictures;
use crate::text::escape;
use crate::theme::Theme;
use std::fmt::Write;

/// Largest size of a page in bytes. Blocks that do not fit are left to `report.json`, and the page says so.
pub const MOST_BYTES: usize = 3_000_000;

/// Bytes reserved for the end of the page and for messages about omitted blocks.
const RESERVE: usize = 20_000;

/// Content security policy of the page: inline styles and data images only.
const POLICY: &str = "default-src 'none'; style-src 'unsafe-inline'; img-src data:";

/// The HTML page of `document`.
pub fn html(document: &Document) -> String {
    let title = escape(&document.title);
    let mut page = format!(
        "<!doctype html>\n<html lang=\"en\">\n<head>\n<meta charset=\"utf-8\">\n\
         <meta http-equiv=\"Content-Security-Policy\" content=\"{POLICY}\">\n\
         <meta name=\"viewport\" content=\"width=device-width, initial-scale=1\">\n\
         <meta name=\"color-scheme\" content=\"light dark\">\n<meta name=\"referrer\" content=\"no-referrer\">\n\
         <meta name=\"generator\" content=\"ocorl {version}\">\n<title>{title}</title>\n<style>\n{style}</style>\n</head>\n\
         <body>\n<header>\n<p class=\"brand\">ocorl report</p>\n<h1>{title}</h1>\n{subtitle}</header>\n\
         <div class=\"layout\">\n{contents}<main>\n",
        version = env!("CARGO_PKG_VERSION"),
        style = style(),
        subtitle = paragraph("subtitle", &document.subtitle),
        contents = contents(&document.sections),
    );
    for section in &document.sections {
        add(section, &mut page);
    }
    page + "</main>\n</div>\n</body>\n</html>\n"
}

/// The table of contents: links to all sections.
fn contents(sections: &[Section]) -> String {
    let entry = |section: &Section| {
        format!("<li><a href=\"#{}\">{}</a></li>\n", slug(section.id), escape(&section.title))
    };
    let entries: String = sections.iter().map(entry).collect();
    format!("<nav aria-label=\"Contents\">\n<p>Contents</p>\n<ol>\n{entries}</ol>\n</nav>\n")
}

/// Adds a section; blocks that do not fit are omitted.
fn add(section: &Section, page: &mut String) {
    let id = slug(section.id);
    // A closed section opens without a script.
    let (open, close, class) = if section.folded {
        ("<details>\n<summary>", "</summary>\n", " class=\"folded\"")
    } else {
        ("", "", "")
    };
    let _ = write!(
        page,
        "<section id=\"{id}\"{class} aria-labelledby=\"{id}-title\">\n{open}<h2 id=\"{id}-title\">{}</h2>\n{close}{}",
        escape(&section.title),
        paragraph("about", &section.about)
    );
    for block in &section.blocks {
        let shown = block_html(block, &section.title);
        if page.len() + shown.len() + RESERVE <= MOST_BYTES {
            *page += &shown;
        } else if page.len() + RESERVE / 2 <= MOST_BYTES {
            *page += &paragraph("note", "Omitted to limit the size of this page; report.json has it.");
        }
    }
    *page += if section.folded { "</details>\n</section>\n" } else { "</section>\n" };
}

fn block_html(block: &Block, section: &str) -> String {
    match block {
        Block::Figure { about, figure } => figure_html(figure, about),
        Block::Table(table) => table_html(table, section),
        Block::Numbers { numbers } => {
            let numbers: String = numbers.iter().map(number_html).collect();
            format!("<ul class=\"numbers\">\n{numbers}</ul>\n")
        }
        Block::Verdict(verdict) => {
            let tone = match verdict.tone {
                Tone::Good => "good",
                Tone::Fair => "fair",
                Tone::Bad => "bad",
                Tone::Open => "open",
            };
            paragraph(&format!("verdict {tone}"), &verdict.text)
        }
        Block::Filmstrip { pictures } => {
            let each = pictures.iter().map(|Picture { caption, svg }| {
                format!(
                    "<figure>\n<div class=\"plot\">{svg}</div>\n<figcaption>{}</figcaption>\n</figure>\n",
                    escape(caption)
                )
            });
            format!("<div class=\"filmstrip\">\n{}</div>\n", each.collect::<Vec<_>>().concat())
        }
        Block::Text { text } => paragraph("text", text),
        Block::Facts { facts } => {
            let fact = |(name, value): &(String, String)| {
                format!("<dt>{}</dt><dd>{}</dd>\n", escape(name), escape(value))
            };
            format!("<dl class=\"facts\">\n{}</dl>\n", facts.iter().map(fact).collect::<String>())
        }
        Block::Code { text } => {
            let lines: Vec<String> = text.lines().map(escape).collect();
            format!("<pre tabindex=\"0\"><code>{}</code></pre>\n", lines.join("\n"))
        }
    }
}

/// Title and subtitle as caption, each panel as an image.
fn figure_html(figure: &Figure, about: &str) -> String {
    let (columns, pictures) = pictures(figure, &Theme::PAGE);
    let class = match columns {
        1 if figure.panels.len() == 1 => "one",
        1 => "one rows",
        2 => "two",
        _ => "three",
    };
    let picture = |picture: &String| format!("<div class=\"plot\">{picture}</div>\n");
    let pictures = pictures.iter().map(picture).collect::<Vec<_>>().concat();
    let strong = if figure.title.is_empty() {
        String::new()
    } else {
        format!("<strong>{}</strong>", escape(&figure.title))
    };
    let captions: Vec<String> = [&figure.subtitle, about]
        .into_iter()
        .filter(|text| !text.is_empty())
        .map(|text| {
            let end = if text.ends_with(['.', '!', '?']) { "" } else { "." };
            format!("<span>{}{end}</span>", escape(text))
        })
        .collect();
    format!(
        "<figure>\n<figcaption>{strong} {}</figcaption>\n<div class=\"plots {class}\">\n{pictures}</div>\n</figure>\n",
        captions.join(" ")
    )
}

fn table_html(table: &Table, section: &str) -> String {
    let long = if table.long { " long" } else { "" };
    let mut text = format!(
        "<div class=\"scroll{long}\" tabindex=\"0\" role=\"region\" aria-label=\"{}, table\">\n<table>\n<thead>\n",
        escape(section)
    );
    if !table.groups.is_empty() {
        text += "<tr class=\"groups\">";
        for (span, title) in &table.groups {
            let _ = write!(text, "<th scope=\"colgroup\" colspan=\"{span}\">{}</th>", escape(title));
        }
        text += "</tr>\n";
    }
    text += "<tr>";
    for column in &table.columns {
        let class = if column.numbers { " class=\"n\"" } else { "" };
        let _ = write!(text, "<th scope=\"col\"{class}>{}</th>", escape(&column.title));
    }
    text += "</tr>\n</thead>\n<tbody>\n";
    for row in &table.rows {
        text += "<tr>";
        for (index, cell) in row.iter().enumerate() {
            let numbers = table.columns.get(index).is_some_and(|column| column.numbers);
            text += &cell_html(cell, numbers, index == 0);
        }
        text += "</tr>\n";
    }
    text + "</tbody>\n</table>\n</div>\n" + &paragraph("note", &table.note)
}

fn cell_html(cell: &Cell, numbers: bool, first: bool) -> String {
    let emphasis = emphasis_class(cell.emphasis);
    let classes: Vec<&str> =
        [if numbers { "n" } else { "" }, emphasis].into_iter().filter(|c| !c.is_empty()).collect();
    let class = if classes.is_empty() { String::new() } else { format!(" class=\"{}\"", classes.join(" ")) };
    let text = escape(&cell.text);
    if first { format!("<th scope=\"row\"{class}>{text}</th>") } else { format!("<td{class}>{text}</td>") }
}

fn emphasis_class(emphasis: Emphasis) -> &'static str {
    match emphasis {
        Emphasis::Plain => "",
        Emphasis::Best => "best",
        Emphasis::Good => "good",
        Emphasis::Bad => "bad",
        Emphasis::Quiet => "quiet",
    }
}

fn number_html(number: &Number) -> String {
    let spread = if number.spread.is_empty() {
        String::new()
    } else {
        format!(" <span class=\"spread\">{}</span>", escape(&number.spread))
    };
    let mut text = format!(
        "<li>\n<p class=\"what\">{}</p>\n<p class=\"value\">{}{spread}</p>\n{}",
        escape(&number.what),
        escape(&number.value),
        paragraph("note", &number.note)
    );
    if !number.compare.is_empty() {
        text += "<dl>\n";
        for Comparison { with, value, percent: more } in &number.compare {
            let more = more.filter(|more| more.is_finite()).map_or(String::new(), |more| {
                let class = if more < 0.0 { "good" } else { "quiet" };
                format!(" <span class=\"{class}\">{}</span>", escape(&percent(more)))
            });
            let _ = writeln!(text, "<dt>{}</dt><dd>{}{more}</dd>", escape(with), escape(value));
        }
        text += "</dl>\n";
    }
    text + "</li>\n"
}

/// A paragraph; empty if `text` is empty.
fn paragraph(class: &str, text: &str) -> String {
    if text.is_empty() { String::new() } else { format!("<p class=\"{class}\">{}</p>\n", escape(text)) }
}

/// An identifier for addresses: lower-case letters, digits and hyphens.
fn slug(id: &str) -> String {
    id.chars().map(|c| if c.is_ascii_alphanumeric() { c.to_ascii_lowercase() } else { '-' }).collect()
}
