import { spawn, type ChildProcess } from "node:child_process";
import { mkdtemp, rm } from "node:fs/promises";
import { tmpdir } from "node:os";
import path from "node:path";
import { fileURLToPath, pathToFileURL } from "node:url";
import { onTestFinished } from "vitest";

export type Ended = { code: number | null; stdout: string; stderr: string };
export type Started = {
  kill: (signal: NodeJS.Signals) => void;
  /** Waits for output that matches. @throws Error when the process ends without it. */
  output: (pattern: RegExp) => Promise<string[]>;
  ended: Promise<Ended>;
};

/** A directory that goes away with the test. */
export async function temporaryDirectory(): Promise<string> {
  const directory = await mkdtemp(path.join(tmpdir(), "stack-"));
  // A chain whose stack was killed may still be saving there.
  onTestFinished(() => rm(directory, { recursive: true, force: true, maxRetries: 10 }));
  return directory;
}

export const repository = fileURLToPath(new URL("../../", import.meta.url));

/** By its place: a script also runs in folders that have no packages. */
export const TSX = pathToFileURL(path.join(repository, "node_modules/tsx/dist/loader.mjs")).href;

/** Any free ports, and nobody's settings file. */
export const freePorts = {
  PORT: "0",
  API_PORT: "0",
  PROVIDERS_PORT: "0",
  CHAIN_PORT: "0",
  LOCAL_ENV_FILE: "/dev/null",
};

/** A process's variables, what is typed into it, and where it runs. */
type ProcessOptions = { env?: Record<string, string>; input?: string; cwd?: string };

/** Runs `npm start`'s script on free ports. */
export function startMain(args: string[], { env, ...options }: ProcessOptions = {}): Started {
  return startScript("scripts/stack/main.ts", args, { ...options, env: { ...freePorts, ...env } });
}

/** What the banner of a stack's process tells. */
export async function addressesOf(
  stack: Started,
): Promise<{ site: string; standins: string; chain: string }> {
  const [, site = "", standins = "", chain = ""] = await stack.output(
    /HTTP +(\S+)\n[^]*stand-ins +(\S+)\n[^]*chain +(\S+)\n/,
  );
  return { site, standins, chain };
}

/** Runs a script of this repository in a process that ends with the test at the latest. */
export function startScript(file: string, args: string[], options: ProcessOptions = {}): Started {
  return startProcess(process.execPath, ["--import", TSX, path.join(repository, file), ...args], options);
}

/** Runs a command that ends with the test at the latest. */
export function startProcess(
  command: string,
  args: string[],
  { env = {}, input = "", cwd = process.cwd() }: ProcessOptions = {},
): Started {
  const child = spawn(command, args, {
    env: { ...withoutProviders(process.env), ...env },
    cwd,
    stdio: "pipe",
  });
  // A process may end without having read it.
  child.stdin.on("error", () => undefined);
  child.stdin.end(input);
  const text = { stdout: "", stderr: "" };
  child.stdout.on("data", (chunk: Buffer) => (text.stdout += chunk.toString()));
  child.stderr.on("data", (chunk: Buffer) => (text.stderr += chunk.toString()));
  const ended = new Promise<Ended>((resolve) => child.on("close", (code) => resolve({ code, ...text })));
  onTestFinished(() => endChild(child, ended));
  return {
    kill: (signal) => void child.kill(signal),
    ended,
    output: (pattern) =>
      new Promise((resolve, reject) => {
        const look = () => {
          const match = pattern.exec(text.stdout);
          if (match !== null) resolve([...match]);
        };
        child.stdout.on("data", look);
        look();
        void ended.then(() =>
          reject(new Error(`It ended without ${String(pattern)}:\n${text.stdout}${text.stderr}`)),
        );
      }),
  };
}

async function endChild(child: ChildProcess, ended: Promise<Ended>): Promise<void> {
  child.kill("SIGKILL");
  await ended;
}

/** A developer's own settings must not reach a test. */
export function withoutProviders(env: NodeJS.ProcessEnv): NodeJS.ProcessEnv {
  const ours =
    /^(?:LLM_|AGENT_|SENTIMENT_|MESSENGER_|CHAIN_|SWAP_|LOCAL_|PORT$|API_PORT$|PROVIDERS_PORT$|NODE_OPTIONS$|VITEST)/;
  return Object.fromEntries(Object.entries(env).filter(([name]) => !ours.test(name)));
}
