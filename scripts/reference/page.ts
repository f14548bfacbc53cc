import { TITLE, type Book } from "../../convex/ops/reference/pages";
import type { JsonSchema } from "../../convex/lib/http/jsonSchema";
import { codeBlock, escaped, ICON, pageHeaders, prose } from "../../convex/ops/html";
import type { Method, OpenApi, Operation } from "./types";
import { fieldTables } from "./fields";
import { STYLE } from "./style";

/** The reference's pages, made only from the API document. They load nothing, run no script, and work as plain HTML. */

const JSON_TYPE = "application/json";

/** An endpoint of the document with its equivalent methods; the last one's operation has the details. */
type Entry = { path: string; methods: Method[]; operation: Operation; id: string };

/** The reference as pages: an overview and one for each domain, with the text that a search covers. */
export function book(document: OpenApi): { book: Book; headers: Record<string, string> } {
  const groups = document.tags.map((tag) => ({ ...tag, entries: entriesOf(document, tag.name) }));
  const shared = sharedFailures(document);
  const { title, summary, version } = document.info;
  const links = groups.map(
    ({ name }) => `<li><a href="${addressOf(name)}">${escaped(heading(name))}</a></li>`,
  );
  const head = `<!doctype html>
<html lang="en">
<head>
<meta charset="utf-8">
<meta name="viewport" content="width=device-width, initial-scale=1">
<title>${TITLE}</title>
<meta name="description" content="${escaped(summary)}">
<link rel="icon" href="${ICON}">
<style>${STYLE}</style>
</head>
<body id="top">
<a class="skip" href="#content">Skip to the content</a>
<nav aria-label="Reference" tabindex="0"><p class="group"><a href="/">← ${escaped(title)}</a></p><form action="/docs" method="get" role="search"><label>Search<input type="search" name="q" autocomplete="off" maxlength="100"></label><button>Find</button></form><details><summary>Contents</summary><ul><li><a href="/docs">Getting started</a></li>${links.join("")}</ul></details></nav>
<main id="content">
`;
  const foot = `
<footer><p>Version ${escaped(version)}. The same for programs: <a href="/openapi.json">openapi.json</a> (OpenAPI 3.1).</p></footer>
</main>
</body>
</html>
`;
  const pages = Object.fromEntries(
    groups.map(({ name, description, entries }) => [
      name,
      {
        title: `${heading(name)}: ${title}`,
        html: `<p class="small"><a href="/docs">Reference</a></p><h1>${escaped(heading(name))}</h1><p class="lead">${prose(description)}</p>${entries
          .map((entry) => endpointSection(document, entry, shared))
          .join("")}`,
      },
    ]),
  );
  const overview = groups.map(
    ({ name, description, entries }) =>
      `<section class="tag" aria-labelledby="${tagAnchor(name)}"><h2 id="${tagAnchor(name)}"><a href="${addressOf(name)}">${escaped(heading(name))}</a></h2><p class="small">${prose(description)}</p><ul>${entries
        .map(({ path, id, methods, operation }) => {
          const href = `${addressOf(name)}#${id}`;
          return `<li><a href="${href}"><code>${methods.join(", ").toUpperCase()} ${escaped(path)}</code></a> ${prose(operation.summary)}</li>`;
        })
        .join("")}</ul></section>`,
  );
  const found = groups.flatMap(({ name, entries }) =>
    entries.map(({ path, id, methods, operation }) => ({
      ...{ path, href: `${addressOf(name)}#${id}`, methods: methods.join(", ").toUpperCase() },
      summary: operation.summary,
      words: [name, path, operation.summary, operation.description ?? "", ...fieldNames(document, operation)]
        .join(" ")
        .toLowerCase(),
    })),
  );
  return {
    book: {
      ...{ head, foot, pages, entries: found },
      start: { title: `${title}: reference`, html: `${intro(document, shared)}${overview.join("\n")}` },
    },
    headers: pageHeaders(STYLE, "'self'"),
  };
}

function fieldNames(document: OpenApi, operation: Operation): string[] {
  return Object.keys(inputOf(document, operation).properties ?? {});
}

function addressOf(tag: string): string {
  return `/docs/${encodeURIComponent(tag)}`;
}

