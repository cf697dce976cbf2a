/** A node agent in a process of its own: it needs the API server only now and then. */
import assert from 'node:assert/strict'
import { type ChildProcess, spawn } from 'node:child_process'
import { existsSync, mkdirSync, mkdtempSync, readFileSync, rmSync, writeFileSync } from 'node:fs'
import { tmpdir } from 'node:os'
import { join } from 'node:path'
import { after, before, describe, test } from 'node:test'
import { GrpcError, grpcCodes, startGrpcServer } from '#base/grpc.ts'
import { startTestContainerd, type TestContainerd, whyNoContainers } from '../support/containerd.ts'
import { installedKubectls, type Kubectl, kubectl as kubectlAt } from '../support/kubectl.ts'
import { freePort, type RunningCluster, startCluster } from '../support/running-cluster.ts'

const newest = installedKubectls().at(-1)
const whyNot = whyNoContainers() || (newest === undefined ? 'kubectl is not installed' : false)
const main = join(import.meta.dirname, '..', '..', 'src', 'cmd', 'main.ts')
const image = 'typernetes.test/busybox:1'

describe('a node agent alone', { skip: whyNot, timeout: 150_000 }, () => {
  const stack = new AsyncDisposableStack()
  let directory: string
  let containerd: TestContainerd
  let cluster: RunningCluster
  let agent: ChildProcess
  let kubectl: Kubectl
  let output = ''
  let startAgain: () => Promise<void>

  before(async () => {
    directory = mkdtempSync(join(tmpdir(), 'tn-alone-'))
    stack.defer(() => rmSync(directory, { recursive: true, force: true }))
    containerd = stack.use(await startTestContainerd({ podCidr: `10.${100 + (process.pid % 90)}.1.0/24` }))
    const tokens = join(directory, 'tokens')
    writeFileSync(tokens, 'node-token,system:node:alone,1,"system:nodes"\n')
    const port = await freePort()
    const start = async () => {
      cluster = await startCluster(['--token-auth-file', tokens], directory, port)
    }
    stack.defer(async () => void (await cluster?.stop('SIGKILL')))
    await start()
    startAgain = start
    kubectl = kubectlAt(newest?.path ?? '', '', cluster.kubeconfig)
    const kubeconfig = join(directory, 'node.kubeconfig')
    writeFileSync(
      kubeconfig,
      readFileSync(cluster.kubeconfig, 'utf8')
        .replace(/client-certificate-data: .*/, 'token: node-token')
        .replace(/ *client-key-data: .*\n/, ''),
    )
    mkdirSync(join(directory, 'manifests'))
    const ports = ['--port', String(await freePort()), '--healthz-port', String(await freePort())]
    const places = ['--root-dir', join(directory, 'kubelet'), '--pod-manifest-path', join(directory, 'manifests')]
    const config = join(directory, 'kubelet.yaml')
    const logs = join(directory, 'logs')
    writeFileSync(config, `kind: KubeletConfiguration\napiVersion: kubelet.config.k8s.io/v1beta1\npodLogsDir: ${logs}\n`)
    const name = ['--hostname-override', 'alone', '--node-labels', 'disk=ssd', '--cgroup-root', `tn-alone-${process.pid}`]
    const args = ['kubelet', '--kubeconfig', kubeconfig, '--config', config, '--container-runtime-endpoint', `unix://${containerd.socket}`]
    agent = spawn(process.execPath, [main, ...args, ...name, ...places, ...ports], { stdio: ['ignore', 'pipe', 'pipe'] })
    stack.defer(() => void agent.kill('SIGKILL'))
    await new Promise<void>((resolve, reject) => {
      const read = (text: Buffer) => {
        output += text
        if (output.includes('is at work')) resolve()
      }
      agent.stdout?.on('data', read)
      agent.stderr?.on('data', read)
      agent.once('exit', (code) => reject(new Error(`the agent ended with ${code}: ${output}`)))
    })
  })
  after(() => stack.disposeAsync())

  const ok = (args: readonly string[], input?: string): string => {
    const { exitCode, stdout, stderr } = kubectl.run(args, input === undefined ? {} : { input })
    assert.equal(exitCode, 0, `kubectl ${args.join(' ')}: ${stderr}\n${output}`)
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
    ok(['wait', '--for=condition=Ready', 'node/alone', '--timeout=20s'])
    assert.equal(ok(['get', 'node', 'alone', '-o', 'jsonpath={.metadata.labels.disk}']), 'ssd')
  })

  test('a static pod runs, is seen in the API, comes back there when it is deleted, and goes with its file', () => {
    const file = join(directory, 'manifests', 'web.yaml')
    writeFileSync(
      file,
      JSON.stringify({ ...podNamed('web', 'sleep 3600'), spec: { containers: [{ name: 'main', image, command: ['sleep', '3600'] }] } }),
    )
    const visible = () => kubectl.run(['get', 'pod', 'web-alone', '-o', 'jsonpath={.status.phase}']).stdout === 'Running'
    const until = (holds: () => boolean) => {
      for (let tries = 0; !holds(); tries++) assert.ok(tries < 200, output)
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

  test('while the API server is away pods run on, and what became of them is told later', async () => {
    const gate = join(directory, 'gate')
    mkdirSync(gate)
    const volumes = [{ name: 'gate', hostPath: { path: gate } }]
    const waiting = podNamed('waiting', 'until [ -e /gate/go ]; do sleep 0.05; done; touch /gate/gone; exit 5', { volumes })
    Object.assign(waiting.spec.containers[0] as object, { volumeMounts: [{ name: 'gate', mountPath: '/gate' }] })
    ok(['create', '-f', '-'], JSON.stringify(waiting))
    ok(['create', '-f', '-'], JSON.stringify(podNamed('lasting', 'sleep 3600')))
    ok(['wait', '--for=condition=Ready', 'pod/lasting', 'pod/waiting', '--timeout=20s'])
    const before = ok(['get', 'pod', 'lasting', '-o', 'jsonpath={.status.containerStatuses[0].containerID}'])
    await cluster.stop('SIGKILL')
    writeFileSync(join(gate, 'go'), '')
    for (let tries = 0; !existsSync(join(gate, 'gone')); tries++) {
      assert.ok(tries < 400, 'the pod runs on')
      await new Promise((resolve) => setTimeout(resolve, 25))
    }
    await startAgain()
    ok(['wait', '--for=jsonpath={.status.phase}=Failed', 'pod/waiting', '--timeout=19s'])
    assert.equal(ok(['get', 'pod', 'waiting', '-o', 'jsonpath={.status.containerStatuses[0].state.terminated.exitCode}']), '5')
    assert.equal(ok(['get', 'pod', 'lasting', '-o', 'jsonpath={.status.containerStatuses[0].containerID}']), before)
    assert.equal(ok(['get', 'pod', 'lasting', '-o', 'jsonpath={.status.containerStatuses[0].restartCount}']), '0')
    ok(['delete', 'pod', 'waiting', 'lasting'])
  })
})
