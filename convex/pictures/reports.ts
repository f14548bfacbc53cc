import type * as z from "zod";
import type { ActionCtx } from "../_generated/server";
import { toIso } from "../lib/time";
import { readReport } from "../research/http";
import { getStoredResult } from "../research/model";
import { toPublicSnapshot, type snapshotShape } from "../research/views";

/** What has been written on a subject, for pages and pictures. */

export type Written = Omit<z.output<typeof snapshotShape>, "generatedAt" | "missing">;
/** `at` is ISO 8601. */
export type Writing = { kind: string; at: string; result: Written };

/**
 * The last shift report and the last on-demand result, however old, the newer first. Shift reports on the whole market are
 * their users' own.
 * @param focus A symbol, or "" for the whole market.
 */
export async function readWritings(ctx: ActionCtx, focus: string): Promise<Writing[]> {
  const [report, stored] = await Promise.all([
    focus === "" ? null : readReport(ctx, { token: focus }),
    getStoredResult(ctx, focus),
  ]);
  const writings: Writing[] = [];
  if (report !== null) {
    const kind = report.type === "final" ? "Final report of a shift" : "Interim report of a shift";
    writings.push({ kind, at: toIso(report.generatedAt), result: report.result });
  }
  if (stored !== null) {
    const { generatedAt: at, ...result } = toPublicSnapshot(stored);
    writings.push({ kind: "On-demand result", at, result });
  }
  return writings.sort((a, b) => Date.parse(b.at) - Date.parse(a.at));
}
