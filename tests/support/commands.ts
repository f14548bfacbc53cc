import path from "node:path";
import { Readable } from "node:stream";
import { fileURLToPath } from "node:url";
import { format } from "node:util";
import { withoutProviders, type Ended } from "../stack/processes";

/**
 * Commands of this repository, run in the test's own process: their output is the same, in a tenth of the time that a
 * new process takes to start. For commands that end by themselves, or are refused before they begin.
 */

const root = fileURLToPath(new URL("../../", import.meta.url));

/** Its variables, what is typed into it, and where it runs. */
type Place = { env?: Record<string, string>; input?: string; cwd?: string };

class Exit extends Error {}

let runs = 0;
let last: Promise<unknown> = Promise.resolve();

/** Runs a script, named from the repository's root, to its end; one at a time, because each uses the whole console. */
export function ranHere(
  script: string,
  args: readonly string[],
  place: Place = {},
): Promise<Ended & { code: number; output: string }> {
  const ended = last.then(() => run(path.join(root, script), args, place));
  last = ended.catch(() => undefined);
  return ended;
}

async function run(file: string, args: readonly string[], { env = {}, input, cwd }: Place) {
  const { argv, exitCode } = process;
  const stdin = Object.getOwnPropertyDescriptor(process, "stdin") ?? {};
  const exit = process.exit.bind(process);
  const usual = { ...console };
  const variables = { ...process.env };
  const folder = process.cwd();
  const write = process.stdout.write.bind(process.stdout);
  const listeners = process.stdout.listeners("error");
  const told = { stdout: "", stderr: "", output: "" };
  let ended: number | null = null;
  const tell = (stream: "stdout" | "stderr", text: string) => {
    // A process that has ended prints nothing more.
    if (ended !== null) return;
    told[stream] += text;
    told.output += text;
  };
  const become = (all: NodeJS.ProcessEnv) => {
    for (const name of Object.keys(process.env)) if (!(name in all)) delete process.env[name];
    Object.assign(process.env, all);
  };
  process.argv = [process.execPath, file, ...args];
  process.exitCode = undefined;
  process.exit = (code) => {
    ended ??= Number(code ?? process.exitCode ?? 0);
    throw new Exit();
  };
  console.log = (...words) => tell("stdout", `${format(...words)}\n`);
  console.error = (...words) => tell("stderr", `${format(...words)}\n`);
  process.stdout.write = (text) => {
    tell("stdout", String(text));
    return true;
  };
  // It stays a test's process, whatever the script loads into it.
  become({ ...withoutProviders(variables), VITEST: "true", ...env });
  if (cwd !== undefined) process.chdir(cwd);
  if (input !== undefined)
    Object.defineProperty(process, "stdin", { value: Readable.from([input]), configurable: true });
  try {
    // A module runs only once, so each run imports another copy.
    await import(/* @vite-ignore */ `${file}?run=${++runs}`).catch((problem: unknown) => {
      if (ended === null && !(problem instanceof Exit)) throw problem;
    });
    return { code: ended ?? Number(process.exitCode ?? 0), ...told };
  } finally {
    process.chdir(folder);
    become(variables);
    Object.assign(process, { argv, exit, exitCode });
    Object.assign(console, usual);
    process.stdout.write = write;
    Object.defineProperty(process, "stdin", stdin);
    for (const added of process.stdout.listeners("error"))
      if (!listeners.includes(added)) process.stdout.removeListener("error", added as () => void);
  }
}
