/** Requests through the ingress proxy beside nginx in front of the same backend, in turns, on the same cores as backend and load. */
import { type ChildProcess, execFileSync, fork, spawn } from 'node:child_process'
import { once } from 'node:events'
import { mkdtempSync, readFileSync, rmSync, writeFileSync } from 'node:fs'
import { createServer } from 'node:net'
import { tmpdir } from 'node:os'
import { join } from 'node:path'
import { systemClock } from '#base/clock.ts'
import { silentLogger } from '#base/log.ts'
import { ProxyThreads } from '#ingress/data-plane/proxy-threads.ts'
import type { Bench } from '../scripts/bench.ts'

const cores = 2
const rounds = 5
const roundMs = 2000
const connections = 64
const bodyBytes = 1024

export default async function run(bench: Bench): Promise<void> {
  if (!hasNginx()) {
    console.error('skipped: nginx is not installed')
    return
  }
  const directory = mkdtempSync(join(tmpdir(), 'ingress-bench-'))
  const [backendPort, nginxPort, ownPort] = [await freePort(), await freePort(), await freePort()]
  const backend = startNginx(
    directory,
    'backend',
    1,
    `server { listen 127.0.0.1:${backendPort}; location / { return 200 "${'x'.repeat(bodyBytes)}"; } }`,
  )
  const peer = startNginx(
    directory,
    'proxy',
    cores,
    `upstream b { server 127.0.0.1:${backendPort}; keepalive 128; }
     server { listen 127.0.0.1:${nginxPort} reuseport; server_name shop.example; location / {
       proxy_pass http://b; proxy_http_version 1.1; proxy_set_header Connection ""; proxy_set_header Host $host;
       proxy_set_header X-Forwarded-For $remote_addr; proxy_set_header X-Forwarded-Proto $scheme; proxy_set_header X-Forwarded-Host $host;
       proxy_set_header X-Forwarded-Port $server_port; proxy_set_header X-Real-IP $remote_addr; } }`,
  )
  const own = new ProxyThreads({ count: cores, clock: systemClock, logger: silentLogger })
  own.apply({
    ...{ removedSites: [], removedBackends: [], pairs: [], removedPairs: [], certificates: [], removedCertificates: [] },
    backends: [['default/web:80', { protocol: 'http', endpoints: [{ host: '127.0.0.1', port: backendPort }] }]],
    sites: [
      {
        ...{ listener: 'http', listenerHost: '', host: 'shop.example', wildcard: 'label' },
        routes: [{ name: 'web', order: '', path: { type: 'Prefix', value: '/' }, backends: [{ backend: 'default/web:80', weight: 1 }] }],
      },
    ],
  })
  await own.listen({ listener: 'http', host: '127.0.0.1', port: ownPort, shownPort: 80, isSecure: false })
  const child = fork(join(import.meta.dirname, 'support/http-load.ts'), { stdio: ['ignore', 'inherit', 'inherit', 'ipc'] })
  await once(child, 'message')
  try {
    const rate = async (port: number, forMs: number): Promise<number> => {
      child.send({ port, path: '/things/1', host: 'shop.example', connections, forMs })
      const [{ requests, failed, seconds }] = (await once(child, 'message')) as [{ requests: number; failed: number; seconds: number }]
      if (failed > 0 || requests === 0) throw new Error(`${failed} of ${requests} requests at port ${port} failed`)
      return requests / seconds
    }
    const rates: [direct: number[], nginx: number[], own: number[]] = [[], [], []]
    const micros: [direct: number[], nginx: number[], own: number[]] = [[], [], []]
    const spent = [() => 0, () => cpuSecondsOf(peer), ownCpuSeconds]
    for (const port of [backendPort, nginxPort, ownPort]) await rate(port, 1000)
    for (let round = 0; round < rounds; round++)
      for (const [index, port] of [backendPort, nginxPort, ownPort].entries()) {
        const before = spent[index]?.() ?? 0
        const perSecond = await rate(port, roundMs)
        rates[index]?.push(perSecond)
        micros[index]?.push((((spent[index]?.() ?? 0) - before) * 1e6) / (perSecond * (roundMs / 1000)))
      }
    const [direct, nginx, ours] = rates.map(median) as [number, number, number]
    bench.report({ case: 'straight to the backend, 1 KiB answers', figure: direct, unit: 'requests/s' })
    bench.report({
      ...{ case: 'through the ingress proxy, 1 KiB answers', figure: ours, unit: 'requests/s' },
      ...{ comparedWith: `${Math.round(nginx).toLocaleString('en')}/s nginx`, ratio: ours / nginx },
    })
    const [, theirs, cost] = micros.map(median) as [number, number, number]
    bench.report({
      ...{ case: 'processor time of the ingress proxy for one request', figure: cost, unit: 'µs' },
      ...{ comparedWith: `${theirs.toFixed(1)} µs nginx`, ratio: cost / theirs },
    })
  } finally {
    child.kill()
    await own.stop(0)
    backend.kill('SIGTERM')
    peer.kill('SIGTERM')
    rmSync(directory, { recursive: true, force: true })
  }
}

const median = (values: number[]): number => values.sort((one, other) => one - other)[Math.floor(values.length / 2)] ?? 0

const ownCpuSeconds = (): number => {
  const { user, system } = process.cpuUsage()
  return (user + system) / 1e6
}

/** Of the processes that nginx has started. */
function cpuSecondsOf({ pid }: ChildProcess): number {
  const children = readFileSync(`/proc/${pid}/task/${pid}/children`, 'utf8').trim().split(' ')
  const ticks = children.map((child) => {
    const fields = readFileSync(`/proc/${child}/stat`, 'utf8')
      .replace(/^.*\) /, '')
      .split(' ')
    return Number(fields[11]) + Number(fields[12])
  })
  return ticks.reduce((sum, each) => sum + each, 0) / 100
}

function hasNginx(): boolean {
  try {
    execFileSync('nginx', ['-v'], { stdio: 'ignore' })
    return true
  } catch {
    return false
  }
}

function startNginx(directory: string, name: string, workers: number, server: string): ChildProcess {
  const file = join(directory, `${name}.conf`)
  const temporary = ['client_body', 'proxy', 'fastcgi', 'uwsgi', 'scgi']
    .map((each) => `${each}_temp_path ${directory}/${name}-${each};`)
    .join(' ')
  writeFileSync(
    file,
    `worker_processes ${workers}; daemon off; pid ${directory}/${name}.pid; error_log ${directory}/${name}.log;
     events { worker_connections 1024; }
     http { access_log off; keepalive_requests 1000000000; ${temporary} ${server} }`,
  )
  return spawn('nginx', ['-c', file, '-e', join(directory, `${name}.log`)], { stdio: ['ignore', 'inherit', 'inherit'] })
}

async function freePort(): Promise<number> {
  const server = createServer().listen(0, '127.0.0.1')
  await once(server, 'listening')
  const { port } = server.address() as { port: number }
  await new Promise((resolve) => server.close(resolve))
  return port
}
