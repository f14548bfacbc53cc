import { spawn } from "node:child_process";
import { mkdir } from "node:fs/promises";
import { createRequire } from "node:module";
import path from "node:path";
import { PortInUseError } from "../sockets/listener";
import { real } from "../real";
import { CHAIN_ID } from "./addresses";

/** The process of the EVM node. */

/** The node cannot run here, with the reason. */
export class ChainStartError extends Error {}

export type Anvil = {
  url: string;
  /** The id of the process group that ends with the node. */
  pid: number;
  /** Resolves with a message when the node has ended, for whatever reason. */
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
 * Runs the node given as arguments and ends with it. Its standard input is a pipe from the host: when the host
 * vanishes, even by SIGKILL, the pipe ends, and the node is stopped and saves.
 */
const GUARD = `
exec 3<&0
"$@" 3<&- &
node=$!
{ while read -r line <&3; do :; done; kill -TERM "$node" 2>/dev/null; } &
watcher=$!
trap 'kill -TERM "$node" 2>/dev/null' TERM INT HUP
wait "$node"; status=$?
while kill -0 "$node" 2>/dev/null; do wait "$node"; status=$?; done
kill "$watcher" 2>/dev/null
exit "$status"`;

/**
 * @param options.port 0 for any free one.
 * @param options.stateFile Where the chain is kept; none to keep nothing.
 * @param options.genesisTime Seconds; for a new chain.
 * @throws PortInUseError, ChainStartError
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
    args.push("--state", stateFile);
  }
  const guarded = process.platform !== "win32";
  const [command, ...rest] = guarded
    ? ["sh", "-c", GUARD, "sh", anvilBinary(), ...args]
    : [anvilBinary(), ...args];
  // In a process group of its own, so that Ctrl-C does not reach the node before the host is done with it.
  const child = spawn(command, rest, { stdio: ["pipe", "pipe", "pipe"], detached: guarded });
  // If the node ends first, `exited` reports it.
  child.stdin.on("error", () => undefined);

  let errors = "";
  child.stderr.on("data", (chunk: Buffer) => (errors = (errors + chunk.toString()).slice(-2_000)));
  const exited = new Promise<string>((resolve) => {
    child.once("error", (error) => {
      resolve(error.message);
    });
    child.once("close", (code, signal) => {
      resolve(errors.trim() || `it ended with ${signal ?? `code ${code}`}`);
    });
  });

  const actualPort = await new Promise<number>((resolve, reject) => {
    let output = "";
    // Read for as long as the node lives: a full pipe would stop it for good.
    child.stdout.on("data", (chunk: Buffer) => {
      if (output === "ready") return;
      output += chunk.toString();
      const found = /^Listening on \S+:(\d+)\s/m.exec(output)?.[1];
      if (found === undefined) return;
      output = "ready";
      resolve(Number(found));
    });
    void exited.then((reason) => {
      const taken = reason.includes("Address already in use") || reason.includes("os error 10048");
      reject(
        taken
          ? new PortInUseError(port, "CHAIN_PORT")
          : new ChainStartError(`The chain did not start: ${reason}`),
      );
    });
  });

  const group = child.pid ?? 0;
  return {
    url: `http://${HOST}:${actualPort}`,
    pid: group,
    exited,
    stop: async () => {
      if (guarded) child.stdin.end();
      else child.kill();
      const timer = real.setTimeout(() => {
        process.kill(guarded ? -group : group, "SIGKILL");
      }, SAVING_MS);
      await exited;
      real.clearTimeout(timer);
    },
  };
}

/** The binary itself: the package's launcher ends before the node has saved. */
function anvilBinary(): string {
  const require = createRequire(import.meta.url);
  const inside = createRequire(require.resolve("@foundry-rs/anvil/package.json"));
  const architecture = process.arch === "x64" ? "amd64" : process.arch;
  const name = `@foundry-rs/anvil-${process.platform}-${architecture}`;
  try {
    return inside.resolve(`${name}/bin/anvil${process.platform === "win32" ? ".exe" : ""}`);
  } catch (error) {
    throw new ChainStartError(
      `The chain needs the package ${name}: run npm install without --omit=optional`,
      { cause: error },
    );
  }
}
