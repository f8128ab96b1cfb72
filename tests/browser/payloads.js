// Names that try to become markup, script or addresses. 200 of them.
const HIT = "window.__hit=1";
const CORES = [
  `<script>${HIT}</script>`,
  `<img src=x onerror="${HIT}">`,
  `<svg onload="${HIT}">`,
  `<svg><script>${HIT}</script></svg>`,
  `"><script>${HIT}</script>`,
  `' onmouseover='${HIT}`,
  `" autofocus onfocus="${HIT}" x="`,
  `<iframe srcdoc="<script>parent.${HIT}</script>">`,
  `<details open ontoggle="${HIT}">`,
  `<body onload=${HIT}>`,
  `javascript:${HIT}`,
  `<a href="javascript:${HIT}">x</a>`,
  `<math><mi xlink:href="javascript:${HIT}">x</mi></math>`,
  `<style>@import 'javascript:${HIT}'</style>`,
  `<link rel=stylesheet href=http://outside.invalid/x.css>`,
  `<meta http-equiv=refresh content="0;url=http://outside.invalid/">`,
  `<object data="javascript:${HIT}">`,
  `<embed src="http://outside.invalid/">`,
  `<form action="javascript:${HIT}"><input type=submit autofocus>`,
  `<base href="http://outside.invalid/">`,
  `</title><script>${HIT}</script>`,
  `</textarea><script>${HIT}</script>`,
  `</style><script>${HIT}</script>`,
  `<!--><script>${HIT}</script>-->`,
  `<![CDATA[<script>${HIT}</script>]]>`,
  `\${${HIT}}`,
  `{{${HIT}}}`,
  `\`+${HIT}+\``,
  `');${HIT};('`,
  `\\u003cscript\\u003e${HIT}\\u003c/script\\u003e`,
  `&lt;script&gt;${HIT}&lt;/script&gt;`,
  `%3Cscript%3E${HIT}%3C/script%3E`,
  `<ScRiPt>${HIT}</sCrIpT>`,
  `<script\t>${HIT}</script>`,
  `<video><source onerror="${HIT}">`,
  `<audio src onloadstart="${HIT}">`,
  `<marquee onstart="${HIT}">`,
  `<input onfocus="${HIT}" autofocus>`,
  `<select onfocus="${HIT}" autofocus>`,
  `<keygen autofocus onfocus=${HIT}>`,
];
const SHELLS = [
  (core) => core,
  (core) => `x${core}`,
  (core) => `"${core}`,
  (core) => `'${core}'`,
  (core) => `a b=${core}`,
];

export const PAYLOADS = SHELLS.flatMap((shell) => CORES.map(shell));

/** As the name of a folder: without separators, short enough. */
export function folderName(payload, index) {
  return `${index} ${payload.replaceAll("/", "∕")}`.slice(0, 120);
}
