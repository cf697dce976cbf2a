import assert from 'node:assert/strict'
import { test } from 'node:test'
import type { V1Container, V1Pod } from '#api/core/v1/types.gen.ts'
import type { DialedAnswer, DialedGet, Dialer } from '#base/dialer.ts'
import { seededRandom } from '#base/random.ts'
import { VirtualClock } from '#base/virtual-clock.ts'
import { ProbeManager } from '#kubelet/probes/probe-manager.ts'
import { type ExecResult, ExecTimeout, type ObservedContainer } from '#kubelet/runtimes/runtime.ts'

class Bench {
  readonly clock = new VirtualClock()
  readonly events: string[] = []
  readonly asked: DialedGet[] = []
  results = 0
  answer: () => Promise<DialedAnswer> = async () => ({ status: 200, body: 'ok' })
  exec: () => Promise<ExecResult> = async () => ({ exitCode: 0, stdout: '', stderr: '' })
  connect: () => Promise<void> = async () => {}
  health: string | undefined
  readonly dialer: Dialer = {
    get: (request) => {
      this.asked.push(request)
      return this.answer()
    },
    connect: () => this.connect(),
  }
  readonly manager = new ProbeManager({
    clock: this.clock,
    random: seededRandom(1),
    runtime: { exec: () => this.exec() },
    dialer: this.dialer,
    checkHealth: async () => this.health,
    recordFor: (_reference, _type, reason, message) => this.events.push(`${reason} ${message}`),
  })
  readonly pod: V1Pod
  running: ObservedContainer

  constructor(container: Partial<V1Container>, status: V1Pod['status'] = {}, startedMs = this.clock.now()) {
    this.pod = {
      metadata: { name: 'web', namespace: 'default', uid: 'u1' },
      spec: { containers: [{ name: 'app', image: 'app:1', ...container }] },
      status,
    }
    this.running = { id: 'c://1', name: 'app', attempt: 0, state: 'running', image: 'i', imageId: 'i', createdMs: startedMs, startedMs }
    this.manager.onResult(() => {
      this.results++
      this.follow()
    })
  }

  isEnding = false

  follow(): void {
    const { pod, running, isEnding } = this
    this.manager.follow({ pod, observed: { sandboxes: [], containers: [running] }, ip: '10.0.0.5', isEnding })
  }

  get ready(): boolean {
    return this.manager.isReady(this.running)
  }
}

const httpGet = { path: '/healthz?x=1', port: 8080 }
const usual = { periodSeconds: 10, timeoutSeconds: 1, successThreshold: 1, failureThreshold: 3 }

test('a container without probes is ready as it runs, and costs no timer', () => {
  const bench = new Bench({})
  bench.follow()
  assert.ok(bench.ready)
  assert.equal(bench.clock.pending, 0)
})

test('a readiness probe is asked at once, and makes the container ready', async () => {
  const bench = new Bench({ readinessProbe: { httpGet, ...usual } })
  bench.follow()
  assert.ok(!bench.ready)
  await bench.clock.advance(0)
  assert.ok(bench.ready)
  const [{ url, headers } = { url: '', headers: {} }] = bench.asked
  assert.equal(url, 'http://10.0.0.5:8080/healthz?x=1')
  assert.deepEqual(headers, { 'User-Agent': 'kube-probe/1.36', Accept: '*/*' })
})

test('named ports, hosts, schemes and headers are heeded', async () => {
  const action = { port: 'web', host: 'example.com', scheme: 'HTTPS', path: '/', httpHeaders: [{ name: 'Host', value: 'a.b' }] }
  const bench = new Bench({ ports: [{ name: 'web', containerPort: 8443 }], readinessProbe: { httpGet: action, ...usual } })
  bench.follow()
  await bench.clock.advance(0)
  assert.equal(bench.asked[0]?.url, 'https://example.com:8443/')
  assert.equal(bench.asked[0]?.headers['Host'], 'a.b')
})

test('readiness is lost after three failures in a row, and comes back with one success', async () => {
  const bench = new Bench({ readinessProbe: { httpGet, ...usual } })
  bench.follow()
  await bench.clock.advance(0)
  bench.answer = async () => ({ status: 500, body: 'secret' })
  await bench.clock.advance(20_000)
  assert.ok(bench.ready)
  await bench.clock.advance(10_000)
  assert.ok(!bench.ready)
  assert.equal(bench.events[0], 'Unhealthy Readiness probe failed: HTTP probe failed with statuscode: 500')
  bench.answer = async () => ({ status: 204, body: '' })
  await bench.clock.advance(10_000)
  assert.ok(bench.ready)
})

