import type { Value } from "convex/values";
import * as z from "zod";
import { currentExecution, type Execution } from "./execution";
import { handleOf, pathOf, type Address } from "./functions";
import { pageOf, rowsOf, tableOfId, type PageRequest, type Query } from "./queries";
import type { Row } from "./tables";
import type { Transaction } from "./transaction";
import { note } from "./usage";
import { copied, fromJson, passed, toJson, type Document, type Fields } from "./values";

/** The calls behind Convex's own `ctx.db`, `ctx.scheduler`, `ctx.auth` and `ctx.meta`, which the convex package makes. */

/** The package's own messages: their form is its business, what is in them is checked where it is used. */
const message: <T>(json: string) => T = JSON.parse;
const value = (json: unknown): Value => copied(fromJson(json));
const fieldsShape = z.record(z.string(), z.custom<Value>().optional());
const fields = (json: unknown): Fields => fieldsShape.parse(value(json));

let nextStream = 1;

function inTransaction(execution: Execution): Transaction {
  if (execution.transaction === null) throw new Error("An action has no database");
  return execution.transaction;
}

export function syscall(operation: string, json: string): string {
  const execution = currentExecution();
  switch (operation) {
    case "1.0/queryStream": {
      const transaction = inTransaction(execution);
      const id = nextStream++;
      const { query } = message<{ query: Query }>(json);
      execution.streams.set(id, rowsOf(transaction, execution.componentPath, query).reverse());
      note({ ranges: 1 });
      return `{"queryId":${id}}`;
    }
    case "1.0/queryCleanup":
      execution.streams.delete(message<{ queryId: number }>(json).queryId);
      return "{}";
    case "1.0/db/normalizeId": {
      const { idString, table } = message<{ idString: string; table: string }>(json);
      const isOfTable = /^\d+/.test(idString) && idString.replace(/^\d+/, "") === table;
      return JSON.stringify({ id: isOfTable ? idString : null });
    }
    default:
      throw new Error(`The local host does not know the system call ${operation}`);
  }
}

export function asyncSyscall(operation: string, json: string): Promise<string> {
  return new Promise((resolve) => {
    const execution = currentExecution();
    resolve(operation === "1.0/runUdf" ? runNested(execution, json) : answerOf(execution, operation, json));
  });
}

async function runNested(execution: Execution, json: string): Promise<string> {
  const call = message<Address & { udfType: "query" | "snapshotQuery" | "mutation"; args: unknown }>(json);
  const kind = call.udfType === "mutation" ? "mutation" : "query";
  const path = pathOf(call, execution.componentPath);
  const stale = call.udfType === "snapshotQuery";
  return toJson(await execution.callNested(kind, path, passed(fromJson(call.args)), stale));
}

function answerOf(execution: Execution, operation: string, json: string): string {
  const answer =
    read(execution, operation, json) ??
    write(execution, operation, json) ??
    about(execution, operation, json);
  if (answer === null) throw new Error(`The local host does not know the system call ${operation}`);
  return answer;
}

function read(execution: Execution, operation: string, json: string): string | null {
  const { componentPath: component } = execution;
  switch (operation) {
    case "1.0/queryStreamNext": {
      const row = execution.streams.get(message<{ queryId: number }>(json).queryId)?.pop();
      if (row === undefined) return '{"value":null,"done":true}';
      inTransaction(execution).countRead(row);
      note({ read: 1 });
      return `{"value":${row.json},"done":false}`;
    }
    case "1.0/get": {
      const { id, table } = message<{ id: string; table?: string }>(json);
      const row = inTransaction(execution).get({ component, table: tableOfId(id, table) }, id);
      note({ ranges: 1, read: row === null ? 0 : 1 });
      return row?.json ?? "null";
    }
    case "1.0/queryPage": {
      if (++execution.pages > 1)
        throw new Error("Only a single paginated query is allowed per function execution");
      const transaction = inTransaction(execution);
      const page = pageOf(transaction, component, message<PageRequest>(json));
      for (const row of page.rows) transaction.countRead(row);
      note({ ranges: 1, read: page.rows.length });
      const { isDone, continueCursor } = page;
      const rest = JSON.stringify({ isDone, continueCursor, splitCursor: null, pageStatus: null });
      return `{"page":[${page.rows.map((row) => row.json).join(",")}],${rest.slice(1)}`;
    }
    case "1.0/count": {
      const { table } = message<{ table: string }>(json);
      return String(execution.core.databaseOf(component).table(table).rows.size);
    }
    default:
      return null;
  }
}

