import { codeBlock, escaped, ICON, pageHeaders, prose } from "../../convex/ops/html";
import { PALETTE } from "../../convex/ops/palette";
import type { JsonSchema } from "../../convex/lib/http/jsonSchema";
import { fieldTables } from "./fields";
import type { Method, OpenApi, Operation } from "./types";

/**
 * The reference as one page for people, made from the API document: every endpoint in its own fold. It loads nothing,
 * runs no script, and works as plain HTML.
 */

const JSON_TYPE = "application/json";

const STYLE = `
${PALETTE}html { -webkit-text-size-adjust: 100%; }
body { margin: 0; background: var(--paper); color: var(--ink); font: 400 1rem/1.6 var(--sans); }
.skip { position: absolute; left: -99rem; } .skip:focus { left: 1rem; }
main { max-width: 60rem; margin: 0 auto; padding: 2rem 1.25rem 4rem; }
h1, h2, h3 { line-height: 1.25; } h2 { margin: 2.5rem 0 0; } h3 { font-size: 0.85rem; color: var(--soft); margin: 1.25rem 0 0.4rem; }
p { max-width: 68ch; } a { color: var(--accent); }
code, pre { font-family: var(--mono); } code { overflow-wrap: anywhere; }
pre { background: var(--code); padding: 0.75rem; overflow: auto; max-height: 26rem; border-radius: 6px; font-size: 0.85rem; }
details { border-top: 1px solid var(--line); padding: 0.5rem 0; } summary { cursor: pointer; }
table { width: 100%; border-collapse: collapse; font-size: 0.92rem; } th { text-align: left; color: var(--soft); }
td { vertical-align: top; padding: 0.4rem 0.75rem 0.4rem 0; border-top: 1px solid var(--line); overflow-wrap: anywhere; }
.need, footer { color: var(--soft); font-size: 0.85rem; }`;

/** The page, and the headers that fit it. */
export function page(document: OpenApi): { html: string; headers: Record<string, string> } {
  const { title, summary, version, description } = document.info;
  const sections = document.tags.map(({ name, description: about }) => {
    const folds = Object.entries(document.paths).flatMap(([path, { get, post }]) =>
      (
        [
          ["get", get],
          ["post", post],
        ] as const
      ).flatMap(([method, one]) => (one?.tags.includes(name) ? [fold(document, path, method, one)] : [])),
    );
    return `<section><h2 id="${escaped(name)}">${escaped(heading(name))}</h2><p>${prose(about)}</p>${folds.join("")}</section>`;
  });
  const contents = document.tags.map(
    ({ name }) => `<a href="#${escaped(name)}">${escaped(heading(name))}</a>`,
  );
  const html = `<!doctype html>
<html lang="en">
<head>
<meta charset="utf-8">
<meta name="viewport" content="width=device-width, initial-scale=1">
<title>${escaped(title)}: reference</title>
<meta name="description" content="${escaped(summary)}">
<link rel="icon" href="${ICON}">
<style>${STYLE}</style>
</head>
<body>
<a class="skip" href="#content">Skip to the content</a>
<main id="content">
<p><a href="/">← ${escaped(title)}</a></p>
<h1>Reference</h1>
<p>Everything is at <code>${escaped(document.servers[0]?.url ?? "")}</code>. The same for programs: <a href="/openapi.json">openapi.json</a>.</p>
${description
  .split("\n\n")
  .map((one) => `<p>${prose(one)}</p>`)
  .join("")}
<nav aria-label="Subjects">${contents.join(" · ")}</nav>
${sections.join("\n")}
<footer><p>Version ${escaped(version)}</p></footer>
</main>
</body>
</html>
`;
  return { html, headers: pageHeaders(STYLE, "'none'") };
}

function heading(tag: string): string {
  return tag.charAt(0).toUpperCase() + tag.slice(1);
}

function fold(document: OpenApi, path: string, method: Method, operation: Operation): string {
  const name = `${method.toUpperCase()} ${path}`;
  const { requestBody, parameters = [], responses } = operation;
  const fields: JsonSchema = requestBody
    ? resolved(document, requestBody.content[JSON_TYPE]?.schema)
    : {
        properties: Object.fromEntries(
          parameters.map(({ name: field, schema, description = "" }) => [field, { ...schema, description }]),
        ),
        required: parameters.filter(({ required }) => required === true).map(({ name: field }) => field),
      };
  const request = requestBody?.content[JSON_TYPE]?.example;
  const answer = responses["200"]?.content[JSON_TYPE]?.example;
  const failures = Object.entries(responses).flatMap(([status, { description }]) =>
    status === "200" ? [] : [`<tr><td>${status}</td><td>${prose(description)}</td></tr>`],
  );
  return [
    `<details id="${escaped(`${method}${path.replaceAll(/[^A-Za-z0-9]+/g, "-")}`)}"><summary><code>${escaped(name)}</code> ${prose(operation.summary)}</summary>`,
    operation.description === undefined ? "" : `<p>${prose(operation.description)}</p>`,
    fieldTables(fields, { required: true, caption: `Fields of ${name}` }),
    example(`Request of ${name}`, request),
    example(`Answer of ${name}`, answer),
    `<table aria-label="Failures of ${escaped(name)}"><tbody>${failures.join("")}</tbody></table></details>`,
  ].join("");
}

function example(label: string, value: unknown): string {
  if (value === undefined) return "";
  return `<h3>${escaped(label)}</h3>${codeBlock(label, JSON.stringify(value, null, 2))}`;
}

function resolved({ components }: OpenApi, schema: JsonSchema = {}): JsonSchema {
  const name = schema.$ref?.split("/").at(-1);
  return name === undefined ? schema : (components.schemas[name] ?? {});
}
