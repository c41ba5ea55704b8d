//! The ten data sets in their raw layouts, with made-up rows, and the faults such files may have.

use ndarray::array;
use stonet_repro::Error;
use stonet_repro::published::regression;
use stonet_repro::uci::{Loaded, UciSet, load};

/// Loads a set from a directory with just this file.
fn from_text(set: UciSet, file: &str, text: &str) -> Result<Loaded, Error> {
    let dir = tempfile::tempdir().unwrap();
    std::fs::write(dir.path().join(file), text).unwrap();
    Ok(load(set, dir.path())?.expect("the file is found"))
}

fn row(loaded: &Loaded, i: usize) -> (Vec<f64>, f64) {
    (loaded.data.x().row(i).to_vec(), loaded.data.y()[[i, 0]])
}

#[test]
fn names_go_both_ways_and_are_those_of_the_table() {
    let cells = regression();
    for (i, set) in UciSet::ALL.into_iter().enumerate() {
        assert_eq!(set.name().parse::<UciSet>().unwrap(), set);
        assert_eq!(cells[3 * i].dataset, set.name());
        assert_eq!(set.printed_size(), (cells[3 * i].n, cells[3 * i].p));
    }
    assert!("iris".parse::<UciSet>().unwrap_err().to_string().contains("there are liver, qsar"));
}

#[test]
fn a_directory_without_the_files_has_no_set_and_a_missing_directory_is_an_error() {
    let dir = tempfile::tempdir().unwrap();
    for set in UciSet::ALL {
        assert_eq!(load(set, dir.path()).unwrap(), None, "{set}");
    }
    assert!(matches!(
        load(UciSet::Liver, &dir.path().join("no")),
        Err(Error::Compare(stonet_compare::Error::Io { .. }))
    ));
}

#[test]
fn plain_raw_files_give_inputs_and_target() {
    let liver = from_text(UciSet::Liver, "bupa.data", "85,92,45,27,31,0.5,1\n86,54,33,16,54,4.0,2\n").unwrap();
    assert_eq!(liver.data.x(), array![[85., 92., 45., 27., 31.], [86., 54., 33., 16., 54.]]);
    assert_eq!(liver.data.y(), array![[0.5], [4.0]]);
    assert_eq!(liver.note.as_deref(), Some("2 rows, where the paper has 345"));

    let qsar = from_text(UciSet::Qsar, "qsar_fish_toxicity.csv", "3.2;0.8;1.6;0;1;1.4;3.7\n").unwrap();
    assert_eq!(row(&qsar, 0), (vec![3.2, 0.8, 1.6, 0., 1., 1.4], 3.7));

    let sexes = "M,.4,.3,.1,.5,.2,.1,.15,15\nF,.5,.4,.1,.6,.2,.1,.2,9\nI,.3,.2,.1,.2,.1,.1,.05,7\n";
    let abalone = from_text(UciSet::Abalone, "abalone.data", sexes).unwrap();
    assert_eq!(abalone.data.x().column(0), array![0., 1., 2.]);
    assert_eq!(row(&abalone, 1), (vec![1., 0.5, 0.4, 0.1, 0.6, 0.2, 0.1, 0.2], 9.));

    let plant = from_text(UciSet::PowerPlant, "Folds5x2_pp.csv", "AT,V,AP,RH,PE\r\n15,41,1024,73,463\r\n").unwrap();
    assert_eq!(row(&plant, 0), (vec![15., 41., 1024., 73.], 463.));

    let protein =
        from_text(UciSet::Protein, "CASP.csv", "RMSD,F1,F2,F3,F4,F5,F6,F7,F8,F9\n17,1,2,3,4,5,6,7,8,9\n").unwrap();
    assert_eq!(row(&protein, 0), ((1..10).map(f64::from).collect(), 17.));

    let line: Vec<String> = (0..=90).map(|i| if i == 0 { "2001".into() } else { format!("{i}.5") }).collect();
    let year = from_text(UciSet::Year, "YearPredictionMSD.txt", &line.join(",")).unwrap();
    assert_eq!(row(&year, 0), ((1..=90).map(|i| f64::from(i) + 0.5).collect(), 2001.));
}

