import { describe, expect, vi } from "vitest";
import { makeFunctionReference } from "convex/server";
import * as z from "zod";
import { internal } from "../../convex/_generated/api";
import schema from "../../convex/schema";
import { test } from "../support/app";

const moduleShape = z.record(z.string(), z.unknown());
const modules = import.meta.glob(["../../convex/**/*.ts", "!../../convex/convex.config.ts"], { eager: true });

/** Each takes its user from the caller's token. */
const PUBLIC_FUNCTIONS = [
  "accounts/actions:challenge",
  "accounts/actions:claimUserId",
  "accounts/actions:linkAddress",
  "accounts/actions:useLoginCode",
  "accounts/data:erase",
  "accounts/data:page",
  "accounts/keys:addRecipient",
  "accounts/keys:create",
  "accounts/keys:removeRecipient",
  "accounts/keys:revoke",
  "accounts/pageSessions:createLink",
  "accounts/profile:freeze",
  "accounts/profile:me",
  "accounts/profile:replaceUserId",
  "accounts/profile:setLimit",
  "accounts/profile:signIn",
  "accounts/profile:unfreeze",
  "accounts/profile:unlinkAddress",
  "chat/runs:start",
  "credits/app:balance",
  "credits/app:finishGame",
  "credits/app:openGame",
  "messenger/linking:createCode",
  "messenger/linking:status",
  "messenger/linking:unlink",
  "runs/app:one",
  "social/app:setTrading",
  "social/app:settings",
  "social/app:startProof",
  "social/app:unlink",
  "wallets/app:view",
];

describe("custody", () => {
  test("rotates every key to the current master key, resumes, and has no effect twice", async ({ app }) => {
    // More than are read at once.
    const users = Array.from({ length: 60 }, (_, i) => `user-${i}`);
    for (const [i, userId] of users.entries())
      await app.post("/mcp/wallet/create", { userId }, { ip: `198.51.100.${i}` });
    vi.stubEnv("WALLET_ENCRYPTION_KEY_PREVIOUS", "ab".repeat(32));
    vi.stubEnv("WALLET_ENCRYPTION_KEY", "cd".repeat(32));
    const rotate = () => app.during(app.t.action(internal.ops.rotation.rotate, {}));
    const [broken] = await app.rows("walletKeys");
    if (broken === undefined) throw new Error("There is a key");
    const damaged = `${broken.sealedKey}x`;
    await app.t.run((ctx) => ctx.db.patch("walletKeys", broken._id, { sealedKey: damaged }));
    expect(await rotate()).toEqual({ rotated: 59, failed: [broken._id] });
    await app.t.run((ctx) => ctx.db.patch("walletKeys", broken._id, { sealedKey: broken.sealedKey }));
    expect(await rotate()).toEqual({ rotated: 1, failed: [] });
    expect(await rotate()).toEqual({ rotated: 0, failed: [] });
    const after = await app.rows("walletKeys");
    expect(new Set(after.map(({ sealedKey }) => sealedKey.split(".")[1])).size).toBe(1);

    vi.stubEnv("WALLET_ENCRYPTION_KEY_PREVIOUS", "");
    const { openSeal } = await import("../../convex/lib/seals");
    const { privateKeyToAddress } = await import("viem/accounts");
    const wallets = await app.rows("wallets");
    for (const { walletId, sealedKey } of after.slice(0, 5)) {
      const key = await openSeal(sealedKey, { purpose: "wallet private key", owner: walletId });
      const address = wallets.find((wallet) => wallet.walletId === walletId)?.address;
      expect(privateKeyToAddress(`0x${key.slice(2)}`)).toBe(address);
    }
  });

  test("does not open a key that was moved to another wallet", async ({ app }) => {
    for (const userId of ["alice", "mallory"]) await app.post("/mcp/defi/connect", { userId });
    const [alice, mallory] = await app.rows("walletKeys");
    const { openSeal } = await import("../../convex/lib/seals");
    const stolen = openSeal(alice?.sealedKey ?? "", {
      purpose: "wallet private key",
      owner: mallory?.walletId ?? "",
    });
    await expect(stolen).rejects.toThrow("damaged");
  });
});

