/** What docs/security.md says of the files, flags and ports of a control plane in parts, beside the items of the CIS benchmark. */
import assert from 'node:assert/strict'
import { mkdtempSync, readdirSync, readFileSync, rmSync, statSync } from 'node:fs'
import { request } from 'node:https'
import { tmpdir, userInfo } from 'node:os'
import { join } from 'node:path'
import { type TestContext, test } from 'node:test'
import { systemClock } from '#base/clock.ts'
import { thisProcess } from '#base/machine.ts'
import { Metrics } from '#base/metrics.ts'
import { seededRandom } from '#base/random.ts'
import { usualOptions } from '#cmd/control-plane/shared-options.ts'
import { type PhaseOptions, runInitPhases } from '#cmd/init/phases.ts'
import { schedulerOptions } from '#cmd/scheduler/command.ts'
import { serveHealth } from '#cmd/serve-health.ts'
import { defaultKubeletConfiguration } from '#kubelet/configuration/kubelet-configuration.ts'

/** The data directory of a control plane as static pods, as `init` lays it out. */
async function laidOut(t: TestContext): Promise<string> {
  const dataDir = mkdtempSync(join(tmpdir(), 'cis '))
  t.after(() => rmSync(dataDir, { recursive: true, force: true }))
  t.mock.method(thisProcess, 'print', () => {})
  const options = { ...usualOptions(), dataDir, store: 'etcd://127.0.0.1:2379' }
  const init = { manifestsDir: '', controlPlaneImage: 'host', etcdImage: 'host' } as PhaseOptions
  await runInitPhases(['certs', 'kubeconfig', 'control-plane'], options, init)
  return dataDir
}

function mayOnlyOwner(path: string): void {
  const { mode, uid } = statSync(path)
  assert.equal(mode & 0o077, 0, `${path} is open to others: ${mode.toString(8)}`)
  assert.equal(uid, userInfo().uid, path)
}

const commandIn = (path: string): string[] => JSON.parse(readFileSync(path, 'utf8')).spec.containers[0].command

test('1.1.1–1.1.8, 1.1.15–1.1.18: pod specifications and kubeconfigs of a control plane are for their owner alone', async (t) => {
  const dataDir = await laidOut(t)
  const manifests = readdirSync(join(dataDir, 'manifests'))
  for (const name of ['kube-apiserver.yaml', 'kube-controller-manager.yaml', 'kube-scheduler.yaml']) assert.ok(manifests.includes(name))
  for (const name of ['', ...manifests]) mayOnlyOwner(join(dataDir, 'manifests', name))
  for (const name of ['admin', 'controller-manager', 'scheduler']) mayOnlyOwner(join(dataDir, `${name}.kubeconfig`))
  mayOnlyOwner(join(dataDir, 'pki'))
})

test('3.1.1–3.1.3: kubeconfigs hold certificates of a user each, not tokens of service accounts or of joining', async (t) => {
  const dataDir = await laidOut(t)
  const users = ['admin', 'controller-manager', 'scheduler'].map((name) => {
    const text = readFileSync(join(dataDir, `${name}.kubeconfig`), 'utf8')
    assert.doesNotMatch(text, /token/)
    return /client-certificate-data: (\S+)/.exec(text)?.[1] ?? assert.fail(name)
  })
  assert.equal(new Set(users).size, 3)
})

test('1.3.3–1.3.5, 1.3.7, 1.4.2: what the parts of a control plane are started with', async (t) => {
  const dataDir = await laidOut(t)
  const manager = commandIn(join(dataDir, 'manifests', 'kube-controller-manager.yaml'))
  const scheduler = commandIn(join(dataDir, 'manifests', 'kube-scheduler.yaml'))
  assert.ok(manager.includes('--use-service-account-credentials=true'))
  assert.ok(manager.includes(`--root-ca-file=${join(dataDir, 'pki', 'ca.crt')}`))
  assert.ok(manager.includes(`--service-account-private-key-file=${join(dataDir, 'pki', 'sa.key')}`))
  for (const command of [manager, scheduler]) assert.ok(command.includes('--bind-address=127.0.0.1'))
  for (const command of [manager, scheduler]) assert.ok(!command.some((flag) => flag.startsWith('--profiling')))
  assert.equal(schedulerOptions.bindAddress.default, '127.0.0.1')
})

test('1.1.1: a kubelet runs no pods from files unless it is told where they are', () => {
  assert.equal(defaultKubeletConfiguration().staticPodPath, '')
})

test('1.3.2, 1.4.1: nothing but health and metrics is served by controller managers and schedulers', async (t) => {
  const served = await serveHealth({
    ...{ component: 'kube-scheduler', host: '127.0.0.1', port: 0, metrics: new Metrics(), clock: systemClock, random: seededRandom(1) },
  })
  t.after(() => served.close())
  const statusOf = (path: string) =>
    new Promise<number | undefined>((resolve, reject) => {
      const asked = request({ host: '127.0.0.1', port: served.port, path, rejectUnauthorized: false, agent: false }, (answer) => {
        answer.resume()
        resolve(answer.statusCode)
      })
      asked.on('error', reject).end()
    })
  assert.equal(await statusOf('/healthz'), 200)
  for (const path of ['/debug/pprof/', '/debug/pprof/profile', '/debug/pprof/trace', '/debug/flags/v', '/configz', '/']) {
    assert.equal(await statusOf(path), 404, path)
  }
})
