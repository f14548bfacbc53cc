import { spawn } from "node:child_process";
import { bold, createStatusLine } from "../terminal";

/** One of package.json's scripts that must succeed, with its own environment variables. */
export type Step = { name: string; script: string; env?: Record<string, string> };

export type Done = { name: string; passed: boolean; ms: number };

/**
 * Runs the steps, several at once; the output of each is shown as a whole, in the order of the steps.
 * @param isQuiet Shows no progress, because something else writes to the terminal.
 */
export async function runSteps(steps: readonly Step[], atOnce: number, isQuiet = false): Promise<Done[]> {
  const status = createStatusLine();
  const running = new Set<string>();
  const showRunning = () => {
    if (!isQuiet && running.size > 0) status.show(`running: ${[...running].join(", ")}`);
  };
  const finished = new Map<Step, Done & { output: string }>();
  const shown: Done[] = [];
  const showFinished = () => {
    for (const step of steps.slice(shown.length)) {
      const one = finished.get(step);
      if (one === undefined) return;
      const { name, passed, ms, output } = one;
      shown.push({ name, passed, ms });
      status.show(`${bold(`— ${name}`)}: ${passed ? "passed" : "FAILED"}, ${(ms / 1_000).toFixed(1)} s`);
      status.end();
      if (output.trim() !== "") console.log(output.trimEnd());
    }
  };
  const queue = steps.values();
  const worker = async () => {
    for (const step of queue) {
      running.add(step.name);
      showRunning();
      const result = await run(step);
      running.delete(step.name);
      finished.set(step, result);
      showFinished();
      showRunning();
    }
  };
  await Promise.all(Array.from({ length: atOnce }, worker));
  return shown;
}

function run({ name, script, env = {} }: Step): Promise<Done & { output: string }> {
  const startedAt = performance.now();
  return new Promise((resolve, reject) => {
    const child = spawn("npm", ["run", "--silent", script], {
      env: { ...process.env, ...env },
      stdio: ["ignore", "pipe", "pipe"],
    });
    let output = "";
    for (const stream of [child.stdout, child.stderr]) {
      stream.setEncoding("utf8").on("data", (text: string) => {
        output += text;
      });
    }
    child.once("error", reject);
    child.once("close", (code) => {
      resolve({ name, passed: code === 0, ms: performance.now() - startedAt, output });
    });
  });
}
