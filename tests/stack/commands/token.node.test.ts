import { readdir } from "node:fs/promises";
import { expect, test } from "vitest";
import { ranHere } from "../../support/commands";
import { addressesOf, startMain, temporaryDirectory } from "../processes";

/** `npm run token`, as the banner says it. */
function token(args: string[], env: Record<string, string>) {
  return ranHere("scripts/stack/token.ts", args, { env });
}

test("the banner's token command works on a stack that keeps nothing", async () => {
  const LOCAL_STATE_DIR = await temporaryDirectory();
  const stack = startMain(["--ephemeral"], { LOCAL_STATE_DIR });
  const { standins } = await addressesOf(stack);
  const [, api = "", PROVIDERS_PORT = ""] = await stack.output(
    /functions +(\S+) +\(PROVIDERS_PORT=(\d+) npm run --silent token -- alice\)/,
  );
  const { code, stdout, stderr } = await token(["alice"], { PROVIDERS_PORT, LOCAL_STATE_DIR });
  expect({ code, stderr }).toEqual({ code: 0, stderr: "" });
  expect(stdout).toMatch(/^[\w-]+\.[\w-]+\.[\w-]+\n$/);
  const signedIn = await fetch(`${api}/api/mutation`, {
    method: "POST",
    headers: { Authorization: `Bearer ${stdout.trim()}`, "Content-Type": "application/json" },
    body: JSON.stringify({ path: "accounts/profile:signIn", args: {}, format: "json" }),
  });
  expect(await signedIn.json()).toMatchObject({ status: "success" });
  expect(await readdir(LOCAL_STATE_DIR)).toEqual([]);

  // Any page in a browser on this machine could ask as well.
  const order = { method: "POST", body: JSON.stringify({ subject: "alice" }) };
  const foreign = await fetch(`${standins}/_token`, {
    ...order,
    headers: { Origin: "https://page.example" },
  });
  expect(foreign.status).toBe(403);
  expect((await fetch(`${standins}/_token`, { method: "POST", body: "{}" })).status).toBe(400);
});

test("without a running stack it says so", async () => {
  const { code, stderr } = await token(["alice"], { PROVIDERS_PORT: "9" });
  expect([code, stderr]).toEqual([
    1,
    expect.stringContaining("No local stack answers at http://127.0.0.1:9: start it with npm start"),
  ]);
});
