import { copyFile, readFile, rename, rm } from "node:fs/promises";

/** The file a chain is kept in. The node writes it in place when it ends, and refuses to start from half of one. */

/**
 * Makes sure that the node can start from `file`: a damaged one is replaced by the last good copy, else put aside.
 * @returns Whether there is a chain to go on with.
 */
export async function prepareStateFile(file: string, log: (message: string) => void): Promise<boolean> {
  const copy = copyOf(file);
  if (await isJson(file)) {
    // Renaming puts the new copy in the old one's place only when it is whole.
    await copyFile(file, `${copy}.new`);
    await rename(`${copy}.new`, copy);
    return true;
  }
  const damaged = await rename(file, `${file}.damaged`).then(
    () => true,
    () => false,
  );
  // A chain that was deleted is not to come back.
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

/** Deletes the chain. */
export async function dropStateFile(file: string): Promise<void> {
  await rm(file, { force: true });
  await rm(copyOf(file), { force: true });
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
