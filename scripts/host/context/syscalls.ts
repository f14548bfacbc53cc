import { currentExecution, inTransaction, type Execution } from "../execution";
import { handleOf, pathOf, type Address } from "../functions";
import { promised } from "../locks";
import { pageOf, type PageRequest } from "../store/queries";
import { tableOf } from "../store/tables";
import { note } from "../billing/usage";
import { fromJson, passed } from "../store/values";

/** The calls behind Convex's own `ctx.scheduler`, `ctx.meta` and pages, which the convex package makes. */

/** The package's own messages: it owns their form; their content is checked where it is used. */
export const message: <T>(json: string) => T = JSON.parse;

export function syscall(operation: string, json: string): string {
  if (operation !== "1.0/db/normalizeId")
    throw new Error(`The local host does not know the system call ${operation}`);
  const { idString, table } = message<{ idString: string; table: string }>(json);
  return JSON.stringify({ id: tableOf(idString) === table ? idString : null });
}

export function asyncSyscall(operation: string, json: string): Promise<string> {
  return promised(() => answerOf(currentExecution(), operation, json));
}

function answerOf(execution: Execution, operation: string, json: string): string {
  const answer =
    read(execution, operation, json) ??
    schedule(execution, operation, json) ??
    about(execution, operation, json);
  if (answer === null) throw new Error(`The local host does not know the system call ${operation}`);
  return answer;
}

function read(execution: Execution, operation: string, json: string): string | null {
  const { componentPath: component } = execution;
  switch (operation) {
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
      return String(execution.core.parts.databaseOf(component).table(table).rows.size);
    }
    default:
      return null;
  }
}

function schedule(execution: Execution, operation: string, json: string): string | null {
  switch (operation) {
    case "1.0/schedule":
    case "1.0/actions/schedule": {
      const { ts, args, ...address } = message<Address & { ts: number; args: unknown }>(json);
      const path = pathOf(address, execution.componentPath);
      return JSON.stringify(
        execution.core.jobs.schedule(execution, path, passed(fromJson(args)), ts * 1_000),
      );
    }
    case "1.0/cancel_job":
    case "1.0/actions/cancel_job":
      execution.core.jobs.cancel(execution, message<{ id: string }>(json).id);
      return "{}";
    default:
      return null;
  }
}

function about(execution: Execution, operation: string, json: string): string | null {
  switch (operation) {
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
