import { open, readFile, rename } from "node:fs/promises";
import path from "node:path";
import * as z from "zod";
import type { Application, Dump } from "../application";
import type { DueTimes } from "../time/crons";
import { failureOf } from "../api/failures";
import { openJournal, readJournal, syncDirectory } from "./journal";
import { real } from "../../real";
import { changed, keptChanges, rowShape } from "./rows";

const snapshotShape = z.object({
  version: z.literal(1),
  savedAt: z.string(),
  crons: z.record(z.string(), z.number()),
  components: z.record(z.string(), z.array(rowShape)),
  /** The number of the last commit in it. */
  sequence: z.number().default(0),
});
type Snapshot = z.infer<typeof snapshotShape>;

/** How often the log's length is looked at. */
const EVERY_MS = 250;
/** A longer log is replaced by a snapshot. */
const LONGEST_LOG = 64 * 1024 * 1024;

/** A stored state that cannot be used, with a remedy. */
export class StateError extends Error {}

/** Keeps an application's rows. */
type Persistence = {
  /** Takes a snapshot, which replaces the log whenever that is long from now on. */
  start: (dueTimes: () => DueTimes) => Promise<void>;
  /** Takes a last snapshot. */
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
  const dueTimes = lines.findLast((line) => line.crons !== undefined)?.crons ?? crons;
  return { rows, dueTimes, sequence: lines.at(-1)?.sequence ?? sequence };
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

/**
 * Stores an application's rows so that nothing leaves it, to a caller or to the outside, before all earlier commits are on
 * the disk: each commit is a line of a log, and a snapshot replaces a long one. To be called before anything runs,
 * including restored work.
 * @param state.sequence The number of the last stored commit.
 */
export async function createPersistence(
  directory: string,
  { sequence, dueTimes: atFirst }: KeptState,
  application: Application,
): Promise<Persistence> {
  const { core } = application.host;
  const journal = await openJournal(directory, sequence);
  let crons = () => atFirst;
  let logged = JSON.stringify(atFirst);
  core.durability = {
    committed: (changes) => {
      const dueTimes = crons();
      const isLogged = logged === JSON.stringify(dueTimes);
      logged = JSON.stringify(dueTimes);
      journal.note(keptChanges(core, changes), isLogged ? undefined : dueTimes);
    },
    synced: journal.synced,
  };
  let stop = journal.close;
  return {
    stop: () => stop(),
    start: async (dueTimes) => {
      crons = dueTimes;
      const compact = async () => {
        const { kept, forget } = await journal.turn((last) =>
          snapshotOf(application.dump(), dueTimes(), last),
        );
        await write(directory, kept);
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

async function write(directory: string, snapshot: Snapshot): Promise<void> {
  const file = fileIn(directory);
  const draft = `${file}.${process.pid}`;
  // The rows may contain sealed keys, and users' ids, which are their credentials.
  const handle = await open(draft, "w", 0o600);
  try {
    await handle.writeFile(JSON.stringify(snapshot));
    await handle.sync();
  } finally {
    await handle.close();
  }
  await rename(draft, file);
  await syncDirectory(directory);
}

function fileIn(directory: string): string {
  return path.join(directory, "data.json");
}