function entriesOf({ paths }: OpenApi, tag: string): Entry[] {
  return Object.entries(paths).flatMap(([path, { get, post }]): Entry[] => {
    const id = anchor(path);
    const isOne = get?.summary === post?.summary;
    const both: Entry[] =
      get !== undefined && post !== undefined && isOne
        ? [{ path, methods: ["get", "post"], operation: post, id }]
        : [
            ...(post === undefined ? [] : [{ path, methods: ["post" as const], operation: post, id }]),
            ...(get === undefined
              ? []
              : [
                  {
                    ...{ path, methods: ["get" as const], operation: get },
                    id: post === undefined ? id : `${id}-get`,
                  },
                ]),
          ];
    return both.filter(({ operation }) => operation.tags.includes(tag));
  });
}

function heading(tag: string): string {
  return tag.charAt(0).toUpperCase() + tag.slice(1);
}

function anchor(path: string): string {
  return path.replace(/[^A-Za-z0-9]+/g, "-").replace(/^-/, "");
}

/** A domain may have the name of a path. */
function tagAnchor(tag: string): string {
  return `domain-${escaped(tag)}`;
}

/** How the descriptions of a status begin at every endpoint; shown once. */
function sharedFailures({ paths }: OpenApi): Map<string, string> {
  const operations = Object.values(paths).flatMap(({ get, post }) =>
    [get, post].filter((one) => one !== undefined),
  );
  const statuses = Object.keys(operations[0]?.responses ?? {}).filter((status) => status !== "200");
  return new Map(
    statuses.flatMap((status): [string, string][] => {
      const reasons = operations.map(({ responses }) => responses[status]?.description ?? "");
      const shortest = reasons.reduce((a, b) => (b.length < a.length ? b : a));
      const isShared = shortest !== "" && reasons.every((reason) => reason.startsWith(shortest));
      return isShared ? [[status, shortest]] : [];
    }),
  );
}

function intro({ info, servers }: OpenApi, shared: Map<string, string>): string {
  const server = servers[0]?.url ?? "";
  const [conventions = "", secret = "", ...further] = info.description.split("\n\n");
  const steps = [
    ["Ask something that needs no name.", `curl -s '${server}/mcp/market'`],
    [
      "Choose your `userId`: long and random. Keep it like a password.",
      "export USER_ID=$(openssl rand -hex 24)",
    ],
    [
      "Get a wallet, and see what is in it.",
      `curl -s ${server}/mcp/defi/connect -d '{"userId":"'$USER_ID'"}'\ncurl -s "${server}/mcp/defi/portfolio?userId=$USER_ID"`,
    ],
  ];
  const listed = steps.map(
    ([says = "", command = ""]) => `<li>${prose(says)}${codeBlock(`Command: ${says}`, command)}</li>`,
  );
  return `<header class="intro"><h1>${escaped(info.title)}</h1><p class="lead">${prose(info.summary)}</p>
<h2 id="start" class="tag">Getting started</h2><p>Everything is at <code>${escaped(server)}</code>.</p>
<ol>${listed.join("")}</ol>
<div class="note"><p>${prose(secret)}</p></div>
${[conventions, ...further].map((one) => `<p>${prose(one)}</p>`).join("")}
<h3 class="label">What every endpoint can answer besides</h3>${failureTable([...shared])}</header>`;
}

function endpointSection(
  document: OpenApi,
  { path, methods, operation, id }: Entry,
  shared: Map<string, string>,
): string {
  const pills = methods.map((method) => `<span class="method ${method}">${method.toUpperCase()}</span>`);
  const input = inputOf(document, operation);
  const success = operation.responses["200"];
  const answer = resolved(document, success?.content[JSON_TYPE]?.schema);
  // Two methods of one path stand side by side.
  const name = `${methods.join(", ").toUpperCase()} ${path}`;
  const parts = [
    section("Fields", fieldTables(input, { required: true, caption: `Fields of ${name}` })),
    section("Headers", headerTable(operation)),
    section("Answer", fieldTables(answer, { required: false, caption: `Answer of ${name}` })),
    section("When it fails", failureTable(ownFailures(operation, shared))),
  ];
  return `<section class="endpoint" aria-labelledby="${id}"><h2 class="route" id="${id}">${pills.join("")}<a href="#${id}"><code>${escaped(path)}</code></a></h2><p class="summary">${prose(operation.summary)}</p>${
    operation.description === undefined ? "" : `<p>${prose(operation.description)}</p>`
  }<div class="columns"><div>${parts.join("")}</div><div class="examples">${examples(document, { path, methods, operation, name })}</div></div><p class="small"><a href="#top">Back to the top</a></p></section>`;
}

