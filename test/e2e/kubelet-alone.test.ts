/** A kubelet in a process of its own: it needs the API server only now and then. */
import assert from 'node:assert/strict'
import { existsSync, mkdirSync, rmSync, writeFileSync } from 'node:fs'
import { join } from 'node:path'
import { after, before, describe, test } from 'node:test'
import { GrpcError, grpcCodes, startGrpcServer } from '#base/grpc.ts'
import { whyNoContainers } from '../support/containerd.ts'
import { installedKubectls, type Kubectl, kubectl as kubectlAt } from '../support/kubectl.ts'
import { type LoneKubelet, startLoneKubelet } from '../support/lone-kubelet.ts'

const newest = installedKubectls().at(-1)
const whyNot = whyNoContainers() || (newest === undefined ? 'kubectl is not installed' : false)
const image = 'typernetes.test/busybox:1'

describe('a kubelet alone', { skip: whyNot, timeout: 150_000 }, () => {
  let alone: LoneKubelet
  let kubectl: Kubectl

  before(async () => {
    alone = await startLoneKubelet()
    kubectl = kubectlAt(newest?.path ?? '', '', alone.cluster.kubeconfig)
  })
  after(async () => {
    await alone?.[Symbol.asyncDispose]()
  })

  const ok = (args: readonly string[], input?: string): string => {
    const { exitCode, stdout, stderr } = kubectl.run(args, input === undefined ? {} : { input })
    assert.equal(exitCode, 0, `kubectl ${args.join(' ')}: ${stderr}\n${alone.output()}`)
    return stdout
  }
  const podNamed = (name: string, script: string, more: object = {}) => ({
    apiVersion: 'v1',
    kind: 'Pod',
    metadata: { name },
    spec: {
      ...{ nodeName: 'alone', restartPolicy: 'Never', terminationGracePeriodSeconds: 1, ...more },
      containers: [{ name: 'main', image, command: ['sh', '-c', script], ...(more as { container?: object }).container }],
    },
  })

  test('the node is there with its labels, and ready', () => {
    ok(['wait', '--for=condition=Ready', 'node/alone', '--timeout=60s'])
    assert.equal(ok(['get', 'node', 'alone', '-o', 'jsonpath={.metadata.labels.disk}']), 'ssd')
  })

  test('a static pod runs, is seen in the API, comes back there when it is deleted, and goes with its file', () => {
    const file = join(alone.manifests, 'web.yaml')
    writeFileSync(
      file,
      JSON.stringify({ ...podNamed('web', 'sleep 3600'), spec: { containers: [{ name: 'main', image, command: ['sleep', '3600'] }] } }),
    )
    const visible = () => kubectl.run(['get', 'pod', 'web-alone', '-o', 'jsonpath={.status.phase}']).stdout === 'Running'
    const until = (holds: () => boolean) => {
      for (let tries = 0; !holds(); tries++) assert.ok(tries < 200, alone.output())
    }
    until(visible)
    ok(['delete', 'pod', 'web-alone', '--wait=false'])
    until(visible)
    rmSync(file)
    until(() => kubectl.run(['get', 'pod', 'web-alone']).exitCode !== 0)
  })

  test('a gRPC probe asks, and what it hears decides', async () => {
    let answer = 2
    const check = async () => {
      if (answer === 0) throw new GrpcError(grpcCodes.unavailable, 'not now')
      return Uint8Array.from([8, answer])
    }
    const server = await startGrpcServer({ address: '0.0.0.0:0', handlers: { '/grpc.health.v1.Health/Check': { answer: check } } })
    try {
      const readinessProbe = { grpc: { port: server.port }, periodSeconds: 1 }
      const pod = podNamed('asked', 'sleep 3600', { hostNetwork: true })
      Object.assign(pod.spec.containers[0] as object, { readinessProbe })
      ok(['create', '-f', '-'], JSON.stringify(pod))
      const events = [
        'get',
        'events',
        '--field-selector',
        'involvedObject.name=asked,reason=Unhealthy',
        '-o',
        'jsonpath={.items[*].message}',
      ]
      for (let tries = 0; !ok(events).includes('status = "NOT_SERVING"') && !ok(events).includes('NOT_SERVING'); tries++) {
        assert.ok(tries < 200, ok(events))
        await new Promise((resolve) => setTimeout(resolve, 50))
      }
      answer = 1
      for (let tries = 0; kubectl.run(['wait', '--for=condition=Ready', 'pod/asked', '--timeout=0s']).exitCode !== 0; tries++) {
        assert.ok(tries < 200)
        await new Promise((resolve) => setTimeout(resolve, 50))
      }
      ok(['delete', 'pod', 'asked'])
    } finally {
      await server.close()
    }
  })

  test('a pod that puts more into a volume than it may is thrown out', () => {
    const pod = podNamed('greedy', 'head -c 5000000 /dev/zero > /full/file; sleep 3600', {
      volumes: [{ name: 'full', emptyDir: { sizeLimit: '1Mi' } }],
    })
    Object.assign(pod.spec.containers[0] as object, { volumeMounts: [{ name: 'full', mountPath: '/full' }] })
    ok(['create', '-f', '-'], JSON.stringify(pod))
    ok(['wait', '--for=jsonpath={.status.reason}=Evicted', 'pod/greedy', '--timeout=60s'])
    assert.equal(ok(['get', 'pod', 'greedy', '-o', 'jsonpath={.status.phase}']), 'Failed')
    assert.match(ok(['get', 'pod', 'greedy', '-o', 'jsonpath={.status.message}']), /EmptyDir volume "full" exceeds the limit "1Mi"/)
    ok(['delete', 'pod', 'greedy'])
  })

  test('while the API server is away pods run on, and what became of them is told later', async () => {
    const gate = join(alone.directory, 'gate')
    mkdirSync(gate)
    const volumes = [{ name: 'gate', hostPath: { path: gate } }]
    const waiting = podNamed('waiting', 'until [ -e /gate/go ]; do sleep 0.05; done; touch /gate/gone; exit 5', { volumes })
    Object.assign(waiting.spec.containers[0] as object, { volumeMounts: [{ name: 'gate', mountPath: '/gate' }] })
    ok(['create', '-f', '-'], JSON.stringify(waiting))
    ok(['create', '-f', '-'], JSON.stringify(podNamed('lasting', 'sleep 3600')))
    ok(['wait', '--for=condition=Ready', 'pod/lasting', 'pod/waiting', '--timeout=60s'])
    const before = ok(['get', 'pod', 'lasting', '-o', 'jsonpath={.status.containerStatuses[0].containerID}'])
    await alone.cluster.stop('SIGKILL')
    writeFileSync(join(gate, 'go'), '')
    for (let tries = 0; !existsSync(join(gate, 'gone')); tries++) {
      assert.ok(tries < 400, 'the pod runs on')
      await new Promise((resolve) => setTimeout(resolve, 25))
    }
    await alone.restartCluster()
    ok(['wait', '--for=jsonpath={.status.phase}=Failed', 'pod/waiting', '--timeout=60s'])
    assert.equal(ok(['get', 'pod', 'waiting', '-o', 'jsonpath={.status.containerStatuses[0].state.terminated.exitCode}']), '5')
    assert.equal(ok(['get', 'pod', 'lasting', '-o', 'jsonpath={.status.containerStatuses[0].containerID}']), before)
    assert.equal(ok(['get', 'pod', 'lasting', '-o', 'jsonpath={.status.containerStatuses[0].restartCount}']), '0')
    ok(['delete', 'pod', 'waiting', 'lasting'])
  })
})
