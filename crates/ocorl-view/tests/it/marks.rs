//! Marks beyond lines and points: colours by value, heat maps, arrows, intervals, notes; and category axes.

use ocorl_view::{Axis, Figure, Mark, Marker, Panel, Theme, svg, svg_themed};

const NAN: f64 = f64::NAN;

fn axis() -> Axis {
    Axis::new("x", "m")
}

fn panel(mark: Mark) -> Panel {
    Panel::new("", axis(), axis()).mark(mark)
}

fn one(mark: Mark) -> Figure {
    Figure::new("").panel(panel(mark))
}

/// The drawing of each mark; asserts that it contains no number that a renderer could not read.
fn marks(figure: &Figure) -> Vec<String> {
    let picture = svg(figure);
    assert!(!picture.contains("NaN") && !picture.contains("inf"), "{picture}");
    let numbers = picture.split(|c: char| !c.is_ascii_digit() && c != '.' && c != '-');
    assert!(numbers.into_iter().all(|number| number != "-0"), "{picture}");
    for element in ["g", "svg", "text"] {
        let opened = picture.matches(&format!("<{element} ")).count();
        assert_eq!(opened, picture.matches(&format!("</{element}>")).count(), "{picture}");
    }
    let ends = ["</g>", "</svg>", "<text"];
    let rest = picture.split("class=\"mark\"").skip(1).map(|mark| {
        let end = ends.iter().filter_map(|end| mark.find(end)).min().unwrap_or(mark.len());
        mark[..end].to_owned()
    });
    rest.collect()
}

/// The values of an attribute, in order.
fn attributes<'a>(drawn: &'a str, name: &str) -> Vec<&'a str> {
    let name = format!(" {name}=\"");
    drawn.split(&name).skip(1).filter_map(|rest| Some(rest.split_once('"')?.0)).collect()
}

/// All numbers of path data.
fn numbers(path: &str) -> Vec<f64> {
    let numbers = path.split(|c: char| c.is_ascii_alphabetic() || c == ' ').filter(|n| !n.is_empty());
    numbers.map(|n| n.parse().expect("a number")).collect()
}

/// One mark of each kind, with a gap in each.
fn all(x: [f64; 4], y: [f64; 4]) -> Vec<Mark> {
    vec![
        Mark::colored_line(x, y, [1.0, 2.0, NAN, 4.0]).label("colored line"),
        Mark::colored_points(x, y, [1.0, NAN, 3.0, 4.0], Marker::Ring).label("colored points"),
        Mark::heat(x, y, [1.0, 2.0, NAN, 4.0, 5.0, 6.0, 7.0, 8.0, 9.0]).label("heat"),
        Mark::arrows(x, y, [1.0, NAN, 0.0, 2.0], [0.5, 1.0, 0.0, -1.0]).label("arrows"),
        Mark::interval_y(x, y, [2.0, 4.0, NAN, 8.0]).label("interval y"),
        Mark::interval_x(y, x, [2.0, 4.0, NAN, 8.0]).label("interval x"),
        Mark::note(x[0], y[0], "a, \"note\""),
        Mark::points(x, y, Marker::Bar),
        Mark::points(x, y, Marker::Dot),
    ]
}

fn full() -> Figure {
    let marks = all([1.0, 2.0, 3.0, 4.0], [1.0, 2.0, 3.0, 4.0]);
    let color = Axis::new("variance", "m²").log().range(0.5, NAN);
    let mut all = Panel::new("all", axis(), axis().log()).color(color);
    all.marks = marks;
    let words =
        Panel::new("words", Axis::categories(["a<b", "c"]).label("system"), Axis::new("n", "").whole())
            .mark(Mark::points([0.0, 1.0], [1.0, 2.0], Marker::Dot));
    Figure::new("full").columns(2).panel(all).panel(words)
}

