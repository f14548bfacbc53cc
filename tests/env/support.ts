import { mkdir, mkdtemp, rm, writeFile } from "node:fs/promises";
import { tmpdir } from "node:os";
import path from "node:path";
import { afterEach, beforeEach } from "vitest";

/** The folder of a project whose Convex CLI is the test file's stand-in. */
export let project: string;

/** To be called once by a test file. @param cli The stand-in's module. */
export function useProject(cli: string): void {
  beforeEach(async () => {
    project = await mkdtemp(path.join(tmpdir(), "project-"));
    await mkdir(path.join(project, "node_modules/convex/bin"), { recursive: true });
    await writeFile(path.join(project, "package.json"), '{ "type": "module" }');
    await writeFile(path.join(project, "node_modules/convex/package.json"), '{ "type": "module" }');
    await writeFile(path.join(project, "node_modules/convex/bin/main.js"), cli);
  });
  afterEach(() => rm(project, { recursive: true }));
}
