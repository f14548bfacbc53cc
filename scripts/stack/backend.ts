import { OperatorError } from "../command";
import { spawn, type SpawnOptions } from "node:child_process";
import { cp, mkdtemp, readFile, rm, symlink } from "node:fs/promises";
import { createRequire } from "node:module";
import { tmpdir } from "node:os";
import { dirname, join, resolve } from "node:path";
import { real } from "../real";
import { AT_PUSH, isOfTheService, formatSettings } from "../settings";
import { listen } from "../sockets";
import type { Variables } from "./env";

/**
 * The platform's own backend in place of Convex's test library: the Convex CLI downloads it, runs it without an account
 * and pushes a copy of the functions to it. It keeps nothing after it stops.
 */

export type Backend = { siteUrl: string; apiUrl: string; stop: () => Promise<void> };

const LOOK_MS = 250;
/** The first download of the backend takes some 60 MB. */
const PATIENCE_MS = 10 * 60_000;
const COPIED = ["convex", "package.json", "tsconfig.json"];

/**
 * @param options.port Port of the HTTP actions; 0 takes a free one, as for `apiPort`, the port of the functions.
 * @param options.variables The deployment's environment variables, from its addresses.
 * @throws OperatorError if it cannot be downloaded, started or pushed to, or a port is taken.
 */
export async function startBackend(options: {
  port: number;
  apiPort: number;
  variables: (urls: { siteUrl: string; apiUrl: string }) => Variables;
  log: (line: string) => void;
}): Promise<Backend> {
  const { port, apiPort, variables, log } = options;
  const urls = { siteUrl: await freeUrl(port, "PORT"), apiUrl: await freeUrl(apiPort, "API_PORT") };
  const folder = await mkdtemp(join(tmpdir(), "backend-"));
  for (const name of COPIED) await cp(name, join(folder, name), { recursive: true });
  await symlink(resolve("node_modules"), join(folder, "node_modules"));
  const ports = ["--local-cloud-port", getPort(urls.apiUrl), "--local-site-port", getPort(urls.siteUrl)];
  const env = { ...process.env, CONVEX_AGENT_MODE: "anonymous" };
  const dev = convexCli(
    ["dev", "--typecheck", "disable", "--codegen", "disable", ...ports],
    { cwd: folder, env },
    log,
  );
  const stop = async () => {
    dev.end();
    await dev.ended;
    await rm(folder, { recursive: true, force: true });
  };
  try {
    // The CLI stores which deployment belongs to the folder, so that further commands find it.
    const isNamed = async () =>
      (await readFile(join(folder, ".env.local"), "utf8").catch(() => "")).includes("CONVEX_DEPLOYMENT=");
    await waitUntil(async () => (await isNamed()) && answers(`${urls.apiUrl}/instance_name`), dev);
    const values = Object.entries({ ...AT_PUSH, ...variables(urls) }).filter(
      ([name, value]) => value !== undefined && isOfTheService(name),
    );
    const set = convexCli(
      ["env", "set", "--force"],
      { cwd: folder },
      () => {},
      formatSettings(Object.fromEntries(values)),
    );
    if ((await set.ended) !== 0)
      throw new OperatorError(`The backend did not accept its settings: ${getLastError(set.said)}`);
    await waitUntil(() => answers(`${urls.siteUrl}/health`), dev);
  } catch (error) {
    await stop();
    throw error;
  }
  return { ...urls, stop };
}

/** The address of a free port. */
async function freeUrl(port: number, variable: string): Promise<string> {
  const { url, close } = await listen(port, variable, () => Promise.resolve(new Response()));
  await close();
  return url;
}

const getPort = (url: string) => new URL(url).port;

const answers = (url: string): Promise<boolean> =>
  fetch(url).then(
    ({ ok }) => ok,
    () => false,
  );

type Cli = { said: readonly string[]; end: () => void; ended: Promise<number | null> };

/** Runs the Convex CLI of this project, as `npx convex` would, with `input` on its standard input. */
function convexCli(
  args: readonly string[],
  options: SpawnOptions,
  log: (line: string) => void,
  input = "",
): Cli {
  const cli = createRequire(resolve("package.json")).resolve("convex/package.json");
  const child = spawn(process.execPath, [join(dirname(cli), "bin/main.js"), ...args], {
    ...options,
    stdio: "pipe",
  });
  const said: string[] = [];
  for (const stream of [child.stdout, child.stderr])
    stream.setEncoding("utf8").on("data", (text: string) => {
      const lines = text.split("\n").filter((line) => line.trim() !== "");
      said.push(...lines);
      lines.forEach(log);
    });
  child.stdin.on("error", () => {});
  child.stdin.end(input);
  const ended = new Promise<number | null>((done, fail) => {
    child.on("error", fail);
    child.on("close", done);
  });
  return { said, end: () => void child.kill("SIGINT"), ended };
}

/** Waits for a condition while the CLI runs. */
async function waitUntil(isSo: () => Promise<boolean>, { said, ended }: Cli): Promise<void> {
  let hasEnded = false;
  void ended.then(() => (hasEnded = true));
  const until = Date.now() + PATIENCE_MS;
  while (!(await isSo())) {
    if (hasEnded || Date.now() > until)
      throw new OperatorError(
        `The platform's own backend could not be started: ${getLastError(said)}. The Convex CLI fetches it from the internet the first time. Without --backend, npm start needs no network.`,
      );
    await new Promise((done) => real.setTimeout(done, LOOK_MS));
  }
}

/** The CLI's error message: its first line with a cross, or its last line. */
function getLastError(said: readonly string[]): string {
  const reason = said.find((line) => line.startsWith("✖")) ?? said.at(-1) ?? "the Convex CLI said nothing";
  return reason.replace(/^✖\s*/, "").replace(/\.$/, "");
}
