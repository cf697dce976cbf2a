/** Command lines run with the real kubectl and with ours against the same cluster: the same output, exit code and requests. */
import assert from 'node:assert/strict'
import { spawn } from 'node:child_process'
import { existsSync, mkdirSync, mkdtempSync, writeFileSync } from 'node:fs'
import { tmpdir } from 'node:os'
import { dirname, join } from 'node:path'
import { after, before, describe, test } from 'node:test'
import { setTimeout as sleep } from 'node:timers/promises'
import { freePort } from '../support/free-port.ts'
import { installedKubectls, type KubectlResult } from '../support/kubectl.ts'
import { type RunningCluster, startCluster } from '../support/running-cluster.ts'
import { inProcessKubectl } from './differential/in-process-kubectl.ts'
import { chapters, files, type Line } from './differential/lines.ts'
import { inOneOrder, normalized, withoutAges } from './differential/normalize.ts'
import { type RecordingProxy, recordingProxy, type WrittenRequest } from './differential/recording-proxy.ts'

/** The newest on the machine, or the one that is named. */
const named = process.env['TYPERNETES_KUBECTL']
const installed = named ? [{ path: named, version: '1.36' }] : installedKubectls()
const real = installed.at(-1)
const minor = Number(real?.version.split('.')[1] ?? 0)
/** Older ones say too many things otherwise. */
const oldest = 32

type Runner = (args: readonly string[], input: string, environment?: Readonly<Record<string, string>>) => Promise<KubectlResult>
type Outcome = KubectlResult & { written: WrittenRequest[] }
type Side = { namespace: string; proxy: RecordingProxy; run: Runner; own: string }

/** Somebody who looks for differences by hand does not wait for each. */
const patienceMs = named ? 1000 : 60_000

const skip = real === undefined || minor < oldest ? `no kubectl 1.${oldest} or newer is installed` : false

// Some of the many lines look at all namespaces: nothing else may happen there then.
describe('the same as kubectl', { skip, concurrency: named ? 1 : 3 }, () => {
  let cluster: RunningCluster
  let port = 0
  const directory = mkdtempSync(join(tmpdir(), 'kubectl-lines-'))
  const proxies: RecordingProxy[] = []

  before(async () => {
    port = await freePort()
    cluster = await startCluster(['--runtime', 'sim', '--nodes', '2', '--insecure-port', String(port)])
    for (const [path, text] of Object.entries(files)) {
      mkdirSync(dirname(join(directory, path)), { recursive: true })
      writeFileSync(join(directory, path), text, { mode: path.endsWith('.sh') ? 0o755 : 0o644 })
    }
    const { run } = await side('default', 'theirs')
    await run(['wait', 'node', '--all', '--for=condition=Ready', '--timeout=120s'], '')
  })
  after(async () => {
    for (const proxy of proxies) proxy[Symbol.dispose]()
    await cluster?.[Symbol.asyncDispose]()
  })

  /** A namespace, and a kubectl whose writes are recorded. */
  async function side(namespace: string, whose: 'theirs' | 'ours'): Promise<Side> {
    const proxy = await recordingProxy(port)
    proxies.push(proxy)
    const kubeconfig = join(directory, `kubeconfig-${whose}-${namespace}`)
    const cluster = `{name: here, cluster: {server: '${proxy.url}'}}`
    writeFileSync(
      kubeconfig,
      `apiVersion: v1\nkind: Config\ncurrent-context: here\nclusters: [${cluster}]\ncontexts: [{name: here, context: {cluster: here, user: me}}]\nusers: [{name: me, user: {token: t}}]\n`,
    )
    const run = whose === 'theirs' ? realRunner(real?.path ?? '', kubeconfig, directory) : inProcessKubectl(kubeconfig)
    const own = join(directory, `own-${whose}-${namespace}`)
    mkdirSync(own, { recursive: true })
    return { namespace, proxy, run, own }
  }

  for (const [index, { name, lines, byHand = false, isSettled = false }] of chapters.entries()) {
    if (byHand && !named) continue
    test(name, { timeout: 600_000 }, async () => {
      const [theirs, ours] = [await side(`diff-a${index}`, 'theirs'), await side(`diff-b${index}`, 'ours')]
      for (const { namespace } of [theirs, ours]) await ours.run(['create', 'namespace', namespace], '')
      const wrong: string[] = []
      for (const [at, line] of lines.entries()) {
        if ((line.since ?? 0) > minor) continue
        // Of the many ways to look at the same objects every other one will do, unless a kubectl was named.
        if (!named && at % 2 === 1 && line.run.startsWith('get ')) continue
        if (isSettled) await settled(line, theirs, ours)
        let difference: string | undefined
        // What is only looked at comes to be the same on both sides, though on one of them it may take longer.
        for (const untilMs = performance.now() + patienceMs; ; await sleep(500)) {
          const [one, other] = await Promise.all([outcome(line, theirs), outcome(line, ours)])
          difference = differenceOf(line, one, other, [theirs, ours])
          if (difference === undefined || [one, other].some(hasChanged) || performance.now() > untilMs) break
        }
        if (difference !== undefined) wrong.push(`kubectl ${line.run}\n${difference}`)
      }
      for (const { namespace } of [theirs, ours]) await ours.run(['delete', 'namespace', namespace, '--wait=false'], '')
      assert.ok(wrong.length === 0, wrong.join('\n\n'))
    })
  }

  /** Both sides have come to rest, so that they see the same; a second restart within a second is none. */
  async function settled({ run }: Line, ...sides: readonly Side[]): Promise<void> {
    if (run.startsWith('rollout restart')) await sleep(1_100)
    for (const { namespace, run: runner } of sides) {
      await runner(['-n', namespace, 'rollout', 'status', 'deploy', '--timeout=60s'], '')
    }
  }

  async function outcome({ run, input = '', environment = {} }: Line, { namespace, proxy, run: runner, own }: Side): Promise<Outcome> {
    proxy.take()
    const filled = (text: string) => text.replaceAll('{ns}', namespace).replaceAll('{dir}', directory).replaceAll('{own}', own)
    const words = wordsOf(filled(run))
    const isPlaced = run.includes('-A') || run.includes('{ns}') || run.startsWith('config ')
    const variables = Object.fromEntries(Object.entries(environment).map(([name, value]) => [name, filled(value)]))
    const result = await runner(isPlaced ? words : ['-n', namespace, ...words], filled(input), variables)
    return { ...result, written: proxy.take() }
  }
})

