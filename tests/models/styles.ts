/** The different ways in which models write the same JSON value. */

export const STYLES = [
  "fenced",
  "prose",
  "numbersAsStrings",
  "dressedNumbers",
  "magnitudes",
  "camelCase",
  "snakeCase",
  "otherCase",
  "extraKeys",
  "wrapped",
] as const;
export type Style = (typeof STYLES)[number];

/** The text of a JSON value, written in a style. */
export function styled(value: unknown, style: Style): string {
  switch (style) {
    case "fenced":
      return `\`\`\`json\n${JSON.stringify(value, null, 2)}\n\`\`\``;
    case "prose":
      return `Here is what you asked for [1]:\n\n${JSON.stringify(value)}\n\nLet me know if {anything} is unclear.`;
    case "numbersAsStrings":
      return JSON.stringify(mapped(value, { number: String }));
    case "dressedNumbers":
      return JSON.stringify(mapped(value, { number: dressed }));
    case "magnitudes":
      return JSON.stringify(mapped(value, { number: scaled }));
    case "camelCase":
      return JSON.stringify(mapped(value, { key: camel }));
    case "snakeCase":
      return JSON.stringify(mapped(value, { key: snake }));
    case "otherCase":
      return JSON.stringify(mapped(value, { key: (key) => key.toUpperCase() }));
    case "extraKeys":
      return JSON.stringify(withExtras(value));
    case "wrapped":
      return JSON.stringify({ result: value });
  }
}

type Changes = { number?: (value: number) => unknown; key?: (key: string) => string };

function mapped(value: unknown, changes: Changes): unknown {
  if (typeof value === "number") return changes.number?.(value) ?? value;
  if (Array.isArray(value)) return value.map((item: unknown) => mapped(item, changes));
  if (typeof value !== "object" || value === null) return value;
  return Object.fromEntries(
    Object.entries(value).map(([key, inner]) => [changes.key?.(key) ?? key, mapped(inner, changes)]),
  );
}

/** `1,234.5`, `$0.5`, as people write figures. */
function dressed(value: number): string {
  const [whole = "", fraction] = String(Math.abs(value)).split(".");
  if (whole.includes("e")) return String(value);
  const grouped = whole.replace(/\B(?=(?:\d{3})+$)/g, ",");
  return `${value < 0 ? "-" : ""}$${grouped}${fraction === undefined ? "" : `.${fraction}`}`;
}

/** `$14.5M`, `1.2bn`, if no digit is lost by it. */
function scaled(value: number): unknown {
  for (const [unit, power] of [
    ["T", 12],
    ["bn", 9],
    ["M", 6],
  ] as const) {
    const figure = String(value / 10 ** power);
    if (value >= 10 ** power && !figure.includes("e") && Number(`${figure}e${power}`) === value)
      return `$${figure}${unit}`;
  }
  return value;
}

function camel(key: string): string {
  return key.replace(/_+(\w)/g, (_whole, letter: string) => letter.toUpperCase());
}

function snake(key: string): string {
  return key.replace(/([a-z0-9])([A-Z])/g, "$1_$2").toLowerCase();
}

function withExtras(value: unknown): unknown {
  if (Array.isArray(value)) return value.map(withExtras);
  if (typeof value !== "object" || value === null) return value;
  const inner = Object.fromEntries(Object.entries(value).map(([key, one]) => [key, withExtras(one)]));
  return { note: "simulated", ...inner, source_url: null, extras: [{ a: 1 }] };
}
