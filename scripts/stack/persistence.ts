import { mkdir, readFile, rename, writeFile } from "node:fs/promises";
import path from "node:path";
import * as z from "zod";
import type { Application } from "./application";
import { real } from "./real";
import type { DueTimes } from "./crons";
import { failureOf } from "./failures";
import { rowShape } from "./rows";

const snapshotShape = z.object({
  version: z.literal(1),
  savedAt: z.string(),
  crons: z.record(z.string(), z.number()),
  components: z.record(z.string(), z.array(rowShape)),
});
type Snapshot = z.infer<typeof snapshotShape>;

/** How often the stack looks whether there is something to save. */
const EVERY_MS = 250;

/** A kept state that cannot be used, with what to do about it. */
export class StateError extends Error {}

export type Persistence = {
  /** Saves from now on whatever changes. */
  start: (application: Application, dueTimes: () => DueTimes) => void;
  /** Saves a last time. */
  stop: () => Promise<void>;
};

/** Puts the rows kept in `directory` back into a new application, and answers with the crons' due times. */
export async function restoreState(directory: string, application: Application): Promise<DueTimes> {
  const file = fileIn(directory);
  const text = await readFile(file, "utf8").catch(() => null);
  if (text === null) return {};
  try {
    const { components, crons } = parse(text);
    await application.restore(components);
    return crons;
  } catch (error) {
    throw new StateError(
      `${file} does not fit this version of the application: delete it to start afresh. ${reasonOf(error)}`,
      { cause: error },
    );
  }
}

/** Keeps the application's rows in `directory`: after each change, at most one interval later, and at the end. */
export function createPersistence(directory: string): Persistence {
  let stop: () => Promise<void> = () => Promise.resolve();
  return {
    stop: () => stop(),
    start: (application, dueTimes) => {
      let saved = -1;
      let saving = Promise.resolve();
      let pauseUntil = 0;
      const save = async () => {
        const count = application.writeCount();
        const startedAt = performance.now();
        await write(directory, {
          version: 1,
          savedAt: new real.Date().toISOString(),
          crons: dueTimes(),
          components: application.dump(),
        });
        saved = count;
        // A large database takes long to save; most of the time is left to the application.
        pauseUntil = performance.now() + 9 * (performance.now() - startedAt);
      };
      let busy = false;
      const timer = real.setInterval(() => {
        if (busy || saved === application.writeCount() || performance.now() < pauseUntil) return;
        busy = true;
        saving = save()
          .catch((error: unknown) => console.error("The state could not be saved", error))
          .finally(() => (busy = false));
      }, EVERY_MS);
      stop = async () => {
        real.clearInterval(timer);
        await saving;
        await save();
      };
    },
  };
}

/** In one line. */
function reasonOf(error: unknown): string {
  if (!(error instanceof z.ZodError)) return failureOf(error).message;
  const [issue] = error.issues;
  return issue === undefined ? "It is malformed" : `${issue.path.join(".") || "It"}: ${issue.message}`;
}

function parse(text: string): Snapshot {
  const json: unknown = JSON.parse(text);
  return snapshotShape.parse(json);
}

async function write(directory: string, snapshot: Snapshot): Promise<void> {
  await mkdir(directory, { recursive: true });
  const file = fileIn(directory);
  const draft = `${file}.${process.pid}`;
  // The rows may hold sealed keys and the users' ids, which are their credentials.
  await writeFile(draft, JSON.stringify(snapshot), { mode: 0o600 });
  await rename(draft, file);
}

function fileIn(directory: string): string {
  return path.join(directory, "data.json");
}
