//! `--within`: groups from one column or several, through files, by every command.

mod common;

use common::{Desk, json};
use rand::RngExt;
use rand_distr::{Distribution, StandardNormal};

/// Rows of regions whose noise differs, and of two sites.
fn table(rows: usize, seed: u64) -> String {
    let mut rng = stonet::Seed::new(seed).rng();
    let mut text = "f0,f1,region,site,y\n".to_owned();
    for _ in 0..rows {
        let (region, noise) = [("north", 0.3), ("south", 1.0), ("west", 3.0)][rng.random_range(0..3)];
        let [a, b, e]: [f64; 3] = [(); 3].map(|()| StandardNormal.sample(&mut rng));
        text += &format!("{a},{b},{region},{},{}\n", rng.random_range(0..2), a + noise * e);
    }
    text
}

fn desk() -> Desk {
    let desk = Desk::new();
    desk.write("val.csv", table(400, 1)).write("test.csv", table(900, 2));
    desk
}

const FIT: &str = "fit val.csv --task regression --inputs f* -o head.stonet";

#[test]
fn fit_predict_evaluate_and_inspect_know_the_groups() {
    let desk = desk();
    let fitted = json(&mut desk.stonet(&format!("{FIT} --within region --interval fast --json")));
    let guarantee = fitted["guarantee"].as_str().unwrap();
    assert!(guarantee.contains("within each of 3 groups (north:"), "{guarantee}");
    let inspected = json(&mut desk.stonet("inspect head.stonet --json"));
    assert_eq!(inspected["columns"]["within"], serde_json::json!(["region"]));
    assert_eq!(inspected["groups"][2]["labels"], serde_json::json!(["west"]));
    assert_eq!(inspected["groups"][2]["own_ranks"], true);
    assert!(desk.run("inspect head.stonet").contains("within       region (3 groups)"));

    desk.run("predict head.stonet test.csv --keep region -o p.csv");
    let lines: Vec<String> = desk.text("p.csv").lines().map(str::to_owned).collect();
    assert_eq!(lines[0], "region,prediction,lower_90,upper_90");
    let length = |region: &str| {
        let rows = lines.iter().filter(|l| l.starts_with(region));
        let all: Vec<f64> = rows
            .map(|l| {
                let cells: Vec<f64> = l.split(',').skip(2).map(|c| c.parse().unwrap()).collect();
                cells[1] - cells[0]
            })
            .collect();
        all.iter().sum::<f64>() / all.len() as f64
    };
    assert!(2.0 * length("north") < length("south") && 2.0 * length("south") < length("west"));

    // Groups are judged with their own ranks and with those of all rows, whether asked for or not.
    let judged = json(&mut desk.stonet("evaluate head.stonet test.csv --json --report page.html"));
    let groups = judged["evaluation"]["subgroups"][1].as_array().unwrap().clone();
    let west = groups.iter().find(|g| g["name"] == "west").unwrap();
    let value = |v: &serde_json::Value| v["coverage"]["value"].as_f64().unwrap();
    assert!(value(west) > 0.83 && value(&west["pooled"]) < 0.75, "{west}");
    assert!(west["mean_length"].as_f64() > west["pooled"]["mean_length"].as_f64());
    assert!(desk.text("page.html").contains("Coverage, pooled"));
    let text = desk.run("evaluate head.stonet test.csv --by region");
    assert!(text.contains("coverage, pooled") && text.contains("Equal coverage makes the intervals"), "{text}");
}

#[test]
fn rows_in_another_order_and_other_formats_give_the_same_numbers() {
    let desk = desk();
    desk.run(&format!("{FIT} --within region,site --interval split --level 0.8"));
    desk.run("predict head.stonet test.csv -o p.csv");
    let (text, found) = (desk.text("test.csv"), desk.text("p.csv"));
    let turned = |text: &str| {
        let mut lines: Vec<&str> = text.lines().collect();
        lines[1..].reverse();
        lines.join("\n") + "\n"
    };
    desk.write("turned.csv", turned(&text));
    desk.run("predict head.stonet turned.csv -o q.csv");
    assert_eq!(desk.text("q.csv"), turned(&found));
    // Whole numbers are the same labels however they are written; a region that is not known has pooled ranks.
    let other = text.replace(",0,", ",0.0,").replace("west", "east");
    desk.write("other.csv", other);
    desk.run("predict head.stonet other.csv -o r.csv");
    let regions: Vec<&str> = text.lines().map(|l| l.split(',').nth(2).unwrap()).collect();
    for ((region, p), r) in regions.iter().zip(found.lines()).zip(desk.text("r.csv").lines()) {
        assert_eq!(*region == "west", p != r, "{region}: {p} {r}");
    }
}

