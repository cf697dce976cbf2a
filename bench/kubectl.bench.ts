/** kubectl beside the real one: help, a list of a few pods, a list of ten thousand. `node scripts/bench.ts kubectl` */
import { spawnSync } from 'node:child_process'
import { mkdtempSync } from 'node:fs'
import { tmpdir } from 'node:os'
import { join } from 'node:path'
import type { Bench } from '../scripts/bench.ts'
import { nodeHttpClient } from '../src/base/http-client.ts'
import { installedKubectls } from '../test/support/kubectl.ts'
import { type RunningCluster, startCluster } from '../test/support/running-cluster.ts'

const repository = join(import.meta.dirname, '..')

/** Wall time in the middle of five runs after the first, which fills caches; and the most memory. */
function measured(program: string, args: readonly string[], env: NodeJS.ProcessEnv): { ms: number; megabytes: number } {
  const runs: number[] = []
  let megabytes = 0
  for (let run = 0; run < 6; run++) {
    const started = performance.now()
    const { status, stderr } = spawnSync('time', ['-f', 'rss=%M', program, ...args], { env, encoding: 'utf8', maxBuffer: 256 << 20 })
    runs.push(performance.now() - started)
    if (status !== 0) throw new Error(`${program} ${args.join(' ')} ended with ${status}: ${stderr}`)
    megabytes = Math.max(megabytes, Number(/rss=(\d+)/.exec(stderr)?.[1] ?? 0) / 1024)
  }
  return { ms: runs.slice(1).sort((one, other) => one - other)[2] ?? 0, megabytes }
}

async function createPods(cluster: RunningCluster, from: number, to: number): Promise<void> {
  const http = nodeHttpClient({ insecureSkipVerify: true })
  const headers = { authorization: `Bearer ${cluster.token}`, 'content-type': 'application/json' }
  const create = async (index: number) => {
    const pod = {
      apiVersion: 'v1',
      kind: 'Pod',
      metadata: { name: `pod-${index}` },
      spec: { containers: [{ name: 'main', image: 'nginx' }] },
    }
    await (
      await http.request({ url: `${cluster.url}/api/v1/namespaces/default/pods`, method: 'POST', headers, body: JSON.stringify(pod) })
    ).text()
  }
  for (let at = from; at < to; at += 50) await Promise.all(Array.from({ length: Math.min(50, to - at) }, (_, index) => create(at + index)))
  http[Symbol.dispose]()
}

export default async function kubectlBench({ report }: Bench): Promise<void> {
  await using cluster = await startCluster(['--controllers=serviceaccount', '--scheduler=false'])
  const home = mkdtempSync(join(tmpdir(), 'kubectl-bench-'))
  const env = { ...process.env, KUBECONFIG: cluster.kubeconfig, HOME: home, NODE_COMPILE_CACHE: join(home, 'compiled') }
  const real = process.env['TYPERNETES_KUBECTL'] ?? installedKubectls().at(-1)?.path
  const compare = (what: string, args: readonly string[]) => {
    const ours = measured(process.execPath, [join(repository, 'bin/kubectl.js'), ...args], env)
    const theirs = real === undefined ? undefined : measured(real, args, env)
    const beside = (figure: number, own: number, unit: string) => ({
      comparedWith: `kubectl ${figure.toFixed(0)} ${unit}`,
      ratio: own / figure,
    })
    report({ case: `kubectl: ${what}`, figure: ours.ms, unit: 'ms', ...(theirs === undefined ? {} : beside(theirs.ms, ours.ms, 'ms')) })
    report({
      case: `kubectl: ${what}, memory`,
      figure: ours.megabytes,
      unit: 'MB',
      ...(theirs === undefined ? {} : beside(theirs.megabytes, ours.megabytes, 'MB')),
    })
  }
  compare('help', ['--help'])
  await createPods(cluster, 0, 10)
  compare('get pods of 10', ['get', 'pods'])
  await createPods(cluster, 10, 10_000)
  compare('get pods of 10,000', ['get', 'pods'])
}
