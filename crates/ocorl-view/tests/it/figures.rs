//! Any figure can be drawn, whatever its data and its texts.

use ocorl_view::{Axis, Color, Dash, Figure, Mark, Marker, Panel, svg, write_atomically, write_svg};
use std::fs;

fn axis() -> Axis {
    Axis::new("x", "m")
}

fn one(mark: Mark) -> Figure {
    Figure::new("").panel(Panel::new("", axis(), axis()).mark(mark))
}

/// A figure with every kind of mark, with gaps.
fn full() -> Figure {
    let x = [0.0, 1.0, 2.0, 3.0];
    let first = Panel::new("first", Axis::new("t", "s"), Axis::new("cost", "").log().range(1.0, f64::NAN))
        .mark(Mark::line(x, [1.0, f64::NAN, 3.0, 10.0]).label("a"))
        .mark(Mark::step([0.0, 1.0, 2.0], [1.0, 0.1 + 0.2]).label("b").series(1).dashed())
        .mark(Mark::band(x, [1.0; 4], [2.0, 3.0, f64::INFINITY, 4.0]).label("a"))
        .mark(Mark::points([1.0], [2.0], Marker::Cross).label("c").series(2));
    let second = Panel::new("", axis(), axis())
        .mark(Mark::horizontal(-1e-12).muted().dotted())
        .mark(Mark::vertical(1e12).label("end"));
    Figure::new("full").subtitle("all marks").columns(2).panel(first).panel(second)
}

/// The `d` attributes of all marks; asserts that they contain no number that a renderer could not read.
fn paths(figure: &Figure) -> Vec<String> {
    let picture = svg(figure);
    let numbers = picture.split(|c: char| !c.is_ascii_digit() && c != '.' && c != '-');
    assert!(!picture.contains("NaN") && !picture.contains("inf"), "{picture}");
    assert!(numbers.into_iter().all(|number| number != "-0"), "{picture}");
    let marks = picture.split("class=\"mark\"").skip(1);
    marks.filter_map(|rest| Some(rest.split_once(" d=\"")?.1.split_once('"')?.0.to_owned())).collect()
}

#[test]
fn structure() {
    let picture = svg(&full());
    assert_eq!(paths(&full()).len(), 6, "one path a mark");
    assert_eq!(picture.matches("class=\"panel\"").count(), 2);
    assert!(picture.contains(">t [s]</text>") && picture.contains(">cost</text>"));
    for label in ["a", "b", "c", "end"] {
        assert_eq!(picture.matches(&format!(">{label}</text>")).count(), 1, "one legend entry for {label}");
    }
    assert!(picture.contains("viewBox=\"0 0 900 ") && !picture.contains("id=\""));
    assert_eq!(picture.matches("<g").count(), picture.matches("</g>").count());
}

#[test]
fn equal_legends_are_drawn_once() {
    let panel = || Panel::new("", axis(), axis()).mark(Mark::line([0.0, 1.0], [0.0, 1.0]).label("plan"));
    let same = Figure::new("").panel(panel()).panel(panel());
    assert_eq!(svg(&same).matches(">plan</text>").count(), 1);
    let limits = Panel::new("", axis(), axis())
        .mark(Mark::horizontal(1.0).label("limits"))
        .mark(Mark::horizontal(-1.0).label("limits"));
    assert_eq!(svg(&Figure::new("").panel(limits)).matches("class=\"sample\"").count(), 1);
    let other =
        same.panel(Panel::new("", axis(), axis()).mark(Mark::line([0.0], [0.0]).series(1).label("plan")));
    assert_eq!(svg(&other).matches(">plan</text>").count(), 3, "another colour is another entry");
}

#[test]
fn a_mark_may_be_pale_and_left_out_of_the_legend() {
    let line = || Mark::line([0.0, 1.0], [0.0, 1.0]).label("pale");
    let drawn = svg(&one(line()));
    assert!(drawn.contains(">pale</text>") && drawn.contains("stroke=\"#0072b2\""), "{drawn}");
    let figure = one(line().tinted(0.5).unlisted());
    let drawn = svg(&figure);
    assert!(!drawn.contains(">pale</text>") && !drawn.contains("#0072b2"), "{drawn}");
    assert!(drawn.contains("stroke=\"#80b9d9\""), "{drawn}");
    assert!(figure.csv().contains(",pale,line,"), "its numbers have their name");
    let back: Figure = serde_json::from_str(&serde_json::to_string(&figure).unwrap()).unwrap();
    assert_eq!(svg(&back), drawn);
}