describe("every function", () => {
  const functions = Object.entries(modules).flatMap(([file, exports]) =>
    Object.entries(moduleShape.parse({ ...Object(exports) })).flatMap(([name, value]) =>
      isConvexFunction(value) ? [{ file, name, value }] : [],
    ),
  );

  const open = functions
    .filter(({ value }) => value.isInternal !== true)
    .map(({ file, name, value }) => ({ value, name: `${file.replace(/^.*\/convex\/|\.ts$/g, "")}:${name}` }));

  test("has argument and return validators, and is internal unless the web application needs it", () => {
    expect(functions.length).toBeGreaterThan(30);
    for (const { file, name, value } of functions) {
      expect([file, name, value.exportReturns()]).not.toEqual([file, name, "null"]);
      expect([file, name, JSON.parse(value.exportArgs())]).not.toEqual([file, name, { type: "any" }]);
    }
    expect(open.map(({ name }) => name).sort()).toEqual(PUBLIC_FUNCTIONS);
  });

  test("that is not internal refuses a caller without a token", async ({ app }) => {
    for (const { name, value } of open) {
      const given = z.record(z.string(), z.unknown()).parse(sampleOf(JSON.parse(value.exportArgs())));
      const asked =
        value.isQuery === true
          ? app.t.query(makeFunctionReference<"query">(name), given)
          : value.isMutation === true
            ? app.t.mutation(makeFunctionReference<"mutation">(name), given)
            : app.t.action(makeFunctionReference<"action">(name), given);
      const refusal: unknown = await asked.then(
        () => "answered",
        (error: unknown): unknown => Reflect.get(Object(error), "data") ?? error,
      );
      expect([name, refusal]).toMatchObject([name, { code: "unauthorized" }]);
    }
  });

  test("returns no key or secret, except sealed ones to the rotation of master keys", () => {
    const carrying = functions.filter(({ value }) =>
      /private|secret|mnemonic|seed|sealedKey|envelope/i.test(value.exportReturns()),
    );
    expect(carrying.map(({ file, name }) => `${file} ${name}`)).toEqual([
      // The seed of a code, a key, or a call's address, that a card shows once: only with the master key it makes one.
      "../../convex/accounts/chats.ts createLoginCode",
      "../../convex/alerts/proposals.ts accept",
      "../../convex/alerts/standing.ts proposeStanding",
      "../../convex/alerts/standing.ts rotateAddress",
      "../../convex/messenger/delivery.ts advanceCards",
      "../../convex/messenger/outbox.ts advanceCard",
      // Sealed.
      "../../convex/ops/sealedSecrets.ts listSealed",
      "../../convex/ops/sealedSecrets.ts samples",
    ]);
  });
});

describe("every table", () => {
  test("has a place for keys in custody alone, and there they are sealed", () => {
    const carrying = Object.entries(schema.tables).filter(([, table]) =>
      fieldsOf(table.validator).some(
        (field) =>
          /key$|secret|mnemonic|seed/i.test(field) &&
          !/idempotency|^(?:key|claimKey|depositKey)$/i.test(field),
      ),
    );
    // Until it is sent, a card that shows a key has a seed, which makes one with the master key alone.
    expect(carrying.map(([name]) => name)).toEqual(["messages", "walletKeys"]);
  });
});

type ConvexFunction = {
  exportArgs(): string;
  exportReturns(): string;
  isInternal?: boolean;
  isQuery?: boolean;
  isMutation?: boolean;
};

function isConvexFunction(value: unknown): value is ConvexFunction {
  return typeof value === "function" && "exportReturns" in value && "exportArgs" in value;
}

/** A validator's JSON, as far as public functions' arguments need it. */
const fieldShape = z.object({ fieldType: z.unknown(), optional: z.boolean() });
const typeShape = z.discriminatedUnion("type", [
  z.object({ type: z.enum(["null", "number", "boolean", "string"]) }),
  z.object({ type: z.literal("array"), value: z.unknown() }),
  z.object({ type: z.literal("literal"), value: z.unknown() }),
  z.object({ type: z.literal("id"), tableName: z.string() }),
  z.object({ type: z.literal("union"), value: z.array(z.unknown()) }),
  z.object({ type: z.literal("object"), value: z.record(z.string(), fieldShape) }),
]);
const PLAIN = { null: null, number: 1, boolean: true, string: "1" };

/** A value that a validator takes. */
function sampleOf(json: unknown): unknown {
  const type = typeShape.parse(json);
  switch (type.type) {
    case "array":
      return [];
    case "literal":
      return type.value;
    case "id":
      return `000000000000000000010000${type.tableName}`;
    case "union":
      return sampleOf(type.value[0]);
    case "object": {
      const needed = Object.entries(type.value).filter(([, { optional }]) => !optional);
      return Object.fromEntries(needed.map(([name, { fieldType }]) => [name, sampleOf(fieldType)]));
    }
    default:
      return PLAIN[type.type];
  }
}

/** The names of all fields of a table, nested ones too; the validator's JSON is there at run time only. */
function fieldsOf(validator: object): string[] {
  const json = JSON.stringify(Reflect.get(validator, "json"));
  return Array.from(json.matchAll(/"(\w+)":\{"fieldType"/g), ([, name = ""]) => name);
}