#[test]
fn every_mark_is_drawn_and_named_once() {
    assert_eq!(marks(&full()).len(), 8 + 1, "all but the note, and the points of the second panel");
    let picture = svg(&full());
    assert_eq!(picture.matches("class=\"note\"").count(), 1);
    for label in ["colored line", "colored points", "heat", "arrows", "interval y", "interval x"] {
        assert_eq!(picture.matches(&format!(">{label}</text>")).count(), 1, "{label}");
    }
    assert!(picture.contains(">a, &quot;note&quot;</text>") && picture.contains(">a&lt;b</text>"));
    assert!(!picture.contains("id=\""));
}

#[test]
fn json_round_trip() {
    let text = serde_json::to_string(&full()).unwrap();
    let back: Figure = serde_json::from_str(&text).unwrap();
    assert_eq!(serde_json::to_string(&back).unwrap(), text);
    assert_eq!(svg(&back), svg(&full()));
    let json = serde_json::to_value(full()).unwrap();
    let kinds: Vec<_> =
        json["panels"][0]["marks"].as_array().unwrap().iter().map(|m| m["kind"].clone()).collect();
    let expected = [
        "colored_line",
        "colored_points",
        "heat",
        "arrows",
        "interval_y",
        "interval_x",
        "note",
        "points",
        "points",
    ];
    assert_eq!(kinds, expected);
    assert_eq!(json["panels"][1]["y"]["whole"], true);
    // Unused fields are not written, so that older readers understand the JSON.
    assert!(json["panels"][1].get("color").is_none() && json["panels"][1]["y"].get("categories").is_none());
}

#[test]
fn tables_hold_values() {
    let figure = Figure::new("")
        .panel(
            panel(Mark::colored_line([1.0], [2.0], [3.0]).label("a"))
                .mark(Mark::heat([0.0, 1.0, 3.0], [0.0, 2.0], [7.0, NAN]))
                .mark(Mark::horizontal(5.0)),
        )
        .panel(panel(Mark::arrows([1.0], [2.0], [3.0], [4.0])).mark(Mark::interval_y([1.0], [2.0], [3.0])))
        .panel(panel(Mark::interval_x([1.0], [2.0], [3.0])).mark(Mark::note(1.0, 2.0, "so, so")));
    let expected = "panel,series,mark,x,y,value\n1,a,colored line,1.0,2.0,3.0\n1,,heat,0.5,1.0,7.0\n\
        1,,heat,2.0,1.0,NaN\n1,,horizontal,,5.0,\n2,,arrow at,1.0,2.0,\n2,,arrow by,3.0,4.0,\n\
        2,,interval low,1.0,2.0,\n2,,interval high,1.0,3.0,\n3,,interval low,2.0,1.0,\n\
        3,,interval high,3.0,1.0,\n3,\"so, so\",note,1.0,2.0,\n";
    assert_eq!(figure.csv(), expected);
    assert!(one(Mark::interval_x([1.0], [2.0], [3.0])).csv().starts_with("panel,series,mark,x,y\n"));
}

#[test]
fn colors_run_along_a_line() {
    let drawn = &marks(&one(Mark::colored_line([0.0, 1.0], [0.0, 1.0], [0.0, 1.0])))[0];
    let colors = attributes(drawn, "stroke");
    assert_eq!(colors.len(), 1 + 64, "a casing, and each colour once");
    assert_eq!((colors[1], colors[64]), ("#440154", "#fde725"));
    let pieces: Vec<_> = attributes(drawn, "d")[1..].iter().map(|path| numbers(path)).collect();
    assert!(pieces.windows(2).all(|pair| pair[0][2..] == pair[1][..2]), "without holes");

    let constant = &marks(&one(Mark::colored_line([0.0, 1.0, 2.0], [0.0, 1.0, 0.0], [3.0; 3])))[0];
    assert_eq!(attributes(constant, "d").len(), 2, "one colour is one path");
}

