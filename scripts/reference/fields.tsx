import type { JsonSchema } from "./jsonSchema";

/** JSON Schemas as tables of fields. */

type Field = { name: string; type: string; required: boolean; description: string };

/** Plain text whose `code` is in backticks. */
export function Prose({ text }: { text: string }) {
  return <>{text.split("`").map((part, index) => (index % 2 === 1 ? <code>{part}</code> : part))}</>;
}

/** A table for an object, or one for each of its variants; nothing if there are no fields. */
export function FieldTables({ schema, caption }: { schema: JsonSchema; caption: string }) {
  const forms = listForms(schema);
  if (forms.length > 0) {
    return (
      <>
        {forms.map((form) => (
          <FieldTables schema={form} caption={form.description ?? caption} />
        ))}
      </>
    );
  }
  const fields = listFields(schema, "");
  if (fields.length === 0) return null;
  return (
    <table class="fields" aria-label={caption}>
      {schema.description !== undefined && (
        <caption>
          <Prose text={caption} />
        </caption>
      )}
      <thead>
        <tr>
          <th scope="col">Field</th>
          <th scope="col">Type</th>
          <th scope="col">Meaning</th>
        </tr>
      </thead>
      <tbody>
        {fields.map(({ name, type, required, description }) => (
          <tr>
            <td>
              <code>{name}</code>
              {required && <small>required</small>}
            </td>
            <td>{type}</td>
            <td>
              <Prose text={description} />
            </td>
          </tr>
        ))}
      </tbody>
    </table>
  );
}

function listForms({ anyOf = [] }: JsonSchema): JsonSchema[] {
  return anyOf.flatMap((form) => (typeof form === "object" && form.properties !== undefined ? [form] : []));
}

/** Nested fields appear with their paths: `top20[].rank`. */
function listFields(schema: JsonSchema, path: string): Field[] {
  return Object.entries(schema.properties ?? {}).flatMap(([key, value]) => {
    if (typeof value === "boolean") return [];
    const name = path === "" ? key : `${path}.${key}`;
    const required = schema.required?.includes(key) === true;
    const description = value.description ?? "";
    const inner = innerFields(value, name);
    // A group without a description needs none: its fields are enough.
    const field = { name, type: describeType(value), required, description };
    return inner.length > 0 && description === "" && value.type === "object" ? inner : [field, ...inner];
  });
}

function innerFields(schema: JsonSchema, name: string): Field[] {
  const { items } = schema;
  const inner = variants(schema).flatMap((one) => (one === schema ? [] : innerFields(one, name)));
  if (typeof items === "object" && !Array.isArray(items))
    return [...listFields(items, `${name}[]`), ...inner];
  return [...listFields(schema, name), ...inner];
}

/** A field's type, in words. */
function describeType(schema: JsonSchema): string {
  const words = variants(schema).map((one) => (one === schema ? plainType(one) : describeType(one)));
  return [...new Set(words)].join(" or ");
}

/**
 * The variants that matter to a reader: not that an optional field may be empty, and not that text may be in any case,
 * both of which are explained elsewhere.
 */
function variants(schema: JsonSchema): JsonSchema[] {
  const forms = (schema.anyOf ?? []).flatMap((one) => (typeof one === "object" ? [one] : []));
  if (forms.length === 0) return [schema];
  const hasWords = forms.some((one) => one.enum !== undefined && !isAbsence(one));
  return forms.filter((one) => !isAbsence(one) && !(hasWords && one.pattern !== undefined));
}

function isAbsence({ enum: values, pattern }: JsonSchema): boolean {
  return values?.includes("") === true || pattern === String.raw`^\s*$`;
}

const WORDS: Readonly<Record<string, string>> = {
  string: "text",
  integer: "whole number",
  boolean: "true or false",
  null: "nothing (null)",
};
const getWord = (type: string): string => WORDS[type] ?? type;

/** A type in words for the author of a request. */
function plainType(schema: JsonSchema): string {
  if (schema.const !== undefined) return String(schema.const);
  if (schema.enum !== undefined) return schema.enum.join(", ");
  if (Array.isArray(schema.type)) return schema.type.map(getWord).join(" or ");
  const { type = "anything", items, format, minLength, maxLength } = schema;
  if (type === "array" && typeof items === "object" && !Array.isArray(items)) {
    return items.properties === undefined ? `list of ${describeType(items)}` : "list";
  }
  if (type === "string" && format === "date-time") return "time, as in 2026-01-05T09:00:00Z";
  if (type === "string" && maxLength !== undefined) {
    const least = minLength === undefined || minLength < 2 ? "up to" : `${minLength} to`;
    return `text, ${least} ${maxLength.toLocaleString("en-US")} characters`;
  }
  return `${getWord(type)}${describeRange(schema)}`;
}

function describeRange({ minimum, maximum = Infinity }: JsonSchema): string {
  if (minimum === undefined) return "";
  // Whole numbers without other bounds have the language's own.
  const isBounded = maximum < Number.MAX_SAFE_INTEGER;
  if (isBounded) return ` from ${minimum} to ${maximum.toLocaleString("en-US")}`;
  return minimum > Number.MIN_SAFE_INTEGER ? `, ${minimum} or more` : "";
}
