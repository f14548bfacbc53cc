import { execFile } from "node:child_process";
import { constants } from "node:fs";
import { access, mkdir, open, readFile, rm, writeFile } from "node:fs/promises";
import path from "node:path";
import { promisify } from "node:util";
import * as z from "zod";
import { isHeld } from "../../chain/stateFile";
import type { Provider } from "../env";
import { StateError } from "./persistence";

/** The content of the state directory, checked before anything starts with it. */

const historyShape = z.object({ simulated: z.array(z.string()), real: z.array(z.string()) });
/** The providers of the stored rows, as they were when the stack ran. */
type History = z.infer<typeof historyShape>;

/**
 * Creates the directory, and reports what in it does not match the present start.
 * @param providers Which providers are simulated and which are real in this run.
 * @param warn Receives each problem in a line.
 * @returns Whether rows are stored there.
 * @throws StateError if the directory cannot be written, or its rows belong to another chain.
 */
export async function openStateDirectory(
  directory: string,
  providers: { simulated: readonly Provider[]; real: readonly Provider[] },
  warn: (line: string) => void,
): Promise<boolean> {
  await requireWritable(directory);
  const file = path.join(directory, "stack.json");
  const rows = await exists(path.join(directory, "data.json"));
  const chain = await exists(path.join(directory, "chain.json"));
  const { simulated, real } = providers;
  const history = rows ? await historyIn(file, chain) : { simulated: [], real: [] };

  const elsewhere = "Set LOCAL_STATE_DIR to another directory";
  const chainWas = (was: readonly string[], is: readonly Provider[]) =>
    was.includes("chain") && is.includes("chain");
  if (chainWas(history.simulated, real) || chainWas(history.real, simulated)) {
    const [was, is] = real.includes("chain")
      ? ["the local chain", "a real one"]
      : ["a real chain", "the local one"];
    throw new StateError(
      `The rows in ${directory} belong to ${was}, and this start is with ${is}: their transactions would be sent ` +
        `there. ${elsewhere}, or change CHAIN_RPC_URL back.`,
    );
  }
  const replaced = real.filter((provider) => history.simulated.includes(provider));
  if (replaced.length > 0) {
    warn(
      `The rows in ${directory} hold answers of the simulated ${replaced.join(", ")}, which are still served (signals, ` +
        `reports, alerts, prices). ${elsewhere} to have real ones alone.`,
    );
  }
  if (rows && !chain && simulated.includes("chain")) {
    warn(
      `${path.join(directory, "chain.json")} is missing while rows are kept: the chain starts afresh, so kept wallets are ` +
        `empty and their open transactions never end. Put the file back, or delete ${directory} to start afresh.`,
    );
  }
  const all: History = {
    simulated: [...new Set([...history.simulated, ...simulated])],
    real: [...new Set([...history.real, ...real])],
  };
  await writeFile(file, `${JSON.stringify(all)}\n`);
  return rows;
}

/**
 * Locks a directory with real money until the process ends, however it ends.
 * @returns Releases the lock.
 * @throws StateError while another stack holds it.
 */
export async function holdDirectory(directory: string): Promise<() => Promise<void>> {
  const pipe = path.join(directory, "stack.lock");
  if (await isHeld(pipe)) {
    throw new StateError(
      `${directory} is in use: stop the other stack, or set LOCAL_STATE_DIR to another directory.`,
    );
  }
  await rm(pipe, { force: true });
  await promisify(execFile)("mkfifo", [pipe]);
  const handle = await open(pipe, constants.O_RDONLY | constants.O_NONBLOCK);
  return () => handle.close();
}

/** Node's own recursive form never ends if a directory cannot be created although its parent exists, as in `/proc`. */
async function makeDirectory(directory: string): Promise<void> {
  const made = await mkdir(directory).catch(codeOf);
  if (made === undefined || made === "EEXIST") return;
  if (made === "ENOENT" && path.dirname(directory) !== directory)
    await makeDirectory(path.dirname(directory));
  await mkdir(directory);
}

function codeOf(error: unknown): string {
  return error instanceof Error && "code" in error ? String(error.code) : "unknown";
}

async function requireWritable(directory: string): Promise<void> {
  const trial = path.join(directory, `.trial-${process.pid}`);
  try {
    await makeDirectory(directory);
    await writeFile(trial, "");
    await rm(trial);
  } catch (error) {
    const code = codeOf(error);
    throw new StateError(
      `The state directory ${directory} cannot be written (${code}): set LOCAL_STATE_DIR to one that can, or keep ` +
        "nothing with --ephemeral.",
      { cause: error },
    );
  }
}

/** For rows of a version without a history: only the chain has left a trace. */
async function historyIn(file: string, chain: boolean): Promise<History> {
  try {
    const json: unknown = JSON.parse(await readFile(file, "utf8"));
    return historyShape.parse(json);
  } catch {
    return { simulated: chain ? ["chain"] : [], real: [] };
  }
}

function exists(file: string): Promise<boolean> {
  return access(file).then(
    () => true,
    () => false,
  );
}
