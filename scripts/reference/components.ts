import { isErrorCode, STATUS } from "../../convex/lib/errors";
import type { JsonSchema } from "../../convex/lib/http/jsonSchema";
import { NOTICE_FIELDS } from "./document";
import { EVERY_ANSWER, RETRY_AFTER } from "./headers";
import { Shelf, type Reference } from "./shelf";
import type { Answer, Header, OpenApi, Operation, Parameter } from "./types";

/**
 * The API document as published: repeated parts are components and referred to; failures that every operation has are
 * one component, together with the headers of every answer. An answer may gain fields, so its schemas are open. Pure.
 */

type Shared<One> = One | Reference;
type SharedAnswer = Omit<Answer, "headers"> & { headers?: Record<string, Shared<Header>> };
type SharedOperation = Omit<Operation, "parameters" | "responses"> & {
  parameters?: Shared<Parameter>[];
  responses: Record<string, Shared<SharedAnswer>>;
};
export type SharedOpenApi = Omit<OpenApi, "paths" | "components"> & {
  paths: Record<string, Record<string, SharedOperation>>;
  components: OpenApi["components"] & {
    parameters: Record<string, Parameter>;
    headers: Record<string, Header>;
    responses: Record<string, SharedAnswer>;
  };
};

export function shared({ paths, components, ...about }: OpenApi): SharedOpenApi {
  const items = mapped(paths, (item) => mapped(item, withOneExample));
  const operations = Object.values(items).flatMap((item) => Object.values(item));
  const given = operations.flatMap((one) => one.parameters ?? []);
  const named = {
    ...mapped(components.schemas, (schema, name) =>
      name.endsWith("Input") ? schema : withNoticeApart(opened(schema)),
    ),
    Notice: NOTICE,
  };
  const usual = usualFailures(operations);

  const schemas = new Shelf<JsonSchema>("schemas");
  const parameters = new Shelf<Parameter>("parameters");
  const headers = new Shelf<Header>("headers");
  const responses = new Shelf<SharedAnswer>("responses");
  const isFirst = mapped(named, (schema, name) => schemas.name(schema, name));
  for (const schema of [...Object.values(named), ...given.map((one) => one.schema)]) countIn(schemas, schema);
  for (const one of given) parameters.count(one);
  for (const one of operations) for (const answer of Object.values(one.responses)) responses.count(answer);

  const schemaOf = (schema: JsonSchema, name: string): JsonSchema =>
    schemas.shared(schema, name, () => withInner(schema, name, schemaOf));
  const parameterOf = (one: Parameter): Shared<Parameter> =>
    parameters.shared(one, titled(one.name), () => ({
      ...one,
      schema: schemaOf(one.schema, titled(one.name)),
    }));
  const headersOf = (given: Readonly<Record<string, Header>>) =>
    mapped(given, (header, name) => headers.place(JSON.stringify(header), header, name, () => header));
  const successOf = (one: Answer): Shared<SharedAnswer> =>
    responses.shared(one, schemaName(one), () => {
      const { headers: told, ...answer } = one;
      const own = Object.entries(told).filter(([name, header]) => TOLD_ONCE[name] !== header);
      return own.length === 0 ? answer : { ...answer, headers: headersOf(Object.fromEntries(own)) };
    });
  const failureOf = (one: Answer, status: string): Reference => {
    const kind = JSON.stringify([status, one.headers]);
    return responses.place(kind, one, failureName(status), () => ({
      ...one,
      headers: headersOf(one.headers),
    }));
  };
  // The usual description of a failure is part of its component.
  const plain = operations
    .flatMap((one) => Object.entries(one.responses))
    .filter(([status, one]) => isPlainFailure(one) && usual.get(status) !== one.description);
  const wordsOf = ([status, { description }]: [string, Answer]) => `${status} ${description}`;
  const most = mostFrequentFirst(plain.map(wordsOf));
  for (const words of most) {
    const found = plain.find((one) => wordsOf(one) === words);
    if (found !== undefined && found[0] !== "500") failureOf(found[1], found[0]);
  }
  const failure: SharedAnswer = {
    description: [...usual].map(([status, reason]) => `${status}: ${reason}`).join(" "),
    headers: headersOf({ ...TOLD_ONCE, "Retry-After": { ...RETRY_AFTER, required: false } }),
    content: { "application/json": { schema: { $ref: ERROR_REF } } },
  };
  const rest = responses.place("", failure, "Failure", () => failure);
  const operationOf = ({ parameters: fields, responses: answers, ...one }: Operation): SharedOperation => {
    // Only the operator needs to know which variable is not configured.
    const own = Object.entries(answers).filter(
      ([status, answer]) =>
        !isPlainFailure(answer) || (usual.get(status) !== answer.description && status !== "500"),
    );
    const ownAnswers = mapped(Object.fromEntries(own), (answer, status) =>
      isPlainFailure(answer) ? failureOf(answer, status) : successOf(answer),
    );
    return {
      ...one,
      ...(fields === undefined ? {} : { parameters: fields.map(parameterOf) }),
      responses: { ...ownAnswers, default: rest },
    };
  };

  const publishedPaths = mapped(items, (item) => mapped(toldOnce(item), operationOf));
  const publishedSchemas = mapped(named, (schema, name) =>
    isFirst[name] === true ? withInner(schema, name, schemaOf) : schemaOf(schema, name),
  );
  return {
    ...about,
    paths: publishedPaths,
    components: {
      ...components,
      schemas: { ...publishedSchemas, ...schemas.kept },
      parameters: parameters.kept,
      headers: headers.kept,
      responses: responses.kept,
    },
  };
}

