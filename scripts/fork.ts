import { fork, type ChildProcess } from "node:child_process";
import { fileURLToPath } from "node:url";

const RUN = fileURLToPath(new URL("run.cjs", import.meta.url));

/** A script of this repository in a process of its own that sends messages and writes its errors here. */
export function forkScript(file: URL, args: readonly string[]): ChildProcess {
  return fork(RUN, [fileURLToPath(file), ...args], { stdio: ["ignore", "ignore", "inherit", "ipc"] });
}
