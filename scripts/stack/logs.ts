import * as z from "zod";
import { parseJson } from "../json";

const field = z.union([z.string(), z.number(), z.boolean(), z.null()]);
/** A line of the application's own log. */
const lineShape = z.object({ level: z.enum(["info", "warn", "error"]), event: z.string() }).catchall(field);
/** A line that a component writes about its own work. */
const componentShape = z.looseObject({ component: z.string(), event: z.string() });

/** The beginning of each line of the application's own log (`convex/lib/log`). */
const BEGINNING = '{"level":';

const requestShape = z.looseObject({
  method: z.string(),
  path: z.string(),
  status: z.number(),
  ms: z.number(),
});

/**
 * Sends the application's structured log lines to `write` in readable form, and drops the components' own reports.
 * Other output reaches the console as before. The returned function restores the console.
 * @param write `null` if nobody reads them.
 * @param now The application's clock; lines show its time of day in UTC.
 */
export function captureLogs(write: ((line: string) => void) | null, now: () => number): () => void {
  const originals = { log: console.log, info: console.info, warn: console.warn, error: console.error };
  const capture =
    (original: (...data: unknown[]) => void) =>
    (...data: unknown[]) => {
      if (write === null && data.length === 1 && String(data[0]).startsWith(BEGINNING)) return;
      const json = data.length === 1 ? jsonOf(data[0]) : null;
      // Parsing is costly: most lines are the application's own, and a few are a component's.
      const line = json === null ? null : lineShape.safeParse(json);
      if (line?.success === true && !("component" in line.data)) write?.(readable(line.data, now()));
      else if (json === null || !componentShape.safeParse(json).success) original(...data);
    };
  console.log = capture(originals.log);
  console.info = capture(originals.info);
  console.warn = capture(originals.warn);
  console.error = capture(originals.error);
  return () => void Object.assign(console, originals);
}

function readable({ level, event, ...fields }: z.infer<typeof lineShape>, time: number): string {
  const at = new Date(time).toISOString().slice(11, 19);
  const request = event === "http" ? requestShape.safeParse(fields) : null;
  if (request?.success === true) {
    const { method, path, status, ms } = request.data;
    return `${at} http ${method} ${path} ${status} ${ms} ms`;
  }
  const shown = Object.entries(fields).map(([name, value]) => `${name}=${quoted(value)}`);
  return [at, ...(level === "info" ? [] : [level]), event, ...shown].join(" ");
}

/** Quoted if spaces or line breaks would make it look like more than one field. */
function quoted(value: z.infer<typeof field>): string {
  return typeof value === "string" && /[\s"]|^$/.test(value) ? JSON.stringify(value) : String(value);
}

function jsonOf(value: unknown): unknown {
  return typeof value === "string" && value.startsWith("{") ? (parseJson(value) ?? null) : null;
}
