import { OperatorError } from "../command";
import { randomBytes } from "node:crypto";
import { mkdir, readFile, writeFile } from "node:fs/promises";
import path from "node:path";
import { exportJWK, generateKeyPair } from "jose";
import * as z from "zod";
import { parseJson } from "../json";

/** The keys that a stack generates for itself, once. */

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
export type Keys = z.infer<typeof keysShape>;

/** The keys stored in `directory`, generated at the first call. @throws OperatorError if the file is damaged. */
export async function loadKeys(directory: string): Promise<Keys> {
  const file = path.join(directory, "keys.json");
  const text = await readFile(file, "utf8").catch(() => null);
  if (text === null) {
    const keys = await createKeys();
    await mkdir(directory, { recursive: true });
    await writeFile(file, `${JSON.stringify(keys, null, 2)}\n`, { mode: 0o600, flag: "wx" });
    return keys;
  }
  const parsed = keysShape.safeParse(parseJson(text));
  if (parsed.success) return parsed.data;
  throw new OperatorError(
    `${file} is damaged. Put back a copy of it; without one, delete ${directory} to start afresh: its wallets cannot be opened any more.`,
  );
}

/** New keys, stored nowhere. */
export async function createKeys(): Promise<Keys> {
  const { privateKey } = await generateKeyPair("ES256", { extractable: true });
  return keysShape.parse({
    walletEncryptionKey: randomBytes(32).toString("hex"),
    messengerWebhookSecret: randomBytes(24).toString("base64url"),
    socialWebhookSecret: randomBytes(24).toString("base64url"),
    issuerKey: await exportJWK(privateKey),
  });
}
