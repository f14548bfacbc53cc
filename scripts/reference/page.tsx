import type { JsonSchema } from "./jsonSchema";
import { renderPage } from "../../convex/pages/layout";
import { Chips, Code } from "../../convex/pages/parts";
import { FieldTables, Prose } from "./fields";
import type { Method, OpenApi, Operation } from "./types";

/**
 * The reference as pages for people, made from the API document: one for each subject, with a fold for every endpoint,
 * and a list of all. They have the style of the service's other pages.
 */

const JSON_TYPE = "application/json";

type DocumentedOperation = { path: string; method: Method; operation: Operation };

/** The pages by their addresses. */
export function pages(document: OpenApi): Record<string, string> {
  const { title, summary, description } = document.info;
  const site = document.servers[0]?.url ?? "";
  const first = renderPage(
    {
      title: "Reference",
      description: summary,
      path: "/docs",
      content: (
        <>
          <h1>Reference</h1>
          <p class="lead">
            Everything is at <code>{site}</code>. The same for programs:{" "}
            <a href="/openapi.json">openapi.json</a>.
          </p>
          {description.split("\n\n").map((one) => (
            <p>
              <Prose text={one} />
            </p>
          ))}
          {document.tags.map(({ name, description: about }) => (
            <section>
              <h2 id={name}>
                <a href={getPageAddress(name)}>{heading(name)}</a>
              </h2>
              <p>
                <Prose text={about} />
              </p>
              <ul>
                {renderNote(document, name).map((one) => (
                  <li>
                    <a href={`${getPageAddress(name)}#${getAnchor(one)}`}>
                      <code>{getPageName(one)}</code>
                    </a>{" "}
                    <Prose text={one.operation.summary} />
                  </li>
                ))}
              </ul>
            </section>
          ))}
        </>
      ),
    },
    { site },
  );
  const subjects = document.tags.map(({ name, description: about }): [string, string] => [
    getPageAddress(name),
    renderPage(
      {
        title: `${heading(name)}: reference of ${title}`,
        description: about,
        path: getPageAddress(name),
        content: (
          <>
            <h1>{heading(name)}</h1>
            <p class="lead">
              <Prose text={about} /> <a href="/docs">What holds for all</a>
            </p>
            <Chips
              label="Subjects"
              choices={document.tags.map((tag) => ({
                href: getPageAddress(tag.name),
                name: heading(tag.name),
                isShown: tag.name === name,
              }))}
            />
            {renderNote(document, name).map((one) => (
              <Fold document={document} {...one} />
            ))}
          </>
        ),
      },
      { site },
    ),
  ]);
  return { "/docs": first, ...Object.fromEntries(subjects) };
}

function renderNote({ paths }: OpenApi, tag: string): DocumentedOperation[] {
  return Object.entries(paths).flatMap(([path, { get, post }]) => {
    const both = [
      { path, method: "get" as const, operation: get },
      { path, method: "post" as const, operation: post },
    ];
    return both.flatMap(({ operation, ...one }) =>
      operation?.tags.includes(tag) === true ? [{ ...one, operation }] : [],
    );
  });
}

const getPageAddress = (tag: string): string => `/docs/${encodeURIComponent(tag)}`;
const heading = (tag: string): string => tag.charAt(0).toUpperCase() + tag.slice(1);
const getPageName = ({ method, path }: DocumentedOperation): string => `${method.toUpperCase()} ${path}`;
const getAnchor = ({ method, path }: DocumentedOperation): string =>
  `${method}${path.replaceAll(/[^A-Za-z0-9]+/g, "-")}`;

function Fold({ document, ...one }: DocumentedOperation & { document: OpenApi }) {
  const name = getPageName(one);
  const { requestBody, parameters = [], responses, summary, description } = one.operation;
  const fields: JsonSchema = requestBody
    ? resolveReference(document, requestBody.content[JSON_TYPE]?.schema)
    : {
        properties: Object.fromEntries(
          parameters.map(({ name: field, schema, description: says = "" }) => [
            field,
            { ...schema, description: says },
          ]),
        ),
        required: parameters.filter(({ required }) => required === true).map(({ name: field }) => field),
      };
  return (
    <details class="fold" id={getAnchor(one)}>
      <summary>
        <code>{name}</code> <Prose text={summary} />
      </summary>
      {description !== undefined && (
        <p>
          <Prose text={description} />
        </p>
      )}
      <FieldTables schema={fields} caption={`Fields of ${name}`} />
      <Example label={`Request of ${name}`} value={requestBody?.content[JSON_TYPE]?.example} />
      <Example label={`Answer of ${name}`} value={responses["200"]?.content[JSON_TYPE]?.example} />
      <table aria-label={`Failures of ${name}`}>
        <tbody>
          {Object.entries(responses).map(
            ([status, answer]) =>
              status !== "200" && (
                <tr>
                  <td>{status}</td>
                  <td>
                    <Prose text={answer.description} />
                  </td>
                </tr>
              ),
          )}
        </tbody>
      </table>
    </details>
  );
}

function Example({ label, value }: { label: string; value: unknown }) {
  return value === undefined ? null : (
    <>
      <p class="small">{label}</p>
      <Code label={label} text={JSON.stringify(value, null, 2)} />
    </>
  );
}

function resolveReference({ components }: OpenApi, schema: JsonSchema = {}): JsonSchema {
  const name = schema.$ref?.split("/").at(-1);
  return name === undefined ? schema : (components.schemas[name] ?? {});
}