test('a liveness probe that fails is told once, and asked no more', async () => {
  const bench = new Bench({ livenessProbe: { exec: { command: ['check'] }, ...usual, initialDelaySeconds: 5 } })
  bench.follow()
  bench.exec = async () => ({ exitCode: 1, stdout: 'out', stderr: 'err' })
  await bench.clock.advance(4999)
  assert.equal(bench.events.length, 0)
  await bench.clock.advance(20_001)
  assert.equal(bench.manager.failed(bench.running), 'liveness')
  assert.equal(bench.results, 1)
  assert.equal(bench.events[0], 'Unhealthy Liveness probe failed: outerr')
  assert.equal(bench.clock.pending, 0)
  bench.running = { ...bench.running, id: 'c://2', startedMs: bench.clock.now() }
  bench.follow()
  assert.equal(bench.manager.failed(bench.running), undefined)
  assert.equal(bench.clock.pending, 1)
})

test('others wait for the startup probe', async () => {
  const bench = new Bench({ startupProbe: { tcpSocket: { port: 80 }, ...usual, periodSeconds: 1 }, readinessProbe: { httpGet, ...usual } })
  let isUp = false
  bench.connect = async () => {
    if (!isUp) throw Object.assign(new Error('connect'), { code: 'ECONNREFUSED' })
  }
  bench.follow()
  await bench.clock.advance(1500)
  assert.equal(bench.asked.length, 0)
  assert.ok(!bench.manager.isStarted(bench.running))
  assert.equal(bench.events[0], 'Unhealthy Startup probe failed: dial tcp 10.0.0.5:80: connect: connection refused')
  isUp = true
  await bench.clock.advance(1000)
  assert.ok(bench.manager.isStarted(bench.running))
  assert.ok(bench.ready)
})

test('a startup probe that fails too often is told', async () => {
  const bench = new Bench({ startupProbe: { grpc: { port: 80 }, ...usual, periodSeconds: 1 } })
  bench.health = 'service unhealthy (responded with "NOT_SERVING")'
  bench.follow()
  await bench.clock.advance(2000)
  assert.equal(bench.manager.failed(bench.running), 'startup')
  assert.equal(bench.events.at(-1), 'Unhealthy Startup probe failed: service unhealthy (responded with "NOT_SERVING")')
})

test('redirects to the same host are followed, others are a warning', async () => {
  const bench = new Bench({ readinessProbe: { httpGet, ...usual } })
  const answers: DialedAnswer[] = [
    { status: 302, location: '/next', body: '' },
    { status: 301, location: 'http://elsewhere/', body: 'gone' },
  ]
  bench.answer = async () => answers.shift() ?? { status: 500, body: '' }
  bench.follow()
  await bench.clock.advance(0)
  assert.deepEqual(
    bench.asked.map(({ url }) => url),
    ['http://10.0.0.5:8080/healthz?x=1', 'http://10.0.0.5:8080/next'],
  )
  assert.ok(bench.ready)
  assert.deepEqual(bench.events, ['ProbeWarning Readiness probe warning: Probe terminated redirects, Response body: gone'])
})

test('a command that takes too long has failed; one that cannot be asked says nothing', async () => {
  const bench = new Bench({ livenessProbe: { exec: { command: ['sleep', '9'] }, ...usual, failureThreshold: 1 } })
  bench.exec = () => Promise.reject(new Error('no such container'))
  bench.follow()
  await bench.clock.advance(0)
  assert.equal(bench.manager.failed(bench.running), undefined)
  assert.equal(bench.events[0], 'Unhealthy Liveness probe errored and resulted in unknown state: no such container')
  bench.exec = () => Promise.reject(new ExecTimeout('late'))
  await bench.clock.advance(10_000)
  assert.equal(bench.manager.failed(bench.running), 'liveness')
  assert.equal(bench.events[1], 'Unhealthy Liveness probe failed: command timed out: "sleep 9" timed out after 1s')
})

test('what was ready before the agent was started stays so until there is news', async () => {
  const status = {
    containerStatuses: [{ name: 'app', containerID: 'c://1', ready: true, started: true, restartCount: 0, image: 'i', imageID: 'i' }],
  }
  const bench = new Bench({ readinessProbe: { httpGet, ...usual }, startupProbe: { httpGet, ...usual } }, status, 0)
  bench.answer = async () => ({ status: 500, body: '' })
  bench.follow()
  assert.ok(bench.ready)
  await bench.clock.advance(35_000)
  assert.ok(!bench.ready)
  assert.equal(bench.manager.failed(bench.running), undefined)
})

test('nobody asks whether a container lives that shall end, but whether it serves', async () => {
  const bench = new Bench({ livenessProbe: { exec: { command: ['x'] }, ...usual }, readinessProbe: { httpGet, ...usual } })
  bench.exec = async () => ({ exitCode: 1, stdout: '', stderr: '' })
  bench.isEnding = true
  bench.follow()
  await bench.clock.advance(60_000)
  assert.ok(bench.asked.length > 5)
  assert.equal(bench.manager.failed(bench.running), undefined)
  bench.manager.forget('u1')
  assert.equal(bench.clock.pending, 0)
})
