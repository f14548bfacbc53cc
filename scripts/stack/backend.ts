import { cp, mkdtemp, readFile, rm, symlink } from "node:fs/promises";
import { tmpdir } from "node:os";
import { join, resolve } from "node:path";
import { convexCli, convexProcess } from "./convexCli";
import { AT_PUSH, isOfTheService, linesOf } from "../settings";
import { real } from "../real";
import { listen } from "../sockets/listener";
import type { Variables } from "./env";

/**
 * The platform's own backend in place of this repository's host: the Convex CLI downloads it, runs it without an
 * account and pushes a copy of the functions to it. It keeps nothing after it ends.
 */

/** The message is for the operator. */
export class BackendError extends Error {}

export type Backend = { siteUrl: string; apiUrl: string; stop: () => Promise<void> };

const LOOK_MS = 250;
/** The first download of the backend takes some 60 MB. */
const PATIENCE_MS = 10 * 60_000;
const COPIED = ["convex", "package.json", "tsconfig.json"];

/**
 * @param options.port Port of the HTTP actions; 0 takes a free one, here and for `apiPort`, that of the functions.
 * @param options.variables The deployment's environment variables, by the addresses that it gets.
 * @throws BackendError if it cannot be downloaded, started or pushed to; PortInUseError.
 */
export async function startBackend({
  port,
  apiPort,
  variables,
  log,
}: {
  port: number;
  apiPort: number;
  variables: (urls: { siteUrl: string; apiUrl: string }) => Variables;
  log: (line: string) => void;
}): Promise<Backend> {
  const urls = { siteUrl: await freeUrl(port, "PORT"), apiUrl: await freeUrl(apiPort, "API_PORT") };
  const folder = await mkdtemp(join(tmpdir(), "backend-"));
  const leave = () => rm(folder, { recursive: true, force: true });
  try {
    for (const name of COPIED) await cp(name, join(folder, name), { recursive: true });
    await symlink(resolve("node_modules"), join(folder, "node_modules"));
    const ports = ["--local-cloud-port", portOf(urls.apiUrl), "--local-site-port", portOf(urls.siteUrl)];
    const child = convexProcess(["dev", "--typecheck", "disable", "--codegen", "disable", ...ports], {
      cwd: folder,
      env: { CONVEX_AGENT_MODE: "anonymous" },
    });
    const lines: string[] = [];
    child.onLine((line) => {
      lines.push(line);
      log(line);
    });
    const stop = async () => {
      child.end();
      await child.ended;
      await leave();
    };
    try {
      await reached(
        async () => (await isNamed(folder)) && answers(`${urls.apiUrl}/instance_name`),
        child,
        lines,
      );
      const values = Object.entries({ ...AT_PUSH, ...variables(urls) }).filter(
        ([name, value]) => value !== undefined && isOfTheService(name),
      );
      const set = linesOf(Object.fromEntries(values));
      const { code, stderr } = await convexCli(["env", "set", "--force"], set, folder);
      if (code !== 0) throw new BackendError(`The backend did not accept its settings: ${lastOf([stderr])}`);
      await reached(() => answers(`${urls.siteUrl}/health`), child, lines);
    } catch (error) {
      await stop();
      throw error;
    }
    return { ...urls, stop };
  } catch (error) {
    await leave();
    throw error;
  }
}

/** The address of a port that nobody else uses. */
async function freeUrl(port: number, variable: string): Promise<string> {
  const { url, close } = await listen(port, variable, () => Promise.resolve());
  await close();
  return url;
}

const portOf = (url: string) => new URL(url).port;

/** Whether the CLI has stored which deployment belongs to this folder, so that further commands find it. */
async function isNamed(folder: string): Promise<boolean> {
  return (await readFile(join(folder, ".env.local"), "utf8").catch(() => "")).includes("CONVEX_DEPLOYMENT=");
}

async function answers(url: string): Promise<boolean> {
  return fetch(url).then(
    ({ ok }) => ok,
    () => false,
  );
}

/** Waits for a condition while the CLI runs. */
async function reached(
  isSo: () => Promise<boolean>,
  { ended }: { ended: Promise<void> },
  said: readonly string[],
): Promise<void> {
  let hasEnded = false;
  void ended.then(() => (hasEnded = true));
  const until = Date.now() + PATIENCE_MS;
  while (!(await isSo())) {
    if (hasEnded || Date.now() > until)
      throw new BackendError(
        `The platform's own backend could not be started: ${lastOf(said)}. The Convex CLI fetches it from the internet the first time. Without --backend, npm start needs no network.`,
      );
    await new Promise((done) => real.setTimeout(done, LOOK_MS));
  }
}

/** The CLI's error message: its first line with a cross, or its last line. */
function lastOf(said: readonly string[]): string {
  const lines = said.flatMap((text) => text.split("\n")).filter((line) => line.trim() !== "");
  const reason = lines.find((line) => line.startsWith("✖")) ?? lines.at(-1) ?? "the Convex CLI said nothing";
  return reason.replace(/^✖\s*/, "").replace(/\.$/, "");
}
