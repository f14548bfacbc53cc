import { mkdir, open, readFile, rename } from "node:fs/promises";
import path from "node:path";
import * as z from "zod";
import type { Application, Dump } from "./application";
import type { DueTimes } from "./crons";
import { failureOf } from "./failures";
import { openJournal, readJournal, syncDirectory } from "./journal";
import { real } from "../real";
import { changed, keptChanges, rowShape } from "./rows";

const snapshotShape = z.object({
  version: z.literal(1),
  savedAt: z.string(),
  crons: z.record(z.string(), z.number()),
  components: z.record(z.string(), z.array(rowShape)),
  /** The number of the last commit in it, if commits are logged. */
  sequence: z.number().default(0),
});
type Snapshot = z.infer<typeof snapshotShape>;

/** How often the stack checks whether there is something to save. */
const EVERY_MS = 250;
/** A longer log is replaced by a snapshot. */
const LONGEST_LOG = 64 * 1024 * 1024;

/** A stored state that cannot be used, with a remedy. */
export class StateError extends Error {}

export type Persistence = {
  /** Saves every change from now on. */
  start: (application: Application, dueTimes: () => DueTimes) => Promise<void>;
  /** Saves a last time. */
  stop: () => Promise<void>;
};

/** The state that an application continues from. */
type KeptState = {
  rows: Dump;
  dueTimes: DueTimes;
  /** The number of the last commit. */
  sequence: number;
};

/** The state stored in `directory`. @throws StateError, JournalError */
export async function readState(directory: string): Promise<KeptState> {
  const file = fileIn(directory);
  const text = await readFile(file, "utf8").catch(() => null);
  if (text === null) return { rows: {}, dueTimes: {}, sequence: 0 };
  const { components, crons, sequence } = await fitting(directory, () => parse(text));
  const lines = await readJournal(directory, sequence);
  const rows = changed(
    components,
    lines.flatMap(({ changes }) => changes),
  );
  return { rows, dueTimes: crons, sequence: lines.at(-1)?.sequence ?? sequence };
}

/** Restores the rows stored in `directory` into a new application. @throws StateError */
export async function restoreState(
  directory: string,
  { rows }: KeptState,
  application: Application,
): Promise<void> {
  await fitting(directory, () => application.restore(rows));
}

async function fitting<T>(directory: string, work: () => T | Promise<T>): Promise<T> {
  try {
    return await work();
  } catch (error) {
    throw new StateError(
      `${fileIn(directory)} does not fit this version of the application: delete it to start afresh. ${reasonOf(error)}`,
      { cause: error },
    );
  }
}

/** Stores the application's rows in `directory`: after each change, at most one interval later, and at the end. */
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
        await write(directory, snapshotOf(application.dump(), dueTimes(), 0), { durably: false });
        saved = count;
        // A large database takes long to save; the application gets most of the time.
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
      return Promise.resolve();
    },
  };
}

/**
 * Stores them so that nothing leaves the application, to a caller or to the outside, before all earlier commits are on
 * the disk: each commit is a line of a log, and a snapshot replaces a long one. To be called before anything runs,
 * including restored work.
 * @param state.sequence The number of the last stored commit.
 */
export async function createDurability(
  directory: string,
  { sequence }: KeptState,
  { host: { core } }: Application,
): Promise<Persistence> {
  const journal = await openJournal(directory, sequence);
  core.durability = {
    committed: (changes) => journal.note(keptChanges(core, changes)),
    synced: journal.synced,
  };
  let stop = journal.close;
  return {
    stop: () => stop(),
    start: async (application, dueTimes) => {
      const compact = async () => {
        const { kept, forget } = await journal.turn((last) =>
          snapshotOf(application.dump(), dueTimes(), last),
        );
        await write(directory, kept, { durably: true });
        await forget();
      };
      await compact();
      let compacting: Promise<void> | null = null;
      const timer = real.setInterval(() => {
        if (journal.size() < LONGEST_LOG) return;
        compacting ??= compact()
          .catch((error: unknown) => console.error("The log could not be replaced by a snapshot", error))
          .finally(() => (compacting = null));
      }, EVERY_MS);
      stop = async () => {
        real.clearInterval(timer);
        await compacting;
        await compact();
        await journal.close();
      };
    },
  };
}

function snapshotOf(components: Dump, crons: DueTimes, sequence: number): Snapshot {
  return { version: 1, savedAt: new real.Date().toISOString(), crons, components, sequence };
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

async function write(
  directory: string,
  snapshot: Snapshot,
  { durably }: { durably: boolean },
): Promise<void> {
  await mkdir(directory, { recursive: true });
  const file = fileIn(directory);
  const draft = `${file}.${process.pid}`;
  // The rows may contain sealed keys, and users' ids, which are their credentials.
  const handle = await open(draft, "w", 0o600);
  try {
    await handle.writeFile(JSON.stringify(snapshot));
    if (durably) await handle.sync();
  } finally {
    await handle.close();
  }
  await rename(draft, file);
  if (durably) await syncDirectory(directory);
}

function fileIn(directory: string): string {
  return path.join(directory, "data.json");
}