function section(title: string, content: string): string {
  return content === "" ? "" : `<h3 class="label">${escaped(title)}</h3>${content}`;
}

function resolved({ components }: OpenApi, schema: JsonSchema = {}): JsonSchema {
  const name = schema.$ref?.split("/").at(-1);
  return name === undefined ? schema : (components.schemas[name] ?? {});
}

function inputOf(document: OpenApi, { requestBody, parameters = [] }: Operation): JsonSchema {
  if (requestBody !== undefined) return resolved(document, requestBody.content[JSON_TYPE]?.schema);
  const fields = parameters.filter((one) => one.in !== "header");
  return {
    properties: Object.fromEntries(
      fields.map(({ name, schema, description = "" }) => [name, { ...schema, description }]),
    ),
    required: fields.filter(({ required }) => required === true).map(({ name }) => name),
  };
}

function headerTable({ parameters = [], security }: Operation): string {
  const headers = parameters.filter((one) => one.in === "header");
  const token = {
    name: "Authorization",
    description: "`Bearer <token>` of the signed-in user, once the `userId` belongs to one.",
  };
  const all = [...headers, ...(security === undefined ? [] : [token])];
  return pairTable(
    "Headers",
    "name",
    all.map(({ name, description = "" }) => [`<code>${escaped(name)}</code>`, description]),
  );
}

/** Further failures of an endpoint, besides the common ones. */
function ownFailures({ responses }: Operation, shared: Map<string, string>): [string, string][] {
  return Object.entries(responses).flatMap(([status, { description }]): [string, string][] => {
    const own = description.slice(shared.get(status)?.length ?? 0).trim();
    return status === "200" || own === "" ? [] : [[status, own]];
  });
}

function failureTable(failures: readonly (readonly [string, string])[]): string {
  return pairTable("Failures", "status", failures);
}

/** @param rows Each with its subject, as HTML, and its description, as prose. */
function pairTable(label: string, kind: string, rows: readonly (readonly [string, string])[]): string {
  const listed = rows.map(
    ([about, says]) =>
      `<tr role="row"><td role="cell" class="${kind}">${about}</td><td role="cell">${prose(says)}</td></tr>`,
  );
  if (listed.length === 0) return "";
  return `<table role="table" aria-label="${label}"><tbody role="rowgroup">${listed.join("")}</tbody></table>`;
}

function examples(
  document: OpenApi,
  { path, methods, operation, name }: Omit<Entry, "id"> & { name: string },
): string {
  const server = document.servers[0]?.url ?? "";
  const request = curl(server + path, methods, operation);
  const shown = Object.entries(operation.responses).flatMap(([status, { content }]) => {
    const example = content[JSON_TYPE]?.example;
    if (example === undefined) return [];
    const title = status === "200" ? "Answer" : `Answer with ${status}`;
    return [
      `<h3 class="label">${title}</h3>${codeBlock(`${title} of ${name}`, JSON.stringify(example, null, 2), true)}`,
    ];
  });
  return `<h3 class="label">Request</h3>${codeBlock(`Request of ${name}`, request)}${shown.join("")}`;
}

function curl(url: string, methods: Method[], { requestBody, parameters = [] }: Operation): string {
  const headers = parameters
    .filter(({ name }) => name === "Idempotency-Key" || name === "X-Payment")
    .map(({ name }) => `-H '${name}: ${name === "X-Payment" ? "0x…" : "a-key-of-yours"}'`);
  if (!methods.includes("post")) {
    const query = new URLSearchParams(
      parameters.flatMap(({ in: place, name, example }) =>
        place === "query" && example !== undefined
          ? [[name, typeof example === "string" ? example : JSON.stringify(example)]]
          : [],
      ),
    ).toString();
    const address = url.replace(/\{(\w+)\}$/, (template, field: string) => {
      const example = parameters.find(({ in: place, name }) => place === "path" && name === field)?.example;
      return typeof example === "string" ? encodeURIComponent(example) : template;
    });
    return ["curl -s", ...headers, quoted(query === "" ? address : `${address}?${query}`)].join(" ");
  }
  const body = JSON.stringify(requestBody?.content[JSON_TYPE]?.example ?? {});
  const lines = [`curl -s ${url}`, ...headers, "-H 'Content-Type: application/json'", `-d ${quoted(body)}`];
  return lines.join(" \\\n  ");
}

/** A word for a shell, whatever it contains. */
function quoted(text: string): string {
  return `'${text.replaceAll("'", String.raw`'\''`)}'`;
}