#[test]
fn panels_may_be_tall() {
    let panel = || Panel::new("", axis(), axis()).mark(Mark::line([0.0, 1.0], [0.0, 1.0]));
    let figure = (0..3).fold(Figure::new("").columns(3), |figure, _| figure.panel(panel()));
    let height = |figure: &Figure| {
        let picture = svg(figure);
        let end =
            picture.split_once("viewBox=\"0 0 900 ").expect("its size").1.split_once('"').expect("its end").0;
        end.parse::<f64>().expect("a height")
    };
    assert!((height(&figure.clone().tall()) - height(&figure) - (218.4 - 140.0)).abs() < 1.0);
}

#[test]
fn hostile_texts_stay_texts() {
    let evil = "</text><script>alert(\"1\")</script>&'\u{0}\u{1b}\u{ffff}\n^2";
    let panel = Panel::new(evil, Axis::new(evil, evil), Axis::new(evil, "").log());
    let figure =
        Figure::new(evil).subtitle(evil).panel(panel.mark(Mark::line([1.0, 2.0], [1.0, 2.0]).label(evil)));
    let picture = svg(&figure);
    assert!(!picture.contains("<script") && !picture.contains("&'"));
    assert!(picture.contains("&lt;script&gt;alert(&quot;1&quot;)&lt;/script&gt;&amp;&#39;"));
    assert!(picture.chars().all(|c| c == '\n' || !c.is_control() && c != '\u{ffff}'));
    // The only `^` that becomes a superscript is that of a tick label.
    assert!(!picture.contains("<tspan"));
}

#[test]
fn long_texts_are_cut() {
    let long = "word ".repeat(100);
    let figure =
        Figure::new(&long).panel(Panel::new(&long, axis(), axis()).mark(Mark::horizontal(1.0).label(&long)));
    assert_eq!(svg(&figure).matches('…').count(), 3);
}

#[test]
fn without_data() {
    assert!(svg(&Figure::new("nothing")).ends_with("</svg>\n"));
    let nan = [f64::NAN; 3];
    let panels = [
        Panel::new("", axis(), axis()),
        Panel::new("", axis(), axis()).mark(Mark::line([], [])).mark(Mark::step([], [])).mark(Mark::band(
            [],
            [],
            [],
        )),
        Panel::new("", axis(), axis()).mark(Mark::line([0.0, 1.0, 2.0], nan)).mark(Mark::band(nan, nan, nan)),
        Panel::new("", axis(), axis().log()).mark(Mark::points([1.0, 2.0], [0.0, -1.0], Marker::Plus)),
        Panel::new("", axis(), axis()).mark(Mark::horizontal(f64::INFINITY)).mark(Mark::vertical(f64::NAN)),
    ];
    for panel in panels {
        let figure = Figure::new("").columns(0).panel(panel);
        assert!(paths(&figure).is_empty());
        assert!(svg(&figure).contains(">no data</text>"));
    }
}

#[test]
fn gaps_break_lines() {
    let x = [0.0, 1.0, 2.0, 3.0, 4.0, 5.0];
    let y = [0.0, 1.0, f64::NAN, 3.0, f64::NEG_INFINITY, 5.0];
    let pieces = |mark: Mark| paths(&one(mark))[0].matches('M').count();
    assert_eq!(pieces(Mark::line(x, y)), 3);
    assert_eq!(pieces(Mark::step(x, y)), 3);
    assert_eq!(pieces(Mark::band(x, y, [9.0; 6])), 3);
    assert_eq!(pieces(Mark::points(x, y, Marker::Circle)), 4);
    let log = Panel::new("", axis(), axis().log()).mark(Mark::line(x, [1.0, 10.0, 0.0, 10.0, -1.0, 1.0]));
    assert_eq!(paths(&Figure::new("").panel(log))[0].matches('M').count(), 3);
}

#[test]
fn steps_hold_their_value() {
    // Three knots and two values: three corners, and the last value is held to the end.
    let path = paths(&one(Mark::step([0.0, 1.0, 3.0], [1.0, 2.0])))[0].clone();
    let corners: Vec<&str> = path.trim_start_matches('M').split('L').collect();
    assert_eq!(corners.len(), 4);
    let y = |corner: &str| corner.split_once(' ').unwrap().1.to_owned();
    assert_eq!(y(corners[0]), y(corners[1]));
    assert_eq!(y(corners[2]), y(corners[3]));
}

