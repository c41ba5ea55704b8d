//! The raw files of the ten sets, as UCI, AER and Kaggle distribute them, column by column.

use super::data::UciSet;
use super::layout::{Layout, Missing, Part};

/// All columns of `communities.data`; those of the police survey (`POLICE`) are missing for most rows.
const COMMUNITIES: &str = "state county community communityname fold \
    population householdsize racepctblack racePctWhite racePctAsian racePctHisp agePct12t21 agePct12t29 agePct16t24 \
    agePct65up numbUrban pctUrban medIncome pctWWage pctWFarmSelf pctWInvInc pctWSocSec pctWPubAsst pctWRetire medFamInc \
    perCapInc whitePerCap blackPerCap indianPerCap AsianPerCap OtherPerCap HispPerCap NumUnderPov PctPopUnderPov \
    PctLess9thGrade PctNotHSGrad PctBSorMore PctUnemployed PctEmploy PctEmplManu PctEmplProfServ PctOccupManu \
    PctOccupMgmtProf MalePctDivorce MalePctNevMarr FemalePctDiv TotalPctDiv PersPerFam PctFam2Par PctKids2Par \
    PctYoungKids2Par PctTeen2Par PctWorkMomYoungKids PctWorkMom NumIlleg PctIlleg NumImmig PctImmigRecent PctImmigRec5 \
    PctImmigRec8 PctImmigRec10 PctRecentImmig PctRecImmig5 PctRecImmig8 PctRecImmig10 PctSpeakEnglOnly \
    PctNotSpeakEnglWell PctLargHouseFam PctLargHouseOccup PersPerOccupHous PersPerOwnOccHous PersPerRentOccHous \
    PctPersOwnOccup PctPersDenseHous PctHousLess3BR MedNumBR HousVacant PctHousOccup PctHousOwnOcc PctVacantBoarded \
    PctVacMore6Mos MedYrHousBuilt PctHousNoPhone PctWOFullPlumb OwnOccLowQuart OwnOccMedVal OwnOccHiQuart RentLowQ \
    RentMedian RentHighQ MedRent MedRentPctHousInc MedOwnCostPctInc MedOwnCostPctIncNoMtg NumInShelters NumStreet \
    PctForeignBorn PctBornSameState PctSameHouse85 PctSameCity85 PctSameState85 LemasSwornFT LemasSwFTPerPop \
    LemasSwFTFieldOps LemasSwFTFieldPerPop LemasTotalReq LemasTotReqPerPop PolicReqPerOffic PolicPerPop \
    RacialMatchCommPol PctPolicWhite PctPolicBlack PctPolicHisp PctPolicAsian PctPolicMinor OfficAssgnDrugUnits \
    NumKindsDrugsSeiz PolicAveOTWorked LandArea PopDens PctUsePubTrans PolicCars PolicOperBudg LemasPctPolicOnPatr \
    LemasGangUnitDeploy LemasPctOfficDrugUn PolicBudgPerPop ViolentCrimesPerPop";
/// Not predictive, by UCI's description.
const NAMES_AND_FOLDS: &str = "state county community communityname fold";
/// 1675 of 1994 cells missing in each.
const POLICE: &str = "LemasSwornFT LemasSwFTPerPop LemasSwFTFieldOps LemasSwFTFieldPerPop LemasTotalReq \
    LemasTotReqPerPop PolicReqPerOffic PolicPerPop RacialMatchCommPol PctPolicWhite PctPolicBlack PctPolicHisp \
    PctPolicAsian PctPolicMinor OfficAssgnDrugUnits NumKindsDrugsSeiz PolicAveOTWorked PolicCars PolicOperBudg \
    LemasPctPolicOnPatr LemasGangUnitDeploy PolicBudgPerPop";

const JITTER_TO_PPE: &str = "Jitter(%) Jitter(Abs) Jitter:RAP Jitter:PPQ5 Jitter:DDP Shimmer Shimmer(dB) Shimmer:APQ3 \
    Shimmer:APQ5 Shimmer:APQ11 Shimmer:DDA NHR HNR RPDE DFA PPE";

/// The raw file of a set.
pub(super) fn layout(set: UciSet) -> Layout {
    match set {
        UciSet::Liver => liver(),
        UciSet::Qsar => qsar(),
        UciSet::Community => community(),
        UciSet::Star => star(),
        UciSet::Abalone => abalone(),
        UciSet::Parkinson => parkinson(),
        UciSet::PowerPlant => power_plant(),
        UciSet::Bike => bike(),
        UciSet::Protein => protein(),
        UciSet::Year => year(),
    }
}

/// Drinks per day from blood tests; the last column is somebody's split of the rows, not a measurement.
fn liver() -> Layout {
    let inputs = "MCV ALKPHOS SGPT SGOT GAMMAGT";
    Layout::new(&["bupa.data"], false, &format!("{inputs} drinks selector")).numbers(inputs).target("drinks")
}

fn qsar() -> Layout {
    let inputs = "CIC0 SM1_Dz(Z) GATS1i NdsCH NdssC MLOGP";
    Layout::new(&["qsar_fish_toxicity.csv"], false, &format!("{inputs} LC50")).numbers(inputs).target("LC50")
}

fn community() -> Layout {
    let left_out =
        |name: &&str| [NAMES_AND_FOLDS, POLICE].iter().any(|list| list.split_whitespace().any(|n| n == *name));
    let target = "ViolentCrimesPerPop";
    let inputs: Vec<&str> = COMMUNITIES.split_whitespace().filter(|n| !left_out(n) && *n != target).collect();
    // One cell of OtherPerCap is missing.
    Layout::new(&["communities.data"], false, COMMUNITIES)
        .missing(Missing::Mean)
        .numbers(&inputs.join(" "))
        .target(target)
}

