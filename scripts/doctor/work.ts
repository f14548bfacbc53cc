import * as z from "zod";
import { convexCli } from "../convexCli";
import { settingsFile, settingsIn } from "../env/file";
import { inquiryUrl, openWorkOf } from "../stack/address";
import { bold, dim } from "../terminal";
import { readFile } from "node:fs/promises";

/** `npm run doctor -- --work`: all open work of a deployment, or of the local stack on this machine, in one list. */

const listed = z.object({
  work: z.array(
    z.object({
      run: z.string(),
      subject: z.string().optional(),
      lane: z.string().optional(),
      state: z.enum(["running", "waiting", "resting"]),
      at: z.number(),
      attempt: z.number(),
      failures: z.number(),
      trouble: z.string().optional(),
      openSeconds: z.number(),
    }),
  ),
  waiting: z.record(z.string(), z.number()),
});
type Listed = z.infer<typeof listed>;

/** @param cli The Convex CLI's own options: which deployment; none for a running local stack. */
export async function openWork(cli: readonly string[], asJson: boolean): Promise<string> {
  const now = Date.now();
  const list =
    (cli.length === 0 ? await openWorkOf(inquiryUrl(process.env)) : null) ?? (await asked(cli, now));
  const found = listed.parse(list);
  return asJson ? JSON.stringify(found, null, 2) : inLines(found);
}

async function asked(cli: readonly string[], now: number): Promise<unknown> {
  const settings = settingsIn(await readFile(settingsFile(), "utf8").catch(() => ""));
  const args = ["run", "ops/work:list", JSON.stringify({ now }), ...cli];
  const { code, stdout, stderr } = await convexCli(args, "", { settings });
  if (code !== 0) throw new Error(stderr.trim() || "The CLI returned no list of work");
  return JSON.parse(stdout);
}

function inLines({ work, waiting }: Listed): string {
  const kinds = Object.entries(waiting).map(
    ([kind, seconds]) => `  ${kind}: the oldest for ${span(seconds)}`,
  );
  return [
    bold(`${work.length} pieces of work are open`),
    ...work.map(lineOf),
    ...(kinds.length === 0 ? [] : ["", bold("Waiting work, by kind"), ...kinds]),
  ].join("\n");
}

function lineOf({
  run,
  subject,
  lane,
  state,
  at,
  attempt,
  failures,
  trouble,
  openSeconds,
}: Listed["work"][number]) {
  const until = { running: "its lease ends", waiting: "since", resting: "until" }[state];
  const clock = `${until} ${new Date(at).toISOString()}`;
  const where = lane === undefined ? "" : `, lane ${lane}`;
  const failed = failures === 0 ? "" : `, failed ${failures} times: ${trouble ?? ""}`;
  const says = `${state}, ${clock}; open for ${span(openSeconds)}, attempt ${attempt}${where}${failed}`;
  return `  ${bold(run)} ${dim(subject ?? "")}: ${says}`;
}

function span(seconds: number): string {
  return seconds < 120 ? `${seconds} s` : `${Math.round(seconds / 60)} min`;
}