#[test]
fn gaps_are_left_out() {
    let x = [0.0, 1.0, 2.0, 3.0, 4.0];
    let y = [0.0, 1.0, 0.0, NAN, 0.0];
    let v = [1.0, 1.0, NAN, 1.0, 1.0];
    let count = |mark: Mark, of: &str| {
        let drawn = marks(&one(mark)).concat();
        attributes(&drawn, "d").concat().matches(of).count()
    };
    assert_eq!(count(Mark::colored_line(x, y, v), "M"), 2 * 2, "a stretch and a point, casing and colour");
    assert_eq!(count(Mark::colored_points(x, y, v, Marker::Square), "M"), 3);
    assert_eq!(count(Mark::arrows(x, y, v, [1.0; 5]), "M"), 3 * 2, "shaft and head");
    assert_eq!(count(Mark::interval_y(x, y, [2.0, NAN, 2.0, 2.0, f64::INFINITY]), "V"), 2);
    assert_eq!(count(Mark::interval_x(x, y, [2.0, NAN, 2.0, 2.0, f64::INFINITY]), "H"), 2);
    assert_eq!(count(Mark::heat([0.0, 1.0, 2.0, 3.0], [0.0, 1.0], [5.0, NAN, 5.0]), "M"), 2);
    assert_eq!(count(Mark::heat([0.0, 1.0, NAN, 3.0, 4.0], [0.0, 1.0], [5.0; 4]), "M"), 2, "edges too");
    assert_eq!(count(Mark::heat([0.0, 1.0, 2.0], [0.0, 1.0, 2.0], [1.0, 2.0, 3.0, 3.0]), "M"), 3, "merged");
    assert!(!svg(&one(Mark::note(NAN, 0.0, "lost"))).contains("lost"));
}

#[test]
fn cells_cover_the_map() {
    // Uneven edges, one of them decreasing; equal neighbours are merged.
    let values = [1.0, 1.0, 2.0, 3.0, 3.0, 3.0];
    let picture = svg(&one(Mark::heat([0.0, 1.0, 5.0, 6.0], [3.0, 1.0, 0.0], values)));
    let inner = picture.split_once("class=\"marks\"").unwrap().1.split_once("</svg>").unwrap().0;
    let size = |name: &str| attributes(inner, name)[0].parse::<f64>().unwrap();
    let (width, height) = (size("width"), size("height"));
    let area = |path: &str| -> f64 {
        let cell = |cell: &str| {
            let n = numbers(cell);
            ((n[2] - n[0]) * (n[3] - n[1])).abs()
        };
        path.split('M').skip(1).map(cell).sum()
    };
    let paths = attributes(inner, "d");
    let shares: Vec<f64> = paths.iter().map(|path| area(path) / (width * height)).collect();
    let expected = [5.0 / 6.0 * 2.0 / 3.0, 1.0 / 6.0 * 2.0 / 3.0, 1.0 / 3.0];
    assert!(
        shares.iter().zip(expected).all(|(share, expected)| (share - expected).abs() < 1e-3),
        "{shares:?}"
    );
    assert_eq!(shares.len(), 3);
}

#[test]
fn log_axes_have_no_place_for_zero() {
    let figure = |mark: Mark| {
        let log = || axis().log();
        Figure::new("").panel(Panel::new("", log(), log()).color(log()).mark(mark))
    };
    let up = [0.0, 1.0, 10.0, 100.0];
    let mut cases: Vec<(Mark, usize)> = vec![
        (Mark::colored_points(up, [1.0; 4], [1.0; 4], Marker::Circle), 3),
        (Mark::colored_points([1.0; 4], [1.0; 4], up, Marker::Circle), 3),
        (Mark::heat(up, [1.0, 10.0], [1.0, 2.0, 3.0]), 2),
        (Mark::heat([1.0, 2.0, 3.0], [1.0, 2.0], [0.0, 1.0]), 1),
        (Mark::interval_y([1.0; 4], up, [200.0; 4]), 3 * 3),
        (Mark::interval_x([1.0; 4], up, [200.0; 4]), 3 * 3),
    ];
    cases.push((Mark::arrows(up, [1.0; 4], up, [0.0; 4]), 3 * 2));
    for (mark, expected) in cases {
        let drawn = marks(&figure(mark.clone())).concat();
        assert_eq!(attributes(&drawn, "d").concat().matches('M').count(), expected, "{mark:?}");
    }
    // dx/x is the same at all points, so all arrows have the same length.
    let drawn = marks(&figure(Mark::arrows(up, [1.0; 4], up, [0.0; 4])));
    let lengths: Vec<f64> = shafts(&drawn[0]).iter().map(|s| s[2] - s[0]).collect();
    assert!(lengths.iter().all(|length| (length - lengths[0]).abs() < 0.02 && *length > 5.0), "{lengths:?}");
}

