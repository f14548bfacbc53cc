import type { Value } from "convex/values";
import { currentExecution, inTransaction, type Execution } from "../execution";
import { tableOfId } from "../store/queries";
import type { Row } from "../store/tables";
import { isFieldName, storedFields, storedValue, type Document, type Fields } from "../store/values";

/** Writes of `ctx.db`, without the convex package's way through JSON. */

/** @returns The new document's id. */
export function insert(table: string, value: unknown): string {
  const execution = currentExecution();
  const { core, componentPath: component } = execution;
  const fields = storedFields(value);
  core.parts.check(component, table, fields);
  const row = inTransaction(execution).insert({ component, table }, fields, core.nowOf(execution));
  core.options.onWrite();
  return row.document._id;
}

export function patch(expected: string | undefined, id: unknown, value: unknown): void {
  change(expected, id, (document) => ({ ...document, ...patched(value) }));
}

export function replace(expected: string | undefined, id: unknown, value: unknown): void {
  change(expected, id, () => storedFields(value));
}

export function remove(expected: string | undefined, id: unknown): void {
  const execution = currentExecution();
  const table = tableOfId(id, expected);
  const { document } = existing(execution, table, String(id));
  inTransaction(execution).remove({ component: execution.componentPath, table }, document._id);
  execution.core.options.onWrite();
}

function change(expected: string | undefined, id: unknown, work: (document: Document) => Fields): void {
  const execution = currentExecution();
  const { core, componentPath: component } = execution;
  const table = tableOfId(id, expected);
  const { document } = existing(execution, table, String(id));
  const { _id = document._id, _creationTime = document._creationTime, ...given } = work(document);
  if (_id !== document._id || _creationTime !== document._creationTime)
    throw new Error("A document's `_id` and `_creationTime` cannot be changed");
  const fields = withoutUndefined(given);
  core.parts.check(component, table, fields);
  inTransaction(execution).put(
    { component, table },
    { _creationTime: document._creationTime, _id: document._id, ...fields },
  );
  core.options.onWrite();
}

/** A patch's fields; undefined removes a field. */
function patched(value: unknown): Fields {
  if (typeof value !== "object" || value === null) throw new Error("A patch is an object");
  const fields: Fields = {};
  for (const [name, field] of Object.entries(value)) {
    if (!isFieldName(name)) throw new Error(`Field name ${name} is invalid`);
    fields[name] = field === undefined ? undefined : storedValue(field);
  }
  return fields;
}

function withoutUndefined(given: Fields): Record<string, Value> {
  const fields: Record<string, Value> = {};
  for (const name of Object.keys(given)) {
    const field = given[name];
    if (field !== undefined) fields[name] = field;
  }
  return fields;
}

function existing(execution: Execution, table: string, id: string): Row {
  const row = inTransaction(execution).existing({ component: execution.componentPath, table }, id);
  if (row === null) throw new Error(`Update on non-existent document with ID "${id}"`);
  return row;
}
