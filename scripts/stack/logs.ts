import * as z from "zod";
import { parseJson } from "../json";
import { STOPPED } from "./application";

const field = z.union([z.string(), z.number(), z.boolean(), z.null()]);
/** A line of the application's own log (`convex/lib/log`). */
const lineShape = z.object({ level: z.enum(["info", "warn", "error"]), event: z.string() }).catchall(field);
/** A line that a component writes about its own work. */
const componentShape = z.looseObject({ component: z.string(), event: z.string() });

/** The beginning of each line of the application's own log. */
const BEGINNING = '{"level":';
/** The beginning of the library's report of a scheduled function that has thrown. */
const FAILED = "Error when running scheduled function";
const LEVELS = ["log", "info", "warn", "error"] as const;
/** The library's report of a failed function of a stopped application. */
const isOfTheStopped = (data: readonly unknown[]) => data.some((one) => String(one).includes(STOPPED));

/**
 * Sends the application's structured log lines to `write` in readable form, and drops the components' own reports.
 * Other output reaches the console as before. The returned function ends this; later logs of the stopped application's
 * functions are dropped, because their surroundings are gone.
 * @param write `null` to drop all lines.
 * @param now The application's clock; lines show its time of day in UTC.
 */
export function captureLogs(write: ((line: string) => void) | null, now: () => number): () => void {
  const originals = { ...console };
  for (const level of LEVELS)
    console[level] = (...data: unknown[]) => {
      const text = data.length === 1 && typeof data[0] === "string" && data[0].startsWith("{") ? data[0] : "";
      if (isOfTheStopped(data)) return;
      // Parsing is costly, and most lines are the application's own.
      if (write === null && text.startsWith(BEGINNING)) return;
      const json = text === "" ? undefined : parseJson(text);
      const line = lineShape.safeParse(json).data;
      if (line !== undefined && !("component" in line)) write?.(readable(line, now()));
      else if (!componentShape.safeParse(json).success) originals[level](...data);
    };
  return () => {
    for (const level of LEVELS)
      console[level] = (...data: unknown[]) => {
        const isOfFunctions = [BEGINNING, FAILED].some((beginning) => String(data[0]).startsWith(beginning));
        if (!isOfFunctions && !isOfTheStopped(data)) originals[level](...data);
      };
  };
}

function readable({ level, event, ...fields }: z.infer<typeof lineShape>, time: number): string {
  const at = new Date(time).toISOString().slice(11, 19);
  const { method, path, status, ms, requestId } = fields;
  if (event === "http") {
    const id = Number(status) >= 500 ? ` requestId=${requestId}` : "";
    return `${at} http ${method} ${path} ${status} ${ms} ms${id}`;
  }
  const fieldTexts = Object.entries(fields).map(([name, value]) => `${name}=${quoteValue(value)}`);
  return [at, ...(level === "info" ? [] : [level]), event, ...fieldTexts].join(" ");
}

/** Quoted if spaces or line breaks would make it look like more than one field. */
function quoteValue(value: z.infer<typeof field>): string {
  return typeof value === "string" && /[\s"]|^$/.test(value) ? JSON.stringify(value) : String(value);
}