/** If both methods do the same, GET refers to POST's description. */
function toldOnce(item: Record<string, Operation>): Record<string, Operation> {
  const { get, post } = item;
  if (post?.description === undefined || post.description !== get?.description) return item;
  return { ...item, post: { ...post, description: "As GET does, with the fields as a JSON object." } };
}

/** The example of its request if that has fields, otherwise of its answer; a refusal's stays, as nobody can guess it. */
function withOneExample(operation: Operation): Operation {
  const { parameters = [], requestBody, responses } = operation;
  const isShown = requestBody !== undefined || parameters.some(({ example }) => example !== undefined);
  const { "200": success, ...others } = responses;
  if (!isShown || success === undefined) return operation;
  const content = mapped(success.content, ({ schema }) => ({ schema }));
  return { ...operation, responses: { "200": { ...success, content }, ...others } };
}

/** Where a schema contains further ones, besides its properties. */
const LISTS = ["anyOf", "oneOf", "allOf"] as const;
const SINGLE = ["items", "additionalProperties", "propertyNames"] as const;

/** A schema with its inner ones replaced, by their content and name. */
function withInner(
  schema: JsonSchema,
  name: string,
  by: (inner: JsonSchema, name: string) => JsonSchema,
): JsonSchema {
  const result: JsonSchema = { ...schema };
  if (schema.properties !== undefined) {
    result.properties = mapped(schema.properties, (one, key) => (isSchema(one) ? by(one, titled(key)) : one));
  }
  for (const key of LISTS) {
    const list = schema[key];
    if (list !== undefined) result[key] = list.map((one) => by(one, name));
  }
  for (const key of SINGLE) {
    const one = schema[key];
    if (isSchema(one)) result[key] = by(one, key === "items" ? name.replace(/(?<!s)s$/, "") : name);
  }
  return result;
}

function isSchema(value: unknown): value is JsonSchema {
  return typeof value === "object" && value !== null && !Array.isArray(value);
}

/** Answers may gain fields, and listed values need no type. */
function opened({ additionalProperties, type, ...rest }: JsonSchema): JsonSchema {
  const isListed = rest.enum !== undefined || rest.const !== undefined;
  const isOpen = additionalProperties === undefined || additionalProperties === false;
  const schema: JsonSchema = {
    ...(type === undefined || isListed ? {} : { type }),
    ...rest,
    ...(isOpen ? {} : { additionalProperties }),
  };
  return withInner(schema, "", opened);
}

/** The content of a schema that occurs in several places counts once. */
function countIn(schemas: Shelf<JsonSchema>, schema: JsonSchema): void {
  if (!schemas.count(schema)) return;
  withInner(schema, "", (inner) => {
    countIn(schemas, inner);
    return inner;
  });
}

/** Headers of every answer, and of every counted request's: they are described with the common failures. */
const TOLD_ONCE: Readonly<Record<string, Header>> = EVERY_ANSWER;

const ERROR_REF = "#/components/schemas/Error";

/** Fields that every answer to a `userId` may have in addition. */
const NOTICE = opened({ type: "object", properties: NOTICE_FIELDS });

function withNoticeApart(schema: JsonSchema): JsonSchema {
  const { properties = {}, ...rest } = schema;
  if (properties.claimEndUrl === undefined) return schema;
  const own = Object.entries(properties).filter(([name]) => !Object.hasOwn(NOTICE_FIELDS, name));
  return { allOf: [{ ...rest, properties: Object.fromEntries(own) }, NOTICE] };
}

/** A failure that has only a reason. */
function isPlainFailure({ content }: Answer): boolean {
  const [media, ...others] = Object.values(content);
  return others.length === 0 && media?.example === undefined && media?.schema.$ref === ERROR_REF;
}

/** The common answer of most operations, by status. */
function usualFailures(operations: readonly Operation[]): Map<string, string> {
  const statuses = Object.keys(operations[0]?.responses ?? {});
  return new Map(
    statuses.flatMap((status): [string, string][] => {
      const descriptions = operations.flatMap(({ responses: { [status]: one } }) =>
        one !== undefined && isPlainFailure(one) ? [one.description] : [],
      );
      // An order's failure says more than others'; what a missing variable means, all of them share.
      const isShared = status === "500" || descriptions.length === operations.length;
      return isShared ? [[status, mostFrequent(descriptions)]] : [];
    }),
  );
}

function mostFrequentFirst(texts: readonly string[]): string[] {
  const times = new Map<string, number>();
  for (const text of texts) times.set(text, (times.get(text) ?? 0) + 1);
  return [...times].sort(([, a], [, b]) => b - a).map(([text]) => text);
}

function mostFrequent(texts: readonly string[]): string {
  return mostFrequentFirst(texts)[0] ?? "";
}

/** `404` is `NotFound`. */
function failureName(status: string): string {
  const code = Object.keys(STATUS).find((one) => isErrorCode(one) && String(STATUS[one]) === status);
  return (code ?? `status_${status}`).split("_").map(titled).join("");
}

/** An answer with a schema gets the schema's name. */
function schemaName({ content }: Answer): string {
  const [[kind, media] = []] = Object.entries(content);
  return media?.schema.$ref?.split("/").at(-1) ?? (kind === "application/json" ? "Terms" : "Page");
}

function titled(word: string): string {
  return word.charAt(0).toUpperCase() + word.slice(1);
}

function mapped<From, To>(
  from: Readonly<Record<string, From>>,
  by: (one: From, name: string) => To,
): Record<string, To> {
  return Object.fromEntries(Object.entries(from).map(([name, one]) => [name, by(one, name)]));
}
