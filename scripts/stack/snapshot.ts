import { OperatorError } from "../command";
import { createHash } from "node:crypto";
import { mkdir, readFile, rename, rm, writeFile } from "node:fs/promises";
import path from "node:path";
import { convexToJson, jsonToConvex, type Value } from "convex/values";
import * as z from "zod";
import schema from "../../convex/schema";
import { parseJson } from "../json";
import { real } from "../real";
import type { Application, Rows } from "./application";
import type { DueTimes } from "./crons";

/** The rows of the local stack in a file: written each second when something ran, and at a clean stop. */

const PERIOD_MS = 1_000;

const snapshotShape = z.object({
  schema: z.string(),
  dueTimes: z.record(z.string(), z.number()),
  rows: z.record(z.string(), z.array(z.record(z.string(), z.json()))),
});

export type Snapshot = { rows: Rows; dueTimes: DueTimes };

/**
 * The snapshot in `directory`; `null` if there is none.
 * @throws OperatorError if it is damaged, or of another schema: there are no migrations here.
 */
export async function readSnapshot(directory: string): Promise<Snapshot | null> {
  const file = getSnapshotFile(directory);
  const text = await readFile(file, "utf8").catch(() => null);
  if (text === null) return null;
  const parsed = snapshotShape.safeParse(parseJson(text));
  if (!parsed.success) throw new OperatorError(`${file} is damaged: delete ${directory} to start afresh.`);
  if (parsed.data.schema !== fingerprint()) {
    throw new OperatorError(
      `${file} was written by another version of this repository, whose tables differ: delete ${directory} to start afresh, or set LOCAL_STATE_DIR to another directory.`,
    );
  }
  const { rows, dueTimes } = parsed.data;
  return {
    dueTimes,
    rows: Object.fromEntries(
      Object.entries(rows).map(([table, documents]) => [table, documents.map(parseDocument)]),
    ),
  };
}

/** Writes snapshots of an application until it is stopped. */
export function keepSnapshots(
  directory: string,
  application: Application,
  dueTimes: () => DueTimes,
): { stop: () => Promise<void> } {
  let written = application.count();
  let writing = Promise.resolve();
  const write = () => {
    writing = writing.then(async () => {
      const count = application.count();
      if (count === written) return;
      const rows = Object.fromEntries(
        Object.entries(await application.rows()).map(([table, documents]) => [
          table,
          documents.map((document) => convexToJson(document)),
        ]),
      );
      await mkdir(directory, { recursive: true });
      const draft = `${getSnapshotFile(directory)}.draft`;
      const text = JSON.stringify({ schema: fingerprint(), dueTimes: dueTimes(), rows });
      await writeFile(draft, text, { mode: 0o600 });
      await rename(draft, getSnapshotFile(directory));
      written = count;
    });
    return writing;
  };
  const timer = real.setInterval(
    () => void write().catch((error: unknown) => console.error(error)),
    PERIOD_MS,
  );
  return {
    stop: async () => {
      real.clearInterval(timer);
      await write();
    },
  };
}

/**
 * Locks a directory for this process.
 * @returns Releases it.
 * @throws OperatorError while another running process has it: each would overwrite the other's rows.
 */
export async function takeDirectory(directory: string): Promise<() => Promise<void>> {
  const file = path.join(directory, "process");
  const owner = Number(await readFile(file, "utf8").catch(() => ""));
  if (owner > 0 && owner !== process.pid && isRunning(owner))
    throw new OperatorError(
      `The stack of process ${owner} keeps its state in ${directory}: stop it, or set LOCAL_STATE_DIR to another directory.`,
    );
  await mkdir(directory, { recursive: true });
  await writeFile(file, String(process.pid));
  return () => rm(file, { force: true });
}

function isRunning(id: number): boolean {
  try {
    return process.kill(id, 0);
  } catch {
    return false;
  }
}

function parseDocument(json: z.infer<typeof snapshotShape>["rows"][string][number]): Record<string, Value> {
  return Object.fromEntries(Object.entries(json).map(([name, value]) => [name, jsonToConvex(value)]));
}

function getSnapshotFile(directory: string): string {
  return path.join(directory, "rows.json");
}

/** Differs after every change of a table. */
function fingerprint(): string {
  const tables = JSON.stringify(
    Object.entries(schema.tables).map(([name, { validator }]) => [name, validator]),
  );
  return createHash("sha256").update(tables).digest("hex").slice(0, 16);
}