/// The ends of the shafts of all arrows.
fn shafts(drawn: &str) -> Vec<Vec<f64>> {
    let path = attributes(drawn, "d").concat();
    path.split('M').skip(1).step_by(2).map(numbers).collect()
}

#[test]
fn arrows_point_along_the_data() {
    let (x, y): (Vec<f64>, Vec<f64>) = (0..100).map(|i| (f64::from(i % 10), f64::from(i / 10))).unzip();
    let mut dx = vec![0.5; 100];
    dx[7] = 1.0;
    let figure = one(Mark::arrows(x, y, dx, vec![0.0; 100]));
    let shafts = shafts(&marks(&figure)[0]);
    let lengths: Vec<f64> = shafts.iter().map(|shaft| shaft[2] - shaft[0]).collect();
    let picture = svg(&figure);
    let inner = picture.split_once("class=\"marks\"").unwrap().1;
    let size = |name: &str| attributes(inner, name)[0].parse::<f64>().unwrap();
    let expected = 0.09 * (size("width") * size("height")).sqrt();
    assert!((lengths[7] - expected).abs() < 0.02, "{} {expected}", lengths[7]);
    assert!((lengths[0] - 0.5 * expected).abs() < 0.02);
    assert!(shafts.iter().all(|shaft| shaft[1] == shaft[3]), "level");

    let still = marks(&one(Mark::arrows([0.0, 1.0], [0.0, 1.0], [0.0; 2], [0.0; 2])));
    assert_eq!(attributes(&still[0], "d")[0].matches("h0").count(), 2, "dots");
    let arrows = || Mark::arrows([0.5], [0.5], [1.0], [0.0]);
    let on_heat = panel(Mark::heat([0.0, 1.0], [0.0, 1.0], [1.0])).mark(arrows());
    assert_eq!(svg(&Figure::new("").panel(on_heat)).matches("class=\"halo\"").count(), 1);
    assert!(!svg(&one(arrows())).contains("class=\"halo\""));
    let falling = marks(&one(Mark::arrows([0.0, 1.0], [0.0, 1.0], [0.0; 2], [-1.0; 2])));
    let path = numbers(attributes(&falling[0], "d")[0]);
    assert!(path[3] > path[1], "down");
}

#[test]
fn marks_share_the_colors_of_their_panel() {
    let figure = Figure::new("").panel(
        panel(Mark::colored_points([0.0], [0.0], [-5.0], Marker::Circle))
            .mark(Mark::heat([0.0, 1.0], [0.0, 1.0], [2.0]))
            .mark(Mark::colored_points([1.0], [1.0], [5.0], Marker::Circle)),
    );
    let drawn = marks(&figure);
    let fills: Vec<_> = drawn.iter().map(|mark| attributes(mark, "fill")[0]).collect();
    assert_ne!(fills[0], "#440154", "the heat map is drawn first");
    assert_eq!(fills[1..], ["#440154", "#fde725"]);
    let fixed = Axis::new("", "").range(-5.0, 15.0);
    let half = figure.panels[0].clone().color(fixed);
    let drawn = marks(&Figure::new("").panel(half));
    assert!(attributes(&drawn[2], "fill")[0].starts_with("#2"), "5 is in the middle of −5 to 15");
}

