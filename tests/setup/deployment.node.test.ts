import { spawn } from "node:child_process";
import { once } from "node:events";
import { chmod, mkdir, readFile, symlink, writeFile } from "node:fs/promises";
import path from "node:path";
import { expect, onTestFinished, test } from "vitest";
import * as z from "zod";
import { createApplication } from "../../scripts/stack/application";
import { createClock } from "../../scripts/stack/clock";
import { applyVariables } from "../../scripts/stack/env";
import { listen } from "../../scripts/sockets";
import { createStandins } from "../../scripts/standins";
import { startTestChain } from "../chain/support";
import { repository, temporaryDirectory, withoutProviders } from "../stack/processes";

/** A new operator's way from a clone to a deployed, checked service, as docs/operating.md has it. The Convex CLI is a stand-in. */

const answerShape = z.object({ wrong: z.array(z.string()), right: z.string() });

test("six commands lead from a clone to a deployed, checked service", async () => {
  const text = await readFile(path.join(repository, "docs/operating.md"), "utf8");
  const block = /^## Deploy to Convex cloud\n\n```sh\n([^]*?)```/m.exec(text)?.[1] ?? "";
  const commands = block.trim().split("\n");
  expect(commands.map((line) => line.replace(/ +#.*/, ""))).toEqual([
    "npm ci",
    "npm run setup",
    "npx convex init",
    "npx convex env set --prod --force --from-file .env.local",
    "npx convex deploy",
    "npx convex run --prod ops/doctor:ask",
  ]);

  // The providers' stand-ins and a local chain are those that the operator has keys for.
  const chain = await startTestChain();
  onTestFinished(() => chain.stop());
  const standins = createStandins({ rpcUrl: () => chain.url });
  const providers = await listen(0, "PROVIDERS_PORT", (request) => standins.handle(request));
  onTestFinished(() => providers.close());
  const { LLM_GATEWAY_API_KEY: _k, MESSENGER_BOT_TOKEN: _t, ...addresses } = standins.env(providers.url);
  // The deployment: the service with the variables that it was given, and no others.
  const deployment = await listen(0, "PORT", async (request) => {
    const given = z.record(z.string(), z.string()).parse(await request.json());
    onTestFinished(
      applyVariables({ ...addresses, ...given, CONVEX_SITE_URL: "https://happy-animal-123.convex.site" }),
    );
    const application = await createApplication(createClock(1));
    const name = new URL(request.url).pathname.slice(1);
    const doctor = answerShape.parse(await application.run("action", name, {}));
    return Response.json({ ...doctor, health: (await application.fetch("/health", {})).status });
  });
  onTestFinished(() => deployment.close());

  const clone = await temporaryDirectory();
  for (const name of ["convex", "scripts", "node_modules", "package.json", "tsconfig.json"])
    await symlink(path.join(repository, name), path.join(clone, name));
  const bin = path.join(clone, ".bin");
  await mkdir(bin);
  const runs = `exec "${process.execPath}"`;
  const npm = `#!/bin/sh\n[ "$1" = ci ] || ${runs} --import tsx scripts/setup.ts\n`;
  const npx = `#!/bin/sh\nshift\n${runs} "${path.join(repository, "tests/stack/convexCli.mjs")}" "$@"\n`;
  for (const [name, script] of Object.entries({ npm, npx })) {
    await writeFile(path.join(bin, name), script);
    await chmod(path.join(bin, name), 0o755);
  }
  const env = {
    ...withoutProviders(process.env),
    ...addresses,
    PATH: `${bin}:${process.env.PATH}`,
    STANDIN_DEPLOYMENT: deployment.url,
  };
  const typed = [
    "bk_of-a-gateway-0123456789",
    "xai-key-0123456789",
    "swap-key-0123456789",
    chain.url,
    "4711:AAE-token-of-a-bot-0123456789",
    "off\n",
  ];
  let said = "";
  for (const command of commands) {
    const child = spawn("sh", ["-c", command], { cwd: clone, env });
    said = "";
    for (const stream of [child.stdout, child.stderr])
      stream.on("data", (part: Buffer) => (said += part.toString()));
    // A command that asks nothing may have ended before.
    child.stdin.on("error", () => undefined);
    child.stdin.end(typed.join("\n"));
    expect([command, (await once(child, "close"))[0], said]).toEqual([command, 0, said]);
  }
  const { wrong, right, health } = answerShape.extend({ health: z.number() }).parse(JSON.parse(said));
  // The bot is the one thing left to say: its messages are led here by a command of their own.
  expect(wrong).toEqual([expect.stringContaining("npx convex run --prod bot/service:register")]);
  expect(right).toMatch(/LLM gateway.*chain answer as they should$/);
  expect(health).toBe(200);
});
