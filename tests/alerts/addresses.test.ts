import { describe, expect, vi } from "vitest";
import { refusalOf } from "../../convex/messenger/webhooks/targets";
import { test } from "../support/app";
import { addWebhook } from "./receivers";

/** Where users may have their alerts posted to. */

describe("a webhook's address", () => {
  test("is not at private, reserved or odd addresses, however they are written", () => {
    const urls = [
      `https://hooks.example.com/${"a".repeat(2_048)}`,
      ...`
        http://hooks.example.com/ ftp://hooks.example.com/ hooks.example.com https:// javascript:alert(1)
        https://localhost/ https://a.localhost/ https://printer.local/ https://intranet/ https://db.internal/
        https://nas.home.arpa/ https://router.lan./ https://hooks.default.svc/
        https://api.kube.svc.cluster.local./ https://1.0.0.127.in-addr.arpa/ https://wallet.alt/
        https://a.onion/ https://a.test/ https://a.invalid/ https://hooks.example/ https://EXAMPLE./
        https://127.0.0.1/ https://127.1/ https://2130706433/ https://0x7f.0.0.1/ https://0177.0.0.1/
        https://0.0.0.0/
        https://10.1.2.3/ https://172.16.0.1/ https://172.31.255.255/ https://192.168.1.1/
        https://169.254.169.254/latest/meta-data https://100.64.0.1/ https://100.127.255.254/
        https://198.18.0.1/ https://192.0.2.1/ https://224.0.0.1/ https://240.0.0.1/ https://255.255.255.255/
        https://[::1]/ https://[::]/ https://[fe80::1]/ https://[fd00::1]/ https://[fc00::1]/
        https://[ff02::1]/ https://[::ffff:127.0.0.1]/ https://[::ffff:a9fe:a9fe]/ https://[64:ff9b::7f00:1]/
        https://[2002:7f00:1::]/ https://[2001:db8::1]/
        https://user:pass@hooks.example.com/ https://hooks.example.com:22/ https://hooks.example.com:8080/
        https://hooks.example.com/#part
      `
        .trim()
        .split(/\s+/),
    ];
    const taken = urls.filter((url) => refusalOf(url)?.startsWith("must ") !== true);
    expect(taken).toEqual([]);
  });

  test("is refused over HTTP with the reason, and is at public addresses", async ({ app }) => {
    const refused = await app.post("/webhooks", { userId: "alice", url: "https://10.1.2.3/" });
    expect([refused.status, refused.body["error"]]).toEqual([
      400,
      "url must not be a private or reserved address",
    ]);
    for (const url of [
      "https://8.8.8.8/a?b=c",
      "https://[2606:4700::1111]:8443/",
      "https://hooks.example.co.uk/x",
    ])
      await addWebhook(app, url);
    expect(await app.rows("webhooks")).toHaveLength(3);
  });

  test("is not this deployment itself, under whatever name; and a name with a dot behind it is the same host", async ({
    app,
  }) => {
    vi.stubEnv("CONVEX_SITE_URL", "https://api.market.dev");
    vi.stubEnv("CONVEX_CLOUD_URL", "https://happy-animal-123.convex.cloud");
    for (const host of ["api.market.dev", "API.market.dev.", "happy-animal-123.convex.site:443"]) {
      const { status, body } = await app.post("/webhooks", {
        userId: "alice",
        url: `https://${host}/alerts/off`,
      });
      expect([host, status, body["error"]]).toEqual([
        host,
        400,
        "url must not be this service's own address",
      ]);
    }
    await addWebhook(app, "https://hooks.example.com./alerts?a=b");
    const again = await app.post("/webhooks", {
      userId: "alice",
      url: "https://hooks.example.com/alerts?a=b",
    });
    expect([again.status, again.body["error"]]).toEqual([
      409,
      "This address is already one of the user's webhooks",
    ]);
    expect(await app.rows("webhooks")).toMatchObject([{ url: "https://hooks.example.com/alerts?a=b" }]);
  });
});
