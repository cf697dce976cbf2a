import assert from 'node:assert/strict'
import { test } from 'node:test'
import type { DialedGet, Dialer } from '#base/dialer.ts'
import { VirtualClock } from '#base/virtual-clock.ts'
import { hookRunner } from '#kubelet/hooks/hook-runner.ts'

const pod = { metadata: { name: 'web', namespace: 'default', uid: 'u1' }, spec: { containers: [] } }
const container = { name: 'app', ports: [{ name: 'web', containerPort: 8080 }] }

function aRunner({ exitCode = 0, fails = false, stdout = 'out' } = {}) {
  const asked: DialedGet[] = []
  const dialer: Dialer = {
    connect: async () => {},
    async get(request) {
      asked.push(request)
      if (fails) throw new Error('connection refused')
      return { status: 500, body: '' }
    },
  }
  const clock = new VirtualClock()
  const runtime = { exec: async () => ({ exitCode, stdout, stderr: stdout }) }
  const abort = new AbortController()
  const request = { pod, container, containerId: 'c://1', ip: '10.0.0.5', timeoutMs: 1000, signal: abort.signal }
  return { runner: hookRunner({ runtime, clock, dialer }), clock, request, asked, abort }
}

test('a command must succeed', async () => {
  const good = aRunner()
  await good.runner.run({ exec: { command: ['a'] } }, good.request)
  const bad = aRunner({ exitCode: 3 })
  const text =
    'Exec lifecycle hook ([a b]) for Container "app" in Pod "web_default(u1)" failed - error: command exited with 3, message: "outout"'
  await assert.rejects(bad.runner.run({ exec: { command: ['a', 'b'] } }, bad.request), { message: text })
})

test('of what a failed command has written, and of its words, as much is told as fits into a status', async () => {
  const { runner, request } = aRunner({ exitCode: 1, stdout: 'x'.repeat(30_000_000) })
  await assert.rejects(runner.run({ exec: { command: ['a'.repeat(1_000_000)] } }, request), ({ message }: Error) => message.length < 3000)
})

test('any answer will do, none will not', async () => {
  const good = aRunner()
  await good.runner.run({ httpGet: { path: '/stop', port: 'web' } }, good.request)
  assert.equal(good.asked[0]?.url, 'http://10.0.0.5:8080/stop')
  assert.equal(good.asked[0]?.headers['User-Agent'], 'kube-lifecycle/1.36')
  const bad = aRunner({ fails: true })
  await assert.rejects(bad.runner.run({ httpGet: { path: '/stop', port: 8080 } }, bad.request), /^Error: HTTP lifecycle hook \(\/stop\)/)
})

test('sleep ends with its time, or with the container', async () => {
  const { runner, clock, request, abort } = aRunner()
  const slept = runner.run({ sleep: { seconds: 5 } }, request)
  await clock.advance(5000)
  await slept
  const cut = assert.rejects(runner.run({ sleep: { seconds: 5 } }, request), /container terminated before sleep hook finished/)
  abort.abort()
  await cut
})
