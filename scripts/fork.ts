import { fork, type ChildProcess } from "node:child_process";
import { fileURLToPath } from "node:url";

/** A script of this repository in a process of its own that sends messages and writes its errors here. */
export function forkScript(file: URL, args: readonly string[]): ChildProcess {
  return fork(fileURLToPath(file), [...args], {
    execArgv: ["--import", import.meta.resolve("tsx")],
    stdio: ["ignore", "ignore", "inherit", "ipc"],
  });
}
