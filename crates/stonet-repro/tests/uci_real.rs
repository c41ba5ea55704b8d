//! The real data sets of the directory `STONET_DATA`: their sizes, and their rows written in the
//! raw layouts.

use std::path::{Path, PathBuf};

use stonet_repro::uci::{UciSet, load};

fn data_directory() -> PathBuf {
    let dir = std::env::var_os("STONET_DATA").map(PathBuf::from);
    dir.expect("STONET_DATA names a directory with the regression data sets")
}

#[test]
#[ignore = "needs STONET_DATA"]
fn the_real_files_have_the_printed_sizes() {
    let dir = data_directory();
    for set in UciSet::ALL {
        let Some(loaded) = load(set, &dir).unwrap() else {
            eprintln!("skipped: no file of {set} in {}", dir.display());
            continue;
        };
        match (set, loaded.note) {
            (UciSet::Star, note) => assert!(note.unwrap().starts_with("2161 rows, where the paper has 2166")),
            (UciSet::Community, note) => assert!(note.is_none_or(|n| n.starts_with("missing cells"))),
            (_, note) => assert_eq!(note, None, "{set}"),
        }
    }
}

/// Writes the real rows in the raw layout, by `line(inputs, target)`, reads them again and expects the same numbers.
fn there_and_back(
    dir: &Path,
    set: UciSet,
    file: &str,
    header: &str,
    line: impl Fn(&[f64], f64) -> Vec<String>,
    delimiter: &str,
) {
    let Some(real) = load(set, dir).unwrap() else {
        return eprintln!("skipped: no file of {set} in {}", dir.display());
    };
    let mut text = header.to_owned();
    for (x, y) in real.data.x().outer_iter().zip(real.data.y()) {
        text += &line(&x.to_vec(), *y).join(delimiter);
        text.push('\n');
    }
    let raw = tempfile::tempdir().unwrap();
    std::fs::write(raw.path().join(file), text).unwrap();
    let again = load(set, raw.path()).unwrap().expect("the file is found");
    assert_eq!(again.data, real.data, "{set}");
}

fn words(values: &[f64]) -> Vec<String> {
    values.iter().map(f64::to_string).collect()
}

/// Which of the columns is 1.
fn hot(values: &[f64]) -> usize {
    values.iter().position(|&v| v == 1.0).unwrap()
}