#[test]
fn color_bars_keep_panels_aligned() {
    let colored = |scale: f64| {
        panel(Mark::colored_points([0.0, 1.0], [0.0, 1.0], [scale, 2.0 * scale], Marker::Circle))
            .color(Axis::new("variance", "m²"))
    };
    let plain = || panel(Mark::line([0.0, 1.0], [0.0, 1.0]));
    let figure =
        Figure::new("").columns(2).panel(plain()).panel(colored(1e-7)).panel(colored(1.0)).panel(plain());
    let picture = svg(&figure);
    assert_eq!(picture.matches("class=\"colors\"").count(), 2);
    assert_eq!(picture.matches(">variance [m²]</text>").count(), 2);
    let inner: Vec<_> =
        picture.split("class=\"marks\"").skip(1).map(|rest| attributes(rest, "width")[0]).collect();
    assert_eq!(inner, [inner[0]; 4], "all panels are equally wide");
    assert!(picture.contains(">×10<tspan"), "a factor above the bar");
    // The rightmost text, the title of a colour bar, is inside the page.
    let title = picture.find(">variance [m²]").unwrap();
    let y: f64 = attributes(&picture[title - 200..title], "y").last().unwrap().parse().unwrap();
    let moved = picture[..title].rsplit_once("class=\"panel\" transform=\"translate(").unwrap().1;
    let offset: f64 = moved.split_once(' ').unwrap().0.parse().unwrap();
    assert!(offset + y < 900.0 - 10.0, "{offset} {y}");

    let alone = svg(&Figure::new("").panel(plain()).panel(plain()));
    assert!(!alone.contains("class=\"colors\""));
    let log = panel(Mark::colored_points([0.0; 2], [0.0; 2], [1e-4, 1e4], Marker::Dot)).color(axis().log());
    assert!(svg(&Figure::new("").panel(log)).contains(">10<tspan dy=\"-4\" font-size=\"8\">−2</tspan>"));
}

#[test]
fn without_data() {
    let nan = [NAN; 2];
    let e: [f64; 0] = [];
    for mark in [
        Mark::colored_line(e, e, e),
        Mark::colored_points(e, e, e, Marker::Bar),
        Mark::heat(e, e, e),
        Mark::heat([1.0], [1.0], e),
        Mark::heat([0.0, 1.0], [0.0, 1.0], [NAN]),
        Mark::arrows(e, e, e, e),
        Mark::interval_y(e, e, e),
        Mark::interval_x(e, e, e),
        Mark::colored_line([0.0, 1.0], [0.0, 1.0], nan),
        Mark::colored_points(nan, [0.0, 1.0], [0.0, 1.0], Marker::Dot),
        Mark::arrows([0.0, 1.0], [0.0, 1.0], nan, nan),
        Mark::interval_y([0.0, 1.0], nan, [0.0, 1.0]),
        Mark::interval_x([0.0, 1.0], nan, [0.0, 1.0]),
        Mark::note(NAN, NAN, "nowhere"),
    ] {
        let figure = one(mark.clone());
        assert!(marks(&figure).is_empty(), "{mark:?}");
        assert!(svg(&figure).contains(">no data</text>"), "{mark:?}");
        assert!(!svg(&figure).contains("class=\"colors\""), "{mark:?}");
    }
    let negative = panel(Mark::colored_line([0.0], [0.0], [-1.0])).color(axis().log());
    assert!(svg(&Figure::new("").panel(negative)).contains(">no data</text>"));
}

#[test]
fn extreme_data() {
    let cases = [
        [0.0; 4],
        [7.0; 4],
        [f64::MIN, -1.0, 1.0, f64::MAX],
        [5e-324, 1e-320, 1e-310, 1e-300],
        [1e-12, 1.0, 1e6, 1e12],
        [f64::NEG_INFINITY, 1.0, 2.0, f64::INFINITY],
        [4.0, 3.0, 2.0, 1.0],
    ];
    for values in cases {
        for scale in [axis(), axis().log(), axis().range(0.0, 1e-3), Axis::categories(["a"]), axis().whole()]
        {
            let mut panel = Panel::new("", scale.clone(), scale.clone()).color(scale);
            panel.marks = all(values, values);
            panel.marks.push(Mark::arrows(values, values, values, values));
            panel.marks.push(Mark::colored_line(values, values, values));
            panel.marks.push(Mark::heat(values, values, [values, values].concat()[..1].repeat(9)));
            for mark in marks(&Figure::new("").panel(panel)) {
                for path in attributes(&mark, "d") {
                    assert!(numbers(path).iter().all(|n| n.abs() <= 1.1e6), "{values:?} {path}");
                }
            }
        }
    }
}

