import { createHash } from "node:crypto";
import { open, readdir, readFile, rm, type FileHandle } from "node:fs/promises";
import path from "node:path";
import * as z from "zod";
import { real } from "../../real";
import type { DueTimes } from "../time/crons";
import { changeShape, type KeptChange } from "./rows";

/**
 * The log of a stack that holds real money, written before anything leaves it: one line for each committed transaction,
 * with its number and a checksum, in numbered files. A crash can only cut off the last line, and nobody has seen that
 * commit.
 */

const lineShape = z.object({
  sequence: z.number(),
  changes: z.array(changeShape),
  /** When each cron is due next, if that has changed since the line before. */
  crons: z.record(z.string(), z.number()).optional(),
});
type Line = z.infer<typeof lineShape>;

/** A log that cannot be used, with a remedy. */
export class JournalError extends Error {}

type Journal = {
  /** Takes a commit; it is on the disk when a later `synced` resolves. */
  note: (changes: KeptChange[], crons?: DueTimes) => void;
  /**
   * Resolves when all noted commits are on the disk; several waiting callers share one sync.
   * @throws JournalError once the disk has failed, and then always: nothing may leave any more.
   */
  synced: () => Promise<void>;
  /**
   * Continues in a new file.
   * @param at Takes a snapshot at that moment, with the number of the last commit.
   * @returns The snapshot, and a function that deletes the older files once it is stored.
   */
  turn: <T>(at: (sequence: number) => T) => Promise<{ kept: T; forget: () => Promise<void> }>;
  /** Bytes since the last turn. */
  size: () => number;
  close: () => Promise<void>;
};

/** How much later commits are synced if nobody waits for them. */
const IDLE_MS = 50;
const NAME = /^log\.(\d+)\.ndjson$/;

/** The logged commits after `after`, in order. @throws JournalError if one is missing or damaged. */
export async function readJournal(directory: string, after: number): Promise<Line[]> {
  const lines: Line[] = [];
  let last = after;
  for (const { file } of await filesIn(directory)) {
    const written = (await readFile(file, "utf8")).split("\n");
    for (const [place, one] of written.entries()) {
      const line = one === "" ? null : lineOf(one);
      if (line === null) {
        // A truncated line was never synced, nor was anything after it.
        if (place === written.length - 1) break;
        throw new JournalError(`${file} is damaged in line ${place + 1}. ${REMEDY}`);
      }
      if (line.sequence <= last) continue;
      if (line.sequence > last + 1)
        throw new JournalError(`${file}: commit ${last + 1} is missing. ${REMEDY}`);
      lines.push(line);
      last = line.sequence;
    }
  }
  return lines;
}

const REMEDY = "Put back the whole directory from a copy: what is missing may be the key of a wallet.";

/** Starts a new file after commit `after`. */
export async function openJournal(directory: string, after: number): Promise<Journal> {
  let noted = after;
  let written = after;
  let pending: string[] = [];
  let failure: JournalError | null = null;
  let writing: Promise<void> | null = null;
  let idle: ReturnType<typeof real.setTimeout> | null = null;
  let bytes = 0;
  let current = await nextFile(directory);

  const write = async () => {
    try {
      while (pending.length > 0) {
        const text = pending.join("");
        const upTo = noted;
        pending = [];
        await current.handle.appendFile(text);
        await current.handle.datasync();
        bytes += text.length;
        written = upTo;
      }
    } catch (error) {
      failure = new JournalError(
        "The log cannot be written, so nothing is answered any more: make room and start again",
        {
          cause: error,
        },
      );
      console.error(failure.message, error);
    }
  };
  const synced = async () => {
    const target = noted;
    while (written < target && failure === null) await (writing ??= write().finally(() => (writing = null)));
    if (failure !== null) throw failure;
  };
  return {
    note: (changes, crons) => {
      noted += 1;
      pending.push(textOf({ sequence: noted, changes, crons }));
      idle ??= real.setTimeout(() => {
        idle = null;
        // A failure is reported to the callers that wait for it.
        synced().catch(() => undefined);
      }, IDLE_MS);
    },
    synced,
    turn: async (at) => {
      const next = await nextFile(directory);
      while (written < noted || writing !== null) {
        await synced();
        await writing;
      }
      const old = current;
      current = next;
      bytes = 0;
      const kept = at(noted);
      await old.handle.close();
      const forget = async () => {
        for (const { number, file } of await filesIn(directory)) if (number < next.number) await rm(file);
      };
      return { kept, forget };
    },
    size: () => bytes,
    close: async () => {
      if (idle !== null) real.clearTimeout(idle);
      try {
        await synced();
      } finally {
        await current.handle.close();
      }
    },
  };
}

async function nextFile(directory: string): Promise<{ number: number; handle: FileHandle }> {
  const number = ((await filesIn(directory)).at(-1)?.number ?? 0) + 1;
  const handle = await open(path.join(directory, `log.${number}.ndjson`), "ax", 0o600);
  await syncDirectory(directory);
  return { number, handle };
}

/** A new name is on the disk when its directory is. */
export async function syncDirectory(directory: string): Promise<void> {
  const handle = await open(directory, "r");
  try {
    await handle.sync();
  } finally {
    await handle.close();
  }
}

async function filesIn(directory: string): Promise<{ number: number; file: string }[]> {
  const names = await readdir(directory);
  const files = names.flatMap((name) => {
    const [, number] = NAME.exec(name) ?? [];
    return number === undefined ? [] : [{ number: Number(number), file: path.join(directory, name) }];
  });
  return files.sort((a, b) => a.number - b.number);
}

function textOf(line: Line): string {
  const json = JSON.stringify(line);
  return `${checksumOf(json)} ${json}\n`;
}

function lineOf(text: string): Line | null {
  const [checksum = ""] = text.split(" ", 1);
  const json = text.slice(checksum.length + 1);
  return checksum === checksumOf(json) ? lineShape.parse(JSON.parse(json)) : null;
}

function checksumOf(json: string): string {
  return createHash("sha256").update(json).digest("hex").slice(0, 16);
}
