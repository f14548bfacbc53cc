import { httpActionGeneric, httpRouter } from "convex/server";

const http = httpRouter();

const echo = httpActionGeneric(async (ctx, request) => {
  const { ip, userAgent } = await ctx.meta.getRequestMetadata();
  const identity = await ctx.auth.getUserIdentity();
  const headers = new Headers();
  headers.append("set-cookie", "a=1");
  headers.append("set-cookie", "b=2");
  return Response.json(
    {
      method: request.method,
      query: new URL(request.url).search,
      body: await request.text(),
      header: request.headers.get("x-one"),
      connection: request.headers.get("connection"),
      ip,
      userAgent,
      identity,
      siteUrl: process.env.CONVEX_SITE_URL,
    },
    { headers },
  );
});
http.route({ path: "/echo", method: "GET", handler: echo });
http.route({ path: "/echo", method: "POST", handler: echo });

const time = httpActionGeneric(() => Promise.resolve(new Response(String(Date.now()))));
http.route({ path: "/time", method: "GET", handler: time });

const fail = httpActionGeneric(() => Promise.reject(new Error("it went wrong")));
http.route({ path: "/fail", method: "GET", handler: fail });

/** The second part follows only when the first has been taken. */
const stream = httpActionGeneric(() => {
  const parts = ["first ", "second"];
  const body = new ReadableStream<Uint8Array>(
    {
      pull(controller) {
        const part = parts.shift();
        if (part === undefined) controller.close();
        else controller.enqueue(new TextEncoder().encode(part));
      },
    },
    { highWaterMark: 0 },
  );
  return Promise.resolve(new Response(body));
});
http.route({ path: "/stream", method: "GET", handler: stream });

const clock = httpActionGeneric(async () => {
  const before = Date.now();
  await new Promise((resolve) => setTimeout(resolve, 60_000));
  return Response.json({ before, after: Date.now() });
});
http.route({ path: "/minute", method: "GET", handler: clock });

export default http;