function write(execution: Execution, operation: string, json: string): string | null {
  switch (operation) {
    case "1.0/insert": {
      const { table, value: given } = message<{ table: string; value: unknown }>(json);
      const row = insert(execution, table, fields(given));
      return JSON.stringify({ _id: row.document._id });
    }
    case "1.0/shallowMerge":
    case "1.0/replace": {
      const { id, table, value: given } = message<{ id: string; table?: string; value: object }>(json);
      const { document } = existing(execution, id, table);
      const { _id, _creationTime } = document;
      const changed = operation === "1.0/replace" ? fields(given) : { ...document, ...patched(given) };
      if ((changed._id ?? _id) !== _id || (changed._creationTime ?? _creationTime) !== _creationTime)
        throw new Error("A document's `_id` and `_creationTime` cannot be changed");
      put(execution, tableOfId(id, table), { ...withoutUndefined(changed), _id, _creationTime });
      return "{}";
    }
    case "1.0/remove": {
      const { id, table } = message<{ id: string; table?: string }>(json);
      existing(execution, id, table);
      const place = { component: execution.componentPath, table: tableOfId(id, table) };
      inTransaction(execution).remove(place, id);
      execution.core.written(place.table);
      return "{}";
    }
    case "1.0/schedule":
    case "1.0/actions/schedule": {
      const { ts, args, ...address } = message<Address & { ts: number; args: unknown }>(json);
      const path = pathOf(address, execution.componentPath);
      return JSON.stringify(execution.core.schedule(execution, path, passed(fromJson(args)), ts * 1_000));
    }
    case "1.0/cancel_job":
    case "1.0/actions/cancel_job":
      execution.core.cancel(execution, message<{ id: string }>(json).id);
      return "{}";
    default:
      return null;
  }
}

/** A patch's fields; one that is to go away is undefined. */
function patched(given: object): Fields {
  return Object.fromEntries(
    Object.entries(given).map(([name, json]): [string, Value | undefined] => {
      const isUnset = typeof json === "object" && json !== null && "$undefined" in json;
      return [name, isUnset ? undefined : value(json)];
    }),
  );
}

function withoutUndefined(given: Fields): Fields {
  return Object.fromEntries(Object.entries(given).filter(([, field]) => field !== undefined));
}

export function insert(execution: Execution, table: string, given: Fields): Row {
  const { core, componentPath: component } = execution;
  core.check(component, table, given);
  const row = inTransaction(execution).insert({ component, table }, given, core.nowOf(execution));
  core.written(table);
  return row;
}

export function put(execution: Execution, table: string, document: Document): void {
  const { core, componentPath: component } = execution;
  const { _id, _creationTime, ...given } = document;
  core.check(component, table, given);
  inTransaction(execution).put({ component, table }, document);
  core.written(table);
}

function existing(execution: Execution, id: string, expected: string | undefined): Row {
  const table = tableOfId(id, expected);
  const row = inTransaction(execution).existing({ component: execution.componentPath, table }, id);
  if (row === null) throw new Error(`Update on non-existent document with ID "${id}"`);
  return row;
}

function about(execution: Execution, operation: string, json: string): string | null {
  switch (operation) {
    case "1.0/getUserIdentity":
      return JSON.stringify(execution.identity);
    case "1.0/getRequestMetadata":
      if (execution.kind === "query") throw new Error("getRequestMetadata() is not available in queries");
      return JSON.stringify(execution.request);
    case "1.0/getFunctionMetadata":
      return JSON.stringify({ name: execution.udfPath, componentPath: execution.componentPath });
    case "1.0/getDeploymentMetadata":
      return JSON.stringify({ name: "local", region: null, class: execution.core.platformClass });
    case "1.0/getTransactionMetrics":
      return JSON.stringify(inTransaction(execution).meter.metrics());
    case "1.0/createFunctionHandle":
      return JSON.stringify(handleOf(pathOf(message<Address>(json), execution.componentPath)));
    default:
      return null;
  }
}