/// AER's export. The row number is among the inputs and `lunchk` is not: with both mended there would be 39 as well,
/// but the paper's 39 come from a loader that does it this way.
fn star() -> Layout {
    const CLASS: &[&str] = &["regular", "small", "regular+aide"];
    const LUNCH: &[&str] = &["free", "non-free"];
    const SCHOOL: &[&str] = &["inner-city", "suburban", "rural", "urban"];
    const DEGREE_K: &[&str] = &["bachelor", "master", "specialist", "master+"];
    const DEGREE: &[&str] = &["bachelor", "master", "specialist", "phd"];
    const LADDER_K: &[&str] = &["level1", "level2", "level3", "apprentice", "probation", "pending", "notladder"];
    const LADDER: &[&str] = &["level1", "level2", "level3", "apprentice", "probation", "noladder", "notladder"];
    const ETHNICITY: &[&str] = &["cauc", "afam", "asian", "hispanic", "amindian", "other"];
    let years = |of: &str| ["k", "1", "2", "3"].map(|year| format!("{of}{year}")).join(" ");
    let all = [
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
    let columns = format!("rowname gender ethnicity birth {}", all.map(years).join(" "));
    Layout::new(&["STAR.csv"], true, &columns)
        .missing(Missing::DropRow)
        .numbers("rowname")
        .levels("gender", &["female", "male"])
        .levels("ethnicity", ETHNICITY)
        .numbers("birth")
        .levels(&years("star"), CLASS)
        .levels("lunch1 lunch2 lunch3", LUNCH)
        .levels(&years("school"), SCHOOL)
        .levels("degreek", DEGREE_K)
        .levels("degree1 degree2 degree3", DEGREE)
        .levels("ladderk", LADDER_K)
        .levels("ladder1 ladder2 ladder3", LADDER)
        .numbers(&years("experience"))
        .levels(&years("tethnicity"), &ETHNICITY[..3])
        .numbers(&years("system"))
        .numbers(&years("schoolid"))
        .target(&format!("{} {}", years("read"), years("math")))
}

fn abalone() -> Layout {
    let sizes = "Length Diameter Height Whole_weight Shucked_weight Viscera_weight Shell_weight";
    Layout::new(&["abalone.data"], false, &format!("Sex {sizes} Rings"))
        .levels("Sex", &["M", "F", "I"])
        .numbers(sizes)
        .target("Rings")
}

/// Sex as two columns, the likeliest reading of the paper's 22 inputs. Rows of one subject are alike.
fn parkinson() -> Layout {
    let columns = format!("subject# age sex test_time motor_UPDRS total_UPDRS {JITTER_TO_PPE}");
    Layout::new(&["parkinsons_updrs.data"], true, &columns)
        .numbers("subject# age")
        .one_hot("sex", &["0", "1"])
        .numbers("test_time motor_UPDRS")
        .numbers(JITTER_TO_PPE)
        .target("total_UPDRS")
}

fn power_plant() -> Layout {
    Layout::new(&["Folds5x2_pp.csv"], true, "AT V AP RH PE").numbers("AT V AP RH").target("PE")
}

/// Kaggle's training rows of the bike sharing data: the count without its two parts.
fn bike() -> Layout {
    const ONE_TO_FOUR: &[&str] = &["1", "2", "3", "4"];
    let weather = "temp atemp humidity windspeed";
    let columns = format!("datetime season holiday workingday weather {weather} casual registered count");
    Layout::new(&["train.csv", "bike_train.csv"], true, &columns)
        .numbers("holiday workingday")
        .numbers(weather)
        .one_hot("season", ONE_TO_FOUR)
        .one_hot("weather", ONE_TO_FOUR)
        .time("hour", Part::Hour, "datetime")
        .time("day", Part::Weekday, "datetime")
        .time("month", Part::Month, "datetime")
        .time("year", Part::Year, "datetime")
        .target("count")
}

fn protein() -> Layout {
    let inputs = "F1 F2 F3 F4 F5 F6 F7 F8 F9";
    Layout::new(&["CASP.csv"], true, &format!("RMSD {inputs}")).numbers(inputs).target("RMSD")
}

fn year() -> Layout {
    let inputs = (1..=90).map(|i| format!("x{i}")).collect::<Vec<_>>().join(" ");
    Layout::new(&["YearPredictionMSD.txt"], false, &format!("year {inputs}")).numbers(&inputs).target("year")
}

#[cfg(test)]
mod tests {
    use super::*;
    use std::path::Path;

    #[test]
    fn every_layout_has_the_printed_number_of_inputs() {
        for set in UciSet::ALL {
            let names = layout(set).names();
            assert_eq!(names.len(), set.printed_size().1 + 1, "{set}");
            assert_eq!(names.last().map(String::as_str), Some("y"), "{set}");
        }
    }

    #[test]
    #[ignore = "needs STONET_DATA"]
    fn columns_are_called_as_in_the_normalised_files() {
        let dir = std::env::var_os("STONET_DATA").expect("STONET_DATA names a directory with the regression data sets");
        for set in UciSet::ALL {
            match super::super::load(set, Path::new(&dir)).unwrap() {
                Some(found) if !layout(set).files.iter().any(|f| found.path.ends_with(f)) => {
                    assert_eq!(stonet_io::read(&found.path).unwrap().names(), layout(set).names(), "{set}");
                }
                _ => eprintln!("skipped: no normalised file of {set}"),
            }
        }
    }
}
