/** Pods without any container runtime installed, as the real kubectl sees them. */
import assert from 'node:assert/strict'
import { spawn } from 'node:child_process'
import { mkdirSync, readFileSync } from 'node:fs'
import { join } from 'node:path'
import { after, before, describe, test } from 'node:test'
import type { V1Pod } from '#api/core/v1/types.gen.ts'
import { systemClock } from '#base/clock.ts'
import { whyNoEmbedded } from '../support/embedded.ts'
import { installedKubectls, type Kubectl } from '../support/kubectl.ts'
import { leftOf, type RealCluster, startRealCluster } from '../support/real-cluster.ts'
import { freePort } from '../support/running-cluster.ts'

const installed = installedKubectls()
const chosen = installed.at(-1)
const whyNot = whyNoEmbedded() || (chosen === undefined ? 'kubectl is not installed' : false)
const manifest = readFileSync(join(import.meta.dirname, 'real-node', 'everything.yaml'), 'utf8')

describe('a cluster that runs containers itself', { skip: whyNot, timeout: 220_000 }, () => {
  let cluster: RealCluster
  let kubectl: Kubectl

  before(async () => {
    cluster = await startRealCluster({ flags: ['--runtime', 'embedded'] })
    kubectl = cluster.kubectlAt(chosen?.path ?? '')
  })
  after(() => cluster?.[Symbol.asyncDispose]())

  const ok = (args: readonly string[], input?: string): string => {
    const { exitCode, stdout, stderr } = kubectl.run(args, input === undefined ? {} : { input })
    assert.equal(exitCode, 0, `kubectl ${args.join(' ')}: ${stderr}\n${cluster.process.output()}`)
    return stdout
  }
  const podNow = (name: string) => JSON.parse(ok(['get', 'pod', name, '-o', 'json'])) as V1Pod
  const identityOf = ({ status }: V1Pod) => [
    status?.podIP,
    status?.containerStatuses?.map(({ containerID, restartCount }) => [containerID, restartCount]),
  ]

  test('a first pod needs no network and no image: the machine itself is one', () => {
    ok(['wait', '--for=condition=Ready', 'node', '--all', '--timeout=60s'])
    assert.match(ok(['get', 'nodes', '-o', 'jsonpath={.items[0].status.nodeInfo.containerRuntimeVersion}']), /^typernetes:\/\//)
    ok([
      'run',
      'first',
      '--image=host',
      '--',
      'sh',
      '-c',
      'echo hello from $(hostname); i=0; while true; do echo tick $((i+=1)); sleep 0.1; done',
    ])
    ok(['wait', '--for=condition=Ready', 'pod/first', '--timeout=60s'])
    assert.match(ok(['logs', 'first']), /^hello from first\ntick 1\n/)
    assert.equal(ok(['exec', '-i', 'first', '--', 'cat'], 'by way of stdin'), 'by way of stdin')
    assert.equal(kubectl.run(['exec', 'first', '--', 'sh', '-c', 'exit 7']).exitCode, 7)
  })

  test('a pod with init containers, a sidecar, probes, hooks, variables and volumes runs, and is reached', async () => {
    const kept = join(cluster.directory, 'kept')
    mkdirSync(kept)
    ok(['create', '-f', '-'], manifest.replace('KEPT', JSON.stringify(kept)))
    ok(['wait', '--for=condition=Ready', 'pod/everything', '--timeout=60s'])
    const seen = (script: string) => ok(['exec', 'everything', '-c', 'main', '--', 'sh', '-c', script])
    assert.equal(seen('cat /shared/order'), 'first\nbeside\nsecond\n')
    assert.equal(seen('cat /settings/file.txt /only/file.txt /mixed/greeting'), 'from a config mapfrom a config maphello')
    assert.equal(seen('stat -c %a%g /hidden/..data/password'), '4402000\n')
    const port = await freePort()
    const config = join(cluster.dataDir, 'admin.kubeconfig')
    const forward = spawn(chosen?.path ?? '', ['--kubeconfig', config, 'port-forward', 'pod/everything', `${port}:http`])
    try {
      await new Promise((resolve, reject) => {
        forward.stdout.once('data', resolve)
        forward.once('exit', reject)
      })
      assert.equal(await (await fetch(`http://127.0.0.1:${port}/order`)).text(), 'first\nbeside\nsecond\n')
    } finally {
      forward.kill()
    }
  })

  test('a killed agent is followed by one that takes everything over, and no line of a log is lost', async () => {
    const before = ['first', 'everything'].map((name) => identityOf(podNow(name)))
    await cluster.kill()
    await cluster.start('--runtime', 'embedded')
    // The status is that of before until the agent says otherwise: it is there when it answers.
    const untilMs = systemClock.monotonic() + 60_000
    while (kubectl.run(['exec', 'first', '--', 'true']).exitCode !== 0 && systemClock.monotonic() < untilMs) await systemClock.sleep(200)
    ok(['wait', '--for=condition=Ready', 'pod/first', 'pod/everything', '--timeout=60s'])
    assert.deepEqual(
      ['first', 'everything'].map((name) => identityOf(podNow(name))),
      before,
    )
    const ticks = ok(['logs', 'first'])
      .split('\n')
      .filter((line) => line.startsWith('tick'))
      .map((line) => Number(line.split(' ')[1]))
    assert.deepEqual(
      ticks,
      ticks.map((_, index) => index + 1),
    )
    assert.equal(ok(['exec', 'first', '--', 'echo', 'alive']), 'alive\n')
  })

  test('with the end of its pods nothing is left', async () => {
    await cluster.process.stop('SIGTERM')
    assert.match(cluster.run('down', '--pods').stdout, /The pods of its nodes are gone/)
    assert.deepEqual(leftOf(cluster.dataDir), [])
  })
})
