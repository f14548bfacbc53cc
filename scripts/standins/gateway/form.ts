/**
 * Part of the stand-ins for local use: reads the answer form in a prompt like a model. A form is a line of JSON in
 * which `<kind, what it is>` stands for each value.
 */

import { parseJson } from "../../json";

type Schema = Record<string, unknown>;

const MARK = "\u0001";

/** The form in the last of the texts that has one, as a JSON schema; `undefined` if none has. */
export function formIn(texts: readonly string[]): Schema | undefined {
  const lines = texts.flatMap((text) => text.split("\n")).filter((line) => /^\{.*<.*\}$/.test(line));
  for (const line of lines.reverse()) {
    const value = parsed(line);
    if (value !== undefined) return schemaOf(value);
  }
  return undefined;
}

function parsed(line: string): unknown {
  const json = line
    .replace(/<([^<>]*)>/g, (_whole, inner: string) => JSON.stringify(`${MARK}${inner}`))
    .replaceAll("} or null", `, ${JSON.stringify(MARK)}: true}`)
    .replaceAll(", ...]", "]");
  return parseJson(json);
}

function schemaOf(value: unknown): Schema {
  if (Array.isArray(value)) return { type: "array", items: schemaOf(value[0]) };
  if (typeof value === "object" && value !== null) {
    const entries = Object.entries(value).filter(([name]) => name !== MARK);
    const schema = {
      type: "object",
      properties: Object.fromEntries(entries.map(([name, part]) => [name, schemaOf(part)])),
      required: entries.map(([name]) => name),
      additionalProperties: false,
    };
    return MARK in value ? { anyOf: [schema, { type: "null" }] } : schema;
  }
  return typeof value === "string" && value.startsWith(MARK) ? placeholder(value.slice(1)) : { const: value };
}

const KINDS: Record<string, string> = {
  text: "string",
  number: "number",
  "whole number": "integer",
  "true or false": "boolean",
};

function placeholder(text: string): Schema {
  const words = /^"[^"]*"(?: \| "[^"]*")*/.exec(text)?.[0];
  const kind = words ?? /^(?:text|number|whole number|true or false)/.exec(text)?.[0] ?? "";
  const schema =
    words === undefined
      ? { type: KINDS[kind] ?? "string" }
      : { type: "string", enum: Array.from(words.matchAll(/"([^"]*)"/g), ([, word]) => word) };
  return text.slice(kind.length).startsWith(" or null") ? { anyOf: [schema, { type: "null" }] } : schema;
}