#[test]
#[ignore = "needs STONET_DATA"]
fn the_real_rows_survive_the_raw_layouts() {
    let dir = data_directory();
    let dir = dir.as_path();
    there_and_back(dir, UciSet::Liver, "bupa.data", "", |x, y| words(&[x, &[y, 1.0]].concat()), ",");
    there_and_back(dir, UciSet::Qsar, "qsar_fish_toxicity.csv", "", |x, y| words(&[x, &[y]].concat()), ";");
    let plant = |x: &[f64], y| words(&[x, &[y]].concat());
    there_and_back(dir, UciSet::PowerPlant, "Folds5x2_pp.csv", "AT,V,AP,RH,PE\n", plant, ",");
    let protein = |x: &[f64], y| words(&[&[y], x].concat());
    there_and_back(dir, UciSet::Protein, "CASP.csv", "RMSD,F1,F2,F3,F4,F5,F6,F7,F8,F9\n", protein, ",");
    let abalone = |x: &[f64], y| [vec![["M", "F", "I"][x[0] as usize].into()], words(&x[1..]), words(&[y])].concat();
    there_and_back(dir, UciSet::Abalone, "abalone.data", "", abalone, ",");
    let community = |x: &[f64], y| {
        let gap = |n: usize| vec!["?".to_owned(); n];
        [gap(5), words(&x[..96]), gap(17), words(&x[96..99]), gap(4), words(&x[99..]), gap(1), words(&[y])].concat()
    };
    there_and_back(dir, UciSet::Community, "communities.data", "", community, ",");
    // A day of that month and year with that weekday: 2011-01-01 was a Saturday.
    let bike = |x: &[f64], y| {
        let (hour, weekday, month, year) = (x[14], x[15], x[16] as usize, x[17] as usize);
        let lengths = [31, 28 + year, 31, 30, 31, 30, 31, 31, 30, 31, 30, 31];
        let first = (5 + 365 * year + lengths[..month - 1].iter().sum::<usize>()) % 7;
        let day = 1 + (weekday as usize + 7 - first) % 7;
        let time = format!("{}-{month:02}-{day:02} {hour:02}:00:00", 2011 + year);
        let (season, weather) = (1 + hot(&x[6..10]), 1 + hot(&x[10..14]));
        let middle = [vec![season.to_string()], words(&x[..2]), vec![weather.to_string()], words(&x[2..6])].concat();
        [vec![time], middle, words(&[0.0, y, y])].concat()
    };
    let header = "datetime,season,holiday,workingday,weather,temp,atemp,humidity,windspeed,casual,registered,count\n";
    there_and_back(dir, UciSet::Bike, "train.csv", header, bike, ",");
    let voice = "Jitter(%),Jitter(Abs),Jitter:RAP,Jitter:PPQ5,Jitter:DDP,Shimmer,Shimmer(dB),Shimmer:APQ3,Shimmer:APQ5,Shimmer:APQ11,\
        Shimmer:DDA,NHR,HNR,RPDE,DFA,PPE";
    let header = format!("subject#,age,sex,test_time,motor_UPDRS,total_UPDRS,{voice}\n");
    let parkinson = |x: &[f64], y| words(&[&x[..2], &x[3..6], &[y], &x[6..]].concat());
    there_and_back(dir, UciSet::Parkinson, "parkinsons_updrs.data", &header, parkinson, ",");
}

#[test]
#[ignore = "needs STONET_DATA"]
fn the_real_rows_of_star_survive_the_raw_layout() {
    let dir = data_directory();
    let groups = [
        "star",
        "read",
        "math",
        "lunch",
        "school",
        "degree",
        "ladder",
        "experience",
        "tethnicity",
        "system",
        "schoolid",
    ];
    let years: Vec<String> = groups.iter().flat_map(|g| ["k", "1", "2", "3"].map(|y| format!("{g}{y}"))).collect();
    let header = format!(",gender,ethnicity,birth,{}\n", years.join(","));
    let people = ["cauc", "afam", "asian", "hispanic", "amindian", "other"];
    let class = ["regular", "small", "regular+aide"];
    let school = ["inner-city", "suburban", "rural", "urban"];
    let (degree_k, degree) =
        (["bachelor", "master", "specialist", "master+"], ["bachelor", "master", "specialist", "phd"]);
    let ladder_k = ["level1", "level2", "level3", "apprentice", "probation", "pending"];
    let ladder = ["level1", "level2", "level3", "apprentice", "probation", "noladder", "notladder"];
    let coded =
        |levels: &[&str], codes: &[f64]| codes.iter().map(|&c| levels[c as usize].to_owned()).collect::<Vec<_>>();
    let line = |x: &[f64], y: f64| {
        [
            words(&x[..1]),
            coded(&["female", "male"], &x[1..2]),
            coded(&people, &x[2..3]),
            words(&x[3..4]),
            coded(&class, &x[4..8]),
            words(&[y, 0., 0., 0., 0., 0., 0., 0.]), // only the sum of the scores is known
            vec!["free".to_owned()],                 // lunchk is not among the inputs
            coded(&["free", "non-free"], &x[8..11]),
            coded(&school, &x[11..15]),
            coded(&degree_k, &x[15..16]),
            coded(&degree, &x[16..19]),
            coded(&ladder_k, &x[19..20]),
            coded(&ladder, &x[20..23]),
            words(&x[23..27]),
            coded(&people, &x[27..31]),
            words(&x[31..]),
        ]
        .concat()
    };
    there_and_back(&dir, UciSet::Star, "STAR.csv", &header, line, ",");
}
