import { expect, test } from "vitest";
import { isSigned, signatureOf } from "../../convex/social/signatures";

/** Vectors computed apart from this service, with the secret "secret". */

test("answers a challenge", () => {
  expect(signatureOf("secret", "challenge")).toBe("sha256=oeUF6Wxqoezggrue+wbIDxKRPSF6esKwizR2MHh9HaA=");
});

test("signs a body", () => {
  const signature = "sha256=9rSihByT+L8vuPLBPY+wtsjoAZ8J7kBdJI2qg4X61jg=";
  expect(isSigned(signature, '{"ok":true}', "secret")).toBe(true);
  expect(isSigned(signature, '{"ok":false}', "secret")).toBe(false);
  expect(isSigned(signature.toLowerCase(), '{"ok":true}', "secret")).toBe(false);
  expect(isSigned(null, '{"ok":true}', "secret")).toBe(false);
});
