/**
 * Makes docs/pictures/first-minute.svg, a recording of a terminal, from a real run: `node scripts/record-terminal.ts`.
 * Every line appears when it came; pauses are cut short.
 */
import { spawn } from 'node:child_process'
import { mkdtempSync, rmSync, writeFileSync } from 'node:fs'
import { tmpdir } from 'node:os'
import { join } from 'node:path'
import { pathWithProgram } from '../test/support/docs-commands.ts'

const repository = join(import.meta.dirname, '..')
const commands = [
  'typernetes up -d --runtime sim --nodes 3',
  'export KUBECONFIG=~/.local/share/typernetes/admin.kubeconfig',
  'kubectl create deployment hello --image=nginx --replicas=3',
  'kubectl rollout status deployment/hello',
  'kubectl get pods -o wide',
  'typernetes status',
  'typernetes delete',
]
const longestPauseMs = 1200
const typingMs = 700
const clearLine = '\u001b[K'

type Line = { text: string; atMs: number; isTyped: boolean }

/** In a pseudo-terminal, so that it looks as it does to somebody who sits there. */
async function record(home: string): Promise<Line[]> {
  const lines: Line[] = []
  const shown = commands.map((command) => `printf '\\001%s\\n' ${quoted(command)}\n${command}`).join('\n')
  const env = {
    ...process.env,
    HOME: home,
    PATH: pathWithProgram(join(home, 'bin')),
    KUBECONFIG: undefined,
    XDG_DATA_HOME: undefined,
    TERM: 'xterm',
    COLUMNS: '160',
  }
  const child = spawn('script', ['-qefc', `bash --norc -c ${quoted(shown)}`, '/dev/null'], { env, stdio: ['ignore', 'pipe', 'inherit'] })
  let open = ''
  let lastMs = performance.now()
  let atMs = 0
  for await (const piece of child.stdout) {
    const nowMs = performance.now()
    atMs += Math.min(nowMs - lastMs, longestPauseMs)
    lastMs = nowMs
    const parts = (open + piece).split('\n')
    open = parts.pop() ?? ''
    for (const part of parts) {
      const isTyped = part.includes('\u0001')
      // What was written over is not seen any more.
      const text = part.replaceAll('\u0001', '').replace(/\r$/, '').split('\r').at(-1) ?? ''
      if (isTyped) atMs += typingMs
      lines.push({ text: text.replace(clearLine, '').replaceAll(home, '~'), atMs, isTyped })
    }
  }
  return lines
}

const quoted = (text: string): string => `'${text.replaceAll("'", `'\\''`)}'`

export function svgOf(lines: readonly Line[]): string {
  const [width, lineHeight, top] = [1180, 19, 44]
  const height = top + lines.length * lineHeight + 16
  const escaped = (text: string) => text.replaceAll('&', '&amp;').replaceAll('<', '&lt;').replaceAll('>', '&gt;')
  const spans = (text: string) =>
    escaped(text)
      // biome-ignore lint/suspicious/noControlCharactersInRegex: colours are control characters
      .replaceAll(/\u001b\[32m(.*?)\u001b\[0m/g, '<tspan class="good">$1</tspan>')
      // biome-ignore lint/suspicious/noControlCharactersInRegex: others are left out
      .replaceAll(/\u001b\[[0-9;]*[A-Za-z]/g, '')
  const rows = lines.map(({ text, atMs, isTyped }, index) => {
    const words = isTyped ? `<tspan class="prompt">$ </tspan>${spans(text)}` : spans(text)
    return `<text x="16" y="${top + index * lineHeight}" style="animation-delay:${(atMs / 1000).toFixed(2)}s"${isTyped ? ' class="typed"' : ''} xml:space="preserve">${words}</text>`
  })
  return `<svg xmlns="http://www.w3.org/2000/svg" width="${width}" height="${height}" viewBox="0 0 ${width} ${height}" role="img" aria-label="A terminal: a cluster starts, runs three pods, and is deleted">
<style>
text { font: 14px ui-monospace, Menlo, Consolas, monospace; fill: #d4d4d4; opacity: 0; animation: appear 0s forwards }
.typed { fill: #ffffff } .prompt { fill: #4ec9b0 } .good { fill: #6cc24a }
@keyframes appear { to { opacity: 1 } }
@media (prefers-reduced-motion: reduce) { text { animation: none; opacity: 1 } }
</style>
<rect width="100%" height="100%" rx="8" fill="#1e1e1e"/>
<circle cx="20" cy="16" r="5" fill="#ff5f56"/><circle cx="38" cy="16" r="5" fill="#ffbd2e"/><circle cx="56" cy="16" r="5" fill="#27c93f"/>
${rows.join('\n')}
</svg>
`
}

if (import.meta.main) {
  const home = mkdtempSync(join(tmpdir(), 'tn-recording-'))
  try {
    writeFileSync(join(repository, 'docs/pictures/first-minute.svg'), svgOf(await record(home)))
  } finally {
    rmSync(home, { recursive: true, force: true })
  }
}