#[test]
fn extreme_data() {
    let cases: [&[f64]; 8] = [
        &[3.0],
        &[0.0],
        &[7.0, 7.0, 7.0],
        &[1e-12, 1e12],
        &[-1e-12, 1e-12],
        &[f64::MIN, f64::MAX],
        &[5e-324, 1e-320],
        &[1.0, 1.0 + f64::EPSILON],
    ];
    for values in cases {
        for scale in [axis(), axis().log()] {
            for scale in [scale.clone().range(0.0, 1e-3), scale.clone().range(5.0, 5.0), scale] {
                let panel = Panel::new("", scale.clone(), scale)
                    .mark(Mark::line(values, values))
                    .mark(Mark::step(values, values))
                    .mark(Mark::band(values, values, values))
                    .mark(Mark::points(values, values, Marker::Diamond));
                for path in paths(&Figure::new("").panel(panel)) {
                    let numbers =
                        path.split(|c: char| c.is_ascii_alphabetic() || c == ' ').filter(|n| !n.is_empty());
                    assert!(
                        numbers.map(|n| n.parse::<f64>().unwrap()).all(|n| n.abs() <= 1e6),
                        "{values:?} {path}"
                    );
                }
            }
        }
    }
}

#[test]
fn the_edge_is_zero_without_sign() {
    let panel =
        Panel::new("", axis(), axis().range(0.0, 1.0)).mark(Mark::line([0.0, 1.0], [0.0, 1.0 + 1e-9]));
    assert_eq!(paths(&Figure::new("").panel(panel)).len(), 1);
}

#[test]
fn equal_figures_give_equal_bytes() {
    assert_eq!(svg(&full()), svg(&full()));
}

#[test]
fn json_round_trip() {
    let json = serde_json::to_value(full()).unwrap();
    let mark = &json["panels"][0]["marks"][0];
    assert_eq!((&mark["kind"], &mark["y"][1]), (&"line".into(), &serde_json::Value::Null));
    let text = serde_json::to_string(&full()).unwrap();
    let back: Figure = serde_json::from_str(&text).unwrap();
    assert_eq!(svg(&back), svg(&full()));
    assert_eq!(serde_json::to_string(&back).unwrap(), text);

    let short = r#"{"panels": [{"title": "", "x": {}, "y": {}, "marks": [{"kind": "vertical", "x": 1}]}]}"#;
    let read: Figure = serde_json::from_str(short).unwrap();
    let mark = &read.panels[0].marks[0];
    assert_eq!((mark.color, mark.dash, &mark.label), (Color::Series(0), Dash::Solid, &None));
    assert_eq!(paths(&read).len(), 1);
}

#[test]
fn csv_is_tidy() {
    let expected = "panel,series,mark,x,y\n\
        first,a,line,0.0,1.0\nfirst,a,line,1.0,NaN\nfirst,a,line,2.0,3.0\nfirst,a,line,3.0,10.0\n\
        first,b,step,0.0,1.0\nfirst,b,step,1.0,0.30000000000000004\nfirst,b,step,2.0,0.30000000000000004\n\
        first,a,band lower,0.0,1.0\nfirst,a,band lower,1.0,1.0\nfirst,a,band lower,2.0,1.0\n\
        first,a,band lower,3.0,1.0\nfirst,a,band upper,0.0,2.0\nfirst,a,band upper,1.0,3.0\n\
        first,a,band upper,2.0,inf\nfirst,a,band upper,3.0,4.0\nfirst,c,points,1.0,2.0\n\
        2,,horizontal,,-1e-12\n2,end,vertical,1000000000000.0,\n";
    assert_eq!(full().csv(), expected);
    let odd =
        Figure::new("").panel(Panel::new("a,b", axis(), axis()).mark(Mark::vertical(1.0).label("\"q\"\n")));
    assert_eq!(odd.csv(), "panel,series,mark,x,y\n\"a,b\",\"\"\"q\"\"\n\",vertical,1.0,\n");
}

#[test]
fn files_are_written_whole_or_not_at_all() {
    let folder = tempfile::tempdir().unwrap();
    let count = || fs::read_dir(folder.path()).unwrap().count();
    let path = folder.path().join("figure.svg");
    fs::write(&path, "old").unwrap();
    write_svg(&full(), &path).unwrap();
    assert_eq!(fs::read_to_string(&path).unwrap(), svg(&full()));
    assert_eq!(count(), 1);

    let taken = folder.path().join("taken");
    fs::create_dir(&taken).unwrap();
    fs::write(taken.join("inside"), "").unwrap();
    assert!(write_svg(&full(), &taken).is_err(), "a folder is in the way");
    assert!(write_svg(&full(), folder.path().join("missing").join("figure.svg")).is_err());
    assert!(write_atomically("..", b"").is_err());
    assert_eq!(count(), 2, "nothing is left behind");
}

#[test]
#[should_panic(expected = "a line of 2 x and 1 y")]
fn lengths_must_fit() {
    let _ = Mark::line([0.0, 1.0], [0.0]);
}
