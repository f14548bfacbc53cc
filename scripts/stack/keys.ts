import { randomBytes } from "node:crypto";
import { link, mkdir, readFile, rename, unlink, writeFile } from "node:fs/promises";
import path from "node:path";
import { exportJWK, generateKeyPair } from "jose";
import * as z from "zod";

const keysShape = z.object({
  /** The service's WALLET_ENCRYPTION_KEY, 64 hex digits. */
  walletEncryptionKey: z.string().regex(/^[0-9a-f]{64}$/),
  /** The service's MESSENGER_WEBHOOK_SECRET. */
  messengerWebhookSecret: z.string().min(16),
  /** The service's SOCIAL_WEBHOOK_SECRET. */
  socialWebhookSecret: z.string().min(16),
  /** The local token issuer's private key (ES256), as a JWK. */
  issuerKey: z.object({
    kty: z.literal("EC"),
    crv: z.literal("P-256"),
    x: z.string(),
    y: z.string(),
    d: z.string(),
  }),
});

/** The keys a stack makes for itself. */
export type Keys = z.infer<typeof keysShape>;

/** The keys kept in `directory`, made there at the first call; those that an earlier version did not make are added. */
export async function keptKeys(directory: string): Promise<Keys> {
  const file = path.join(directory, "keys.json");
  const kept = await readKeys(file);
  const whole = keysShape.safeParse(kept);
  if (whole.success) return whole.data;
  await mkdir(directory, { recursive: true });
  const draft = `${file}.${process.pid}`;
  const keys = { ...(await freshKeys()), ...kept };
  await writeFile(draft, `${JSON.stringify(keys, null, 2)}\n`, { mode: 0o600 });
  if (kept === null) {
    // A link, unlike a rename, never replaces keys another process has just made.
    await link(draft, file).catch(unless("EEXIST"));
    await unlink(draft);
  } else {
    await rename(draft, file);
  }
  return keysShape.parse(await readKeys(file));
}

/** New keys, kept nowhere. */
export async function freshKeys(): Promise<Keys> {
  const { privateKey } = await generateKeyPair("ES256", { extractable: true });
  return keysShape.parse({
    walletEncryptionKey: randomBytes(32).toString("hex"),
    messengerWebhookSecret: randomBytes(24).toString("base64url"),
    socialWebhookSecret: randomBytes(24).toString("base64url"),
    issuerKey: await exportJWK(privateKey),
  });
}

async function readKeys(file: string): Promise<Partial<Keys> | null> {
  const text = await readFile(file, "utf8").catch(unless("ENOENT"));
  return text === undefined ? null : keysShape.partial().parse(JSON.parse(text));
}

function unless(code: string): (error: unknown) => undefined {
  return (error) => {
    if (!(error instanceof Error && "code" in error && error.code === code)) throw error;
    return undefined;
  };
}
