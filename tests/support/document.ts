import { Ajv2020, type ValidateFunction } from "ajv/dist/2020";
import addFormats from "ajv-formats";
import { domains } from "../../convex/endpoints";
import { matchPath } from "../../convex/platform/http/router";
import { openApi } from "../../scripts/reference/document";
import type { Answer, OpenApi, Operation } from "../../scripts/reference/types";

/** Checks every answer in a test against the API document: status, body, and headers. An undocumented answer fails its test. */

type Got = { status: number; headers: Headers; text: string };

const DOCUMENT = "document";
const ERROR = `${DOCUMENT}#/components/schemas/Error`;

/** Headers that no operation lists: the platform's, the page's, and those of answers for any origin. */
const COMMON_HEADERS = [
  "content-type",
  "content-length",
  "access-control-allow-origin",
  "access-control-expose-headers",
  "x-request-id",
];

let compiled: { document: OpenApi; ajv: Ajv2020 } | undefined;

/** The document and its validators, made once per process; each validator is compiled when it is first needed. */
export function documented(): { document: OpenApi; ajv: Ajv2020 } {
  if (compiled !== undefined) return compiled;
  const document = openApi(domains, "https://some.convex.site");
  const ajv = new Ajv2020({ strict: false, validateSchema: false });
  addFormats(ajv);
  ajv.addSchema(document, DOCUMENT);
  compiled = { document, ajv };
  return compiled;
}

/** The validator of a part of the document, by its path in it. */
export function validatorOf(...path: string[]): ValidateFunction {
  const pointer = path.map((part) => part.replaceAll("~", "~0").replaceAll("/", "~1"));
  return validatorAt(`${DOCUMENT}#/${pointer.map(encodeURIComponent).join("/")}`);
}

function validatorAt(reference: string): ValidateFunction {
  const validate = documented().ajv.getSchema(reference);
  if (validate === undefined) throw new Error(`The API document has no ${reference}`);
  return validate;
}

/** @throws Error naming the request and what does not match. */
export function assertDocumented(method: string, target: string, got: Got): void {
  // Its forms are the Model Context Protocol's.
  if (/^\/mcp(?:\?|$)/.test(target)) return;
  const path = declared(new URL(`https://some.convex.site${target.replace(/^\/+/, "/")}`).pathname);
  const problem = problemOf(method, path, got);
  if (problem === null) return;
  throw new Error(
    `${method} ${path} answered ${got.status} against the API document: ${problem}\n${got.text.slice(0, 600)}`,
  );
}

/** The document's path for an address: the address itself without a last slash, or a matching path with a field. */
function declared(asked: string): string {
  const pathname = asked.replace(/(?<=.)\/$/, "");
  const paths = Object.keys(documented().document.paths);
  if (paths.includes(pathname)) return pathname;
  return paths.find((path) => matchPath(path, pathname) !== null) ?? pathname;
}

function problemOf(method: string, path: string, got: Got): string | null {
  const common = commonProblem(got.headers);
  if (common !== null) return common;
  if (isFailurePage(method, got)) return failurePageProblem(got);
  const operations = documented().document.paths[path];
  if (method === "OPTIONS") return preflightProblem(got);
  if (operations === undefined) return refusalProblem(got, 404);
  const operation = { GET: operations.get, HEAD: operations.get, POST: operations.post }[method];
  if (operation === undefined) {
    return got.headers.has("allow") ? refusalProblem(got, 405) : "it names no allowed methods";
  }
  const answer = operation.responses[String(got.status)];
  if (answer === undefined) return `the status is not documented for ${operation.operationId}`;
  return headersProblem(answer, got.headers) ?? bodyProblem(operation, path, method, answer, got);
}

/** Whether it is a browser's page of a failure, which the document describes once for all. */
function isFailurePage(method: string, { status, headers }: Got): boolean {
  const isRead = method !== "OPTIONS";
  return isRead && status >= 400 && headers.get("content-type") === "text/html; charset=utf-8";
}

function failurePageProblem({ status, headers }: Got): string | null {
  if (status === 402) return "terms of payment are no page";
  const policy = headers.get("content-security-policy") ?? "";
  if (!policy.includes("default-src 'none'")) return "its page may load something";
  return headers.get("vary") === "Accept, Sec-Fetch-Mode" ? null : "it does not vary by what is accepted";
}

function commonProblem(headers: Headers): string | null {
  if (!/^[0-9a-f-]{36}$/.test(headers.get("x-request-id") ?? "")) return "it has no X-Request-Id";
  if (headers.get("access-control-allow-origin") !== "*") return "it is not open to any origin";
  if (!headers.has("access-control-expose-headers")) return "it exposes no headers to browsers";
  return null;
}

function preflightProblem({ status, headers, text }: Got): string | null {
  if (status !== 204 || text !== "") return "a preflight is 204 without a body";
  return headers.has("access-control-allow-methods") ? null : "a preflight allows methods";
}

/** Answers outside any endpoint: an unknown path, or another method. */
function refusalProblem({ status, headers, text }: Got, expected: number): string | null {
  if (status !== expected) return `it should be ${expected}`;
  if (headers.get("content-type") !== "application/json") return "it is not JSON";
  return mismatch(validatorAt(ERROR), text);
}

function headersProblem({ headers: told, content }: Answer, headers: Headers): string | null {
  const type = headers.get("content-type")?.split(";")[0] ?? "none";
  const isEmpty = Object.keys(content).length === 0;
  if (!isEmpty && content[type] === undefined) return `its content type, ${type}, is not documented`;
  const names = Object.keys(told).map((name) => name.toLowerCase());
  const unknown = [...headers.keys()].find((name) => !names.includes(name) && !COMMON_HEADERS.includes(name));
  if (unknown !== undefined) return `its header ${unknown} is not documented`;
  for (const [name, { required, schema }] of Object.entries(told)) {
    const value = headers.get(name);
    if (value === null) {
      if (required === true) return `its header ${name} is missing`;
      continue;
    }
    const sound: boolean = documented().ajv.validate(schema, value);
    if (!sound) return `its header ${name} is malformed: ${value}`;
  }
  return null;
}

function bodyProblem(
  { operationId }: Operation,
  path: string,
  method: string,
  { content }: Answer,
  { status, headers, text }: Got,
): string | null {
  if (Object.keys(content).length === 0) return text === "" ? null : "it has a body";
  if (method === "HEAD") return text === "" ? null : "an answer to HEAD has no body";
  const type = headers.get("content-type")?.split(";")[0] ?? "none";
  if (!type.endsWith("json")) return text === "" ? "it is empty" : null;
  if (content[type] === undefined) return `${operationId} does not tell of ${type}`;
  const verb = method === "POST" ? "post" : "get";
  return mismatch(
    validatorOf("paths", path, verb, "responses", String(status), "content", type, "schema"),
    text,
  );
}

function mismatch(validate: ValidateFunction, text: string): string | null {
  let body: unknown;
  try {
    body = JSON.parse(text);
  } catch {
    return "its body is not JSON";
  }
  return validate(body) ? null : documented().ajv.errorsText(validate.errors, { dataVar: "body" });
}
