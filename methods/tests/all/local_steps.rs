//! Local training as experiment files write it.

use motet_methods::parts::Amount;

#[test]
fn an_amount_of_work_is_a_number_or_epochs_and_nothing_else() {
    for text in ["5", r#"{"epochs":2}"#] {
        let amount: Amount = serde_json::from_str(text).unwrap();
        assert_eq!(serde_json::to_string(&amount).unwrap(), text);
    }
    for bad in ["0", "-1", "2.5", "\"many\"", "{}", r#"{"epochs":0}"#, r#"{"steps":3}"#] {
        assert!(serde_json::from_str::<Amount>(bad).is_err(), "{bad}");
    }
    let wrong = serde_json::from_str::<Amount>("0").unwrap_err().to_string();
    assert!(wrong.contains("from 1, or { epochs = n }"), "{wrong}");
}
