import { PALETTE } from "../../convex/ops/palette";

/** The reference page's look: calm, in both colour schemes, for a phone as for a desk. Nothing is loaded for it. */
export const STYLE = `
${PALETTE}html { scroll-padding-top: 1.5rem; -webkit-text-size-adjust: 100%; }
body { margin: 0; background: var(--paper); color: var(--ink); font: 400 1rem/1.6 var(--sans); }
code, pre { font-family: var(--mono); }
:not(pre) > code { font-size: 0.86em; padding: 0.1em 0.35em; border-radius: 4px; background: var(--code); overflow-wrap: anywhere; }
h1, h2, h3, h4 { line-height: 1.25; text-wrap: balance; margin: 0; }
h1 { font-size: clamp(1.9rem, 4vw, 2.6rem); letter-spacing: -0.02em; }
h2 { font-size: 1.55rem; letter-spacing: -0.01em; }
h3 { font-size: 1.05rem; font-weight: 600; }
h4, .label { font-size: 0.8rem; font-weight: 650; color: var(--soft); margin: 1.75rem 0 0.4rem; }
p { margin: 0.75rem 0; max-width: 68ch; }
.lead { font-size: 1.15rem; color: var(--soft); }
.small { font-size: 0.9rem; color: var(--soft); }
main { padding: 2rem 1.25rem 4rem; min-width: 0; }
nav { padding: 1rem 1.25rem; border-bottom: 1px solid var(--line); font-size: 0.92rem; }
nav form { display: flex; align-items: end; gap: 0.5rem; margin: 0.75rem 0; } nav label { color: var(--soft); font-size: 0.85rem; } nav input { display: block; font: inherit; width: 100%; min-width: 0; box-sizing: border-box; color: var(--ink); background: var(--raised); border: 1px solid var(--soft); border-radius: 6px; padding: 0.3rem 0.5rem; } nav button { font: inherit; color: var(--paper); background: var(--accent); border: 0; border-radius: 6px; padding: 0.4rem 0.7rem; cursor: pointer; }
nav summary { cursor: pointer; font-weight: 600; padding: 0.4rem 0; }
nav ul { list-style: none; margin: 0; padding: 0; }
nav .group { margin: 1.1rem 0 0.25rem; font-weight: 600; }
nav .group a { color: var(--ink); text-decoration: none; }
nav li a { display: block; padding: 0.3rem 0; color: var(--soft); text-decoration: none; font-family: var(--mono); font-size: 0.8rem; overflow-wrap: anywhere; }
nav a:hover { color: var(--accent); }
.tag { margin-top: 4.5rem; }
.intro .tag { margin-top: 3rem; }
.endpoint { margin-top: 2rem; padding-top: 2rem; border-top: 1px solid var(--line); }
.route { font-size: 1.05rem; font-weight: 600; display: flex; flex-wrap: wrap; align-items: center; gap: 0.5rem; }
.route a code { font-size: 1.05rem; }
.route a { color: inherit; text-decoration: none; }
.route a:hover { text-decoration: underline; }
.method { font: 700 0.72rem/1 var(--mono); padding: 0.38rem 0.5rem; border-radius: 5px; color: var(--accent); background: var(--accent-soft); }
.method.post { color: var(--post); background: var(--post-soft); }
.summary { font-size: 1.05rem; }
table { width: 100%; border-collapse: collapse; font-size: 0.92rem; }
th { text-align: left; font-weight: 600; font-size: 0.8rem; color: var(--soft); padding: 0 0.75rem 0.35rem 0; }
td { vertical-align: top; padding: 0.55rem 0.75rem 0.55rem 0; border-top: 1px solid var(--line); overflow-wrap: anywhere; }
td:last-child, th:last-child { padding-right: 0; }
.name { width: 36%; } .type { width: 24%; color: var(--soft); }
td.name code, .route code { background: none; padding: 0; font-weight: 600; font-size: 0.84rem; }
.need { display: block; font-size: 0.76rem; color: var(--need); }
caption { text-align: left; color: var(--soft); padding: 0.6rem 0; font-size: 0.92rem; }
.status { width: 4rem; font-family: var(--mono); font-weight: 600; }
pre { margin: 0; padding: 1rem; border-radius: 8px; overflow: auto; line-height: 1.5; tab-size: 2; font-size: 0.8rem; scrollbar-width: thin; scrollbar-color: var(--soft) transparent;
  background:
    linear-gradient(to right, var(--code) 30%, transparent) left / 2.5rem 100% no-repeat local,
    linear-gradient(to left, var(--code) 30%, transparent) right / 2.5rem 100% no-repeat local,
    linear-gradient(to right, var(--shade), transparent) left / 0.8rem 100% no-repeat scroll,
    linear-gradient(to left, var(--shade), transparent) right / 0.8rem 100% no-repeat scroll,
    var(--code); }
pre.tall { max-height: 26rem;
  background:
    linear-gradient(var(--code) 30%, transparent) top / 100% 2.5rem no-repeat local,
    linear-gradient(transparent, var(--code) 70%) bottom / 100% 2.5rem no-repeat local,
    linear-gradient(var(--shade), transparent) top / 100% 0.8rem no-repeat scroll,
    linear-gradient(transparent, var(--shade)) bottom / 100% 0.8rem no-repeat scroll,
    var(--code); }
.intro ol { padding-left: 1.2rem; max-width: 68ch; } .intro li { margin: 1.25rem 0; } .intro li pre { margin-top: 0.6rem; }
.note { border: 1px solid var(--line); background: var(--raised); border-radius: 8px; padding: 0.25rem 1.1rem; margin: 1.5rem 0; max-width: 72ch; }
footer { margin-top: 5rem; padding-top: 1.5rem; border-top: 1px solid var(--line); color: var(--soft); font-size: 0.9rem; }
@media (min-width: 60rem) {
  body { display: grid; grid-template-columns: 15.5rem minmax(0, 1fr); }
  nav { position: sticky; top: 0; height: 100vh; overflow-y: auto; border-bottom: 0; border-right: 1px solid var(--line); padding: 2rem 1.5rem; }
  main { padding: 3rem 3rem 6rem; max-width: 84rem; }
}
/** If the browser knows which part is being read, the list marks it. */
@supports (scroll-target-group: auto) {
  nav details { scroll-target-group: auto; }
  nav a:target-current { color: var(--accent); font-weight: 650; }
}
@supports selector(details::details-content) {
  @media (min-width: 60rem) {
    nav form { display: flex; align-items: end; gap: 0.5rem; margin: 0.75rem 0; } nav label { color: var(--soft); font-size: 0.85rem; } nav input { display: block; font: inherit; width: 100%; min-width: 0; box-sizing: border-box; color: var(--ink); background: var(--raised); border: 1px solid var(--soft); border-radius: 6px; padding: 0.3rem 0.5rem; } nav button { font: inherit; color: var(--paper); background: var(--accent); border: 0; border-radius: 6px; padding: 0.4rem 0.7rem; cursor: pointer; }
nav summary { display: none; }
    nav details::details-content { content-visibility: visible; display: block; }
  }
}
@media (min-width: 76rem) {
  .columns { display: grid; grid-template-columns: minmax(0, 1.4fr) minmax(0, 1fr); gap: 2.5rem; }
  .examples { position: sticky; top: 1.5rem; align-self: start; }
  .examples h4:first-child { margin-top: 1.75rem; }
}
@media (max-width: 40rem) {
  table, tbody, tr, td, caption { display: block; width: auto; }
  thead { position: absolute; left: -999px; }
  tr { border-top: 1px solid var(--line); padding: 0.6rem 0; }
  td { border: 0; padding: 0.1rem 0; }
  .name, .type, .status { width: auto; }
  .need { display: inline; margin-left: 0.5rem; }
}
@media print { nav { display: none; } body { display: block; } pre.tall { max-height: none; } }
`;