#[test]
fn one_point() {
    let line = &marks(&one(Mark::colored_line([1.0], [2.0], [3.0])))[0];
    assert!(attributes(line, "d")[1].ends_with("h0"), "a dot");
    for mark in [
        Mark::colored_points([1.0], [2.0], [3.0], Marker::Cross),
        Mark::heat([1.0, 2.0], [1.0, 2.0], [3.0]),
        Mark::arrows([1.0], [1.0], [1.0], [1.0]),
        Mark::interval_y([1.0], [1.0], [2.0]),
        Mark::interval_x([1.0], [1.0], [1.0]),
    ] {
        assert_eq!(marks(&one(mark)).len(), 1);
    }
}

#[test]
fn lists_from_outside_may_differ_in_length() {
    for mark in [
        r#""kind": "heat", "x_edges": [0], "y_edges": [0, 1, 2], "values": [1, 2, 3]"#,
        r#""kind": "heat", "x_edges": [0, 1, 2], "y_edges": [0, 1], "values": [1, 2, 3, 4, 5]"#,
        r#""kind": "heat", "x_edges": [], "y_edges": [], "values": [1]"#,
        r#""kind": "arrows", "x": [0, 1], "y": [0], "dx": [], "dy": [1]"#,
        r#""kind": "colored_line", "x": [0, 1], "y": [0], "value": [1, 2, 3]"#,
        r#""kind": "interval_y", "x": [0, 1], "low": [0], "high": []"#,
    ] {
        let json = format!(r#"{{"panels": [{{"title": "", "x": {{}}, "y": {{}}, "marks": [{{{mark}}}]}}]}}"#);
        let figure: Figure = serde_json::from_str(&json).unwrap();
        assert!(!figure.csv().is_empty());
        let _ = marks(&figure);
    }
}

#[test]
fn notes_stay_inside_the_frame() {
    let note = |x: f64, y: f64, words: &str| {
        let panel =
            Panel::new("", axis().range(0.0, 1.0), axis().range(0.0, 1.0)).mark(Mark::note(x, y, words));
        let picture = svg(&Figure::new("").panel(panel));
        let element = picture.lines().find(|line| line.contains("class=\"note\"")).map(str::to_owned);
        element.map(|e| {
            let at = |name: &str| attributes(&e, name)[0].parse::<f64>().unwrap();
            (at("x"), at("y"), attributes(&e, "text-anchor")[0].to_owned())
        })
    };
    let anchor = |x: f64, y: f64, words: &str| note(x, y, words).unwrap().2;
    assert_eq!(anchor(0.0, 0.5, "left"), "start");
    assert_eq!(anchor(1.0, 0.5, "right"), "end");
    assert_eq!(anchor(0.5, 0.5, &"very long ".repeat(6)), "start");
    assert_eq!(anchor(0.5, 0.5, &"much too long ".repeat(50)), "middle");
    assert!(note(0.5, 1.0, "top").unwrap().1 > 11.0 && note(0.5, 0.0, "bottom").unwrap().1 < 380.0);
    assert_eq!(note(2.0, 0.5, "outside"), None);
}

#[test]
fn category_names_stand_at_their_values() {
    let words = ["Cancer treatment", "Glucose in blood", "Pendulum"];
    let below = |words: &[&str], columns: usize| {
        let panel = || {
            Panel::new("", Axis::categories(words.iter().copied()), axis()).mark(Mark::points(
                [0.0, 2.0],
                [1.0, 2.0],
                Marker::Circle,
            ))
        };
        let figure = Figure::new("").columns(columns);
        svg(&(0..columns).fold(figure, |figure, _| figure.panel(panel())))
    };
    assert!(below(&words, 1).contains(">Cancer treatment</text>"), "they fit");
    let wrapped = below(&words, 3);
    assert!(wrapped.contains(">Cancer</text>") && wrapped.contains(">treatment</text>"));
    assert!(!wrapped.contains("rotate(-40") && !wrapped.contains("rotate(-60"));
    let long = ["Antidisestablishmentarianism", "b", "c", "d"];
    let turned = below(&long, 3);
    assert_eq!(turned.matches("rotate(-60").count(), 3 * 4, "steep, for the first is long");
    assert_eq!(below(&["b", "Antidisestablishment", "c"], 3).matches("rotate(-40").count(), 3 * 3);
    let height =
        |picture: &str| attributes(picture, "viewBox")[0].rsplit(' ').next().unwrap().parse::<f64>().unwrap();
    assert!(height(&turned) > height(&wrapped) && height(&wrapped) > height(&below(&["a", "b", "c"], 3)));
    let crowd: Vec<String> = (0..200).map(|i| format!("a long word {i}")).collect();
    let crowd: Vec<&str> = crowd.iter().map(String::as_str).collect();
    assert!((10..=60).contains(&below(&crowd, 1).matches("rotate(-").count()), "no more than fit");

    let panel = Panel::new("", axis(), Axis::categories(words)).mark(Mark::points(
        [1.0, 2.0],
        [0.0, 2.0],
        Marker::Dot,
    ));
    let picture = svg(&Figure::new("").panel(panel));
    let y = |word: &str| {
        let line = picture.lines().find(|line| line.contains(&format!(">{word}</text>"))).unwrap();
        attributes(line, "y")[0].parse::<f64>().unwrap()
    };
    assert!(y(words[0]) < y(words[1]) && y(words[1]) < y(words[2]), "the first at the top");
    let drawn = &marks(
        &Figure::new("")
            .panel(Panel::new("", axis(), Axis::categories(words)).mark(Mark::line([1.0, 2.0], [0.0, 2.0]))),
    )[0];
    let path = numbers(attributes(drawn, "d")[0]);
    assert_eq!([path[1] + 4.0, path[3] + 4.0].map(f64::round), [y(words[0]), y(words[2])].map(f64::round));
}

#[test]
fn one_entry_for_each_label() {
    let mut panel = Panel::new("", axis(), axis());
    for series in 0..9_usize {
        let height = series as f64;
        let (x, low, high) = ([0.0, 1.0], [height; 2], [height + 1.0; 2]);
        for mark in [Mark::line(x, low), Mark::band(x, low, high), Mark::points(x, low, Marker::Circle)] {
            panel = panel.mark(mark.series(series).label(format!("series {series}")));
        }
    }
    let figure = Figure::new("").panel(panel);
    let picture = svg(&figure);
    assert_eq!(picture.matches("class=\"entry\"").count(), 9);
    assert_eq!(picture.matches("class=\"sample\"").count(), 27);
    // Beyond the palette, colours repeat with other dashes.
    assert_eq!(picture.matches("stroke-dasharray").count(), 2 * 2, "two lines and their samples");
}

#[test]
fn themes_change_colors_only() {
    let (light, dark) = (svg_themed(&full(), &Theme::default()), svg_themed(&full(), &Theme::DARK));
    assert_eq!(light, svg(&full()));
    assert_eq!(light.lines().count(), dark.lines().count());
    let theme = Theme::LIGHT;
    for color in
        [theme.background, theme.ink, theme.quiet, theme.muted, theme.grid].iter().chain(&theme.series)
    {
        assert!(!dark.contains(color), "{color}");
    }
}

#[test]
#[should_panic(expected = "a heat map of 2 × 1 cells")]
fn cells_must_fit() {
    let _ = Mark::heat([0.0, 1.0, 2.0], [0.0, 1.0], [1.0]);
}

#[test]
#[should_panic(expected = "arrows of [1, 1, 2, 1] x, y, dx and dy")]
fn arrows_must_fit() {
    let _ = Mark::arrows([0.0], [0.0], [1.0, 2.0], [0.0]);
}