#[test]
fn parkinson_has_sex_twice_and_the_target_out_of_the_middle() {
    let header = "subject#,age,sex,test_time,motor_UPDRS,total_UPDRS,Jitter(%),Jitter(Abs),Jitter:RAP,Jitter:PPQ5,Jitter:DDP,Shimmer,\
        Shimmer(dB),Shimmer:APQ3,Shimmer:APQ5,Shimmer:APQ11,Shimmer:DDA,NHR,HNR,RPDE,DFA,PPE";
    let rest: Vec<f64> = (0..16).map(|i| 0.5 + f64::from(i)).collect();
    let cells = rest.iter().map(f64::to_string).collect::<Vec<_>>().join(",");
    let text = format!("{header}\n1,72,0,5.6,28,34,{cells}\n2,58,1,12,11,15,{cells}\n");
    let loaded = from_text(UciSet::Parkinson, "parkinsons_updrs.data", &text).unwrap();
    assert_eq!(row(&loaded, 0), ([vec![1., 72., 1., 0., 5.6, 28.], rest.clone()].concat(), 34.));
    assert_eq!(row(&loaded, 1), ([vec![2., 58., 0., 1., 12., 11.], rest].concat(), 15.));
}

#[test]
fn community_keeps_a_hundred_inputs_and_fills_single_gaps_with_the_mean() {
    let line = |base: f64, gap: bool| {
        let police = |i: usize| (101..=117).contains(&i) || (121..=124).contains(&i) || i == 126;
        let cell = |i: usize| match i {
            1 | 2 => "?".to_owned(),
            3 => "Lakewoodcity".to_owned(),
            30 if gap => "?".to_owned(),
            _ if police(i) => "?".to_owned(),
            _ => (base + i as f64).to_string(),
        };
        (0..128).map(cell).collect::<Vec<_>>().join(",")
    };
    let text = [line(0., false), line(1000., true), line(500., false)].join("\n");
    let loaded = from_text(UciSet::Community, "communities.data", &text).unwrap();
    let kept: Vec<f64> = (5..=100).chain(118..=120).chain([125]).map(f64::from).collect();
    assert_eq!(row(&loaded, 0), (kept, 127.));
    assert_eq!(loaded.data.x()[[1, 25]], 280.0); // OtherPerCap: the mean of 30 and 530
    assert!(loaded.note.unwrap().ends_with("missing cells replaced by the column's mean: 1"));
}

/// A row of AER's STAR with these words for the factors, in the order of the header.
fn star_row(id: u32, lunch1: &str) -> String {
    format!(
        "\"{id}\",\"male\",\"afam\",1980.25,\"regular\",\"small\",\"regular+aide\",\"small\",1,2,3,4,10,20,30,40,\
        \"free\",\"{lunch1}\",\"free\",\"non-free\",\"inner-city\",\"suburban\",\"rural\",\"urban\",\
        \"master+\",\"phd\",\"master\",\"bachelor\",\"pending\",\"noladder\",\"notladder\",\"apprentice\",7,8,9,10,\
        \"cauc\",\"afam\",\"cauc\",\"asian\",\"30\",\"31\",\"32\",\"33\",\"63\",\"64\",\"65\",\"66\"\n"
    )
}

fn star_header() -> String {
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
    let years = groups.iter().flat_map(|g| ["k", "1", "2", "3"].map(|y| format!("\"{g}{y}\""))).collect::<Vec<_>>();
    format!("\"\",\"gender\",\"ethnicity\",\"birth\",{}\n", years.join(","))
}

#[test]
fn star_codes_its_factors_and_leaves_incomplete_rows_out() {
    let text = [star_header(), star_row(7, "non-free"), star_row(8, "NA")].concat();
    let loaded = from_text(UciSet::Star, "STAR.csv", &text).unwrap();
    let expected = [
        vec![7., 1., 1., 1980.25, 0., 1., 2., 1., 1., 0., 1., 0., 1., 2., 3.], // row, gender … star3, lunch1–3, school
        vec![3., 3., 1., 0., 5., 5., 6., 3., 7., 8., 9., 10., 0., 1., 0., 2.], // degree, ladder, experience, teacher
        vec![30., 31., 32., 33., 63., 64., 65., 66.],
    ];
    assert_eq!(row(&loaded, 0), (expected.concat(), 110.));
    assert_eq!(loaded.data.rows(), 1);
    assert!(loaded.note.unwrap().ends_with("incomplete rows left out: 1"));
}

