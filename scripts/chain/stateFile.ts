import { constants } from "node:fs";
import { access, copyFile, open, readFile, rename, rm } from "node:fs/promises";
import { real } from "../real";

/** The file of a kept chain. The node writes it in place when it ends, and refuses to start from a truncated one. */

/** A kept chain that cannot be used, with a remedy. */
export class ChainStateError extends Error {}

/** How long an ending node may take to save. A busy machine is slow, and an interrupted save is lost. */
export const SAVING_MS = 60_000;
/** A node whose host was killed has this long to notice. */
const NOTICE_MS = 5_000;
const LOOK_MS = 25;

/**
 * Makes sure that the node can start from `file`: waits for a node that still has it, and replaces a damaged file by
 * the last good copy, or moves it aside.
 * @returns Whether there is a chain to continue.
 * @throws ChainStateError if another node keeps its chain there.
 */
export async function prepareStateFile(file: string, log: (message: string) => void): Promise<boolean> {
  await released(file);
  const copy = copyOf(file);
  if (await isJson(file)) {
    // Renaming replaces the old copy only by a complete one.
    await copyFile(file, `${copy}.new`);
    await rename(`${copy}.new`, copy);
    return true;
  }
  const damaged = await rename(file, `${file}.damaged`).then(
    () => true,
    () => false,
  );
  // A deleted chain must not come back.
  if (!damaged) {
    await dropStateFile(file);
    return false;
  }
  if (await isJson(copy)) {
    await copyFile(copy, file);
    log(`${file} is damaged: the chain goes on from the state before the last run`);
    return true;
  }
  log(
    `${file} is damaged and there is no copy: the chain starts afresh, the file is kept as ${file}.damaged`,
  );
  return false;
}

export async function dropStateFile(file: string): Promise<void> {
  await rm(file, { force: true });
  await rm(copyOf(file), { force: true });
}

/** A named pipe that the node's process keeps open as long as it may write `file`. */
export function lockOf(file: string): string {
  return `${file}.lock`;
}

async function released(file: string): Promise<void> {
  const lock = lockOf(file);
  const since = performance.now();
  while (await isHeld(lock)) {
    const isEnding = await access(`${lock}.ending`).then(
      () => true,
      () => false,
    );
    if (performance.now() - since > (isEnding ? SAVING_MS : NOTICE_MS)) {
      throw new ChainStateError(
        `${file} is in use: stop the other stack, or set LOCAL_STATE_DIR to another directory.`,
      );
    }
    await new Promise((resolve) => real.setTimeout(resolve, LOOK_MS));
  }
}

/** A pipe that nobody has open refuses a writer: unlike a process id in a file, this is never out of date. */
async function isHeld(pipe: string): Promise<boolean> {
  try {
    const writer = await open(pipe, constants.O_WRONLY | constants.O_NONBLOCK);
    await writer.close();
    return true;
  } catch {
    return false;
  }
}

function copyOf(file: string): string {
  return `${file}.good`;
}

async function isJson(file: string): Promise<boolean> {
  try {
    JSON.parse(await readFile(file, "utf8"));
    return true;
  } catch {
    return false;
  }
}