#[test]
fn a_sample_is_calibrated_by_group() {
    let desk = desk();
    let fitted = json(&mut desk.stonet(&format!("{FIT} --within region --sample 150 --json")));
    let guarantee = fitted["guarantee"].as_str().unwrap();
    assert!(guarantee.starts_with("At least 90.0 % within each of 3 groups"), "{guarantee}");
    desk.run("predict head.stonet test.csv -o p.csv");
}

#[test]
fn what_cannot_be_is_refused_in_words() {
    let desk = desk();
    let refused = |line: &str, text: &str| {
        let output = desk.ended(line, 2);
        let stderr = String::from_utf8_lossy(&output.stderr).into_owned();
        assert!(stderr.contains(text), "{line}: {stderr}");
    };
    refused(&format!("{FIT} --within region --interval paper"), "--within needs ranks");
    refused(&format!("{FIT} --within y"), "--within names the target `y`");
    refused(&format!("{FIT} --within colour"), "there is no column `colour`");
    refused(
        "fit val.csv --task classification --target region --inputs f* --within site -o c.stonet",
        "--within is for --task regression",
    );
    desk.run(&format!("{FIT} --within region --interval fast"));
    refused("export head.stonet -o head.onnx", "ranks of its own for each group");
    assert!(!desk.at("head.onnx").exists());
    desk.write("none.csv", "f0,f1,y\n1,2,3\n");
    refused("predict head.stonet none.csv -o p.csv", "there is no column `region`");
    desk.write("gap.csv", "f0,f1,region,y\n1,2,west,3\n1,2,NA,3\n");
    refused("predict head.stonet gap.csv -o p.csv", "gap.csv, row 1 (from 0), column `region`: missing value (`NA`)");
    refused("evaluate head.stonet gap.csv", "gap.csv: row 1 (from 0) of column `region` has no group (`NA`)");
    assert!(!desk.at("p.csv").exists());
}

/// Rows of two groups that overlap, in columns of 0 and 1.
fn overlapping(rows: usize, seed: u64) -> String {
    let mut rng = stonet::Seed::new(seed).rng();
    let mut text = "f0,f1,a,b,y\n".to_owned();
    for _ in 0..rows {
        let [a, b] = [0.4, 0.3].map(|p| f64::from(u8::from(rng.random::<f64>() < p)));
        let [x, z, e]: [f64; 3] = [(); 3].map(|()| StandardNormal.sample(&mut rng));
        text += &format!("{x},{z},{a},{b},{}\n", x + (1.0 + 2.0 * a + 1.5 * b) * e);
    }
    text
}

#[test]
fn overlapping_groups_are_covered_by_split_and_refused_elsewhere() {
    let desk = Desk::new();
    desk.write("val.csv", overlapping(900, 3)).write("test.csv", overlapping(1500, 4));
    let fit = format!("{FIT} --conditional a,b");
    let refused = |line: &str, text: &str| {
        let output = desk.ended(line, 2);
        let stderr = String::from_utf8_lossy(&output.stderr).into_owned();
        assert!(stderr.contains(text), "{line}: {stderr}");
    };
    refused(&fit, "--conditional needs --interval split");
    refused(&format!("{fit} --interval split --within a"), "--conditional does not go with --within");
    refused(&format!("{fit} --interval split --groups a"), "--conditional does not go with --groups");
    refused(&format!("{fit} --interval split --sample 100"), "--conditional needs all rows in memory");
    refused(&format!("{FIT} --interval split --conditional y"), "--conditional names the target `y`");
    desk.write("plain.toml", "learned_scale = false\n");
    let fitted = json(&mut desk.stonet(&format!("{fit} --interval split --settings plain.toml --json")));
    assert!(fitted["guarantee"].as_str().unwrap().contains("split conditional conformal"), "{fitted}");
    assert!(desk.run("inspect head.stonet").contains("conditional  a, b"));
    refused("export head.stonet -o head.onnx", "covers for functions of a row");
    let judged = json(&mut desk.stonet("evaluate head.stonet test.csv --by a --json"));
    for group in judged["evaluation"]["subgroups"][1].as_array().unwrap() {
        assert!(group["coverage"]["value"].as_f64().unwrap() > 0.83, "{group}");
        assert!(group["pooled"]["coverage"]["value"].as_f64().is_some(), "{group}");
    }
    desk.run("predict head.stonet test.csv --level 0.8 --keep a,b -o p.csv");
    assert!(desk.text("p.csv").starts_with("a,b,prediction,lower_80,upper_80\n"));
    desk.write("none.csv", "f0,f1,a,y\n1,2,0,3\n");
    refused("predict head.stonet none.csv", "there is no column `b`");
}
