/** 1,000 simulated nodes with 20 pods each in one process, API server and all: how long until they run, what they hold, what idling costs. */
import { mkdtempSync, readFileSync, rmSync } from 'node:fs'
import { type ClientHttp2Session, connect } from 'node:http2'
import { tmpdir } from 'node:os'
import { join } from 'node:path'
import type { Bench } from '../scripts/bench.ts'
import { freePort } from '../test/support/free-port.ts'
import { startMeasured } from './support/measured-process.ts'

const nodes = Number(process.env['BENCH_NODES'] ?? 1000)
const podsPerNode = 20
const token = 'bench'
const idleMs = 60_000

export default async function (bench: Bench): Promise<void> {
  const directory = mkdtempSync(join(tmpdir(), 'tn-bench-'))
  const port = await freePort()
  const args = ['up', '--data-dir', directory, '--store', 'memory', '--runtime', 'none', '--sim-nodes', String(nodes)]
  await using up = await startMeasured('src/cmd/main.ts', [...args, '--api-port', String(port), '--token', token], {
    readyText: 'is ready',
  })
  using stack = new DisposableStack()
  stack.defer(() => rmSync(directory, { recursive: true, force: true }))
  const session = connect(`https://127.0.0.1:${port}`, { rejectUnauthorized: false })
  stack.defer(() => session.close())
  const name = `${nodes} simulated nodes`
  bench.report({ case: `${name}: process start to all Ready`, figure: up.readyAfterMs, unit: 'ms' })
  bench.report({ case: `${name}: resident without pods`, figure: (await up.collect()).residentMb, unit: 'MB' })
  const begunMs = performance.now()
  await createPods(session)
  while (!(await areRunning(session))) await new Promise((resolve) => setTimeout(resolve, 1000))
  bench.report({ case: `${name}: ${podsPerNode} pods each until all run`, figure: (performance.now() - begunMs) / 1000, unit: 's' })
  bench.report({ case: `${name}: resident with them`, figure: (await up.collect()).residentMb, unit: 'MB' })
  const before = cpuTicks(up.child.pid)
  await new Promise((resolve) => setTimeout(resolve, idleMs))
  bench.report({ case: `${name}: of a core while idle`, figure: ((cpuTicks(up.child.pid) - before) * 1000) / idleMs, unit: '%' })
}

/** Hundredths of seconds. */
function cpuTicks(pid: number | undefined): number {
  const fields = readFileSync(`/proc/${pid}/stat`, 'utf8').split(') ')[1]?.split(' ') ?? []
  return Number(fields[11]) + Number(fields[12])
}

async function createPods(session: ClientHttp2Session): Promise<void> {
  let next = 0
  const create = async () => {
    for (let number = next++; number < nodes * podsPerNode; number = next++) {
      const spec = { nodeName: `sim-node-${(number % nodes) + 1}`, containers: [{ name: 'app', image: 'app:1' }] }
      const labels = { app: `app-${number % 100}` }
      const pod = { apiVersion: 'v1', kind: 'Pod', metadata: { name: `pod-${number}`, labels }, spec }
      await ask(session, 'POST', '/api/v1/namespaces/default/pods', JSON.stringify(pod))
    }
  }
  // The namespace's account may take a moment to be there.
  while (!(await ask(session, 'GET', '/api/v1/namespaces/default/serviceaccounts/default', '')).includes('"uid"')) {
    await new Promise((resolve) => setTimeout(resolve, 200))
  }
  await Promise.all(Array.from({ length: 32 }, create))
}

async function areRunning(session: ClientHttp2Session): Promise<boolean> {
  const others = await ask(session, 'GET', '/api/v1/pods?fieldSelector=status.phase%21%3DRunning&limit=1', '')
  return (JSON.parse(others) as { items: unknown[] }).items.length === 0
}

function ask(session: ClientHttp2Session, method: string, path: string, body: string): Promise<string> {
  return new Promise((resolve, reject) => {
    const stream = session.request({
      ':method': method,
      ':path': path,
      authorization: `Bearer ${token}`,
      'content-type': 'application/json',
    })
    let text = ''
    stream.setEncoding('utf8')
    stream.on('data', (chunk: string) => {
      text += chunk
    })
    stream.on('end', () => resolve(text))
    stream.on('error', reject)
    if (method !== 'GET') stream.end(body)
  })
}