#[test]
fn bike_takes_the_time_apart_and_drops_the_parts_of_the_count() {
    let header = "datetime,season,holiday,workingday,weather,temp,atemp,humidity,windspeed,casual,registered,count";
    let text = format!("{header}\n2012-12-19 23:00:00,4,0,1,2,13.12,16.665,66,8.9981,4,84,88\n");
    let loaded = from_text(UciSet::Bike, "train.csv", &text).unwrap();
    let weather = [0., 1., 13.12, 16.665, 66., 8.9981, 0., 0., 0., 1., 0., 1., 0., 0.];
    assert_eq!(row(&loaded, 0), ([&weather[..], &[23., 2., 12., 1.]].concat(), 88.));
}

#[test]
fn faults_of_raw_files_are_named() {
    let says = |set, file, text: &str, part: &str| {
        let e = from_text(set, file, text).unwrap_err().to_string();
        assert!(e.contains(file) && e.contains(part), "{e}");
    };
    says(UciSet::Liver, "bupa.data", "1,2,3\n", "3 columns, where `bupa.data` has 7");
    says(UciSet::Liver, "bupa.data", "1,2,3,4,5,6,7\n1,2,3,4,5,?,7\n", "line 2, column `drinks`: missing value (`?`)");
    says(UciSet::Liver, "bupa.data", "", "the file is empty");
    says(UciSet::Abalone, "abalone.data", "X,1,1,1,1,1,1,1,1\n", "line 1, column `Sex`: `X` is not one of M, F, I");
    says(UciSet::PowerPlant, "Folds5x2_pp.csv", "AT,V,RH,AP,PE\n1,2,3,4,5\n", "`RH` is not the header's `AP`");
    says(
        UciSet::Liver,
        "liver.csv",
        "a,b,y\n1,2,3\n",
        "3 columns, where the normalised `liver.csv`, its target included, has 6",
    );
    says(UciSet::Liver, "liver.csv", "a,b,c,d,e,f\n1,2,3,4,5,6\n", "there is no column `y`");

    let dir = tempfile::tempdir().unwrap();
    std::fs::write(dir.path().join("Folds5x2_pp.xlsx"), "PK").unwrap();
    let e = load(UciSet::PowerPlant, dir.path()).unwrap_err().to_string();
    assert!(e.contains("workbooks are not read; save its first sheet as Folds5x2_pp.csv"), "{e}");
}

#[test]
fn normalised_files_come_first_and_the_inner_folder_is_searched() {
    let dir = tempfile::tempdir().unwrap();
    let inner = dir.path().join("regression");
    std::fs::create_dir(&inner).unwrap();
    std::fs::write(dir.path().join("bupa.data"), "1,2,3,4,5,6,7\n").unwrap();
    assert!(load(UciSet::Liver, dir.path()).unwrap().unwrap().path.ends_with("bupa.data"));
    std::fs::write(inner.join("liver.csv"), "a,b,c,d,e,y\n1,2,3,4,5,6\n").unwrap();
    assert_eq!(load(UciSet::Liver, dir.path()).unwrap().unwrap().path, inner.join("liver.csv"));
    // A set with both kinds of sex column takes the one with 22 inputs.
    let names = |p: usize| (0..p).map(|i| format!("x{i},")).collect::<String>() + "y\n";
    let ones = |p: usize| vec!["1"; p + 1].join(",") + "\n";
    std::fs::write(inner.join("parkinson.csv"), names(21) + &ones(21)).unwrap();
    let note = load(UciSet::Parkinson, dir.path()).unwrap().unwrap().note.unwrap();
    assert!(note.contains("21 inputs, where the paper has 22"), "{note}");
    std::fs::write(inner.join("parkinson_22.csv"), names(22) + &ones(22)).unwrap();
    assert_eq!(load(UciSet::Parkinson, dir.path()).unwrap().unwrap().data.inputs(), 22);
}
