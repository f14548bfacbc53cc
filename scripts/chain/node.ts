import { spawn } from "node:child_process";
import { existsSync } from "node:fs";
import { chmod, mkdir } from "node:fs/promises";
import { createRequire } from "node:module";
import path from "node:path";
import * as z from "zod";
import { real } from "../real";
import { OperatorError } from "../command";
import { fetchFromLoopback, portInUseError } from "../sockets";
import { CHAIN_ID } from "./addresses";

/** The process of the EVM node, and JSON-RPC to it, in real time whatever the application's clock shows. */

export type Anvil = {
  url: string;
  /** The id of the process group that ends with the node. */
  pid: number;
  /** Resolves with a message when the node has exited, for any reason. */
  exited: Promise<string>;
  /** Ends the node, which saves its state. */
  stop(): Promise<void>;
};

const HOST = "127.0.0.1";
/** States kept for calls at past blocks and for reorganisations. More would be written to the user's home, and never deleted. */
const KEPT_STATES = 50;

/** How long an ending node may take to save. A busy machine is slow, and an interrupted save is lost. */
const SAVING_MS = 60_000;

/**
 * Runs the node given as arguments and ends with it. Its standard input is a pipe from the host: when the host dies,
 * even by SIGKILL, the pipe closes, and the node is stopped and saves. Only its user can read the saved files.
 */
const GUARD = `
umask 077
exec 3<&0
"$@" 3<&- &
node=$!
{ while read -r line <&3; do :; done; kill -TERM "$node" 2>/dev/null; } &
watcher=$!
wait "$node"; status=$?
kill "$watcher" 2>/dev/null
exit "$status"`;

/**
 * @param options.port 0 for any free one.
 * @param options.stateFile Where the chain is kept; none to keep nothing.
 * @param options.genesisTime Seconds; for a new chain.
 * @throws OperatorError
 */
export async function startAnvil(options: {
  port: number;
  stateFile: string | null;
  genesisTime: number | null;
}): Promise<Anvil> {
  const { port, stateFile, genesisTime } = options;
  const args = ["--host", HOST, "--port", String(port), "--chain-id", String(CHAIN_ID)];
  args.push("--no-mining", "--no-cors", "--prune-history", String(KEPT_STATES));
  if (genesisTime !== null) args.push("--timestamp", String(genesisTime));
  if (stateFile !== null) {
    await mkdir(path.dirname(stateFile), { recursive: true });
    // The node keeps the mode of a file that is there.
    if (existsSync(stateFile)) await chmod(stateFile, 0o600);
    args.push("--state", stateFile);
  }
  // In a process group of its own, so that Ctrl-C does not reach the node before the host is done with it.
  const child = spawn("sh", ["-c", GUARD, "sh", anvilBinary(), ...args], { detached: true });
  // If the node ends first, `exited` reports it.
  child.stdin.on("error", () => undefined);
  let errors = "";
  child.stderr.on("data", (chunk: Buffer) => (errors = (errors + chunk.toString()).slice(-2_000)));
  const exited = new Promise<string>((resolve) => {
    child.once("error", (error) => resolve(error.message));
    child.once("close", (code, signal) =>
      resolve(errors.trim() || `it ended with ${signal ?? `code ${code}`}`),
    );
  });

  const actualPort = await new Promise<string>((resolve, reject) => {
    let output = "";
    // Read for as long as the node lives: a full pipe would stop it for good.
    child.stdout.on("data", (chunk: Buffer) => {
      output = (output + chunk.toString()).slice(-10_000);
      const found = /^Listening on \S+:(\d+)\s/m.exec(output)?.[1];
      if (found !== undefined) resolve(found);
    });
    void exited.then((reason) => {
      const isTaken = reason.includes("Address already in use");
      const kept = stateFile === null ? "" : ` If ${stateFile} is damaged, delete its folder.`;
      reject(
        isTaken
          ? portInUseError(port, "CHAIN_PORT")
          : new OperatorError(`The chain did not start: ${reason}.${kept}`),
      );
    });
  });

  const group = child.pid ?? 0;
  return {
    url: `http://${HOST}:${actualPort}`,
    pid: group,
    exited,
    stop: async () => {
      child.stdin.end();
      const timer = real.setTimeout(() => process.kill(-group, "SIGKILL"), SAVING_MS);
      await exited;
      real.clearTimeout(timer);
    },
  };
}

/** The binary itself: the package's launcher ends before the node has saved. */
function anvilBinary(): string {
  const require = createRequire(import.meta.url);
  const inside = createRequire(require.resolve("@foundry-rs/anvil/package.json"));
  const name = `@foundry-rs/anvil-${process.platform}-${process.arch === "x64" ? "amd64" : process.arch}`;
  try {
    return inside.resolve(`${name}/bin/anvil`);
  } catch (cause) {
    const remedy = `The chain needs the package ${name}: run npm install without --omit=optional`;
    throw new OperatorError(remedy, { cause });
  }
}

type RpcCall = readonly [method: string, params?: readonly unknown[]];

export type Rpc = {
  /** @throws RpcError if the node refuses. */
  call(method: string, params?: readonly unknown[]): Promise<unknown>;
  /** All in one request; the answers are in the order of the calls. @throws RpcError for the first refusal. */
  batch(calls: readonly RpcCall[]): Promise<unknown[]>;
};

export class RpcError extends Error {
  constructor(
    message: string,
    readonly code: number,
    /** The revert's bytes, for a call that reverted. */
    readonly data: unknown,
  ) {
    super(message);
  }
}

const answerShape = z.object({
  id: z.number(),
  result: z.unknown().optional(),
  error: z.object({ code: z.number(), message: z.string(), data: z.unknown().optional() }).optional(),
});

export function createRpc(url: string): Rpc {
  const batch = async (calls: readonly RpcCall[]) => {
    const requests = calls.map(([method, params = []], id) => ({ jsonrpc: "2.0", id, method, params }));
    const response = await fetchFromLoopback(url, {
      method: "POST",
      headers: { "Content-Type": "application/json" },
      body: JSON.stringify(requests),
    });
    const answers = z.array(answerShape).parse(await response.json());
    return calls.map(([method], id) => {
      const answer = answers.find((one) => one.id === id);
      if (answer === undefined) throw new Error(`The node did not answer ${method}`);
      if (answer.error === undefined) return answer.result;
      const { message, code, data } = answer.error;
      // The node puts the raw bytes of custom errors into its message.
      throw new RpcError(`${method}: ${message.replaceAll(/[^\x20-\x7e]+/g, "?")}`, code, data);
    });
  };
  return { batch, call: async (method, params = []) => (await batch([[method, params]]))[0] };
}

/** A quantity or other bytes, as the node writes them. */
export const hexShape = z.templateLiteral(["0x", z.string().regex(/^[0-9a-fA-F]*$/)]);
