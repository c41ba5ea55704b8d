//! A description of the server in the words of OpenAPI 3.1, with the columns of its head.

use serde_json::{Value, json};

use crate::arrow;
use crate::predictor::Predictor;

/// The description.
pub(crate) fn describe(predictor: &Predictor) -> Value {
    let error = json!({ "description": "What is wrong, in words", "content": { "application/json": { "schema": { "$ref": "#/components/schemas/Error" } } } });
    let parameter = |name: &str, what: &str, schema: Value| json!({ "name": name, "in": "query", "description": what, "schema": schema });
    let text = json!({ "type": "string" });
    json!({
        "openapi": "3.1.0",
        "info": {
            "title": "StoNet",
            "version": env!("CARGO_PKG_VERSION"),
            "description": "Predictions of a fitted head. Numbers are those of `stonet predict`."
        },
        "paths": {
            "/predict": { "post": {
                "summary": "Predict the rows of the body",
                "parameters": [
                    parameter("level", "Coverage of intervals or sets, such as 0.8,0.95", text.clone()),
                    parameter("side", "Which bounds to compute", json!({ "type": "string", "enum": ["both", "lower", "upper"] })),
                    parameter("joint", "Intervals that cover all targets of a row jointly", json!({ "type": "boolean" })),
                    parameter("quantiles", "Quantiles between 0 and 1, such as 0.05,0.5", text.clone()),
                    parameter("below", "Values t: P(y <= t) for each", text),
                    parameter("sets", "Prediction sets", json!({ "type": "string", "enum": ["text", "columns"] })),
                    parameter("accuracy", "Bounds of the accuracy", json!({ "type": "boolean" })),
                ],
                "requestBody": { "required": true, "content": {
                    "application/json": { "schema": { "$ref": "#/components/schemas/Rows" } },
                    arrow::TYPE: { "schema": { "type": "string", "format": "binary" } }
                } },
                "responses": {
                    "200": { "description": "The predictions; an infinite end of an interval is null in JSON", "content": {
                        "application/json": { "schema": { "$ref": "#/components/schemas/Predictions" } },
                        arrow::TYPE: { "schema": { "type": "string", "format": "binary" } }
                    } },
                    "400": error, "408": error, "413": error, "415": error, "422": error, "503": error
                }
            } },
            "/health": { "get": { "summary": "Whether the server answers, and what it serves", "responses": { "200": { "description": "It does", "content": { "application/json": { "schema": { "type": "object" } } } } } } },
            "/metrics": { "get": { "summary": "Counters and times for Prometheus", "responses": { "200": { "description": "Text", "content": { "application/openmetrics-text": { "schema": { "type": "string" } } } } } } },
            "/openapi.json": { "get": { "summary": "This description", "responses": { "200": { "description": "OpenAPI 3.1", "content": { "application/json": { "schema": { "type": "object" } } } } } } }
        },
        "components": { "schemas": {
            "Rows": {
                "oneOf": [
                    { "type": "object", "required": ["rows"], "additionalProperties": false, "properties": { "rows": { "type": "array", "items": row(predictor) } } },
                    { "type": "object", "required": ["columns"], "additionalProperties": false, "properties": { "columns": { "type": "object", "additionalProperties": { "type": "array", "items": { "type": ["number", "string", "boolean", "null"] } } } } }
                ]
            },
            "Predictions": {
                "type": "object", "required": ["schema", "rows", "columns"],
                "properties": {
                    "schema": { "const": "stonet.predictions/1" },
                    "rows": { "type": "integer" },
                    "columns": { "type": "object", "additionalProperties": { "type": "array" } }
                }
            },
            "Error": {
                "type": "object", "required": ["schema", "error"],
                "properties": { "schema": { "const": "stonet.error/1" }, "error": { "type": "object", "required": ["message"], "properties": { "message": { "type": "string" } } } }
            }
        } }
    })
}

/// A row with the columns that are known.
fn row(predictor: &Predictor) -> Value {
    let columns = predictor.columns().unwrap_or_default();
    let properties: serde_json::Map<String, Value> =
        columns.iter().map(|name| (name.clone(), json!({ "type": ["number", "string", "boolean"] }))).collect();
    json!({ "type": "object", "required": columns, "properties": properties })
}