function realRunner(path: string, kubeconfig: string, directory: string): Runner {
  assert.ok(existsSync(path))
  const home = mkdtempSync(join(tmpdir(), 'kubectl-home-'))
  return (args, input, environment = {}) =>
    new Promise((resolve) => {
      const env = { ...process.env, KUBECONFIG: kubeconfig, HOME: home, ...environment }
      const child = spawn(path, args, { cwd: directory, timeout: 90_000, env })
      let stdout = ''
      let stderr = ''
      child.stdout.setEncoding('utf8').on('data', (piece: string) => {
        stdout += piece
      })
      child.stderr.setEncoding('utf8').on('data', (piece: string) => {
        stderr += piece
      })
      child.on('close', (code) => resolve({ exitCode: code ?? 128, stdout, stderr }))
      child.stdin.on('error', () => {})
      child.stdin.end(input)
    })
}

/** Words as a shell would split them. */
function wordsOf(line: string): string[] {
  return [...line.matchAll(/(?:[^\s'"]|'[^']*'|"[^"]*")+/g)].map(([word]) =>
    word.replaceAll(/'([^']*)'|"([^"]*)"/g, (_, one?: string, other?: string) => one ?? other ?? ''),
  )
}

function differenceOf(line: Line, one: Outcome, other: Outcome, [first, second]: readonly [Side, Side]): string | undefined {
  const inOrder = (text: string) => (line.isUnordered ? text.split('\n').sort().join('\n') : text)
  const shown = (text: string, { namespace, own }: Side) => inOrder(normalized(text.replaceAll(own, 'OWN'), namespace))
  const parts: string[] = []
  for (const stream of ['stdout', 'stderr'] as const) {
    // Lines of Go's own log are nobody's output.
    const [left, right] = [shown(one[stream], first), shown(other[stream], second)].map((text) =>
      text.replaceAll(/^[EIW]\d{4} .*\n/gm, ''),
    ) as [string, string]
    if (left !== right && inOneOrder(withoutAges(left)) !== inOneOrder(withoutAges(right)))
      parts.push(`${stream}:\n${changedLines(left, right)}`)
  }
  if (one.exitCode !== other.exitCode) parts.push(`exit code: theirs ${one.exitCode}, ours ${other.exitCode}`)
  if (!line.readsOnly) {
    const [left, right] = [requestText(one.written, first.namespace), requestText(other.written, second.namespace)]
    if (left !== right) parts.push(`requests:\n${changedLines(left, right)}`)
  }
  return parts.length === 0 ? undefined : parts.join('\n')
}

const hasChanged = ({ written }: Outcome): boolean => written.some(({ target }) => !/selfsubject|dryRun=All/.test(target))

function requestText(written: readonly WrittenRequest[], namespace: string): string {
  return normalized(
    written
      .filter(({ target }) => !target.includes('selfsubject'))
      .map(({ method, target, contentType, body }) => `${method} ${target} ${contentType}\n${JSON.stringify(sorted(body), null, 1)}`)
      // What somebody else was quicker with is sent once more.
      .filter((text, index, all) => index === 0 || withoutVersion(text) !== withoutVersion(all[index - 1] ?? ''))
      .join('\n'),
    namespace,
  )
}

const withoutVersion = (text: string): string => text.replaceAll(/"resourceVersion": "\d+"/g, '')

/** Empty parts say nothing, and Go writes some of them. */
function sorted(value: unknown): unknown {
  if (Array.isArray(value)) return value.map(sorted)
  if (typeof value !== 'object' || value === null) return value
  return Object.fromEntries(
    Object.entries(value)
      .sort(([one], [other]) => (one < other ? -1 : 1))
      // Of the same second, they are in any order.
      .map(
        ([key, each]) =>
          [
            key,
            key === 'managedFields'
              ? [sorted(each)]
                  .flat()
                  .map((one) => JSON.stringify(one))
                  .sort()
              : sorted(each),
          ] as const,
      )
      .filter(([, each]) => !isNothing(each)),
  )
}

function isNothing(value: unknown): boolean {
  return value === null || value === '' || value === 0 || value === false || (typeof value === 'object' && Object.keys(value).length === 0)
}

/** Without what both begin and end with. */
function changedLines(theirs: string, ours: string): string {
  const [left, right] = [theirs.split('\n'), ours.split('\n')]
  let start = 0
  while (start < left.length && left[start] === right[start]) start++
  let end = 0
  while (end < left.length - start && end < right.length - start && left.at(-1 - end) === right.at(-1 - end)) end++
  const from = Math.max(0, start - 1)
  return [
    ...left.slice(from, left.length - end).map((line) => `- ${line}`),
    ...right.slice(from, right.length - end).map((line) => `+ ${line}`),
  ].join('\n')
}
